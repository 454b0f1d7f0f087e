/** Messages on a group's GPUs: NCCL's sends and receives between places of the program's memory, on the fake driver and library. */
import path from "node:path";
import { afterEach, beforeAll, describe, expect, it, vi } from "vitest";
import { type Manifest, type MessageStep, runsOf } from "../../src/compiler/index.js";
import { DeviceMemory } from "../../src/runtime/cuda/index.js";
import { DeviceKernel } from "../../src/runtime/device-kernel.js";
import type { DeviceGroup } from "../../src/runtime/group-device.js";
import { prepareMessages, SharedMemory } from "../../src/runtime/message-steps.js";
import { packageRoot } from "../../src/runtime/native.js";
import { NcclCommunicator, type NcclWindowProvider } from "../../src/runtime/nccl/index.js";
import { live } from "../native/support.js";
import { closeAll, connectRanks, onAll, useFakeMachine } from "../runtime/device-groups.js";
import { rejection } from "../runtime/helpers.js";
import { compiledFor } from "./programs.js";

beforeAll(() => {
  useFakeMachine();
  vi.stubEnv("COLLC_NCCL", path.join(packageRoot(), "build/Release/fake-nccl/libnccl.so.2"));
});

const open: DeviceGroup[] = [];
afterEach(() => closeAll(open.splice(0)));

const messagesOf = ({ plan }: Manifest): MessageStep[] =>
  plan.choices.flatMap(({ steps }) => steps.filter((step) => step.kind === "message"));

describe("messages", () => {
  it.each(["all_gather/push", "all_reduce/quantised", "all_reduce/two_shot", "halo/ring"])(
    "of %s bring each peer what was sent to it, and touch nothing else",
    async (file) => {
      const { manifest } = compiledFor(file, { hosts: 2, gpus: 2 }, { dtype: "f32" });
      const dims = { n: 4 * 128, m: 8 };
      const groups = await connectRanks(4);
      open.push(...groups);
      await onAll(groups, async (group, rank) => {
        const carrier = (await group.messageCarriers.open(manifest!))!;
        const memory = new SharedMemory(group, manifest!.collective, manifest!.memory!, carrier);
        await memory.place(dims);
        const held = (name: string): DeviceMemory => {
          const { pointer, bytes } = memory.of(name);
          return DeviceMemory.view(group.device, pointer, bytes);
        };
        for (const [number, step] of messagesOf(manifest!).entries()) {
          const { sends, receives } = step.ranks[rank]!;
          expect(sends.length).toBeGreaterThan(0);
          // A byte that a rank sends: a number that names the rank and its place there, whichever peers get it.
          const byte = (from: number, place: number): number => (37 * from + place + (place >> 8)) % 251;
          const width = (name: string): number => memory.bytesOf(name);
          for (const { memory: name } of receives) held(name).fill(0xff);
          for (const { memory: name, offset, length } of runsOf(sends, dims)) {
            const first = offset * width(name);
            held(name).write(
              Uint8Array.from({ length: length * width(name) }, (_, b) => byte(rank, first + b)),
              first,
            );
          }
          await group.exchange("all are here", rank);
          const prepared = prepareMessages(group, carrier, step, number, memory, dims);
          prepared.enqueue(group.defaultStream.handle);
          await group.defaultStream.synchronize();
          const names = new Set(receives.map((end) => end.memory));
          for (const name of names) {
            const expected = new Uint8Array(memory.of(name).bytes).fill(0xff);
            for (const peer of new Set(receives.map((end) => end.peer))) {
              const sent = runsOf(step.ranks[peer]!.sends, dims).filter((end) => end.peer === rank);
              const taken = runsOf(receives, dims).filter((end) => end.peer === peer);
              for (const [k, run] of taken.entries())
                for (let b = 0; run.memory === name && b < run.length * width(name); b++)
                  expected[run.offset * width(name) + b] = byte(peer, sent[k]!.offset * width(sent[k]!.memory) + b);
            }
            const found = held(name).read(new Uint8Array(expected.length));
            expect(Buffer.compare(found, expected), `rank ${rank}, ${name}`).toBe(0);
          }
          await group.exchange("all are here", rank);
        }
        for (const free of memory.free()) await free();
      });
    },
  );

  it("memory grows when a launch asks for more, and is given back", async () => {
    const { manifest } = compiledFor("all_gather/push", { hosts: 2, gpus: 2 });
    expect(manifest!.memory!.map(({ name }) => name)).toEqual(["push/y_outbox", "push/y_inbox"]);
    const groups = await connectRanks(4);
    open.push(...groups);
    const before = live();
    await onAll(groups, async (group) => {
      const memory = new SharedMemory(group, manifest!.collective, manifest!.memory!, null);
      await memory.place({ n: 4096 });
      await group.exchange("all have memory", group.rank);
      // What NCCL could register on one side of a message alone is mixed up, or never comes: none of it is memory of this process alone.
      expect(live().allocations).toBe(before.allocations);
      expect(live().mappings).toBe(before.mappings + 2 * groups.length);
      const { pointer, bytes } = memory.of("push/y_inbox");
      expect(bytes).toBe(4 * 1024 * 2);
      await memory.place({ n: 64 });
      expect(memory.of("push/y_inbox").pointer).toBe(pointer);
      await memory.place({ n: 8192 });
      expect(memory.of("push/y_inbox").bytes).toBe(2 * bytes);
      await group.exchange("all have looked", group.rank);
      for (const free of memory.free()) await free();
    });
    expect(live()).toMatchObject({ allocations: before.allocations, mappings: before.mappings });
  });

  it("have a communicator without windows, and a library's collectives that of the group's memory", async () => {
    const groups = await connectRanks(2, { backend: "nccl" });
    open.push(...groups);
    const { manifest } = compiledFor("all_gather/push", { hosts: 2, gpus: 1 });
    const step = { kind: "library", library: "nccl", call: "all_gather", input: "x", output: "y", root: 0 } as const;
    const plan: Manifest["plan"] = { by: 1, choices: [...manifest!.plan.choices, { below: null, steps: [step] }] };
    const communicators = vi.spyOn(NcclCommunicator, "create");
    await onAll(groups, async (group) => {
      const library = await group.librarySteps.open({ plan });
      const { provider } = group as unknown as { readonly provider: NcclWindowProvider };
      expect(library).toBe(provider.communicator);
      expect(communicators).not.toHaveBeenCalled();
      await group.exchange("none was made", group.rank);
      const carrier = await group.messageCarriers.open({ ...manifest!, plan });
      expect(carrier!.name).toBe("nccl");
      // A second program has the same.
      await group.messageCarriers.open({ ...manifest!, plan });
    });
    expect(communicators).toHaveBeenCalledTimes(2);
    communicators.mockRestore();
  });

  it("whose two sides do not fit are refused", async () => {
    const groups = await connectRanks(2);
    open.push(...groups);
    const end = { memory: "box", offset: 0 };
    const wanted = [{ name: "box", dtype: "u8", shape: [64], symmetric: false }] as const;
    const step = (sent: readonly number[], received: readonly number[]): MessageStep => ({
      kind: "message",
      ranks: [
        { sends: sent.map((length) => ({ ...end, peer: 1, length })), receives: [] },
        { sends: [], receives: received.map((length) => ({ ...end, peer: 0, length })) },
      ],
    });
    const plan: Manifest["plan"] = { by: 1, choices: [{ below: null, steps: [step([8], [8])] }] };
    await onAll(groups, async (group) => {
      const carrier = (await group.messageCarriers.open({ plan, collective: "f" }))!;
      const memory = new SharedMemory(group, "f", wanted, carrier);
      await memory.place({});
      const prepare = (of: MessageStep) => () => prepareMessages(group, carrier, of, 0, memory, {});
      expect(prepare(step([8], [8]))).not.toThrow();
      // One of no elements is not there.
      expect(prepare(step([8, 0], [8]))).not.toThrow();
      expect(prepare(step([8, 4], [8, 5]))).toThrow("rank 0 sends [8, 4] elements to rank 1, which receives [8, 5]");
      if (group.rank === 0) expect(prepare(step([8, 4], [8]))).toThrow("rank 0 sends [8, 4]");
    });
  });

  it("go by what COLLC_MESSAGES says, the same on all ranks", async () => {
    const groups = await connectRanks(2);
    open.push(...groups);
    const { manifest } = compiledFor("all_gather/push", { hosts: 2, gpus: 1 });
    const openers = (): Promise<Error[]> => onAll(groups, (group) => rejection(group.messageCarriers.open(manifest!)));
    vi.stubEnv("COLLC_MESSAGES", "pigeons");
    for (const error of await openers()) expect(error.message).toBe("COLLC_MESSAGES is 'pigeons'");
    vi.stubEnv("COLLC_MESSAGES", "nvshmem");
    vi.stubEnv("COLLC_NVSHMEM", "/nowhere");
    for (const error of await openers()) expect(error.message).toContain("/nowhere");
    vi.stubEnv("COLLC_NVSHMEM", undefined);
    vi.stubEnv("COLLC_MESSAGES", undefined);
  });

  it("are refused in words where there is no NCCL", async () => {
    vi.stubEnv("COLLC_NCCL", "/nowhere");
    try {
      const { manifest } = compiledFor("all_gather/push", { hosts: 4, gpus: 1 });
      // The others wait for what the first has to make with it.
      const groups = await connectRanks(4, { timeoutMs: 1500 });
      open.push(...groups);
      const load = (group: DeviceGroup): Promise<unknown> =>
        DeviceKernel.load(group, { ...manifest!, kernels: [] }, []);
      const errors = await onAll(groups, (group) => rejection(load(group)));
      expect(errors[0]!.message).toContain("/nowhere");
    } finally {
      vi.stubEnv("COLLC_NCCL", path.join(packageRoot(), "build/Release/fake-nccl/libnccl.so.2"));
    }
  });
});

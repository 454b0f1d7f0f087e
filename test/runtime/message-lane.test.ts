/** Messages beside kernels on a group's GPUs: two streams, and events where a step comes after one on the other, on the fake driver and library. */
import path from "node:path";
import { beforeAll, describe, expect, it, vi } from "vitest";
import {
  besideOf,
  compile,
  type Manifest,
  type MessageStep,
  type ProgramMemory,
  type Step,
} from "../../src/compiler/index.js";
import { DeviceMemory } from "../../src/runtime/cuda/index.js";
import { DeviceKernel } from "../../src/runtime/device-kernel.js";
import type { Tensor } from "../../src/runtime/group.js";
import type { DeviceGroup } from "../../src/runtime/group-device.js";
import type { PreparedCall } from "../../src/runtime/message-carrier.js";
import { placedCalls } from "../../src/runtime/message-lane.js";
import { prepareMessages, SharedMemory } from "../../src/runtime/message-steps.js";
import { native, packageRoot } from "../../src/runtime/native.js";
import { live } from "../native/support.js";
import { compiledFor } from "../reach/programs.js";
import { closeAll, closedAfterEach, connectRanks, onAll, useFakeMachine } from "./device-groups.js";

beforeAll(() => {
  useFakeMachine();
  vi.stubEnv("COLLC_NCCL", path.join(packageRoot(), "build/Release/fake-nccl/libnccl.so.2"));
});
// What a process makes once is there before the tests count.
beforeAll(async () => {
  const pair = await ranks(false);
  for (const rank of pair) rank.enqueue();
  await settled(pair);
  await closeAll(pair.map(({ group }) => group));
});

const { open } = closedAfterEach();

const BYTES = 64;
const MEMORY: readonly ProgramMemory[] = ["out 0", "in 0", "out 1", "in 1"].map((name) => {
  return { name, dtype: "u8", shape: [BYTES], symmetric: false };
});

/** Both ranks send each other what `out k` holds. */
const exchange = (k: number): MessageStep => ({
  kind: "message",
  beside: true,
  ranks: [0, 1].map((rank) => {
    const end = { peer: 1 - rank, offset: 0, length: BYTES };
    return { sends: [{ ...end, memory: `out ${k}` }], receives: [{ ...end, memory: `in ${k}` }] };
  }),
});
const launch = (awaits?: number): Step => ({ kind: "launch", kernel: 0, maxBlocks: 1, ...(awaits !== undefined && { awaits }) }); // prettier-ignore
/** Fill the first, send it, fill the second, send it, take the first, take the second. */
const STEPS: readonly Step[] = [launch(), exchange(0), launch(), exchange(1), launch(1), launch(3)];

/** What goes to the other host is sent first; meanwhile neighbours take what the other has stored, so that their blocks wait for each other. */
const NEIGHBOURS = `collective f(x: T[n] local) -> (y: T[n] local, z: T[n] local) {
  scratch own: T[n]
  for i in tiles(n) { y@((rank + 2) % world)[i] = x[i] }
  for i in tiles(n) { own[i] = x[i] }
  for i in tiles(n) { z[i] = own@(rank + 1 - 2 * (rank % 2))[i] }
}`;

const value = (k: number, rank: number): number => 10 + 2 * k + rank;

/** A rank's memory, and its steps: copies stand for kernels. */
class Rank {
  private constructor(
    readonly group: DeviceGroup,
    readonly memory: SharedMemory,
    readonly taken: DeviceMemory,
    readonly calls: readonly PreparedCall[],
  ) {}

  static async of(group: DeviceGroup): Promise<Rank> {
    const plan: Manifest["plan"] = { by: 1, choices: [{ below: null, steps: STEPS }] };
    const carrier = (await group.messageCarriers.open({ plan, collective: "exchange" }))!;
    const memory = new SharedMemory(group, "exchange", MEMORY, carrier);
    await memory.place({});
    const source = group.allocateLocal(2 * BYTES).memory;
    const taken = group.allocateLocal(2 * BYTES).memory;
    taken.fill(0);
    for (const k of [0, 1]) source.write(new Uint8Array(BYTES).fill(value(k, group.rank)), k * BYTES);
    const at = (m: { pointer: bigint }, k = 0): bigint => m.pointer + BigInt(k * BYTES);
    const copy = (to: bigint, from: bigint): PreparedCall => {
      return { enqueue: (stream) => native().copyOnDevice(stream, to, from, BYTES), release: () => {} };
    };
    const send = (step: number): PreparedCall =>
      prepareMessages(group, carrier, STEPS[step] as MessageStep, step, memory, {});
    const calls = [
      copy(at(memory.of("out 0")), at(source)),
      send(1),
      copy(at(memory.of("out 1")), at(source, 1)),
      send(3),
      copy(at(taken), at(memory.of("in 0"))),
      copy(at(taken, 1), at(memory.of("in 1"))),
    ];
    group.messageLane.open({ plan });
    return new Rank(group, memory, taken, calls);
  }

  enqueue(steps: readonly Step[] = STEPS): void {
    this.group.messageLane.enqueue(this.group.defaultStream.handle, placedCalls(steps, this.calls));
  }

  /** The first byte of what the memory of a name holds. */
  holds(name: string): number {
    const { pointer, bytes } = this.memory.of(name);
    return DeviceMemory.view(this.group.device, pointer, bytes).read(new Uint8Array(bytes))[0]!;
  }

  get got(): readonly number[] {
    const bytes = this.taken.read(new Uint8Array(2 * BYTES));
    return [bytes[0]!, bytes[BYTES]!];
  }
}

async function ranks(isClosedAfter = true): Promise<readonly [Rank, Rank]> {
  const groups = await connectRanks(2);
  if (isClosedAfter) open.push(...groups);
  return (await onAll(groups, (group) => Rank.of(group))) as [Rank, Rank];
}

const settled = (pair: readonly Rank[]): Promise<unknown> =>
  Promise.all(pair.map(({ group }) => group.defaultStream.synchronize()));

describe("steps on two streams", () => {
  it("a kernel goes on beside messages whose other side has not come, and one that awaits them does not", async () => {
    const [a, b] = await ranks();
    a.enqueue();
    // Rank 1 has sent nothing: rank 0 has filled both boxes all the same.
    expect([a.holds("out 0"), a.holds("out 1")]).toEqual([value(0, 0), value(1, 0)]);
    expect(a.got).toEqual([0, 0]);
    b.enqueue();
    await settled([a, b]);
    expect([a.got, b.got]).toEqual([
      [value(0, 1), value(1, 1)],
      [value(0, 0), value(1, 0)],
    ]);
  });

  it("one that awaits no messages takes what was there before", async () => {
    const [a, b] = await ranks();
    const careless = STEPS.map((step) => (step.kind === "launch" ? launch() : step));
    a.enqueue(careless);
    b.enqueue();
    await settled([a, b]);
    expect(a.got).toEqual([0, 0]);
    expect(b.got).toEqual([value(0, 0), value(1, 0)]);
  });

  it("what comes on the stream next comes after messages that no step awaits", async () => {
    const [a, b] = await ranks();
    const { group, taken, memory } = a;
    a.enqueue(STEPS.map((step) => (step.kind === "launch" ? launch() : step)));
    native().copyOnDevice(group.defaultStream.handle, taken.pointer, memory.of("in 1").pointer, BYTES);
    expect(a.got[0]).toBe(0);
    b.enqueue();
    await settled([a, b]);
    expect(a.got[0]).toBe(value(1, 1));
  });

  it("a launch makes neither streams nor events", async () => {
    const [a, b] = await ranks();
    const before = live();
    for (let i = 0; i < 3; i++) {
      a.enqueue();
      b.enqueue();
      await settled([a, b]);
    }
    expect([live().streams, live().events]).toEqual([before.streams, before.events]);
  });

  it.each([
    ["on a GPU of 84 multiprocessors leave those of messages free", 84, true],
    ["on one of 64 have none to leave, so that nothing goes on beside messages", 64, false],
  ])("kernels whose blocks wait for peers %s", async (_, multiprocessors, hasLane) => {
    const addon = native();
    const describe = addon.describeDevice.bind(addon);
    const described = vi
      .spyOn(addon, "describeDevice")
      .mockImplementation((d) => ({ ...describe(d), multiprocessors }));
    const [prepared, recorded] = [vi.spyOn(addon, "launchPrepare"), vi.spyOn(addon, "eventRecord")];
    const groups = await connectRanks(4);
    open.push(...groups);
    const program = compile(NEIGHBOURS, { ranks: 4, dtype: "bf16", reach: { ranksPerDomain: 2 }, mapping: { elementBlocks: 60, loadBlocks: 60 } }); // prettier-ignore
    const { kernels, plan } = program.manifest!;
    const { steps } = plan.choices[0]!;
    const n = 2 ** 18;
    await onAll(groups, async (group) => {
      const kernel = await group.load(program);
      const tensor = (): Promise<Tensor> => group.symmetric("bf16", [n]);
      const run = await kernel.prepare({ x: await tensor(), y: await tensor(), z: await tensor() }, { n });
      await group.exchange("all are prepared", group.rank);
      run.release();
      await kernel.unload();
    });
    // Ranks prepare one kernel after the other, all of them the same.
    const grids = prepared.mock.calls.map(([, grid]) => grid[0]);
    expect(recorded).not.toHaveBeenCalled();
    for (const spy of [described, prepared, recorded]) spy.mockRestore();
    const launches = steps.flatMap((step, i) => (step.kind === "launch" ? [{ step, isBeside: besideOf(steps, i).length > 0 }] : [])); // prettier-ignore
    const waiting = launches.filter(({ step, isBeside }) => isBeside && kernels[step.kernel]!.cooperative);
    expect(waiting.length).toBeGreaterThan(0);
    const most = Math.max(...grids);
    expect(grids).toHaveLength(4 * launches.length);
    expect(most).toBeGreaterThan(20);
    expect(grids.filter((g) => g === 20).length).toBe(hasLane ? 4 * waiting.length : 0);
  });
});

describe("a captured graph", () => {
  it("has both streams, which join at its end, and gives back what it took", async () => {
    const groups = await connectRanks(2);
    open.push(...groups);
    const { manifest } = compiledFor("all_gather/push", { hosts: 2, gpus: 1 });
    const steps = STEPS.filter(({ kind }) => kind === "message");
    const own: Manifest = {
      ...{ ...manifest!, kernels: [], inputs: [], outputs: [], inPlace: [], dims: [], requirements: [] },
      ...{ memory: MEMORY, plan: { by: 1, choices: [{ below: null, steps }] } },
    };
    // Ranks are promises here, and a process captures one graph at a time.
    let captures: Promise<unknown> = Promise.resolve();
    await onAll(groups, async (group, rank) => {
      const program = await DeviceKernel.load(group, own, []);
      const places = (program as unknown as { memory: SharedMemory }).memory;
      await places.place({});
      const held = (name: string): DeviceMemory => {
        const { pointer, bytes } = places.of(name);
        return DeviceMemory.view(group.device, pointer, bytes);
      };
      const fill = async (): Promise<void> => {
        for (const k of [0, 1]) {
          held(`out ${k}`).fill(value(k, rank));
          held(`in ${k}`).fill(0);
        }
        await group.barrier();
      };
      const got = async (): Promise<number[]> => {
        await group.barrier();
        return [0, 1].map((k) => held(`in ${k}`).read(new Uint8Array(BYTES))[BYTES - 1]!);
      };
      const all = [value(0, 1 - rank), value(1, 1 - rank)];
      await fill();
      await program.run({}, {});
      expect(await got()).toEqual(all);
      const prepared = await program.prepare({}, {});
      const captured = captures.then(() => group.capture((stream) => prepared.launch(stream)));
      captures = captured;
      const graph = await captured;
      await fill();
      expect(await got()).toEqual([0, 0]);
      await group.barrier();
      for (let i = 0; i < 2; i++) {
        graph.launch(group.defaultStream);
        await group.defaultStream.synchronize();
      }
      expect(await got()).toEqual(all);
      graph.destroy();
      prepared.release();
      await program.unload();
    });
  });
});

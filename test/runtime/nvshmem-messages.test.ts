/** Messages by NVSHMEM: what a step enqueues, what a wait that ran out does, and that the fake library shows what a wrong protocol does. */
import { afterEach, beforeAll, describe, expect, it } from "vitest";
import { type DeviceMemory, Primitives } from "../../src/runtime/cuda/index.js";
import { RuntimeError } from "../../src/runtime/errors.js";
import type { DeviceGroup } from "../../src/runtime/group-device.js";
import type { Parcel } from "../../src/runtime/message-carrier.js";
import { native } from "../../src/runtime/native.js";
import { NvshmemCarrier, type NvshmemPost } from "../../src/runtime/nvshmem/message-carrier.js";
import { isAll } from "../scope.js";
import { closeAll, connectRanks, useFakeMachine } from "./device-groups.js";
import { outputOf, withChange } from "./suites-on-fakes.js";

const WORLD = 4;
const TIMEOUT_MS = 60;

/** Rank 1 of four, on a group of one: its words are there, and what it would have NVSHMEM do is written down. */
class Alone {
  private constructor(
    readonly group: DeviceGroup,
    readonly carrier: NvshmemCarrier,
    readonly words: DeviceMemory,
    readonly calls: string[],
  ) {}

  static async of(group: DeviceGroup, steps: number): Promise<Alone> {
    const calls: string[] = [];
    const bytes = steps * 2 * WORLD * 8;
    const { memory: words, free } = group.allocateLocal(bytes);
    words.fill(0);
    /** Step, kind and rank of a word. */
    const word = (address: bigint): string => {
      const index = Number(address - words.pointer) / 8;
      return `${["ready", "come"][Math.floor(index / WORLD) % 2]}[${Math.floor(index / WORLD / 2)}][${index % WORLD}]`;
    };
    const post = {
      group: {
        ...{ device: group.device, rank: 1, world: WORLD, timeoutMs: TIMEOUT_MS, name: "four" },
        allocateLocal: (n: number) => group.allocateLocal(n),
      },
      primitives: await Primitives.load(group.device),
      calls: {
        signal: (_: unknown, at: bigint, value: bigint, peer: number, how: string) =>
          calls.push(`${how} ${value} to ${word(at)} of ${peer}`),
        put: (_: unknown, to: bigint, from: bigint, n: number, peer: number) =>
          calls.push(`put ${n} from ${from} to ${to} of ${peer}`),
        quiet: () => calls.push("quiet"),
        putSignal: (...[, to, from, n, at, value, peer, how]: [unknown, bigint, bigint, number, bigint, bigint, number, string]) =>
          calls.push(`put ${n} from ${from} to ${to} of ${peer}, ${how} ${value} to ${word(at)}`), // prettier-ignore
        enqueueWait: (_: unknown, at: bigint, value: bigint) => calls.push(`wait for ${value} in ${word(at)}`),
      },
    };
    const carrier = new NvshmemCarrier(post as unknown as NvshmemPost, "f", { pointer: words.pointer, bytes, peers: [], free }); // prettier-ignore
    return new Alone(group, carrier, words, calls);
  }

  /** Enqueues a step, noting where its waits are. */
  enqueue(step: number, sends: readonly Parcel[], receives: readonly Parcel[]): void {
    this.calls.length = 0;
    const addon = native();
    const launch = addon.launchPrepared.bind(addon);
    addon.launchPrepared = (...args) => {
      this.calls.push("wait");
      launch(...args);
    };
    const call = this.carrier.prepare(step, sends, receives);
    call.enqueue(this.group.defaultStream.handle);
    addon.launchPrepared = launch;
    call.release();
    this.group.defaultStream.watch(this.carrier, TIMEOUT_MS);
  }

  /** Does what a peer's signal does. */
  raise(step: number, kind: "ready" | "come", ...peers: readonly number[]): void {
    const all = this.words.read(new BigUint64Array(this.words.bytes / 8));
    for (const peer of peers) all[(2 * step + (kind === "come" ? 1 : 0)) * WORLD + peer]! += 1n;
    this.words.write(all);
  }
}

const parcel = (peer: number, ...bytes: readonly number[]): Parcel => ({
  peer,
  parts: bytes.map((n, k) => ({ address: BigInt(100 * peer + k), counterpart: BigInt(1000 * peer + k), bytes: n })),
});

describe("a step of messages", () => {
  beforeAll(useFakeMachine);
  const open: DeviceGroup[] = [];
  afterEach(() => closeAll(open.splice(0)));
  const alone = async (steps = 2): Promise<Alone> => {
    open.push(...(await connectRanks(1)));
    return Alone.of(open.at(-1)!, steps);
  };

  it("says that it is ready before it waits, and completes the first parts before the signal of the last", async () => {
    const rank = await alone();
    rank.enqueue(1, [parcel(0, 8, 16), parcel(3, 24)], [parcel(2, 8), parcel(0, 8, 8)]);
    expect(rank.calls).toEqual([
      "add 1 to ready[1][1] of 2",
      "add 1 to ready[1][1] of 0",
      "wait",
      "put 8 from 0 to 0 of 0",
      "quiet",
      "put 16 from 1 to 1 of 0, add 1 to come[1][1]",
      "put 24 from 300 to 3000 of 3, add 1 to come[1][1]",
      "wait",
      "wait for 0 in come[1][2]",
    ]);
    rank.raise(1, "ready", 0, 3);
    rank.raise(1, "come", 0, 2);
    await rank.group.defaultStream.synchronize();
  });

  it("of whom nothing is sent, or to whom nothing comes, waits for nobody there", async () => {
    const rank = await alone();
    rank.enqueue(0, [], []);
    expect(rank.calls).toEqual([]);
    rank.enqueue(0, [parcel(2, 8)], []);
    expect(rank.calls).toEqual(["wait", "put 8 from 200 to 2000 of 2, add 1 to come[0][1]"]);
    rank.raise(0, "ready", 2);
    rank.enqueue(0, [], [parcel(2, 8)]);
    expect(rank.calls).toEqual(["add 1 to ready[0][1] of 2", "wait", "wait for 0 in come[0][2]"]);
    rank.raise(0, "come", 2);
    await rank.group.defaultStream.synchronize();
  });

  it("counts: what has come once is not there the second time, and each step has words of its own", async () => {
    const rank = await alone();
    const stream = rank.group.defaultStream;
    const isDone = (): boolean => native().streamQuery(stream.handle);
    rank.raise(0, "come", 3);
    rank.enqueue(0, [], [parcel(3, 8)]);
    expect(isDone()).toBe(true);
    rank.enqueue(0, [], [parcel(3, 8)]);
    rank.raise(1, "come", 3);
    expect(isDone()).toBe(false);
    rank.raise(0, "come", 3);
    expect(isDone()).toBe(true);
    await stream.synchronize();
  });

  it("names all who are missing, and holds its stream until they come", async () => {
    const rank = await alone();
    const stream = rank.group.defaultStream;
    rank.enqueue(1, [], [parcel(0, 8), parcel(2, 8), parcel(3, 8)]);
    rank.raise(1, "come", 2);
    const began = performance.now();
    const failed = await stream.synchronize().catch((error: unknown) => error);
    // Not only when the stream's own time is over.
    expect(performance.now() - began).toBeLessThan(3000);
    expect(failed).toBeInstanceOf(RuntimeError);
    expect(failed).toMatchObject({
      code: "timeout",
      message: "rank 1 waited 60 ms in f for the messages of ranks 0 and 3 (step 1 of its messages, by NVSHMEM)",
      help: expect.stringContaining("call group.recover() on all ranks") as string,
    });
    expect(native().streamQuery(stream.handle)).toBe(false);
    rank.raise(1, "come", 0, 3);
    await stream.synchronize();
    expect(rank.carrier.takeFailure()).toBeNull();
  });

  it("that is let go of ends, as do all behind it; after a reset they wait again", async () => {
    const rank = await alone();
    const stream = rank.group.defaultStream;
    rank.enqueue(0, [parcel(0, 8)], []);
    rank.enqueue(1, [parcel(3, 8)], [parcel(3, 8)]);
    await expect(stream.synchronize()).rejects.toThrow(
      "rank 1 waited 60 ms in f for rank 0 to receive its messages (step 0",
    );
    rank.carrier.letGo();
    stream.forgive();
    await stream.synchronize();
    rank.raise(0, "ready", 0);
    rank.carrier.reset();
    expect(rank.words.read(new BigUint64Array(rank.words.bytes / 8)).every((word) => word === 0n)).toBe(true);
    rank.enqueue(0, [parcel(0, 8)], []);
    expect(native().streamQuery(stream.handle)).toBe(false);
    rank.raise(0, "ready", 0);
    await stream.synchronize();
  });
});

/** What the cases of messages say. */
const cases = (backend: string, ranks: number, only: string, env: Readonly<Record<string, string>>): Promise<string> =>
  outputOf(["test/gpu/runtime.mjs", "--backend", backend, "--ranks", `${ranks}`, "--only", only], env);

describe("messages between processes, in a library that orders nothing but a put's data before its signal", () => {
  const backends: readonly (readonly [string, number])[] = isAll
    ? [["nvshmem", 4], ["nccl", 3], ["nccl", 2]] // prettier-ignore
    : [["nccl", 2]];
  it.each(backends)("come as they were sent, on the %s backend with %i ranks", async (backend, ranks) => {
    const output = await cases(backend, ranks, "messages:", { COLLC_MESSAGES: "nvshmem" });
    expect(output, output).toMatch(/: [57] passed, 0 failed/);
  });

  const hosts: readonly (readonly [string, string, number])[] = isAll
    ? [["2x2", "", 60], ["4x1", "", 59]] // prettier-ignore
    : [["2x2", "halo", 1]];
  it.each(hosts)(
    "of the library's programs on %s hosts, with the second lane: all steps of %s, and the programs recorded",
    async (reach, only, count) => {
      const args = ["test/gpu/messages.mjs", "--backend", "nvshmem", "--reach", reach, "--only", only];
      // 132 multiprocessors, so that there is room for messages beside kernels.
      const machine = { FAKE_CUDA_ATTRIBUTES: "16=132", FAKE_NVSHMEM_HEAP_MB: "200" };
      const output = await outputOf(args, machine);
      expect(output, output).toContain(`${count} passed, 0 failed`);
    },
  );

  const wrong = {
    "no quiet between the parts": "NvshmemOperations.prototype.quiet = () => {};",
    "no wait for the receiver":
      "const prepare = Primitives.prototype.prepareAwait; Primitives.prototype.prepareAwait = function (wait) { return wait.kind === 0 ? { enqueue() {}, release() {} } : prepare.call(this, wait); };",
    "no wait for the data":
      "const prepare = Primitives.prototype.prepareAwait; Primitives.prototype.prepareAwait = function (wait) { return wait.kind === 1 ? { enqueue() {}, release() {} } : prepare.call(this, wait); };",
    "a signal apart from its put":
      "const { prototype } = NvshmemOperations; prototype.putSignal = function (s, to, from, bytes, word, value, peer, how) { this.put(s, to, from, bytes, peer); this.signal(s, word, value, peer, how); };",
  };

  it.each(Object.entries(wrong).slice(0, isAll ? 4 : 1))("that go with %s are found wrong", async (_, change) => {
    const imports = { "cuda/index.js": "Primitives", "nvshmem/index.js": "NvshmemOperations" };
    const only = "messages: rounds that overtake nothing, on one";
    const output = await withChange(imports, change, (env) => cases("nvshmem", 2, only, env));
    expect(output, output).toMatch(/: 0 passed, 1 failed/);
  });
});

// Messages between ranks, by whatever carries them on the backend (or COLLC_MESSAGES): copies stand for a program's kernels, so that all of it
// runs on the fakes, too.
import assert from "node:assert/strict";
import { setTimeout as sleep } from "node:timers/promises";
import { DeviceMemory } from "../../../dist/src/runtime/cuda/index.js";
import { placedCalls } from "../../../dist/src/runtime/message-lane.js";
import { prepareMessages, SharedMemory } from "../../../dist/src/runtime/message-steps.js";
import { native } from "../../../dist/src/runtime/native.js";
import { freeAll, throws } from "./support.mjs";

const BACKENDS = ["nvshmem", "nccl"];
const ROUNDS = 12;
/** Words of a message, and of what a rank sends to each other one in two parts, the second longer than the first. */
const PART = 256;
const BOX = 3 * PART;

const others = (world, rank) => Array.from({ length: world }, (_, r) => r).filter((r) => r !== rank);

/** Everybody sends everybody else two parts, and one of no elements between them. */
function exchangeOf(world, out, into, beside) {
  const ends = (rank, memory) =>
    others(world, rank).flatMap((peer) => [
      { peer, memory, offset: peer * BOX, length: PART },
      { peer, memory, offset: peer * BOX, length: 0 },
      { peer, memory, offset: peer * BOX + PART, length: 2 * PART },
    ]);
  const ranks = Array.from({ length: world }, (_, rank) => ({ sends: ends(rank, out), receives: ends(rank, into) }));
  return { kind: "message", ...(beside && { beside: true }), ranks };
}

const launch = (awaits) => ({ kind: "launch", kernel: 0, maxBlocks: 1, ...(awaits !== undefined && { awaits }) });

/** Word i of what `from` sends to `to` in a round and step. */
const word = (round, step, from, to, i) => (((round * 2 + step) * 8 + from) * 8 + to) * 1024 + i;

/** A program of two exchanges, in which the second box is filled while the first is on its way where `beside` is so. */
class Program {
  static async of(group, rank, { beside = false, rounds = ROUNDS } = {}) {
    const program = new Program();
    const { world } = group;
    const exchange = (k) => exchangeOf(world, `out ${k}`, `in ${k}`, beside);
    const takes = (k) => launch(beside ? k : undefined);
    const steps = [launch(), exchange(0), launch(), exchange(1), takes(1), takes(3)];
    const plan = { by: 1, choices: [{ below: null, steps }] };
    const carrier = await group.messageCarriers.open({ plan, collective: "exchange" });
    const names = ["out 0", "in 0", "out 1", "in 1"];
    const wanted = names.map((name) => ({ name, dtype: "u32", shape: [world * BOX], symmetric: false }));
    const memory = new SharedMemory(group, "exchange", wanted, carrier);
    await memory.place({});
    group.messageLane.open({ plan });
    Object.assign(program, { group, rank, world, steps, carrier, memory, rounds, words: world * BOX });
    program.source = group.local("u32", [rounds * 2 * program.words]);
    program.taken = group.local("u32", [rounds * 2 * program.words]);
    program.fill(0);
    program.messages = [1, 3].map((step, i) => prepareMessages(group, carrier, steps[step], i, memory, {}));
    await group.barrier();
    return program;
  }

  /** What this rank will send, and nothing taken. */
  fill(first) {
    const { source, taken, rank, words, rounds } = this;
    const box = (i) => [Math.floor((i % words) / BOX), i % BOX];
    const number = (i) => [first + Math.floor(i / (2 * words)), Math.floor(i / words) % 2];
    source.write(Uint32Array.from({ length: rounds * 2 * words }, (_, i) => word(...number(i), rank, ...box(i))));
    taken.write(new Uint32Array(rounds * 2 * words));
  }

  /** Steps of a round, ready for the lane. */
  round(k) {
    const { words, source, taken, memory, messages, steps } = this;
    const copy = (to, from) => ({ enqueue: (stream) => native().copyOnDevice(stream, to, from, 4 * words) });
    const at = (tensor, half) => tensor.pointer + BigInt(4 * words * (2 * k + half));
    const box = (name) => memory.of(name).pointer;
    const calls = [
      copy(box("out 0"), at(source, 0)),
      messages[0],
      copy(box("out 1"), at(source, 1)),
      messages[1],
      copy(at(taken, 0), box("in 0")),
      copy(at(taken, 1), box("in 1")),
    ];
    return placedCalls(steps, calls);
  }

  enqueue(k, stream = this.group.defaultStream) {
    this.group.messageLane.enqueue(stream.handle, this.round(k));
    stream.watch(this.carrier);
  }

  /** Whether what came in rounds `from` to `to` is what was sent in those, and `first` rounds before. */
  async check(first = 0, from = 0, to = this.rounds) {
    const { rank, world, words } = this;
    const found = await this.taken.read();
    for (let k = from; k < to; k++)
      for (const step of [0, 1])
        for (const peer of others(world, rank))
          for (let i = 0; i < BOX; i++) {
            const at = (2 * k + step) * words + peer * BOX + i;
            const wanted = word(first + k, step, peer, rank, i);
            assert.equal(found[at], wanted, `round ${k}, step ${step}, word ${i} of rank ${peer}`);
          }
  }

  async free() {
    await this.group.settle();
    for (const call of this.messages) call.release();
    for (const free of [...this.memory.free(), ...this.carrier.free()]) await free();
    await freeAll(this.source, this.taken);
  }
}

/** Rounds one after the other without a wait, on a rank that is slow to enqueue, too. */
async function everyRound(group, rank, beside) {
  const program = await Program.of(group, rank, { beside });
  for (let k = 0; k < ROUNDS; k++) {
    if (rank === k % group.world) await sleep(5);
    program.enqueue(k);
  }
  await group.defaultStream.synchronize();
  await program.check();
  await program.free();
}

/** Words of what one rank sends all others, in two parts: enough for NCCL to broadcast it, and more than the fake one takes as a message. */
const LONG = 2 ** 19;
const PARTS = [LONG, 3];

/** Rank 1 sends all others the same, each into a place of its own. */
function broadcastOf(world) {
  const root = 1;
  const to = others(world, root);
  const ends = (peer, memory, first) =>
    PARTS.map((length, k) => ({ peer, memory, offset: first + (k === 0 ? 0 : LONG + 5), length }));
  const ranks = Array.from({ length: world }, (_, rank) => ({
    sends: rank === root ? to.flatMap((peer) => ends(peer, "out", 0)) : [],
    receives: rank === root ? [] : ends(root, "in", rank),
  }));
  return { kind: "message", broadcasts: [[root, ...to]], ranks };
}

/** Rounds of it, in a graph and beside one, with a straggler; then what came is compared. */
async function broadcastRounds(group, rank) {
  const { world } = group;
  const step = broadcastOf(world);
  const plan = { by: 1, choices: [{ below: null, steps: [step] }] };
  const carrier = await group.messageCarriers.open({ plan, collective: "broadcast" });
  const words = LONG + world + 16;
  const wanted = ["out", "in"].map((name) => ({ name, dtype: "u32", shape: [words], symmetric: false }));
  const memory = new SharedMemory(group, "broadcast", wanted, carrier);
  await memory.place({});
  const held = (name) => DeviceMemory.view(group.device, memory.of(name).pointer, 4 * words);
  const call = prepareMessages(group, carrier, step, 0, memory, {});
  let graph = null;
  const long = (first) => Uint32Array.from({ length: words }, (_, i) => first + i);
  for (let round = 0; round < 4; round++) {
    held("out").write(long(1000 * round));
    held("in").fill(0xff);
    await group.barrier();
    if (rank === round % world) await sleep(10);
    // What a library loads with its first call it cannot load in a capture.
    if (round === 1)
      graph = await group.capture((stream) => {
        call.enqueue(stream.handle);
        stream.watch(carrier);
      });
    if (round % 2 === 0) call.enqueue(group.defaultStream.handle);
    else graph.launch(group.defaultStream);
    group.defaultStream.watch(carrier);
    await group.defaultStream.synchronize();
    const expected = new Uint32Array(words).fill(0xffffffff);
    const sent = long(1000 * round);
    for (const [k, length] of PARTS.entries()) {
      const from = k === 0 ? 0 : LONG + 5;
      if (rank !== 1) expected.set(sent.subarray(from, from + length), rank + from);
    }
    const found = new Uint8Array(4 * words);
    held("in").read(found);
    assert.equal(Buffer.compare(found, new Uint8Array(expected.buffer)), 0, `round ${round}`);
    await group.barrier();
  }
  graph.destroy();
  await group.settle();
  call.release();
  for (const free of [...memory.free(), ...carrier.free()]) await free();
}

/** What ranks tell the one who stays away: it comes after that, however long that takes on a busy machine. */
const RAN_OUT = "the time of the others has run out";

/** A group of all ranks whose waits end soon. */
const impatient = (world) =>
  world.subgroup(
    world.ranks.map((_, r) => r),
    { name: "impatient", timeoutMs: 2000 },
  );

export default {
  "messages: rounds that overtake nothing, on one stream": {
    least: 2,
    backends: BACKENDS,
    run: (group, rank) => everyRound(group, rank, false),
  },
  "messages: rounds that overtake nothing, beside copies": {
    least: 2,
    backends: BACKENDS,
    run: (group, rank) => everyRound(group, rank, true),
  },
  "messages: recorded in a graph, replayed with a straggler": {
    least: 2,
    backends: BACKENDS,
    async run(group, rank) {
      for (const beside of [false, true]) {
        const program = await Program.of(group, rank, { beside, rounds: 2 });
        const graph = await group.capture((stream) => {
          program.enqueue(0, stream);
          program.enqueue(1, stream);
        });
        for (let i = 0; i < 6; i++) {
          program.fill(2 * i);
          if (rank === i % group.world) await sleep(10);
          // What is enqueued between replays counts with them.
          if (i % 2 === 1) program.enqueue(0);
          graph.launch(group.defaultStream);
          graph.launch(group.defaultStream);
          await group.defaultStream.synchronize();
          await program.check(2 * i);
        }
        graph.destroy();
        await group.barrier();
        await program.free();
      }
    },
  },
  "messages: one rank's to all others, as broadcasts where the library has them": {
    least: 3,
    backends: BACKENDS,
    run: broadcastRounds,
  },
  "messages: of a group of some ranks, numbered anew": {
    least: 3,
    backends: BACKENDS,
    async run(world, rank) {
      const members = [world.world - 1, 0];
      if (!members.includes(rank)) return;
      const group = await world.subgroup(members, { name: "two" });
      await everyRound(group, group.rank, true);
      await group.close();
    },
  },
  "messages: one who does not come is named, loses nothing, and comes again after recover": {
    least: 2,
    backends: BACKENDS,
    async run(world, rank) {
      const group = await impatient(world);
      const program = await Program.of(group, rank);
      // NCCL's sends and receives have no bound of their own, and nothing brings them back.
      if (program.carrier.name === "nccl") return group.close();
      const last = group.world - 1;
      program.enqueue(0);
      await group.defaultStream.synchronize();
      await group.barrier();
      // The last still has to take what came.
      if (rank !== last) {
        program.enqueue(1);
        const waited = new RegExp(`^rank ${rank} waited 2000 ms in exchange for rank ${last} to receive`);
        const error = await throws(() => group.defaultStream.synchronize(), waited);
        assert.equal(error.code, "timeout");
        assert.match(error.help, /group.recover\(\) on all ranks/);
        await world.exchange(RAN_OUT, rank);
      } else {
        await world.exchange(RAN_OUT, rank);
        await program.check(0, 0, 1);
        const { pointer } = program.memory.of("in 0");
        native().copyOnDevice(group.defaultStream.handle, program.taken.pointer, pointer, 4 * program.words);
        await program.check(0, 0, 1);
      }
      await recovered(group, program);
      await group.close();
    },
  },
  "messages: one who comes late is waited for, though it was said that the time ran out": {
    least: 2,
    backends: BACKENDS,
    async run(world, rank) {
      const group = await impatient(world);
      const program = await Program.of(group, rank);
      // NCCL's sends and receives have no bound of their own, and nothing brings them back.
      if (program.carrier.name === "nccl") return group.close();
      const last = group.world - 1;
      if (rank === last) {
        await world.exchange(RAN_OUT, rank);
        program.enqueue(0);
        await group.defaultStream.synchronize();
      } else {
        program.enqueue(0);
        const waited = new RegExp(`waited 2000 ms in exchange for rank ${last} to`);
        await throws(() => group.defaultStream.synchronize(), waited);
        await world.exchange(RAN_OUT, rank);
        // A stream that was late gets a second at a time.
        for (let tries = 1; ; tries++)
          try {
            await group.settle();
            break;
          } catch (error) {
            if (tries === 30) throw error;
          }
      }
      await program.check(0, 0, 1);
      await recovered(group, program);
      await group.close();
    },
  },
};

/** Brings the ranks back in step, as `group.recover` does with the programs that it has loaded, and runs all rounds. */
async function recovered(group, program) {
  const { carrier } = program;
  const loaded = { letGo: () => carrier.letGo(), reset: () => carrier.reset(), unload: () => Promise.resolve() };
  group.kernels.add(loaded);
  await group.recover();
  group.forget(loaded);
  program.fill(100);
  await group.barrier();
  for (let k = 0; k < ROUNDS; k++) program.enqueue(k);
  await group.defaultStream.synchronize();
  await program.check(100);
  await program.free();
}

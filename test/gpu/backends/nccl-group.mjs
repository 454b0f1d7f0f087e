// NCCL's collectives on a group's tensors, on any backend of the group: eager, in graphs, between our kernels.
import { setTimeout as sleep } from "node:timers/promises";
import { ncclOf } from "../../../dist/src/nccl.js";
import { decodeArray, encodeArray } from "../../../dist/src/runtime/numbers/index.js";
import { check, mustThrow, range, same, valueOf } from "./support.mjs";

const N = 240; // divides by 1, 2, 3, 4
const numbers = async (tensor) => Array.from(decodeArray(tensor.dtype, await tensor.read()));
const fill = (tensor, of) =>
  tensor.write(
    encodeArray(
      tensor.dtype,
      Float64Array.from(range(tensor.length), (i) => of(i)),
    ),
  );
const folds = {
  sum: (a, b) => a + b,
  max: (a, b) => Math.max(a, b),
  min: (a, b) => Math.min(a, b),
};
const reduced = (world, i, op) =>
  range(world)
    .map((rank) => valueOf(rank, i))
    .reduce(folds[op]);

async function everyCall(group, nccl, dtype, symmetric) {
  const { rank, world } = group;
  const make = (n) => (symmetric ? group.symmetric(dtype, [n]) : group.local(dtype, [n]));
  const x = await make(N * world);
  const y = await make(N * world);
  const whole = x.view(0, [N]);
  const part = y.view(0, [N]);
  fill(x, (i) => valueOf(rank, i));
  const shows = async (tensor, of, what) =>
    same(await numbers(tensor), range(tensor.length).map(of), `${what} ${dtype}${symmetric ? ", symmetric" : ""}`);
  for (const op of ["sum", "max", "min"]) {
    await nccl.allReduce(whole, part, { op });
    await shows(part, (i) => reduced(world, i, op), `all_reduce ${op}`);
    await nccl.reduceScatter(x, part, { op });
    await shows(part, (i) => reduced(world, rank * N + i, op), `reduce_scatter ${op}`);
  }
  for (const root of range(world)) {
    fill(part, () => 7);
    await nccl.reduce(whole, rank === root ? part : null, root);
    await shows(part, (i) => (rank === root ? reduced(world, i, "sum") : 7), `reduce to ${root}`);
    await nccl.broadcast(rank === root ? whole : null, part, root);
    await shows(part, (i) => valueOf(root, i), `broadcast from ${root}`);
  }
  await nccl.allGather(whole, y);
  await shows(y, (i) => valueOf(Math.floor(i / N), i % N), "all_gather");
  await nccl.allToAll(x, y);
  await shows(y, (i) => valueOf(Math.floor(i / N), rank * N + (i % N)), "all_to_all");
  await nccl.run((calls) => {
    calls.send(whole, (rank + 1) % world);
    calls.receive(part, (rank - 1 + world) % world);
  });
  await shows(part, (i) => valueOf((rank - 1 + world) % world, i), "send and receive");
  await x.free();
  await y.free();
}

export const ncclGroupCases = {
  async "every call, on local and symmetric tensors"({ group }) {
    const nccl = await ncclOf(group);
    for (const dtype of ["f32", "bf16", "f16", "i32", "u8"]) await everyCall(group, nccl, dtype, dtype === "f32");
    await everyCall(group, nccl, "bf16", true);
    await nccl.close();
    return nccl.version;
  },

  async "a graph of NCCL's calls replays with a straggler"({ group, rank, world }) {
    const nccl = await ncclOf(group);
    const x = group.local("f32", [N]);
    const y = group.local("f32", [N]);
    await nccl.allReduce(x, y); // connections are made before the capture
    const graph = await group.capture(async (stream) => {
      await nccl.allReduce(x, y, { stream });
      await nccl.allReduce(y, y, { stream });
    });
    for (let replay = 0; replay < 4; replay++) {
      if (rank === replay % world) await sleep(40);
      fill(x, (i) => valueOf(rank, i) + replay);
      await graph.replay();
      const wanted = range(N).map((i) => world * (reduced(world, i, "sum") + world * replay));
      same(await numbers(y), wanted, `replay ${replay}`);
    }
    graph.destroy();
    await nccl.close();
    await x.free();
    await y.free();
  },

  async "on two streams, between signals"({ group, rank, world }) {
    const nccl = await ncclOf(group);
    const shared = await group.symmetric("f32", [N]);
    const x = group.local("f32", [N]);
    const stream = group.stream();
    fill(x, (i) => valueOf(rank, i));
    for (let round = 0; round < 5; round++) {
      await nccl.allReduce(x, shared, { stream });
      await group.signalBarrier({ stream, channel: 2 });
      await stream.synchronize();
      const peer = (rank + 1) % world;
      same(
        await numbers(shared.getBuffer(peer)),
        range(N).map((i) => reduced(world, i, "sum")),
        `round ${round}`,
      );
      await group.signalBarrier({ channel: 3 });
    }
    await stream.destroy();
    await nccl.close();
    await x.free();
    await shared.free();
  },

  async "wrong calls are refused before anything is enqueued"({ group, rank, world }) {
    const nccl = await ncclOf(group);
    const x = group.local("f32", [N]);
    const y = group.local("f32", [N + world]);
    const half = group.local("f16", [N]);
    await mustThrow(() => nccl.allReduce(x, y), /not as 1 to 1/);
    await mustThrow(() => nccl.allReduce(x, half), /the source is f32, the target f16/);
    await mustThrow(() => nccl.allReduce(x, x, { op: "xor" }), /no reduction "xor"/);
    await mustThrow(() => nccl.broadcast(x, x, world), new RegExp(`no rank ${world}`));
    await mustThrow(() => nccl.broadcast(null, x, rank), /the root, needs a source/);
    await mustThrow(() => nccl.run((calls) => calls.send(x, -1)), /no rank -1/);
    if (world > 1) {
      await mustThrow(() => nccl.allGather(x, x), new RegExp(`not as 1 to ${world}`));
      await mustThrow(() => nccl.reduceScatter(y, x), new RegExp(`not as ${world} to 1`));
    }
    // The first call of a group is fine and the second is not: neither is enqueued.
    await mustThrow(
      () =>
        nccl.run((calls) => {
          calls.allReduce(x, x);
          calls.send(x, world);
        }),
      /no rank/,
    );
    fill(x, (i) => valueOf(rank, i));
    await nccl.allReduce(x, x);
    same(
      await numbers(x),
      range(N).map((i) => reduced(world, i, "sum")),
      "afterwards",
    );
    await nccl.close();
    await nccl.close();
    await mustThrow(() => nccl.allReduce(x, x), /was closed before/);
    for (const tensor of [x, y, half]) await tensor.free();
  },

  async "in subgroups, two at once"({ group, rank, world }) {
    if (world < 2) return "skipped: one rank";
    const halves = [range(world).filter((r) => r % 2 === 0), range(world).filter((r) => r % 2 === 1)];
    const list = halves[rank % 2];
    const some = await group.subgroup(list);
    const nccl = await ncclOf(some);
    const x = some.local("f32", [N]);
    fill(x, (i) => valueOf(rank, i));
    await nccl.allReduce(x, x);
    same(
      await numbers(x),
      range(N).map((i) => list.map((r) => valueOf(r, i)).reduce((a, b) => a + b)),
      "all_reduce of a half",
    );
    check((await ncclOf(some)).group === some, "made again");
    await some.close(); // closes what was left open
    await group.barrier();
    return halves.map((half) => half.join("+")).join(" and ");
  },
};

// The faults of faults.mjs: what each rank does, and how the run must end.
//
// `launcher: "collc"`: `launchRanks` reports for all; else ranks stand alone, as torchrun starts them, rank 0 hosts the
// store, and every surviving rank must print one line. `ends(rank, world)` gives exit code or signal, and that line.
import { readFileSync } from "node:fs";
import path from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { compile } from "../../dist/src/compiler/index.js";
import { ncclOf } from "../../dist/src/nccl.js";
import { nvshmemOf } from "../../dist/src/nvshmem.js";
import { joinGroup } from "../../dist/src/runtime/bootstrap.js";
import { connect } from "../../dist/src/runtime/connect.js";
import { archOf, describeDevice, openCuda } from "../../dist/src/runtime/cuda/index.js";
import { DeviceGroup } from "../../dist/src/runtime/group-device.js";
import { native } from "../../dist/src/runtime/native.js";
import { cubinOf } from "../../dist/src/runtime/program.js";
import { makeRankInputs } from "../../dist/src/runtime/reference/index.js";

const kernels = path.join(path.dirname(fileURLToPath(import.meta.url)), "../../kernels");
const compiled = (file, ranks, options = {}) =>
  compile(readFileSync(path.join(kernels, file), "utf8"), { file, ranks, dtype: "f32", ...options });
const dims = { n: 4096 };

/** A program, by default an all-reduce, that has run once on all ranks. */
async function warm(group, file = "all_reduce/one_shot.coll", options = {}) {
  const kernel = await group.load(compiled(file, group.world, options));
  const { inputs, outputs } = makeRankInputs(kernel.manifest, dims, 1, group.localRanks[0]);
  const tensors = {};
  for (const [name, values] of [...Object.entries(inputs), ...Object.entries(outputs)]) {
    tensors[name] = await group.symmetric("f32", [values.length]);
    tensors[name].write(values);
  }
  const run = () => kernel.run(tensors, dims);
  await run();
  await group.barrier();
  return { run, kernel, tensors };
}

async function expectThrow(action, pattern) {
  const error = await action().then(
    () => null,
    (e) => e,
  );
  if (error === null) throw new Error("no error came");
  if (!pattern.test(error.message)) throw new Error(`another error came: ${error.message}`);
  return error.message;
}

/** A kernel that ends the context it runs in. */
async function launchFatal(device) {
  const text = 'extern "C" __global__ void fake_fault() { asm volatile("trap;"); }';
  const cubin = await cubinOf(text, archOf(describeDevice(device)));
  const addon = native();
  const fn = addon.functionGet(addon.moduleLoad(device, cubin), "fake_fault");
  const stream = addon.streamCreate(device);
  addon.launchPrepared(addon.launchPrepare(fn, [1, 1, 1], [1, 1, 1], 0, false, new Uint8Array(0), []), stream);
  await addon.streamSynchronize(stream, 5000);
}

/** On the backend that COLLC_BACKEND names. */
const join = (options) => connect({ timeoutMs: 30_000, ...options });
/** Where somebody is waited for in vain. */
const joinInVain = () => join({ timeoutMs: 3000 });
const die = () => process.kill(process.pid, "SIGKILL");
/** Rank 1 is lost; everybody else says so and stops. */
const oneLost = (rank) =>
  rank === 1
    ? { end: "SIGKILL", says: null }
    : { end: 76, says: new RegExp(`^collc: rank ${rank} stops: rank 1 was lost`) };

/** Rank 1 never came: whose time runs out first says so, the others may hear it from there. */
const oneMissing = {
  end: [1, 76],
  says: /was not complete within 3000 ms: missing .*rank 1 \(has not joined the run\)/,
};

/** Ranks wait in a kernel for rank 0, which does not launch it; there `end` is called on rank 1. */
async function inKernel(rank, end) {
  const group = await join();
  const { run } = await warm(group);
  if (rank === 1) setTimeout(end, 300);
  await (rank === 0 ? sleep(20_000) : run());
}

const groupOptions = (timeoutMs) => ({
  backend: process.env.COLLC_BACKEND,
  timeoutMs,
  allowOverlappingDevices: process.env.COLLC_ALLOW_OVERLAPPING_DEVICES === "1",
});

/** A group whose waits end after two seconds, in a run whose meetings take as long as a busy machine needs. */
async function joinHasty() {
  openCuda();
  const boot = await joinGroup();
  return { boot, group: await DeviceGroup.connect(boot, groupOptions(2000)) };
}

/**
 * Rank 1 is lost, and the others do not end of it but close the group, before which `occupy`, made by all of them in time,
 * enqueues what waits for rank 1.
 */
async function outlive(rank, timeoutMs, occupy = async () => () => {}) {
  openCuda();
  let onLost;
  const lost = new Promise((resolve) => (onLost = resolve));
  const boot = await joinGroup({ timeoutMs, onLost });
  const group = await DeviceGroup.connect(boot, groupOptions(timeoutMs));
  const { tensors } = await warm(group);
  const enqueue = await occupy(group, tensors);
  await group.barrier();
  if (rank === 1) die();
  await lost;
  await enqueue();
  await group.close();
  writeFine();
}
const oneOutlived = (rank) => (rank === 1 ? { end: "SIGKILL", says: null } : { end: 0, says: /^fine$/ });

/** Four ranks as two hosts, between which the program sends messages; the cuda backend maps no memory between hosts without fabric handles. */
const twoHosts = { world: 4, backends: ["nccl", "nvshmem"], env: (rank) => ({ COLLC_HOST: rank < 2 ? "a" : "b" }) };
const warmOnHosts = (group) => warm(group, "all_gather/push.coll", { reach: { ranksPerDomain: 2 } });

/** Every rank reports a good end by one line. */
async function fineRun() {
  const group = await join();
  await warm(group);
  await group.close();
  writeFine();
}
const writeFine = () => process.stdout.write("fine\n");
const allFine = () => ({ says: /^fine$/ });

export const faults = {
  "a rank does not launch: the others learn which, and the same processes complete a collective afterwards": {
    launcher: "collc",
    exitCode: 0,
    within: 25,
    async rank(rank, ranks) {
      const group = await join({ timeoutMs: 1500 });
      const { run } = await warm(group);
      if (rank !== ranks - 1) {
        await expectThrow(run, new RegExp(`waited 1500 ms for rank ${ranks - 1}.*one_shot`));
        await expectThrow(run, /out of step/);
      } else await sleep(1200); // the waits of the host end in time, too
      await group.recover();
      await run();
      await group.close();
    },
  },
  "different kernels are refused before a launch, naming both": {
    least: 2,
    within: 15,
    ends: () => ({
      end: 1,
      says: /(one_shot.*[0-9a-f]{16}.*two_shot.*[0-9a-f]{16}|two_shot.*[0-9a-f]{16}.*one_shot.*[0-9a-f]{16})/,
    }),
    async rank(rank, ranks) {
      const group = await join();
      const file = rank === 0 ? "all_reduce/one_shot.coll" : "all_reduce/two_shot.coll";
      const error = await group.load(compiled(file, ranks)).then(
        () => new Error("no error came"),
        (e) => e,
      );
      await group.close();
      throw error;
    },
  },
  "more ranks than GPUs": {
    launcher: "collc",
    world: 9,
    refusesOverlap: true,
    exitCode: 3,
    expect: /need as many GPUs; this machine has \d+/,
    within: 25,
    rank: () => join(),
  },
  "killed before it joins": {
    within: 12,
    // Nobody can tell a rank that died from one that is late: the time runs out.
    ends: (rank) => (rank === 1 ? { end: "SIGKILL", says: null } : oneMissing),
    async rank(rank) {
      if (rank === 1) die();
      await joinInVain();
    },
  },
  "killed before it joins, under collc run": {
    launcher: "collc",
    exitCode: 1,
    expect: /^rank 1 failed: it was killed by SIGKILL/,
    within: 8,
    async rank(rank) {
      if (rank === 1) die();
      await join();
    },
  },
  "killed at rendezvous, while memory is exchanged": {
    within: 10,
    ends: oneLost,
    async rank(rank) {
      const group = await join();
      if (rank === 1) setTimeout(die, 5);
      for (;;) await group.symmetric("u8", [2 ** 21]);
    },
  },
  "killed while a kernel waits for it": {
    within: 10,
    ends: oneLost,
    async rank(rank) {
      const group = await join();
      const { run } = await warm(group);
      if (rank === 1) {
        await sleep(300);
        die();
      }
      await run();
    },
  },
  "killed while kernels run one after the other": {
    within: 10,
    ends: oneLost,
    async rank(rank) {
      const group = await join();
      const { run } = await warm(group);
      if (rank === 1) setTimeout(die, 300);
      for (;;) await run();
    },
  },
  "killed while a graph is replayed, under collc run": {
    launcher: "collc",
    exitCode: 1,
    expect: /^rank 1 failed: it was killed by SIGKILL/,
    within: 10,
    async rank(rank) {
      const group = await join();
      const { kernel, tensors } = await warm(group);
      const graph = await group.capture(async (stream) => {
        for (let i = 0; i < 10; i++) await kernel.launch(tensors, dims, stream);
      });
      if (rank === 1) setTimeout(die, 300);
      for (;;) await graph.replay();
    },
  },
  "a kernel dies": {
    within: 15,
    ends: (rank) =>
      rank === 1
        ? { end: 1, says: /CUDA_ERROR_(LAUNCH_FAILED|ILLEGAL_INSTRUCTION|ILLEGAL_ADDRESS|ASSERT)/ }
        : { end: 76, says: new RegExp(`^collc: rank ${rank} stops: rank 1 was lost .*CUDA_ERROR_`) },
    async rank(rank) {
      const group = await join();
      const { run } = await warm(group);
      try {
        if (rank === 1) await launchFatal(group.device);
        await run();
      } catch (error) {
        group.boot.abort(error);
        throw error;
      }
    },
  },
  "an error that nobody catches, while a kernel waits": {
    within: 10,
    ends: (rank) =>
      rank === 1 ? { end: 1 } : { end: 76, says: new RegExp(`^collc: rank ${rank} stops: rank 1 was lost .*nobody`) },
    rank: (rank) => inKernel(rank, () => Promise.reject(new Error("nobody catches this"))),
  },
  "process.exit, while a kernel waits": {
    within: 10,
    ends: (rank) => ({ ...oneLost(rank), ...(rank === 1 && { end: 5 }) }),
    rank: (rank) => inKernel(rank, () => process.exit(5)),
  },
  "killed during close": {
    within: 10,
    // Whoever is told of the loss before close is over says so; who was done before ends well.
    ends: (rank) => (rank === 1 ? { end: "SIGKILL", says: null } : {}),
    async rank(rank) {
      const group = await join();
      await warm(group);
      if (rank === 1) setTimeout(die, 1);
      await group.close();
    },
  },
  "killed before close: the others do not hang in it": {
    within: 10,
    ends: oneLost,
    async rank(rank) {
      const group = await join();
      await warm(group);
      if (rank === 1) die();
      await sleep(200);
      await group.close();
      writeFine();
    },
  },
  "a group that outlives a rank closes at once": {
    within: 10,
    ends: oneOutlived,
    rank: (rank) => outlive(rank, 30_000),
  },
  "a call of NCCL waits for a rank that is gone: close ends it": {
    backends: ["nvshmem", "nccl"],
    within: 20, // its bound, five seconds, and the start of two libraries
    ends: oneOutlived,
    rank: (rank) =>
      outlive(rank, 3000, async (group, { x, y }) => {
        const nccl = await ncclOf(group);
        await nccl.allReduce(x, y);
        return () => nccl.allReduce(x, y, { stream: group.defaultStream });
      }),
  },
  "a barrier of NVSHMEM waits for a rank that is gone: close leaves it": {
    backends: ["nvshmem"],
    within: 25, // its bound, ten seconds, as nothing ends it, and the start
    ends: oneOutlived,
    rank: (rank) =>
      outlive(rank, 3000, async (group) => {
        const calls = await nvshmemOf(group);
        await calls.teamBarrier(group.defaultStream.handle);
        await group.settle();
        return () => calls.teamBarrier(group.defaultStream.handle);
      }),
  },
  "a host dies while programs send messages": {
    ...twoHosts,
    within: 25,
    leaves: true, // nobody of host b is left to remove its run's folder
    ends: (rank) =>
      rank >= 2
        ? { end: "SIGKILL", says: null }
        : {
            end: 76,
            says: new RegExp(`^collc: rank ${rank} stops: rank [23] was lost .*, on host b with ranks 2 and 3$`),
          },
    async rank(rank) {
      const group = await join();
      const { run } = await warmOnHosts(group);
      if (rank >= 2) setTimeout(die, 300);
      for (;;) await run();
    },
  },
  "a host does not send its messages: the time of the others runs out, naming it": {
    ...twoHosts,
    within: 30,
    ends: allFine,
    async rank(rank) {
      const { boot, group } = await joinHasty();
      const { run } = await warmOnHosts(group);
      // NCCL's sends and receives are let run out by the host, NVSHMEM's messages by the kernel that waits for them.
      const said =
        /^push, which waits for messages of ranks? [23]( and 3)?, did not finish within \d+ ms|^rank [01] waited 2000 ms in push for ranks? [23]( and 3)? to receive/;
      if (rank < 2) await expectThrow(run, said);
      await boot.exchange.barrier("the others' time ran out");
      // Those who wait in vain close; this host ends as it is.
      if (rank < 2) await group.close();
      writeFine();
    },
  },
  "a host comes late to its messages: it is named, and after recover all go on": {
    ...twoHosts,
    backends: ["nvshmem"],
    within: 30,
    ends: allFine,
    async rank(rank) {
      const { boot, group } = await joinHasty();
      const { run, kernel, tensors } = await warmOnHosts(group);
      if (rank < 2) {
        await expectThrow(run, /^rank [01] waited 2000 ms in push for ranks? [23]( and 3)? to receive its messages/);
        await expectThrow(run, /out of step/);
      }
      await boot.exchange.barrier("the others' time ran out");
      await group.recover();
      for (let i = 0; i < 3; i++) await run();
      const graph = await group.capture((stream) => kernel.launch(tensors, dims, stream));
      for (let i = 0; i < 3; i++) await graph.replay();
      graph.destroy();
      await group.close();
      writeFine();
    },
  },
  "a rank that never arrives": {
    within: 12,
    absent: [1],
    ends: (rank) => (rank === 1 ? {} : oneMissing),
    rank: joinInVain,
  },
  "a wrong secret": {
    within: 12,
    env: (rank) => ({ COLLC_STORE_SECRET: rank === 1 ? "wrong" : "right" }),
    ends: (rank) => (rank === 1 ? { end: 1, says: /refused rank 1: the secret is wrong/ } : { end: [1, 76] }),
    rank: joinInVain,
  },
  "the store disappears with rank 0": {
    within: 10,
    leaves: true, // rank 0 made the run's folder; the next run sweeps it
    ends: (rank) =>
      rank === 0
        ? { end: "SIGKILL", says: null }
        : {
            end: 76,
            says: new RegExp(`^collc: rank ${rank} stops: the store of the run at \\S+ went away.*rank 0 hosts it`),
          },
    async rank(rank) {
      const group = await join();
      const { run } = await warm(group);
      if (rank === 0) setTimeout(die, 300);
      for (;;) await run();
    },
    then: "two runs at once",
  },
  "two runs at once": {
    launcher: "collc",
    times: 2,
    exitCode: 0,
    within: 25,
    ends: allFine,
    rank: fineRun,
  },
};

/** Schedules of the library's programs, and clusters that are easy to compute by hand. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { type Cluster, clusterNamed, type Schedule, scheduleProgram } from "../../src/compiler/index.js";
import { importsFromDisk } from "../../src/runtime/imports.js";
import { packageRoot } from "../../src/runtime/native.js";

export const DGX = clusterNamed("dgx-h100")!;

const known = new Map<string, Schedule>();

/** The schedule of a program below the package, `kernels/all_reduce/ring.coll`. */
export function scheduleFor(
  file: string,
  ranks: number,
  cluster: Cluster = DGX,
  dtype: "f32" | "bf16" = "f32",
): Schedule {
  const key = `${file} ${ranks} ${cluster.ranksPerDomain} ${dtype}`;
  let schedule = known.get(key);
  if (schedule === undefined) {
    const text = readFileSync(join(packageRoot(), file), "utf8");
    const found = scheduleProgram(text, { file, ranks, dtype, resolve: importsFromDisk, cluster });
    if (found.schedule === null) throw new Error(found.compiled.diagnostics.map((d) => d.message).join("\n"));
    known.set(key, (schedule = found.schedule));
  }
  return schedule;
}

const none = { value: 0, source: "a test" };
export const sourced = (value: number): { value: number; source: string } => ({ value, source: "a test" });

/** One domain of GPUs that take no time for anything but a link's bytes, at 100 GB/s, and a flag. */
export function plain(ranks: number, flag = 1e-6): Cluster {
  const rate = sourced(100e9);
  const machine = {
    ...DGX.machine,
    ranks,
    ...{ push: rate, pairPush: rate, pull: rate, serve: rate, memory: sourced(1e30), scalar: sourced(1e30) },
    ...{ launch: none, flagRank: none, drain: none, ownDrain: none, grid: none, peerLoad: none, ownLoad: none },
    flag: sourced(flag),
  };
  return { ...DGX, name: "plain", machine, ranksPerDomain: ranks, domains: 1, nics: ranks, domainsPerPod: 1 };
}

/** Hosts of one GPU with a NIC of 100 GB/s each, all on one switch. */
export function network(ranks: number, latency = 1e-6): Cluster {
  return {
    ...plain(1),
    domains: ranks,
    domainsPerPod: ranks,
    nicRate: sourced(100e9),
    latency: sourced(latency),
    switchLatency: none,
    messageTime: none,
  };
}

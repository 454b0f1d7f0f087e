/** Facts about the machine that numbers are worthless without. */
import { execFileSync } from "node:child_process";
import { cpus } from "node:os";
import { machinesOf } from "../compiler/index.js";
import { describeDevices, openCuda } from "../runtime/cuda/index.js";
import type { BackendName } from "../runtime/group.js";
import { packageRoot } from "../runtime/native.js";
import { openNvrtc } from "../runtime/program.js";
import { collcVersion } from "../runtime/version.js";
import type { Suite } from "./suites.js";

export interface MachineFacts {
  readonly cpu: string;
  readonly gpus: readonly string[];
  /** CUDA version of the driver. */
  readonly driver: string | null;
  readonly nvrtc: string | null;
  readonly node: string;
  readonly collc: string;
  /** Of the checkout that ran, where it is one; `+` when files differ from it. */
  readonly commit: string | null;
}

/** Looks once; never fails over what is not there. */
export async function machineFacts(backend: BackendName): Promise<MachineFacts> {
  const isGpu = backend !== "cpu";
  const gpus = isGpu ? describeDevices().map((d) => d.name) : [];
  return {
    cpu: cpus()[0]?.model ?? "unknown",
    gpus,
    driver: isGpu ? openCuda().version : null,
    nvrtc: isGpu ? await openNvrtc() : null,
    node: process.version.slice(1),
    collc: collcVersion(),
    commit: commit(),
  };
}

/** Short name for files: "4x-nvidia-h200", "cpu". */
export function machineSlug({ gpus }: MachineFacts, ranks: number): string {
  if (gpus.length === 0) return `${ranks}x-cpu`;
  return `${ranks}x-${gpus[0]!
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, "-")
    .replace(/^-|-$/g, "")}`;
}

function commit(): string | null {
  const git = (...args: string[]): string =>
    execFileSync("git", ["-C", packageRoot(), ...args], {
      encoding: "utf8",
      stdio: ["ignore", "pipe", "ignore"],
    }).trim();
  try {
    return (
      git("rev-parse", "--short=12", "HEAD") + (git("status", "--porcelain", "--untracked-files=no") === "" ? "" : "+")
    );
  } catch {
    return null;
  }
}

/**
 * Microseconds that a machine allows on paper: a launch, each exchange's flag, and the bytes of the busiest GPU at the rate
 * its stores reach; the least over the suite's ways. Null for machines and suites that nobody has described.
 */
export function floorOf({ gpus }: MachineFacts, suite: Suite, size: number, world: number): number | null {
  const [machine] = machinesOf(gpus[0] ?? "");
  if (machine === undefined || suite.ways === null) return null;
  const { launch, exchange, peak } = machine;
  const seconds = suite
    .ways(size, world)
    .map(({ exchanges, bytes }) => launch.value + (world > 1 ? exchanges * exchange.value : 0) + bytes / peak.value);
  return Math.min(...seconds) * 1e6;
}

/** Looks at everything collc can use on this machine. Finds faults, and never fails over one. */
import { readdir, stat } from "node:fs/promises";
import { join } from "node:path";
import { capabilities, type DeviceCapability, type PeerCapability } from "../runtime/capabilities/index.js";
import { archOf, describeDevices, openCuda } from "../runtime/cuda/index.js";
import { type Environment, environmentTable } from "../runtime/env.js";
import { CollcError, messageOf } from "../runtime/errors.js";
import { cacheDirectory, cacheHelp } from "../runtime/jit-cache.js";
import { distrust } from "../runtime/trust.js";
import { addonCandidates, type DeviceDescription, native } from "../runtime/native.js";
import { findNvrtc, type NvrtcAttempt, nvrtcHelp } from "../runtime/nvrtc.js";
import { openNccl } from "../runtime/nccl/index.js";
import { openNvshmem } from "../runtime/nvshmem/index.js";
import { collcVersion } from "../runtime/version.js";
import { bytes } from "../bench/format.js";

/** One part of the machine. */
export interface Finding {
  readonly ok: boolean;
  readonly summary: string;
  /** What to do when it is missing and wanted; null when nothing has to be done. */
  readonly next: string | null;
}

export interface Gpu
  extends
    Omit<DeviceCapability, "nvlinks">,
    Pick<DeviceDescription, "totalBytes" | "multiprocessors" | "virtualMemory"> {
  readonly arch: string;
  /** NVLinks that are up; null where NVML does not say. */
  readonly nvlinks: number | null;
}

export interface MachineReport {
  readonly collc: string;
  readonly node: string;
  readonly platform: string;
  readonly addon: Finding;
  /** `peers[a][b]`: how GPU a reaches b's memory; null on the diagonal. */
  readonly cuda: Finding & {
    /** CUDA version that the driver supports. */
    readonly driver: string | null;
    /** NVIDIA's own number of the driver. */
    readonly nvidiaDriver: string | null;
    readonly gpus: readonly Gpu[];
    readonly peers: readonly (readonly (PeerCapability | null)[])[];
    /** What could not be found out. */
    readonly warnings: readonly string[];
  };
  readonly nvrtc: Finding & {
    readonly path: string | null;
    readonly version: string | null;
    readonly attempts: readonly NvrtcAttempt[];
  };
  readonly nccl: Finding & { readonly path: string | null; readonly version: string | null };
  readonly nvshmem: Finding & { readonly path: string | null; readonly version: string | null };
  readonly cache: Finding & { readonly path: string; readonly bytes: number };
  /** Variables of collc's table that are set. Secrets are not shown. */
  readonly environment: Readonly<Record<string, string>>;
}

/** Set on every machine and of no interest. */
const everywhere: ReadonlySet<string> = new Set(["HOME", "PATH", "TMPDIR"]);

/** @param env where COLLC_* and the rest are read. */
export async function inspectMachine(env: Environment): Promise<MachineReport> {
  const addon = inspectAddon(env);
  // Before libraries are opened, for which collc sets some itself.
  const environment = Object.fromEntries(
    Object.keys(environmentTable)
      .filter((name) => (env[name] ?? "") !== "" && !everywhere.has(name))
      .map((name) => [name, name.includes("SECRET") ? "(set)" : env[name]!]),
  );
  const glibc = (process.report.getReport() as { header?: { glibcVersionRuntime?: string } }).header
    ?.glibcVersionRuntime;
  return {
    collc: collcVersion(),
    node: process.version.slice(1),
    platform: `${process.platform} ${process.arch}${glibc === undefined ? "" : `, glibc ${glibc}`}`,
    addon,
    cuda: await inspectCuda(env, addon),
    nvrtc: await inspectNvrtc(env, addon),
    nccl: await inspectNccl(env, addon),
    nvshmem: await inspectNvshmem(env, addon),
    cache: await inspectCache(env),
    environment,
  };
}

const failure = (error: unknown): Finding => ({
  ok: false,
  summary: messageOf(error),
  next: error instanceof CollcError ? (error.help ?? null) : null,
});

function inspectAddon(env: Environment): Finding {
  try {
    native();
    return { ok: true, summary: addonCandidates(env)[0] ?? "loaded", next: null };
  } catch (error) {
    return failure(error);
  }
}

const needsAddon: Finding = { ok: false, summary: "not looked at: the addon is missing", next: null };

async function inspectCuda(env: Environment, addon: Finding): Promise<MachineReport["cuda"]> {
  const nothing = { driver: null, nvidiaDriver: null, gpus: [], peers: [], warnings: [] };
  if (!addon.ok) return { ...needsAddon, ...nothing };
  try {
    const { path, version, deviceCount } = openCuda();
    const devices = describeDevices();
    const { driver, devices: able, peers, warnings } = await capabilities(env);
    const gpus = devices.map((d, i): Gpu => {
      const { totalBytes, multiprocessors, virtualMemory } = d;
      const nvlinks = driver.nvidia === null ? null : able[i]!.nvlinks;
      return { ...able[i]!, totalBytes, multiprocessors, virtualMemory, arch: archOf(d), nvlinks };
    });
    const lacking = gpus.some((gpu) => !gpu.virtualMemory || !gpu.posixFd);
    const apart = peers.flat().some((peer) => peer !== null && !peer.access);
    const next = lacking
      ? "a GPU lacks VMM or export of descriptors: containers need the host's IPC and an unrestricted driver"
      : apart
        ? "some GPUs do not reach each other (see the table): use those that do, with CUDA_VISIBLE_DEVICES, or --backend nvshmem for copies and signals"
        : null;
    return {
      ok: deviceCount > 0,
      summary: `driver ${driver.nvidia === null ? "" : `${driver.nvidia} `}for CUDA ${version}, ${deviceCount} GPU${deviceCount === 1 ? "" : "s"} (${path})`,
      next,
      driver: version,
      nvidiaDriver: driver.nvidia,
      gpus,
      peers,
      warnings,
    };
  } catch (error) {
    const { summary, next } = failure(error);
    return { ok: false, summary: summary.split("\n")[0]!, next: next ?? "run with --backend cpu", ...nothing };
  }
}

async function inspectNvrtc(env: Environment, addon: Finding): Promise<MachineReport["nvrtc"]> {
  try {
    const { found, attempts } = await findNvrtc({ env });
    if (found === null)
      return { ok: false, summary: "not found", next: nvrtcHelp, path: null, version: null, attempts };
    if (!addon.ok)
      return { ...needsAddon, summary: `found, not tried: ${found.path}`, path: found.path, version: null, attempts };
    try {
      const { major, minor } = native().openNvrtc(found.path, found.builtins ?? undefined);
      const version = `${major}.${minor}`;
      return {
        ok: true,
        summary: `${version} (${found.path}, ${found.source})`,
        next: null,
        path: found.path,
        version,
        attempts,
      };
    } catch (error) {
      return {
        ok: false,
        summary: `${found.path} does not load: ${messageOf(error)}`,
        next: nvrtcHelp,
        path: found.path,
        version: null,
        attempts,
      };
    }
  } catch (error) {
    return { ...failure(error), path: null, version: null, attempts: [] };
  }
}

type FoundLibrary = MachineReport["nccl"];

async function inspectNccl(env: Environment, addon: Finding): Promise<FoundLibrary> {
  return inspectLibrary(addon, "not found; `--backend nccl` and `collc bench --peers nccl` need it", async () => {
    const { path, version, symbols } = await openNccl({ env });
    const windows = symbols.windows ? "" : ", too old for windows";
    return { path, version, detail: symbols.memAlloc ? windows : ", too old for --backend nccl" };
  });
}

async function inspectNvshmem(env: Environment, addon: Finding): Promise<FoundLibrary> {
  return inspectLibrary(addon, "not found; `--backend nvshmem` needs it", async () => {
    const { path, version, memberTeams } = await openNvshmem({ env });
    return { path, version, detail: memberTeams ? "" : ", too old for teams of some ranks" };
  });
}

/** A library that is opened to be asked for its version, and that nobody needs who does not name it. */
async function inspectLibrary(
  addon: Finding,
  missing: string,
  open: () => Promise<{ readonly path: string; readonly version: string; readonly detail: string }>,
): Promise<FoundLibrary> {
  if (!addon.ok) return { ...needsAddon, path: null, version: null };
  try {
    const { path, version, detail } = await open();
    return { ok: true, summary: `${version}${detail} (${path})`, next: null, path, version };
  } catch (error) {
    return { ok: false, summary: missing, next: failure(error).next, path: null, version: null };
  }
}

async function inspectCache(env: Environment): Promise<MachineReport["cache"]> {
  const path = cacheDirectory(env);
  const why = distrust(path);
  if (why !== null) return { ok: false, summary: `not used: ${why}`, next: cacheHelp, path, bytes: 0 };
  const size = await folderBytes(path);
  return { ok: true, summary: `${path}, ${bytes(size)}`, next: null, path, bytes: size };
}

async function folderBytes(path: string): Promise<number> {
  const entries = await readdir(path, { withFileTypes: true }).catch(() => []);
  const sizes = await Promise.all(
    entries.map(async (entry) => {
      const at = join(path, entry.name);
      if (entry.isDirectory()) return folderBytes(at);
      return entry.isFile()
        ? stat(at).then(
            ({ size }) => size,
            () => 0,
          )
        : 0;
    }),
  );
  return sizes.reduce((a, b) => a + b, 0);
}

/** Looks at everything collc can use on this machine. Finds faults, and never fails over one. */
import { readdir, stat } from "node:fs/promises";
import { join } from "node:path";
import { archOf, describeDevices, openCuda } from "../runtime/cuda/index.js";
import { type Environment, environmentTable } from "../runtime/env.js";
import { CollcError, messageOf } from "../runtime/errors.js";
import { cacheDirectory } from "../runtime/jit-cache.js";
import { addonCandidates, type DeviceDescription, native } from "../runtime/native.js";
import { findNvrtc, type NvrtcAttempt, nvrtcHelp } from "../runtime/nvrtc.js";
import { openNccl } from "../runtime/nccl/index.js";
import { collcVersion } from "../runtime/program.js";
import { bytes } from "../bench/format.js";

/** One part of the machine. */
export interface Finding {
  readonly ok: boolean;
  readonly summary: string;
  /** What to do when it is missing and wanted; null when nothing has to be done. */
  readonly next: string | null;
}

export interface Gpu extends Pick<
  DeviceDescription,
  "ordinal" | "name" | "totalBytes" | "virtualMemory" | "posixFd" | "multicast"
> {
  readonly arch: string;
}

export interface MachineReport {
  readonly collc: string;
  readonly node: string;
  readonly platform: string;
  readonly addon: Finding;
  /** `peers[a][b]`: GPU a reaches b's memory. */
  readonly cuda: Finding & {
    readonly driver: string | null;
    readonly gpus: readonly Gpu[];
    readonly peers: readonly (readonly boolean[])[];
  };
  readonly nvrtc: Finding & {
    readonly path: string | null;
    readonly version: string | null;
    readonly attempts: readonly NvrtcAttempt[];
  };
  readonly nccl: Finding & { readonly path: string | null; readonly version: string | null };
  readonly cache: Finding & { readonly path: string; readonly bytes: number };
  /** Variables of collc's table that are set. Secrets are not shown. */
  readonly environment: Readonly<Record<string, string>>;
}

/** Set on every machine and of no interest. */
const everywhere: ReadonlySet<string> = new Set(["HOME", "PATH", "TMPDIR"]);

/** @param env where COLLC_* and the rest are read. */
export async function inspectMachine(env: Environment): Promise<MachineReport> {
  const addon = inspectAddon(env);
  const glibc = (process.report.getReport() as { header?: { glibcVersionRuntime?: string } }).header
    ?.glibcVersionRuntime;
  return {
    collc: collcVersion(),
    node: process.version.slice(1),
    platform: `${process.platform} ${process.arch}${glibc === undefined ? "" : `, glibc ${glibc}`}`,
    addon,
    cuda: inspectCuda(addon),
    nvrtc: await inspectNvrtc(env, addon),
    nccl: await inspectNccl(env, addon),
    cache: await inspectCache(env),
    environment: Object.fromEntries(
      Object.keys(environmentTable)
        .filter((name) => (env[name] ?? "") !== "" && !everywhere.has(name))
        .map((name) => [name, name.includes("SECRET") ? "(set)" : env[name]!]),
    ),
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

function inspectCuda(addon: Finding): MachineReport["cuda"] {
  const nothing = { driver: null, gpus: [], peers: [] };
  if (!addon.ok) return { ...needsAddon, ...nothing };
  try {
    const { path, version, deviceCount } = openCuda();
    const devices = describeDevices();
    const gpus = devices.map((d): Gpu => {
      const { ordinal, name, totalBytes, virtualMemory, posixFd, multicast } = d;
      return { ordinal, name, totalBytes, virtualMemory, posixFd, multicast, arch: archOf(d) };
    });
    const peers = devices.map((a) =>
      devices.map((b) => a.ordinal === b.ordinal || native().canAccessPeer(a.ordinal, b.ordinal)),
    );
    const lacking = gpus.some((gpu) => !gpu.virtualMemory || !gpu.posixFd);
    const next = lacking
      ? "a GPU lacks VMM or export of descriptors: containers need the host's IPC and an unrestricted driver"
      : null;
    return {
      ok: deviceCount > 0,
      summary: `driver for CUDA ${version}, ${deviceCount} GPU${deviceCount === 1 ? "" : "s"} (${path})`,
      next,
      driver: version,
      gpus,
      peers,
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

async function inspectNccl(env: Environment, addon: Finding): Promise<MachineReport["nccl"]> {
  if (!addon.ok) return { ...needsAddon, path: null, version: null };
  try {
    const { path, version } = await openNccl({ env });
    return { ok: true, summary: `${version} (${path})`, next: null, path, version };
  } catch (error) {
    return {
      ok: false,
      summary: "not found; only `collc bench --peers nccl` needs it",
      next: failure(error).next,
      path: null,
      version: null,
    };
  }
}

async function inspectCache(env: Environment): Promise<MachineReport["cache"]> {
  const path = cacheDirectory(env);
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

/**
 * Finds libnvrtc, NVIDIA's compiler as a library, wherever people have it; see `findNvrtc` for the order.
 * The library opens `libnvrtc-builtins` by name when it compiles, which fails unless that file is on the loader's
 * path or loaded already. So both are found here, and whoever loads them takes the builtins first, by full path.
 */
import { execFile } from "node:child_process";
import { constants } from "node:fs";
import { mkdir, open, readdir, realpath, rm, stat, writeFile } from "node:fs/promises";
import { basename, dirname, join, resolve } from "node:path";
import { makeDirectoryAtomic, sweepAbandoned } from "./atomic-file.js";
import { type Environment, processEnvironment, readEnv } from "./env.js";
import { MachineError, messageOf } from "./errors.js";
import { cacheDirectory, cacheHelp } from "./jit-cache.js";
import { describeFailure, findPython, runPython } from "./python.js";
import { distrust } from "./trust.js";

export type NvrtcSource = "COLLC_NVRTC" | "CUDA toolkit" | "Python package" | "collc setup" | "loader";

/** One place that was looked at, for `collc doctor`. */
export interface NvrtcAttempt {
  readonly where: NvrtcSource;
  readonly path: string;
  /** "found", or why not. */
  readonly outcome: string;
}

/** A libnvrtc with its builtins. */
export interface NvrtcLocation {
  /** Full path, or the bare name where only the loader knows. */
  readonly path: string;
  /** Full path of libnvrtc-builtins, to load first; null only for a bare name. */
  readonly builtins: string | null;
  readonly source: NvrtcSource;
}

export interface NvrtcSearch {
  readonly found: NvrtcLocation | null;
  readonly attempts: readonly NvrtcAttempt[];
}

export interface FindNvrtcOptions {
  readonly env?: Environment;
  /** Tries to load a library: null when it works, else the loader's message. Without it, files are only looked at. */
  readonly probe?: (location: NvrtcLocation) => string | null;
  /** Where toolkits live besides CUDA_HOME and CUDA_PATH, default /usr/local: `cuda*` in it. */
  readonly toolkitBase?: string;
}

const bareNames = ["libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so"];
export const nvrtcHelp =
  "run `collc setup nvrtc` (needs python3 with pip, and a package index), or install the CUDA toolkit, " +
  "or name the library in COLLC_NVRTC";

/**
 * Looks for libnvrtc in this order: COLLC_NVRTC (a file or a folder), CUDA toolkits (CUDA_HOME, CUDA_PATH,
 * /usr/local/cuda*, newest first), wheels of the active Python, what `collc setup nvrtc` fetched, the loader.
 * Stops at the first that has its builtins beside it.
 * @throws MachineError when COLLC_NVRTC is set and leads nowhere: a wrong choice is not replaced by a guess.
 */
export async function findNvrtc(options: FindNvrtcOptions = {}): Promise<NvrtcSearch> {
  const env = options.env ?? processEnvironment();
  const attempts: NvrtcAttempt[] = [];
  for await (const { where, directory, file } of candidates(env, options.toolkitBase ?? "/usr/local", attempts)) {
    const inspected = file === null ? await inspectDirectory(directory) : await inspectFile(join(directory, file));
    let outcome = inspected.problem;
    const found: NvrtcLocation | null = inspected.path
      ? { path: inspected.path, builtins: inspected.builtins, source: where }
      : null;
    // Of all places, this one is collc's own to look after; in the others people install what they trust.
    if (found && outcome === null && where === "collc setup") outcome = distrustLibrary(found);
    if (found && outcome === null) outcome = options.probe?.(found) ?? null;
    const shown = inspected.path ?? (file === null ? directory : join(directory, file));
    attempts.push({ where, path: shown, outcome: outcome ?? "found" });
    if (outcome === null) return { found, attempts };
    if (where === "COLLC_NVRTC") {
      throw new MachineError(
        `COLLC_NVRTC=${readEnv("COLLC_NVRTC", env)}: ${outcome}`,
        "correct it, or unset it to search",
      );
    }
  }
  for (const name of options.probe ? bareNames : []) {
    const found: NvrtcLocation = { path: name, builtins: null, source: "loader" };
    const problem = options.probe!(found);
    attempts.push({ where: "loader", path: name, outcome: problem ?? "found" });
    if (problem === null) return { found, attempts };
  }
  return { found: null, attempts };
}

/** Why a library in collc's cache is not loaded, or null. */
function distrustLibrary({ path, builtins }: NvrtcLocation): string | null {
  const why = distrust(path) ?? (builtins === null ? null : distrust(builtins));
  return why === null ? null : `not loaded: ${why}; ${cacheHelp}`;
}

/** {@link findNvrtc}, or the list of what was tried as an error. @throws MachineError */
export async function requireNvrtc(options: FindNvrtcOptions = {}): Promise<NvrtcLocation> {
  const { found, attempts } = await findNvrtc(options);
  if (found) return found;
  const tried = attempts.map(({ where, path, outcome }) => `\n  ${where}: ${path}: ${outcome}`);
  throw new MachineError(`libnvrtc was not found; tried:${tried.join("")}`, nvrtcHelp);
}

interface Candidate {
  readonly where: NvrtcSource;
  readonly directory: string;
  /** A certain file, or null: whatever libnvrtc the folder has. */
  readonly file: string | null;
}

/** Lazily, because the later places cost more: Python alone takes some 50 ms. */
async function* candidates(env: Environment, toolkitBase: string, attempts: NvrtcAttempt[]): AsyncGenerator<Candidate> {
  const explicit = readEnv("COLLC_NVRTC", env);
  if (explicit !== undefined) {
    const path = resolve(explicit);
    const isDirectory = await stat(path).then(
      (entry) => entry.isDirectory(),
      () => false,
    );
    if (!isDirectory) yield { where: "COLLC_NVRTC", directory: dirname(path), file: basename(path) };
    else {
      const libraries = await librariesUnder(path);
      yield { where: "COLLC_NVRTC", directory: libraries[0] ?? path, file: null };
    }
    return;
  }
  const named = [readEnv("CUDA_HOME", env), readEnv("CUDA_PATH", env)].filter((path) => path !== undefined);
  const installed = (await list(toolkitBase)).filter((name) => /^cuda(-[\d.]+)?$/.test(name)).sort(newestFirst);
  const toolkits = [...new Set([...named, ...installed.map((name) => join(toolkitBase, name))])];
  for (const root of toolkits) {
    for (const sub of ["lib64", "targets/x86_64-linux/lib"]) {
      yield { where: "CUDA toolkit", directory: join(root, sub), file: null };
    }
  }
  if (toolkits.length === 0)
    attempts.push({ where: "CUDA toolkit", path: join(toolkitBase, "cuda*"), outcome: "not there" });
  try {
    const { executable, packageDirectories } = await findPython(env);
    const roots = (await Promise.all(packageDirectories.map(librariesUnder))).flat();
    for (const directory of roots) yield { where: "Python package", directory, file: null };
    if (roots.length === 0) {
      attempts.push({ where: "Python package", path: executable, outcome: "no nvidia-cuda-nvrtc package" });
    }
  } catch (error) {
    attempts.push({ where: "Python package", path: "python3", outcome: messageOf(error) });
  }
  const setup = setupDirectory(env);
  const versions = (await list(setup)).filter((name) => /^\d/.test(name)).sort(newestFirst);
  for (const version of versions) {
    for (const directory of await librariesUnder(join(setup, version))) {
      yield { where: "collc setup", directory, file: null };
    }
  }
  if (versions.length === 0) attempts.push({ where: "collc setup", path: setup, outcome: "not there" });
  for (const path of await loaderPaths(env)) yield { where: "loader", directory: dirname(path), file: basename(path) };
}

/** Folders with libraries of NVIDIA's wheels below `root`: nvidia/cu13/lib, nvidia/cuda_nvrtc/lib; or `root` itself. */
async function librariesUnder(root: string): Promise<string[]> {
  const packages = (await list(join(root, "nvidia"))).sort(newestFirst);
  const places = [root, ...packages.map((name) => join(root, "nvidia", name, "lib"))];
  const names = await Promise.all(places.map(list));
  return places.filter((_, i) => names[i]!.some(isNvrtcName));
}

/** What the loader would take: LD_LIBRARY_PATH, then its cache. */
async function loaderPaths(env: Environment): Promise<string[]> {
  const paths: string[] = [];
  for (const directory of (readEnv("LD_LIBRARY_PATH", env) ?? "").split(":").filter((entry) => entry !== "")) {
    const name = (await list(directory)).filter(isNvrtcName).sort(newestFirst)[0];
    if (name !== undefined) paths.push(join(directory, name));
  }
  const cached = await new Promise<string>((done) => {
    execFile("/sbin/ldconfig", ["-p"], { timeout: 5000 }, (error, stdout) => done(error ? "" : stdout));
  });
  for (const [, path] of cached.matchAll(/=> (\S+)$/gm)) if (isNvrtcName(basename(path!))) paths.push(path!);
  return paths;
}

interface Inspected {
  readonly path: string | null;
  readonly builtins: string | null;
  readonly problem: string | null;
}

async function inspectDirectory(directory: string): Promise<Inspected> {
  const name = (await list(directory)).filter(isNvrtcName).sort(newestFirst)[0];
  if (name !== undefined) return inspectFile(join(directory, name));
  const isThere = await stat(directory).then(
    () => true,
    () => false,
  );
  return { path: null, builtins: null, problem: isThere ? "no libnvrtc.so in this folder" : "not there" };
}

async function inspectFile(path: string): Promise<Inspected> {
  const real = await realpath(path).catch(() => null);
  if (real === null) return { path: null, builtins: null, problem: "not there" };
  if (!(await isElf(real))) return { path, builtins: null, problem: "not a shared library" };
  // The builtins carry the exact version in their name; take those of the same CUDA, if several lie there.
  const version = /\.so\.(\d+(?:\.\d+)?)/.exec(basename(real))?.[1] ?? "";
  for (const directory of new Set([dirname(real), dirname(path)])) {
    const names = (await list(directory)).filter((name) => /^libnvrtc-builtins\.so/.test(name)).sort(newestFirst);
    const name = names.find((each) => each.includes(`.so.${version}`)) ?? names[0];
    if (name !== undefined) return { path, builtins: join(directory, name), problem: null };
  }
  return { path, builtins: null, problem: "no libnvrtc-builtins.so beside it" };
}

async function isElf(path: string): Promise<boolean> {
  try {
    // Not waiting for the writer of a FIFO.
    const handle = await open(path, constants.O_RDONLY | constants.O_NONBLOCK);
    try {
      if (!(await handle.stat()).isFile()) return false;
      const { buffer, bytesRead } = await handle.read(Buffer.alloc(4), 0, 4, 0);
      return bytesRead === 4 && buffer.toString("latin1") === "\x7fELF";
    } finally {
      await handle.close();
    }
  } catch {
    return false;
  }
}

/** libnvrtc.so, libnvrtc.so.13; not libnvrtc-builtins.so or libnvrtc.alt.so. */
const isNvrtcName = (name: string): boolean => /^libnvrtc\.so(\.[\d.]+)?$/.test(name);

/** By the version in the name, none last: `cuda-13.0` before `cuda-12.8` before `cuda`. */
function newestFirst(a: string, b: string): number {
  return b.localeCompare(a, "en", { numeric: true });
}

function list(directory: string): Promise<string[]> {
  return readdir(directory).catch(() => []);
}

/** Where `collc setup nvrtc` puts what it fetches: one folder a version. */
export function setupDirectory(env: Environment = processEnvironment()): string {
  return join(cacheDirectory(env), "nvrtc");
}

export interface SetupNvrtcOptions {
  readonly env?: Environment;
  /** Told what happens, one line each. */
  readonly onProgress?: (line: string) => void;
  /** Requirement for pip, default {@link pinnedNvrtc}, with its hash. */
  readonly requirement?: string;
  /** Bound of the download in milliseconds, default 10 minutes. */
  readonly timeoutMs?: number;
}

/** What is fetched where nobody asks for another: one version, and the bytes that it had when collc was tested with it. */
export const pinnedNvrtc = {
  requirement: "nvidia-cuda-nvrtc==13.0.88",
  /** SHA-256 of the wheel, by Node's name of the processor. */
  sha256: { x64: "ad9b6d2ead2435f11cbb6868809d2adeeee302e9bb94bcf0539c7a40d80e8575" } as Readonly<
    Record<string, string>
  >,
} as const;

// Names are checked by hand: zipfile keeps members below the target, and this says so if it ever did not.
const unpack = `import sys, zipfile
with zipfile.ZipFile(sys.argv[1]) as wheel:
    for name in wheel.namelist():
        if name.startswith("/") or ".." in name.split("/"): sys.exit("strange path in the wheel: " + name)
    wheel.extractall(sys.argv[2], [n for n in wheel.namelist() if "/lib/" in n or ".dist-info/" in n])`;

/**
 * Fetches NVIDIA's nvrtc wheel with pip into collc's cache folder and unpacks it there, whole or not at all. Python runs
 * isolated (`-I`): neither the current folder nor PYTHONPATH has a say in what is executed.
 * @throws MachineError when there is no python3, no pip, no network, no space, the cache is not this user's alone, or the
 *   wheel has no libnvrtc or not the bytes it should have.
 */
export async function setupNvrtc(options: SetupNvrtcOptions = {}): Promise<NvrtcLocation> {
  const { env = processEnvironment(), onProgress = () => {}, requirement = pinnedNvrtc.requirement } = options;
  const timeoutMs = options.timeoutMs ?? 600_000;
  const setup = setupDirectory(env);
  await mkdir(setup, { recursive: true, mode: 0o700 }).catch((error: unknown) => {
    throw new MachineError(`there is no making ${setup}: ${messageOf(error)}`, "COLLC_CACHE_DIR names another folder");
  });
  const why = distrust(setup);
  if (why !== null) throw new MachineError(`nothing is fetched into ${setup}: ${why}`, cacheHelp);
  const { executable } = await findPython(env);
  const pip = await runPython(executable, ["-I", "-m", "pip", "--version"], { env, timeoutMs: 30_000 });
  if (pip.error) {
    throw new MachineError(
      `${executable} has no pip (${describeFailure(pip.error, pip.stderr)})`,
      `run ${executable} -m ensurepip, or install python3-pip, or name another interpreter in COLLC_PYTHON`,
    );
  }
  const fill = async (directory: string): Promise<string> => {
    const wheels = join(directory, "wheels");
    const args = ["-I", "-m", "pip", "download", "--no-deps", "--only-binary=:all:", "--progress-bar", "off"];
    const sha256 = requirement === pinnedNvrtc.requirement ? pinnedNvrtc.sha256[process.arch] : undefined;
    // pip takes hashes from a file only.
    const requirements = join(directory, "requirements.txt");
    await writeFile(requirements, sha256 === undefined ? requirement : `${requirement} --hash=sha256:${sha256}`, {
      flag: "wx",
    });
    const what = sha256 === undefined ? [requirement] : ["--require-hashes", "-r", requirements];
    const download = [...args, "--dest", wheels, ...what];
    const fetched = await runPython(executable, download, {
      env,
      timeoutMs,
      onLine: (line) => onProgress(line.trim()),
    });
    if (fetched.error) {
      const why = fetched.error.killed ? `not done within ${timeoutMs} ms` : lastError(fetched.stderr);
      throw new MachineError(
        `pip could not fetch ${requirement}: ${why}`,
        "is a package index reachable from here? Elsewhere: pip download --no-deps nvidia-cuda-nvrtc, unzip, set COLLC_NVRTC",
      );
    }
    const wheel = (await list(wheels)).find((name) => name.endsWith(".whl"));
    const version = /^[^-]+-(\d[\w.]*)-/.exec(wheel ?? "")?.[1];
    if (wheel === undefined || version === undefined) throw new MachineError(`pip fetched no wheel of ${requirement}`);
    onProgress(`unpacking ${wheel}`);
    const unpacked = await runPython(executable, ["-I", "-c", unpack, join(wheels, wheel), directory], {
      env,
      timeoutMs,
    });
    if (unpacked.error) {
      throw new MachineError(
        `${wheel} could not be unpacked: ${describeFailure(unpacked.error, unpacked.stderr)}`,
        "is the disk full?",
      );
    }
    await rm(wheels, { recursive: true });
    await rm(join(directory, "requirements.txt"));
    const { problem } = await inspectSetup(directory);
    if (problem !== null) throw new MachineError(`${wheel} is of no use: ${problem}`);
    // A folder of that version that has lost its files would stay in place for ever.
    if ((await inspectSetup(join(setup, version))).problem !== null) {
      await rm(join(setup, version), { recursive: true, force: true });
    }
    return version;
  };
  try {
    await sweepAbandoned(setup);
    const { path, builtins } = await inspectSetup(await makeDirectoryAtomic(setup, fill));
    return { path: path!, builtins, source: "collc setup" };
  } catch (error) {
    if (error instanceof MachineError) throw error;
    throw new MachineError(
      `nvrtc could not be set up in ${setup}: ${messageOf(error)}`,
      "COLLC_CACHE_DIR names another folder",
    );
  }
}

async function inspectSetup(directory: string): Promise<Inspected> {
  const [libraries] = await librariesUnder(directory);
  return inspectDirectory(libraries ?? directory);
}

/** pip's own last word: its ERROR line, not the hints about new versions after it. */
function lastError(stderr: string): string {
  const lines = stderr.trim().split("\n");
  return (lines.findLast((line) => line.startsWith("ERROR")) ?? lines.at(-1) ?? "no message").trim();
}

/**
 * The cache of compiled kernels. A cache may lose anything at any time and must never make a run fail:
 * a bad entry is dropped and rebuilt, a full disk costs one warning, and two processes that fill the same
 * entry both get a kernel.
 *
 * An entry is one file, `<key>.kernel`: a line of JSON (length and SHA-256 of the payload, and the caller's
 * `meta`), a line feed, the payload. A file that is cut short or changed cannot pass, and a folder that others could
 * have written to is not used at all, see trust.ts.
 */
import { createHash } from "node:crypto";
import { constants } from "node:fs";
import { access, mkdir, readdir, rm, stat, utimes } from "node:fs/promises";
import { homedir, tmpdir } from "node:os";
import { join } from "node:path";
import { sweepAbandoned, writeFileAtomic } from "./atomic-file.js";
import { type Environment, processEnvironment, readEnv, readEnvInteger } from "./env.js";
import { messageOf, systemCode } from "./errors.js";
import { distrust, readOwnFile } from "./trust.js";

const suffix = ".kernel";
const formatVersion = 1;

/** All that decides what a compiled kernel is. */
export interface JitCacheKeyParts {
  readonly cudaText: string;
  /** `sm_90a`. */
  readonly arch: string;
  /** Version of NVRTC, `13.0`. */
  readonly nvrtcVersion: string;
  /** Options given to NVRTC, in order. */
  readonly options: readonly string[];
  readonly collcVersion: string;
}

/** A compiled kernel and what the caller wants to remember about it. */
export interface CachedKernel {
  readonly bytes: Uint8Array;
  /** Small JSON: the symbol's lowered name, the compiler's log. */
  readonly meta: Readonly<Record<string, string>>;
}

/** A kernel and where it came from. */
export interface CacheResult extends CachedKernel {
  /** `disk`: read; `built`: built now; `shared`: another process, or call, built it meanwhile. */
  readonly from: "disk" | "built" | "shared";
}

export interface JitCacheOptions {
  /** Folder, default {@link cacheDirectory} + "/kernels". Null: no cache. */
  readonly directory?: string | null;
  /** Cap of all entries in bytes, default 1 GiB. The least recently used go first. */
  readonly maxBytes?: number;
  /** Told once a kind of trouble: an unwritable folder, a full disk, a damaged entry. Default: silent. */
  readonly onWarning?: (message: string) => void;
}

/** What to do about a cache that others can write to. */
export const cacheHelp = "chmod -R go-w on it if it is yours; else name a folder of your own in COLLC_CACHE_DIR";

/** This user's home folder, or "" where there is none: a number without a row in the list of users has none. */
function homeFolder(env: Environment): string {
  try {
    return readEnv("HOME", env) ?? homedir();
  } catch {
    return "";
  }
}

/**
 * collc's cache folder: COLLC_CACHE_DIR, $XDG_CACHE_HOME/collc or ~/.cache/collc; without a home, one in the temporary
 * folder. Not created here, and not to be used before `distrust` has nothing against it.
 */
export function cacheDirectory(env: Environment = processEnvironment()): string {
  const explicit = readEnv("COLLC_CACHE_DIR", env);
  if (explicit !== undefined) return explicit;
  const xdg = readEnv("XDG_CACHE_HOME", env);
  if (xdg !== undefined) return join(xdg, "collc");
  const home = homeFolder(env);
  const own = `collc-cache-${process.getuid?.() ?? "user"}`;
  return home === "/" || home === "" ? join(tmpdir(), own) : join(home, ".cache", "collc");
}

/** Hash over all parts, 64 hexadecimal digits. Parts are framed, so moving text from one to another changes it. */
export function jitCacheKey(parts: JitCacheKeyParts): string {
  const { cudaText, arch, nvrtcVersion, options, collcVersion } = parts;
  const framed = JSON.stringify([formatVersion, collcVersion, nvrtcVersion, arch, options, cudaText]);
  return createHash("sha256").update(framed).digest("hex");
}

/** See the file's head. One instance a process is enough; instances on one folder may be many. */
export class JitCache {
  readonly directory: string | null;
  readonly #maxBytes: number;
  readonly #onWarning: (message: string) => void;
  readonly #building = new Map<string, Promise<CacheResult>>();
  readonly #warned = new Set<string>();
  #prepared: Promise<boolean> | undefined;
  #isTrusted: boolean | undefined;

  /** @throws UsageError when COLLC_CACHE_MAX_MB is not a number. */
  constructor(options: JitCacheOptions = {}) {
    const capMb = readEnvInteger("COLLC_CACHE_MAX_MB") ?? 1024;
    this.#maxBytes = options.maxBytes ?? capMb * 2 ** 20;
    const directory = options.directory === undefined ? join(cacheDirectory(), "kernels") : options.directory;
    this.directory = this.#maxBytes === 0 ? null : directory;
    this.#onWarning = options.onWarning ?? (() => {});
  }

  /**
   * The kernel under `key`, from the cache or from `build`. Calls with one key at a time share one build.
   * @param key from {@link jitCacheKey}.
   * @throws only what `build` throws; the next call then builds again.
   */
  getOrBuild(key: string, build: () => CachedKernel | Promise<CachedKernel>): Promise<CacheResult> {
    const running = this.#building.get(key);
    if (running) return running.then((result) => ({ ...result, from: "shared" }));
    const started = this.#getOrBuild(key, build).finally(() => this.#building.delete(key));
    this.#building.set(key, started);
    return started;
  }

  async #getOrBuild(key: string, build: () => CachedKernel | Promise<CachedKernel>): Promise<CacheResult> {
    const path = this.directory === null || !this.#isOurs() ? null : join(this.directory, key + suffix);
    const found = path === null ? null : await this.#read(path);
    if (found) return { ...found, from: "disk" };
    const built = await build();
    if (path === null || !(await this.#prepare())) return { ...built, from: "built" };
    try {
      if (!(await writeFileAtomic(path, encodeEntry(built), { existing: "keep" }))) {
        // Another process was faster: use its kernel, so that all ranks of a run launch the same bytes.
        const winner = await this.#read(path);
        if (winner) return { ...winner, from: "shared" };
        await writeFileAtomic(path, encodeEntry(built));
      }
      await this.#evict(path);
    } catch (error) {
      this.#warnUnusable(error);
    }
    return { ...built, from: "built" };
  }

  /** The entry, or null when there is none that can be trusted. A damaged one is removed. */
  async #read(path: string): Promise<CachedKernel | null> {
    let data: Buffer;
    try {
      data = readOwnFile(path, cacheHelp);
    } catch (error) {
      if (systemCode(error) !== "ENOENT") this.#warnUnusable(error);
      return null;
    }
    const entry = decodeEntry(data);
    if (entry === null) {
      this.#warn(`damaged:${path}`, `the cached kernel ${path} is damaged; it is dropped and built again`);
      await rm(path, { force: true }).catch(() => {});
      return null;
    }
    const now = new Date();
    await utimes(path, now, now).catch(() => {}); // the order of eviction; a read-only cache has none
    return entry;
  }

  /** Whether nobody else can have put anything here. Asked once, before anything is read or written. */
  #isOurs(): boolean {
    if (this.#isTrusted === undefined) {
      const why = distrust(this.directory!);
      this.#isTrusted = why === null;
      if (why !== null) {
        this.#warn("distrusted", `the kernel cache is not used, kernels are compiled each time: ${why}; ${cacheHelp}`);
      }
    }
    return this.#isTrusted;
  }

  /** Makes the folder and sweeps it, once. False: there is no writing here. */
  #prepare(): Promise<boolean> {
    const directory = this.directory!;
    this.#prepared ??= (async () => {
      try {
        await mkdir(directory, { recursive: true, mode: 0o700 });
        await access(directory, constants.W_OK);
        await sweepAbandoned(directory);
        return true;
      } catch (error) {
        this.#warnUnusable(error);
        return false;
      }
    })();
    return this.#prepared;
  }

  /** Removes the least recently used entries until the rest fits. `keep` was just written. */
  async #evict(keep: string): Promise<void> {
    const directory = this.directory!;
    const names = (await readdir(directory)).filter((name) => name.endsWith(suffix));
    const entries = await Promise.all(
      names.map(async (name) => {
        const path = join(directory, name);
        const { size, mtimeMs } = await stat(path).catch(() => ({ size: 0, mtimeMs: 0 }));
        return { path, size, mtimeMs };
      }),
    );
    let total = entries.reduce((sum, entry) => sum + entry.size, 0);
    if (total <= this.#maxBytes) return;
    entries.sort((a, b) => a.mtimeMs - b.mtimeMs);
    // Down to 9/10 of the cap, so that a full cache does not evict at each write.
    for (const { path, size } of entries) {
      if (total <= this.#maxBytes * 0.9) break;
      if (path === keep) continue;
      await rm(path, { force: true });
      total -= size;
    }
  }

  #warnUnusable(error: unknown): void {
    const why = systemCode(error) === "ENOSPC" ? "the disk is full" : messageOf(error);
    this.#warn(
      "unusable",
      `the kernel cache ${this.directory} cannot be used (${why}); kernels are compiled each time`,
    );
  }

  #warn(kind: string, message: string): void {
    if (this.#warned.has(kind)) return;
    this.#warned.add(kind);
    this.#onWarning(message);
  }
}

function encodeEntry({ bytes, meta }: CachedKernel): Buffer {
  const sha256 = checksum(bytes, meta);
  const header = JSON.stringify({ collcKernel: formatVersion, length: bytes.byteLength, sha256, meta });
  return Buffer.concat([Buffer.from(header + "\n"), bytes]);
}

function checksum(bytes: Uint8Array, meta: unknown): string {
  return createHash("sha256").update(JSON.stringify(meta)).update("\n").update(bytes).digest("hex");
}

function decodeEntry(data: Buffer): CachedKernel | null {
  const end = data.indexOf(10);
  if (end < 0) return null;
  try {
    const header = JSON.parse(data.toString("utf8", 0, end)) as Record<string, unknown>;
    const bytes = new Uint8Array(data.subarray(end + 1));
    const isWhole = header["collcKernel"] === formatVersion && header["length"] === bytes.byteLength;
    if (!isWhole || checksum(bytes, header["meta"]) !== header["sha256"]) return null;
    return { bytes, meta: header["meta"] as Record<string, string> };
  } catch {
    return null;
  }
}

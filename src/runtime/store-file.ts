/**
 * A store found through a file: rank 0 hosts it on any free port and writes address and secret into a file that only this
 * user may read; the others read it from there. For ranks that share a folder and nothing else: no port to agree on, no
 * launcher. What a killed run left in the file is recognised by nobody answering, and replaced by the next rank 0.
 */
import { randomBytes } from "node:crypto";
import { rmSync } from "node:fs";
import { hostname, networkInterfaces } from "node:os";
import { setTimeout as sleep } from "node:timers/promises";
import { writeFileAtomic } from "./atomic-file.js";
import { MachineError, RuntimeError, UsageError, systemCode } from "./errors.js";
import { newSecret } from "./store-address.js";
import { type Store, type StoreServer, connectStore, hostStore } from "./store.js";
import { readOwnFile } from "./trust.js";

interface Entry {
  readonly runId: string;
  readonly secret: string;
  readonly port: number;
  /** Which host, as {@link FileStoreOptions.hostIdentity} has it; ranks there use the loopback. */
  readonly host: string;
  /** Addresses for ranks elsewhere, to be tried in order. */
  readonly addresses: readonly string[];
}

export interface FileStoreOptions {
  readonly path: string;
  readonly rank: number;
  readonly world: number;
  readonly timeoutMs: number;
  /** Tells hosts apart. */
  readonly hostIdentity: string;
}

/**
 * Hosts a store and writes where it is. Rank 0 calls it.
 * @throws MachineError when it cannot listen, the system's error when the file cannot be written.
 */
export async function hostStoreInFile(
  { path, world, hostIdentity }: Pick<FileStoreOptions, "path" | "world" | "hostIdentity">,
  onRefused?: (message: string) => void,
): Promise<{ server: StoreServer; remove: () => void }> {
  const runId = randomBytes(8).toString("hex");
  const secret = newSecret();
  const server = await hostStore({ world, secret, runId, host: "0.0.0.0", ...(onRefused && { onRefused }) });
  const own = Object.values(networkInterfaces()).flatMap((list) => list ?? []);
  const addresses = own.filter(({ internal, family }) => !internal && family === "IPv4").map(({ address }) => address);
  const entry: Entry = { runId, secret, port: server.port, host: hostIdentity, addresses: [...addresses, hostname()] };
  try {
    await writeFileAtomic(path, JSON.stringify(entry), { mode: 0o600 });
  } catch (error) {
    await server.close();
    throw error;
  }
  const remove = (): void => {
    try {
      // Unless a later run took the file over.
      if (readEntry(path)?.runId === runId) rmSync(path, { force: true });
    } catch {
      // it is somebody else's now
    }
  };
  return { server, remove };
}

/**
 * Joins the store that a file leads to; waits for the file, and for a store behind it that lives.
 * @throws RuntimeError `refused`, or `timeout` saying what was found; UsageError when the file is something else.
 */
export async function connectStoreByFile({
  path,
  rank,
  world,
  timeoutMs,
  hostIdentity,
}: FileStoreOptions): Promise<Store> {
  const deadline = performance.now() + timeoutMs;
  let found = "the file is not there";
  for (let pauseMs = 20; performance.now() < deadline; pauseMs = Math.min(pauseMs * 1.5, 500)) {
    const entry = readEntry(path);
    if (entry !== null) {
      const { runId, secret, port } = entry;
      const hosts = entry.host === hostIdentity ? ["127.0.0.1"] : entry.addresses;
      for (const host of hosts) {
        const left = deadline - performance.now();
        if (left <= 0) break;
        try {
          return await connectStore({
            host,
            ports: [port],
            secret,
            runId,
            rank,
            world,
            timeoutMs: Math.min(300, left),
          });
        } catch (error) {
          if (!(error instanceof RuntimeError) || error.code !== "timeout") throw error;
          found = `nobody answers at ${host}:${port}, which a run that ended may have left`;
        }
      }
    }
    await sleep(Math.min(pauseMs, Math.max(0, deadline - performance.now())));
  }
  throw new RuntimeError(
    `rank ${rank} found no store through ${path} within ${timeoutMs} ms: ${found}`,
    "rank 0 writes it: is rank 0 up, and does it see the same folder?",
    "timeout",
  );
}

/** Null when the file is not there. */
function readEntry(path: string): Entry | null {
  let text: string;
  try {
    // Whoever writes this file decides whose store we join.
    text = readOwnFile(path, "name a file of your own in COLLC_STORE_FILE").toString();
  } catch (error) {
    if (systemCode(error) === "ENOENT") return null;
    if (error instanceof MachineError) throw new UsageError(error.message, error.help);
    if (systemCode(error) === "ELOOP")
      throw new UsageError(`${path} is a link`, "name the file itself in COLLC_STORE_FILE");
    throw error;
  }
  try {
    const entry = JSON.parse(text) as Partial<Entry>;
    const { runId, secret, port, host, addresses } = entry;
    if (typeof runId === "string" && typeof secret === "string" && typeof host === "string")
      if (Number.isInteger(port) && Array.isArray(addresses)) return entry as Entry;
  } catch {
    // the same answer
  }
  throw new UsageError(`${path} is there and is no store's file`, "name another file in COLLC_STORE_FILE");
}

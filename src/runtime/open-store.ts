/** How a rank comes to the store of its run: hosted by the launcher, by rank 0 at MASTER_ADDR, or found through a file. */
import { setTimeout as sleep } from "node:timers/promises";
import { type Environment, type LauncherInfo, readEnv } from "./env.js";
import { hostIdentity } from "./hosts.js";
import { storeAddressOf } from "./store-address.js";
import { addressesOf, listenAddresses } from "./store-host.js";
import { connectStoreByFile, hostStoreInFile } from "./store-file.js";
import { type Store, type StoreServer, connectStore, hostStore, memoryStore } from "./store.js";

/** How long the host of the store waits for the others to leave, in milliseconds. */
const lingerMs = 10_000;

export interface OpenedStore {
  readonly store: Store;
  /** Where this process hosts it. */
  readonly server: StoreServer | null;
  /** Takes the file back that leads to it. */
  readonly removeFile: (() => void) | null;
}

/**
 * Joins the store of a run that a launcher describes; rank 0 hosts it where the launcher does not.
 * @param path file that leads to the store, where there is one.
 * @param onRefused told of strangers that were turned away, and of a store that any of them could join.
 * @throws as `joinGroup`.
 */
export async function openStore(
  info: LauncherInfo,
  env: Environment,
  timeoutMs: number,
  path: string | undefined,
  onRefused: (message: string) => void,
): Promise<OpenedStore> {
  const { rank, world, launcher } = info;
  if (path !== undefined && launcher !== "collc") {
    const file = { path, rank, world, timeoutMs, hostIdentity: hostIdentity() };
    if (rank !== 0) return { store: await connectStoreByFile(file), server: null, removeFile: null };
    const { server, remove } = await hostStoreInFile(file, onRefused);
    return { store: memoryStore(server.core, 0, `port ${server.port}, see ${path}`), server, removeFile: remove };
  }
  const address = storeAddressOf(info, env);
  const startedAt = performance.now();
  const addresses = await addressesOf(address.host, timeoutMs);
  if (rank !== 0 || launcher === "collc") {
    const leftMs = Math.max(1, timeoutMs - (performance.now() - startedAt));
    const store = await connectStore({ ...address, rank, world, timeoutMs: Math.ceil(leftMs) });
    return { store, server: null, removeFile: null };
  }
  if (readEnv("COLLC_STORE_SECRET", env) === undefined) onRefused(openDoor(launcher, address.host));
  const listen = listenAddresses(address.host, addresses, info.localWorld === world);
  const server = await hostStore({ ...address, world, host: listen, onRefused });
  return { store: memoryStore(server.core, 0, `${address.host}:${server.port}`), server, removeFile: null };
}

/** Said once a run: what the launcher gives all ranks, others can find out too. */
function openDoor(launcher: string, host: string): string {
  return (
    `warning: COLLC_STORE_SECRET is not set, and ${launcher} gives the ranks no secret: whoever reaches ${host} and ` +
    "guesses the name of this run can join it. Set it to the same random text for all ranks: " +
    "export COLLC_STORE_SECRET=$(openssl rand -hex 32)"
  );
}

/** Closes a store that this process hosts, once the others have left it or some seconds, at most `boundMs`, have gone by. */
export async function closeServer(server: StoreServer, boundMs: number): Promise<void> {
  const deadline = performance.now() + Math.min(lingerMs, boundMs);
  while (server.members().some(({ state }) => state === "joined") && performance.now() < deadline) await sleep(10);
  await server.close();
}

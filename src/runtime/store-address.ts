/**
 * Where the store of a run is, and what its secret is, when no `collc run` says so: under torchrun, mpirun, srun.
 *
 * Rank 0 hosts it on MASTER_ADDR, see store-host.ts. MASTER_PORT itself is usually taken by the launcher (torchrun's own store),
 * so rank 0 tries `portTries` ports in a row from MASTER_PORT + `portOffset` and takes the first free one.
 * The other ranks try the same ports in the same order: a store greets with the tag of its run, so theirs is
 * recognised and anything else is passed over. COLLC_STORE_PORT names one port instead.
 */
import { createHash, randomBytes } from "node:crypto";
import { type Environment, type LauncherInfo, processEnvironment, readEnv, readEnvInteger } from "./env.js";
import { UsageError } from "./errors.js";

const portOffset = 101;
const portTries = 16;
/** Where launchers that have no port of their own get one, below the range that systems hand out at random. */
const derivedPorts = { first: 20_000, count: 10_000 };

/** How to reach the store of a run. */
export interface StoreAddress {
  readonly host: string;
  readonly ports: readonly number[];
  readonly secret: string;
  readonly runId: string;
}

/** A secret for one run: 256 random bits as hexadecimal text. */
export function newSecret(): string {
  return randomBytes(32).toString("hex");
}

/** "host:port", "[::1]:port". @throws UsageError */
export function parseHostPort(text: string, what: string): { host: string; port: number } {
  const match = /^(?:\[([^\]]+)\]|([^:]+)):(\d{1,5})$/.exec(text);
  const port = Number(match?.[3]);
  if (!match || port < 1 || port > 65535) throw new UsageError(`${what}=${JSON.stringify(text)} is not host:port`);
  return { host: (match[1] ?? match[2])!, port };
}

/** The ports that rank 0 tries, in order. Wraps below 65536. */
export function storePorts(masterPort: number): number[] {
  const first = masterPort + portOffset;
  const start = first + portTries > 65536 ? masterPort - portOffset - portTries : first;
  return Array.from({ length: portTries }, (_, i) => start + i);
}

/**
 * The store that a launcher's ranks agree on.
 *
 * The secret is COLLC_STORE_SECRET. Without it, torchrun and mpirun give the ranks nothing that a stranger
 * cannot know, and the secret is derived from the run's name: that keeps runs apart, and it keeps nobody out
 * who can reach the port and guess the name; rank 0 says so. Then, on one host, the store listens on the loopback only.
 * @throws UsageError when nothing names the host of rank 0.
 */
export function storeAddressOf(info: LauncherInfo, env: Environment = processEnvironment()): StoreAddress {
  const { launcher, runId, masterAddr } = info;
  const secret = readEnv("COLLC_STORE_SECRET", env) ?? hash(`collc-secret ${runId}`).toString("hex");
  const hosted = readEnv("COLLC_STORE", env);
  if (launcher === "collc" && hosted !== undefined) {
    const { host, port } = parseHostPort(hosted, "COLLC_STORE");
    return { host, ports: [port], secret, runId };
  }
  if (masterAddr === null) {
    throw new UsageError(
      `${launcher} does not say where rank 0 is: MASTER_ADDR is not set`,
      "set MASTER_ADDR to the host of rank 0 for all ranks, as in mpirun -x MASTER_ADDR=host1 …",
    );
  }
  const fixed = readEnvInteger("COLLC_STORE_PORT", env, { min: 1, max: 65535 });
  const derived = derivedPorts.first + (hash(runId).readUInt32BE(0) % derivedPorts.count);
  const ports = fixed !== undefined ? [fixed] : storePorts(info.masterPort ?? derived);
  return { host: masterAddr, ports, secret, runId };
}

function hash(text: string): Buffer {
  return createHash("sha256").update(text).digest();
}

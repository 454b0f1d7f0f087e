/** Which ranks share addresses, as the command line says or the environment pretends. */
import { domainOf, isWhole, parseReach, type Reach } from "../compiler/index.js";
import { readEnv } from "./env.js";
import { UsageError } from "./errors.js";

const VARIABLE = "COLLC_PRETEND_UNREACHABLE";

/**
 * The reach that COLLC_PRETEND_UNREACHABLE gives programs, `2x2` for two hosts of two GPUs; undefined where it is not set, or `1`, which
 * speaks of the backends' addresses alone, or where all ranks are of one host.
 * @throws UsageError for a text that is neither, and for more ranks than its hosts have
 */
export function pretendedReach(world: number): Reach | undefined {
  const text = readEnv(VARIABLE);
  if (text === undefined || text === "" || text === "0" || text === "1") return undefined;
  return reachOf(VARIABLE, text, world);
}

/**
 * The reach that `--reach` gives a command's programs; where it is left out, the environment's.
 * @throws UsageError see {@link reachOf}
 */
export function chosenReach(option: string | undefined, world: number): Reach | undefined {
  return option === undefined ? pretendedReach(world) : reachOf("--reach", option, world);
}

/** A reach as `--reach` has it, `2x2`. */
export function reachText({ ranksPerDomain }: Reach, world: number): string {
  return `${Math.ceil(world / ranksPerDomain)}x${ranksPerDomain}`;
}

/** Ranks of all hosts that `--reach`, or else the environment, speaks of; null where neither does. */
export function ranksOfReach(option: string | undefined): number | null {
  const text = option ?? readEnv(VARIABLE);
  const found = text === undefined ? null : parseReach(text);
  return found === null ? null : found.domains * found.reach.ranksPerDomain;
}

/**
 * For `collc tune`, whose file has no reach: nobody shall take the times of messages for those of a machine of one host.
 * @throws UsageError where the environment parts the ranks
 */
export function requireWholeReach(world: number): void {
  if (pretendedReach(world) === undefined) return;
  throw new UsageError(
    `tune measures ranks that share addresses, and ${VARIABLE} is ${readEnv(VARIABLE)}`,
    "unset it; `collc bench --reach` measures hosts that are pretended",
  );
}

/**
 * Tells NCCL that this rank's host is another than that of ranks beyond its domain, so that messages and NCCL's own collectives go through
 * what NCCL takes between hosts, as they would there. To be called before this process opens NCCL. A host that the environment names stays.
 */
export function pretendHostToNccl(rank: number, reach: Reach): void {
  process.env["NCCL_HOSTID"] ??= `pretended-host-${domainOf(rank, reach)}`;
}

/**
 * The reach that a text gives programs of a world.
 * @param name of the option or variable that has the text
 * @returns undefined where all ranks are of one host
 * @throws UsageError for a text of another form than `2x2`, and for more ranks than its hosts have
 */
export function reachOf(name: string, text: string, world: number): Reach | undefined {
  const found = parseReach(text);
  if (found === null) {
    const or = name === VARIABLE ? ", or 1 for no peer in reach" : "";
    throw new UsageError(`${name} is '${text}'`, `write hosts x GPUs of each, such as 2x2${or}`);
  }
  const { domains, reach } = found;
  const gpus = domains * reach.ranksPerDomain;
  if (world > gpus) {
    const leave = name === VARIABLE ? "unset it" : "leave it out";
    throw new UsageError(
      `${name} ${text} has ${gpus === 1 ? "one GPU" : `${gpus} GPUs`}, and there are ${world} ranks`,
      `${name === VARIABLE ? "set it to" : "write"} ${Math.ceil(world / reach.ranksPerDomain)}x${reach.ranksPerDomain}, or ${leave}`,
    );
  }
  return isWhole(world, reach) ? undefined : reach;
}

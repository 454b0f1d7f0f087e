/** Which ranks share addresses, as the command line says or the environment pretends. */
import { isWhole, parseReach, type Reach } from "../compiler/index.js";
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

/** Which ranks share addresses, as the environment pretends. */
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
  const found = parseReach(text);
  if (found === null)
    throw new UsageError(
      `${VARIABLE} is '${text}'`,
      "write hosts x GPUs of each, such as 2x2, or 1 for no peer in reach",
    );
  const { domains, reach } = found;
  if (world > domains * reach.ranksPerDomain)
    throw new UsageError(
      `${VARIABLE}=${text} has ${domains * reach.ranksPerDomain} GPUs, and there are ${world} ranks`,
      `set it to ${Math.ceil(world / reach.ranksPerDomain)}x${reach.ranksPerDomain}, or unset it`,
    );
  return isWhole(world, reach) ? undefined : reach;
}

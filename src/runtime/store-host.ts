/** The host of a run's store: which addresses its name has here, and on which of this machine's the store listens. */
import { lookup } from "node:dns/promises";
import { networkInterfaces } from "node:os";
import { setTimeout as sleep } from "node:timers/promises";
import { readEnv } from "./env.js";
import { MachineError, messageOf, systemCode } from "./errors.js";

/** All interfaces: by IPv6, which takes IPv4 in, too; on a machine without it, by IPv4. */
const everywhere = ["::", "0.0.0.0"] as const;

/** What to see to where ranks on other hosts do not find the store. */
export function masterHelp(): string {
  return readEnv("COLLC_HOST") === undefined
    ? "MASTER_ADDR names the host of rank 0: set it to a name or an address of that host which all hosts know"
    : "collc run --hosts listens there; set MASTER_ADDR to an address of this host that the other one reaches";
}

/**
 * The addresses of a host. A name without one is asked for again until the time is over: where hosts come up together, it may be late.
 * @throws MachineError for a name that has none then
 */
export async function addressesOf(host: string, timeoutMs: number): Promise<readonly string[]> {
  const deadline = performance.now() + timeoutMs;
  for (let pauseMs = 50; ; pauseMs = Math.min(pauseMs * 2, 1000)) {
    try {
      return (await lookup(host, { all: true })).map(({ address }) => address);
    } catch (error) {
      if (performance.now() + pauseMs >= deadline) {
        const why = systemCode(error) ?? messageOf(error);
        throw new MachineError(`the store of the run is on ${host}, and that name has no address here (${why})`, masterHelp()); // prettier-ignore
      }
      await sleep(pauseMs);
    }
  }
}

/**
 * Where a store listens whose host is called `host`: at its address, so that no other interface is open. On all interfaces where that is
 * none of this machine's; and where it is the loopback's by the machine's own name alone, as Debian's file of hosts has it, because ranks
 * on other hosts have another address for the name.
 * @param addresses of the host, see {@link addressesOf}
 * @param isOneHost all ranks are known to be on this machine
 * @returns addresses to be tried in turn
 */
export function listenAddresses(host: string, addresses: readonly string[], isOneHost: boolean): readonly string[] {
  const own = Object.values(networkInterfaces()).flatMap((list) => (list ?? []).map(({ address }) => address));
  const outer = addresses.find((address) => own.includes(address) && !isLoopback(address));
  if (outer !== undefined) return [outer];
  const inner = addresses.find(isLoopback);
  // An address, and this one name, mean the loopback to everybody.
  const isMeant = isOneHost || host === "localhost" || inner === host;
  return inner !== undefined && isMeant ? [inner] : everywhere;
}

const isLoopback = (address: string): boolean => address === "::1" || address.startsWith("127.");

/** Ranks on other hosts: which hosts, by a file, and the command that starts a rank there over ssh. */
import { isIP } from "node:net";
import { hostname } from "node:os";
import { type Environment, environmentTable, processEnvironment, readEnv } from "./env.js";
import { UsageError } from "./errors.js";
import { ranksText } from "./hosts.js";
import { addressesOf, listenAddresses } from "./store-host.js";

/** A host, and how many ranks it has. */
export interface RemoteHost {
  /** As ssh takes it: `node1`, `me@node1`. */
  readonly name: string;
  readonly ranks: number;
}

/** One rank's place: its host, and its number among the ranks there. */
export interface Seat {
  readonly host: RemoteHost;
  readonly localRank: number;
}

const mostRanks = 1024;
/** A name, which with a dash before it would be an option of ssh, and a number. */
const hostLine = /^((?:\w[\w.%-]*@)?(?:[\w:][\w.%:-]*|\[[\w.%:]+\]))(?:\s+(?:slots=)?(\d{1,6}))?$/;

/**
 * Hosts of a file, one a line: `node1`, `node1 8` or, as mpirun has it, `node1 slots=8`; one rank where no number stands. Empty lines
 * and what follows a `#` are passed over.
 * @param file name for messages
 * @throws UsageError for a line that is none of these, a host that stands there twice, and for no host at all
 */
export function parseHosts(text: string, file: string): RemoteHost[] {
  const hosts: RemoteHost[] = [];
  for (const [i, line] of text.split("\n").entries()) {
    const words = line.replace(/#.*/, "").trim();
    if (words === "") continue;
    const [, name, count] = hostLine.exec(words) ?? [];
    const ranks = Number(count ?? 1);
    const [, host, digits] = /^([^:[\]]+):(\d+)$/.exec(words) ?? [];
    if (digits !== undefined)
      throw new UsageError(
        `line ${i + 1} of ${file} is no host: ${JSON.stringify(words)}`,
        `write: ${host!} ${digits}`,
      );
    if (name === undefined || ranks < 1 || ranks > mostRanks)
      throw new UsageError(
        `line ${i + 1} of ${file} is no host: ${JSON.stringify(words)}`,
        "write a host a line and its ranks behind it, such as: node1 8",
      );
    if (hosts.some((h) => h.name === name))
      throw new UsageError(`${file} has ${name} twice`, "write it once, with all its ranks");
    hosts.push({ name, ranks });
  }
  if (hosts.length === 0) throw new UsageError(`${file} names no host`, "write a host a line, such as: node1 8");
  return hosts;
}

/** Ranks are numbered host by host. */
export function seatsOf(hosts: readonly RemoteHost[]): Seat[] {
  return hosts.flatMap((host) => Array.from({ length: host.ranks }, (_, localRank) => ({ host, localRank })));
}

/**
 * The reach of these hosts, as `--reach` has it, where ranks of two hosts share no addresses.
 * @throws UsageError where a host before the last has fewer ranks than another, or the last has more
 */
export function reachOfHosts(hosts: readonly RemoteHost[]): string {
  const [first] = hosts as readonly [RemoteHost, ...RemoteHost[]];
  const odd = hosts.find((h, i) => h.ranks > first.ranks || (h.ranks < first.ranks && i < hosts.length - 1));
  if (odd !== undefined)
    throw new UsageError(
      `${odd.name} has ${odd.ranks} ranks and ${first.name} ${first.ranks}`,
      "give all hosts as many, or fewer to the last; or say with --reach which ranks share addresses",
    );
  return `${hosts.length}x${first.ranks}`;
}

const local = new Set(["localhost", "127.0.0.1", "::1"]);

/** A name as ssh takes it: addresses stand without brackets. */
const bare = ({ name }: RemoteHost): string => name.replace(/\[(.*)\]$/, "$1");

/**
 * Where the store listens, and where ranks on these hosts find it: at MASTER_ADDR where it is set, see {@link listenAddresses}, on the
 * loopback where all of them are this host, else on all interfaces and at this host's name.
 * @throws MachineError for a MASTER_ADDR that has no address
 */
export async function storePlace(
  hosts: readonly RemoteHost[],
  env: Environment = processEnvironment(),
): Promise<{ readonly listen: readonly string[]; readonly address: string }> {
  const named = readEnv("MASTER_ADDR", env);
  const isOneHost = hosts.every((host) => local.has(bare(host).replace(/^.*@/, "")));
  if (named !== undefined) {
    const listen = isIP(named) !== 0 ? [named] : listenAddresses(named, await addressesOf(named, 0), isOneHost);
    return { listen, address: named };
  }
  if (isOneHost) return { listen: ["127.0.0.1"], address: "127.0.0.1" };
  return { listen: ["::", "0.0.0.0"], address: hostname() };
}

/** Nobody is there to type a password; a host that is silent for 15 s is taken for dead. */
const ssh = ["ssh", "-T", "-o", "BatchMode=yes", "-o", "ConnectTimeout=10", "-o", "ServerAliveInterval=5", "-o", "ServerAliveCountMax=3"]; // prettier-ignore

export interface RemoteProcess {
  readonly command: string;
  readonly args: readonly string[];
}

/**
 * The command that runs a program on another host, in the user's folder there. The first line of its standard input is the run's secret,
 * which so stands on no command line; the program ends when that input does, which is when ssh, or whoever holds it, is gone.
 * @param variables of the program's environment; variables of collc, NCCL and NVSHMEM that a user has set here go along
 * @param needed paths that the host must have; where one is missing, the exit code says which, see {@link unreachableText}
 */
export function remoteProcess(
  host: RemoteHost,
  program: readonly string[],
  variables: Readonly<Record<string, string>>,
  needed: readonly string[],
  env: Environment = processEnvironment(),
): RemoteProcess {
  const [command, ...args] = readEnv("COLLC_SSH", env)?.match(/\S+/g) ?? ssh;
  const own = Object.fromEntries(Object.entries(env).filter(([name, value]) => value !== undefined && goesAlong(name)));
  const assigned = Object.entries({ ...own, ...variables, COLLC_ENDS_WITH_INPUT: "1" });
  const text = [
    ...needed.map((path, i) => `{ [ -e ${quoted(path)} ] || exit ${firstLacking + i}; }`),
    "IFS= read -r COLLC_STORE_SECRET",
    "export COLLC_STORE_SECRET",
    `exec env ${assigned.map(([name, value]) => `${name}=${quoted(value ?? "")}`).join(" ")} ${program.map(quoted).join(" ")}`,
  ].join(" && ");
  // The user's shell there may be of any kind.
  return { command: command!, args: [...args, bare(host), `exec sh -c ${quoted(text)}`] };
}

/** Whether other hosts get a variable as it is set here. Which GPUs are visible is each host's own. */
function goesAlong(name: string): boolean {
  if (/^(NCCL|NVSHMEM)_\w+$/.test(name)) return true;
  const { owner } = (environmentTable as Readonly<Record<string, { owner: string } | undefined>>)[name] ?? {};
  return owner === "user" && name.startsWith("COLLC_") && !/^COLLC_(SSH|STORE_\w+)$/.test(name);
}

/** A word that a POSIX shell takes as it stands. */
function quoted(word: string): string {
  return `'${word.replaceAll("'", `'\\''`)}'`;
}

/** Exit codes of a remote shell from here on say which path is missing; collc and signals end below, ssh with 255. */
const firstLacking = 200;

/** What to see to where a host does not start its ranks. */
export const hostNeeds =
  "each host needs ssh without a password, collc and the program at this host's paths, and a way back to this host, which MASTER_ADDR names";

/** What a host is like whose ssh ended with this code before its rank had joined; null where the code says nothing of the host. */
export function unreachableText(code: number, needed: readonly string[]): string | null {
  if (code === 255) return "cannot be reached";
  if (code === 127) return "lacks a program of this one's paths";
  const missing = needed[code - firstLacking];
  return missing === undefined ? null : `lacks ${missing}`;
}

/** Said of the first one's host: its ranks, and then other hosts and theirs. @param absent ranks that have not joined, one at least */
export function absentText(
  absent: readonly { readonly rank: number; readonly seat: Seat | null }[],
  seconds: number,
): string {
  const hosts = [...new Set(absent.map(({ seat }) => seat!.host))];
  const told = hosts.map((host, i) => {
    const own = absent.filter(({ seat }) => seat!.host === host).map(({ rank }) => rank);
    return `${i === 0 ? "" : `host ${host.name} `}did not start ${ranksText(own)}`;
  });
  return `${told.join(", ")} (nothing heard in ${seconds} s)`;
}

/** A host that is gone takes all its ranks with it. */
export function lostText(host: RemoteHost, seats: readonly Seat[]): string {
  const own = [...seats.keys()].filter((rank) => seats[rank]!.host === host);
  return `host ${host.name} was lost, with ${ranksText(own)}`;
}

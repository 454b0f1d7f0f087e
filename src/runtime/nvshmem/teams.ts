/** NVSHMEM teams, one a group, for its own collectives. */
import { RuntimeError } from "../errors.js";
import { native, type NvshmemTeam } from "../native.js";
import type { NvshmemOptions, NvshmemSession } from "./session.js";

export interface NvshmemGroupTeam {
  readonly id: NvshmemTeam;
  /** Collective. */
  destroy(): Promise<void>;
}

/** Distance of neighbours in an ascending list of PEs, or null when it is not the same everywhere. */
export function strideOf(pes: readonly number[]): number | null {
  if (pes.length < 2) return 1;
  const stride = pes[1]! - pes[0]!;
  return stride > 0 && pes.every((pe, i) => pe === pes[0]! + i * stride) ? stride : null;
}

/**
 * The team of a group; collective over its members alone. The whole world is a team already. Teams of others are made
 * by their members where the library can (nvshmemx_team_init, 3.4); nvshmem_team_split_strided, which every version
 * has, synchronises all ranks of the run, and a group of some must not wait for those outside: see {@link splitTeam}.
 * @throws RuntimeError where the library cannot.
 */
export async function makeTeam(session: NvshmemSession, options: NvshmemOptions): Promise<NvshmemGroupTeam> {
  const { rank, world, exchange, ranks } = options;
  if (session.isWorld(ranks)) return { id: 0, destroy: () => Promise.resolve() };
  if (!session.library.memberTeams) {
    throw new RuntimeError(
      `NVSHMEM ${session.library.version} cannot make a team of ranks ${ranks.join(", ")} without the others`,
      "put, get, signals and barrier work in every group; for NVSHMEM's own collectives update it to 3.4, or let every " +
        "rank of the run call splitTeam",
    );
  }
  const ids = await exchange.allGather("nvshmem: team", rank === 0 ? String(native().nvshmemTeamUniqueId()) : "");
  const id = await session.collective(`making NVSHMEM's team of ranks ${ranks.join(", ")}`, () =>
    native().nvshmemTeamCreate(BigInt(ids[0]!), world, rank),
  );
  return owned(session, id);
}

/**
 * A team by start and stride. Every rank of NVSHMEM's world calls it with the same members; those outside get null.
 * @param members by their rank in the run, ascending.
 * @throws RuntimeError when they are not evenly spaced, which NVSHMEM needs here.
 */
export async function splitTeam(session: NvshmemSession, members: readonly number[]): Promise<NvshmemGroupTeam | null> {
  const pes = members.map((rank) => session.peOf(rank));
  const stride = strideOf(pes);
  if (pes.length === 0 || pes.includes(-1) || stride === null) {
    throw new RuntimeError(
      `NVSHMEM's teams are of evenly spaced ranks in ascending order, not of ${members.join(", ")}`,
      "put, get, signals and barrier work in every group; or number the ranks so that the group is evenly spaced",
    );
  }
  const id = await session.collective(`splitting NVSHMEM's team of ranks ${members.join(", ")}`, () =>
    native().nvshmemTeamSplit(0, pes[0]!, stride, pes.length),
  );
  return id < 0 ? null : owned(session, id);
}

function owned(session: NvshmemSession, id: NvshmemTeam): NvshmemGroupTeam {
  return { id, destroy: () => session.collective("destroying an NVSHMEM team", () => native().nvshmemTeamDestroy(id)) };
}

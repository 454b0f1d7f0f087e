/** Which ranks a subgroup has, and under which name they meet. */
import { UsageError } from "./errors.js";

/**
 * Checks a list of a group's ranks.
 * @returns the place of `own` in it.
 * @throws UsageError when the list is empty, names a rank twice or one that is not there, or lacks `own`.
 */
export function checkMembers(group: string, world: number, members: readonly number[], own: number): number {
  const text = `[${members.join(", ")}]`;
  if (members.length === 0) throw new UsageError(`a subgroup of "${group}" needs a rank`);
  const stranger = members.find((rank) => !Number.isInteger(rank) || rank < 0 || rank >= world);
  if (stranger !== undefined)
    throw new UsageError(`there is no rank ${stranger} in group "${group}" of ${world}, so no subgroup ${text}`);
  if (new Set(members).size !== members.length) throw new UsageError(`subgroup ${text} names a rank twice`);
  const place = members.indexOf(own);
  if (place < 0)
    throw new UsageError(`rank ${own} is not among the ranks ${text} of the subgroup`, "only its members make a group");
  return place;
}

/**
 * Names of groups in the store. The members of a group have made the same groups among themselves before, in the same
 * order, so counting is enough to tell a recycled name from the one before.
 */
export class GroupNames {
  readonly #made = new Map<string, number>();

  /** @param ranks the run's. */
  next(asked: string | undefined, ranks: readonly number[]): { readonly name: string; readonly key: string } {
    const members = [...ranks].sort((a, b) => a - b).join(",");
    const name = asked ?? `ranks ${ranks.join(",")}`;
    const base = `group/${members}/${asked ?? ""}`;
    const count = this.#made.get(base) ?? 0;
    this.#made.set(base, count + 1);
    return { name, key: `${base}/${count}` };
  }
}

/** Why a point of synchronisation is there: which two accesses would have no order without it. */
import type { Kernel, Op, Region } from "../ir/module.js";
import type { Access } from "../passes/support/accesses.js";
import { verifySync } from "../passes/support/verify-sync.js";
import type { Span } from "../source.js";

/** One of the two accesses. */
export interface Party {
  readonly rank: number;
  /** Whose memory. */
  readonly owner: number;
  readonly buffer: string;
  readonly writes: boolean;
  /** `caller`: what whoever launches the kernel does before or after it. */
  readonly when: "launch" | "launch before" | "caller";
  /** Null for callers. */
  readonly span: Span | null;
}

export interface SyncReason {
  readonly op: Op;
  /** Two accesses of one element that nothing else would order; null if all would be ordered without it. */
  readonly parties: readonly [earlier: Party, later: Party] | null;
}

/** One for each op that synchronises, in the order of the text. @param kernel as `derive-sync` left it. */
export function syncReasons(kernel: Kernel): SyncReason[] {
  const all = syncsOf(kernel.body);
  const words = all.filter((op) => op.name !== "barrier");
  return all.map((op) => {
    // A signal is nothing without its wait, and which is whose only a run tells: they are left out together.
    const left = op.name === "barrier" ? [op] : words;
    const [first] = verifySync({ ...kernel, body: without(kernel.body, new Set(left)) });
    return { op, parties: first === undefined ? null : [partyOf(first[0]), partyOf(first[1])] };
  });
}

/** All ops that synchronise, in the order of the text. */
export function syncsOf(region: Region): Op[] {
  return region.ops.flatMap((op) =>
    ["barrier", "notify", "await"].includes(op.name) ? [op] : op.regions.flatMap(syncsOf),
  );
}

function without(region: Region, left: ReadonlySet<Op>): Region {
  const ops = region.ops.flatMap((op) =>
    left.has(op) ? [] : op.regions.length === 0 ? op : { ...op, regions: op.regions.map((r) => without(r, left)) },
  );
  return { ...region, ops };
}

function partyOf({ rank, owner, buffer, writes, span, isEarlier }: Access): Party {
  const when = span === null ? "caller" : isEarlier === true ? "launch before" : "launch";
  return { rank, owner, buffer, writes, when, span };
}

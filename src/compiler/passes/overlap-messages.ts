/**
 * overlap-messages: what a rank can do while its messages are under way, it does beside them.
 *
 * A step of messages needs what was stored for it, and few of the loops behind it need what it brings. So the loops come in another order:
 * first all that needs no message, then what needs one, then what needs one after another, each in the program's order, and a message right
 * behind the last loop that it needs. Before the first loop that needs a message, or stores where it still reads, the rank waits for it: `message_wait`.
 * Of a loop over chunks, whose iterations send-messages has written out, the first half of a chunk then goes on beside the messages of the chunk before.
 *
 * What needs what is seen in what all ranks touch, elements as intervals (`support/accesses.ts`). Where barriers, signals or waits are written, or a
 * value goes from one loop to another, everything stays in its place.
 */
import { type Kernel, type Op } from "../ir/module.js";
import { definitionOf } from "../ir/ops.js";
import { type Access, AccessCollector, accessOf, mayConflict } from "./support/accesses.js";
import { Definitions } from "./support/analysis.js";
import { RankValues } from "./support/rank-values.js";
import { hasSync } from "./support/sync-ops.js";

/** Pairs of accesses that are looked at, at most: in kernels with more, messages stay where they are. */
const MOST_PAIRS = 2_000_000;

export function overlapMessages(kernel: Kernel): Kernel {
  const pure = kernel.body.ops.filter((op) => definitionOf(op.name).effect === "pure");
  const all = kernel.body.ops.filter((op) => definitionOf(op.name).effect !== "pure");
  if (!all.some(isMessage) || all.some((op) => op.results.length > 0 || hasSync(op))) return kernel;
  const touched = touchedBy(all, kernel);
  // Loops that have no iteration on any rank are none to go on beside messages.
  const isWork = all.map((_, i) => touched[i]!.length > 0);
  const needs = needsOf(touched.filter((_, i) => isWork[i])); // prettier-ignore
  const ops = needs === null ? null : withWaits(all.filter((_, i) => isWork[i]), needs); // prettier-ignore
  return ops === null ? kernel : { ...kernel, body: { arguments: [], ops: [...pure, ...ops] } };
}

function isMessage(op: Op): boolean {
  return op.name === "message";
}

/** What each op touches, by whichever rank: all of them go through the kernel in step, as far as this pass is concerned. */
function touchedBy(ops: readonly Op[], kernel: Kernel): readonly (readonly Access[])[] {
  const definitions = new Definitions(kernel);
  const collector = new AccessCollector(kernel);
  return ops.map((op) => {
    // Op by op and rank by rank, so that what is known of one is forgotten before the next.
    const valuesOf = RankValues.ofEach(definitions);
    const touched = new Map<string, Access>();
    for (let rank = 0; rank < kernel.world; rank++)
      for (const access of collector.of(op, valuesOf(rank))) {
        const any = accessOf({ ...access, rank: access.owner, position: null });
        if (!touched.has(any.key)) touched.set(any.key, any);
      }
    return [...touched.values()];
  });
}

/** For each op the earlier ones that it must come after, by number; null if there is too much to look at. */
function needsOf(touched: readonly (readonly Access[])[]): readonly (readonly number[])[] | null {
  const before = new Map<string, { readonly access: Access; readonly op: number }[]>();
  let pairs = 0;
  const needs: number[][] = [];
  for (const [op, accesses] of touched.entries()) {
    const needed = new Set<number>();
    for (const access of accesses)
      for (const earlier of before.get(access.place) ?? []) {
        if (needed.has(earlier.op) || !(access.writes || earlier.access.writes)) continue;
        if (++pairs > MOST_PAIRS) return null;
        if (mayConflict(earlier.access, access)) needed.add(earlier.op);
      }
    for (const access of accesses) {
      const list = before.get(access.place) ?? [];
      before.set(access.place, list);
      list.push({ access, op });
    }
    needs.push([...needed].sort((a, b) => a - b));
  }
  return needs;
}

/** The ops in their new order, with waits for messages; null where nothing would go on beside any. */
function withWaits(work: readonly Op[], needs: readonly (readonly number[])[]): readonly Op[] | null {
  const stages: number[] = [];
  for (const needed of needs)
    stages.push(Math.max(0, ...needed.map((i) => stages[i]! + (isMessage(work[i]!) ? 1 : 0))));
  const order = work.map((_, i) => i).sort((a, b) => stages[a]! - stages[b]! || a - b);
  /** Numbers of the steps that messages have become, and how many there are. */
  const sent = new Map<number, number>();
  let count = 0;
  const ops: Op[] = [];
  let [awaited, isBeside] = [0, false];
  for (const i of order) {
    const op = work[i]!;
    const last = Math.max(0, ...needs[i]!.map((n) => (sent.get(n) ?? -1) + 1));
    if (isMessage(op)) {
      // Those with nothing between them go together; of others each begins when the one before it has ended.
      const before = ops.at(-1);
      const isTogether = before !== undefined && isMessage(before) && last < count;
      if (isTogether) ops[ops.length - 1] = together(before, op);
      else {
        ops.push({ ...op, attributes: { ...op.attributes, beside: true } });
        count++;
      }
      sent.set(i, count - 1);
      continue;
    }
    if (last > awaited) {
      ops.push(waitFor(count - last, op));
      awaited = last;
    }
    isBeside ||= awaited < count;
    ops.push(op);
  }
  return isBeside ? ops : null;
}

function together(a: Op, b: Op): Op {
  return { ...a, regions: [{ arguments: [], ops: [...a.regions[0]!.ops, ...b.regions[0]!.ops] }] };
}

function waitFor(pending: number, { span }: Op): Op {
  return { name: "message_wait", operands: [], results: [], attributes: { pending }, regions: [], span };
}

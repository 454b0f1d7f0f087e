/**
 * Is what was proved at some lengths true of all? docs/PROOF.md, "Every length", says what is shown and why it is enough.
 */
import { Fails, CannotTell } from "../../execute/failures.js";
import type { Kernel } from "../../ir/module.js";
import { NO_SPAN, type Span } from "../../source.js";
import { type DimValues, extentNames } from "../../types/extent.js";
import { launchesOf } from "../launches.js";
import { placeOf } from "../results.js";
import { Expressions, NotAffine } from "./expressions.js";
import { type Box, boxOf, constant, explore, Undecided } from "./forms.js";
import { checkSpecification } from "./elementwise.js";
import { Lengths, Pairs, type Program, type Unit } from "./lengths.js";
import { type Movement, Movements } from "./movements.js";
import { StretchOrder } from "./skeleton.js";
import { checkOps, NotShown, Walk } from "./stretches.js";

/** Whether a proof at some lengths is one for every length; if not, what stands in the way, and where. */
export type EveryLength =
  { readonly holds: true } | { readonly holds: false; readonly reason: string; readonly span: Span };

export interface EveryClaim {
  readonly answer: EveryLength;
  readonly ordering: EveryLength;
}

/** Boxes of lengths that are looked at, at most. */
const MOST_BOXES = 4000;

/**
 * @param answered lengths at which the answer was proved, with aligned buffers
 * @throws nothing that means a wrong program: what is not shown says why
 */
export function everyLength(kernel: Kernel, answered: readonly DimValues[]): EveryClaim {
  let answer: EveryLength = { holds: true };
  try {
    const program = programOf(kernel, answered);
    const pairs = new Pairs(program);
    const shown = new Set<string>();
    const needed = new Set<string>();
    const forAnswer = (lengths: Lengths, into: Set<string>): void => {
      if (!answer.holds) return;
      try {
        for (const key of lengths.outputs()) into.add(key);
      } catch (e) {
        answer = notShown(kernel, e);
      }
    };
    try {
      checkSpecification(kernel);
    } catch (e) {
      answer = notShown(kernel, e);
    }
    for (const dims of answered) forAnswer(new Lengths(program, pointOf(dims), pairs), shown);
    const isWhole = explore(boxOf(kernel.dims), MOST_BOXES, (box) => {
      const lengths = new Lengths(program, box, pairs);
      if (!lengths.isAllowed()) return;
      lengths.checkOrder();
      forAnswer(lengths, needed);
    });
    if (!isWhole) throw new NotShown("there are too many cases of lengths", NO_SPAN);
    if (answer.holds && [...needed].some((key) => !shown.has(key)))
      answer = notShown(kernel, new NotShown("some elements are made in a way that no proved shape has", NO_SPAN));
    return { answer, ordering: { holds: true } };
  } catch (e) {
    const ordering = notShown(kernel, e);
    return { answer: ordering, ordering };
  }
}

/** Why something is not shown. Rethrows what means something else: a box to be cut, or a bug. */
function notShown(kernel: Kernel, e: unknown): EveryLength {
  const fails = (reason: string, span: Span): EveryLength => ({
    holds: false,
    reason,
    span: span.end === 0 ? placeOf(kernel) : span,
  });
  if (e instanceof NotShown) return fails(e.reason, e.span);
  if (e instanceof Undecided) return fails("lengths are compared in a way that is not followed", NO_SPAN);
  if (e instanceof NotAffine) return fails(`there is ${e.what}`, NO_SPAN);
  if (e instanceof Fails || e instanceof CannotTell) return fails(e.message, NO_SPAN);
  throw e;
}

function pointOf(dims: DimValues): Box {
  return { ranges: new Map(), names: new Map(Object.entries(dims).map(([name, n]) => [name, constant(n)])) };
}

/** The kernel as movements. @throws NotShown */
function programOf(kernel: Kernel, proved: readonly DimValues[]): Program {
  checkOps(kernel);
  for (const { name, values } of kernel.inputs)
    if (values !== undefined && [values.from, values.to].some((e) => extentNames(e).size > 0))
      throw new NotShown(`the values of '${name}' are limited by a length`, NO_SPAN);
  const dims = proved.find((d) => Object.values(d).every((n) => n > 0));
  if (dims === undefined) throw new NotShown("there is no proved shape", NO_SPAN);
  const launches = launchesOf(kernel);
  const expressions = new Expressions();
  const all = new Movements(kernel, expressions);
  const rows = new Map<Movement, number[]>();
  const units = new Map<string, Unit>();
  const orders: StretchOrder[] = [];
  for (let grid = kernel.maxBlocks; grid >= 1; grid--) {
    const order = new StretchOrder(kernel, dims, grid, launches);
    orders.push(order);
    for (let rank = 0; rank < kernel.world; rank++)
      for (let parity = 0; parity < Math.min(2, launches); parity++) {
        const { stretches } = new Walk(kernel, expressions, rank, grid, parity);
        const movements = stretches.map((s) => all.of(s, grid));
        for (let launch = parity; launch < launches; launch += 2) {
          for (let block = 0; block < grid; block++)
            if (order.count(rank, block, launch) !== stretches.length)
              throw new NotShown("blocks do not all come to the same loops", placeOf(kernel));
          for (const [stretch, of] of movements.entries())
            enter(units, rows, grid, { rank, launch, stretch, movements: of });
        }
      }
  }
  const [largest] = orders as [StretchOrder];
  const sorted = [...units.values()].sort(
    (a, b) => a.launch - b.launch || largest.timeOf({ ...a, block: 0 }) - largest.timeOf({ ...b, block: 0 }),
  );
  return { kernel, expressions, launches, units: sorted, orders, rows };
}

/** Takes a unit as the largest grid has it; of smaller ones, which must do the same, the rows. */
function enter(units: Map<string, Unit>, rows: Map<Movement, number[]>, grid: number, unit: Unit): void {
  const key = `${unit.rank} ${unit.launch} ${unit.stretch}`;
  const known = units.get(key);
  if (known === undefined) {
    units.set(key, unit);
    for (const m of unit.movements) {
      if (!rows.has(m)) rows.set(m, []);
      rows.get(m)![grid] = m.rows;
    }
    return;
  }
  const [span] = unit.movements.map((m) => m.span);
  const differ = (): never => {
    throw new NotShown("what is stored is not the same for all numbers of blocks", span ?? NO_SPAN);
  };
  if (known.movements.length !== unit.movements.length) differ();
  for (const m of known.movements) {
    const same = unit.movements.find((o) => keyOf(o) === keyOf(m));
    if (same === undefined) return differ();
    rows.get(m)![grid] = same.rows;
  }
}

function keyOf({ buffer, owner, base, length, text, sources, aligned }: Movement): string {
  const forms = sources.map((s) => [s.buffer, s.owner, [...s.distance]]);
  const vectors = aligned.map(({ form, lanes }) => JSON.stringify([[...form].sort(), lanes])).sort();
  return JSON.stringify([buffer, owner, [...base].sort(), length, text, forms, vectors]);
}

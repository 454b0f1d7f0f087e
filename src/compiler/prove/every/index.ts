/**
 * Is what was proved at some lengths true of all? docs/PROOF.md, "Every length", says what is shown and why it is enough.
 */
import { InternalCompilerError } from "../../diagnostics/ice.js";
import { Fails, CannotTell } from "../../execute/failures.js";
import type { Kernel } from "../../ir/module.js";
import { printKernel } from "../../ir/print.js";
import { NO_SPAN, type Span } from "../../source.js";
import { type DimValues, extentNames } from "../../types/extent.js";
import { divisorOf, greatestCommon } from "../../types/requirement.js";
import { proveAnswer } from "../answer.js";
import { launchesOf } from "../launches.js";
import { predicated } from "../predicated.js";
import { type Answer, placeOf } from "../results.js";
import { Expressions, NotAffine } from "./expressions.js";
import { type Box, boxOf, constant, explore, type Form, Undecided } from "./forms.js";
import { answersOf } from "./elementwise.js";
import { outputsOf } from "./contents.js";
import { Footprints } from "./footprints.js";
import { checkCounted, dimsIn, Lengths, namesOf, type Program, type Unit } from "./lengths.js";
import { checkBlocksAlike } from "./blocks.js";
import { Movements } from "./movements.js";
import { checkOrder, checkStrips, Pairs } from "./order.js";
import type { Movement } from "./pieces.js";
import { inOrderOfPackets } from "./progress.js";
import { areLaunchesAlike, inOneOrder, SharedMovements } from "./repeats.js";
import { checkProducts, hasRoles } from "./products/index.js";
import { type Place, StretchOrder } from "./skeleton.js";
import { type Condition, demand, isAsked, NotShown } from "./conditions.js";
import { checkOps, type Stretch, Walk } from "./stretches.js";
import { withoutRounds } from "./without-rounds.js";

/** Whether a proof at some lengths is one for every length; if not, what stands in the way, and where. */
export type EveryLength =
  | { readonly holds: true }
  | {
      readonly holds: false;
      readonly reason: string;
      readonly span: Span;
      /** The condition of the theorem that stands in the way; null where it has no name. */
      readonly condition: Condition | null;
    };

export interface EveryClaim {
  readonly answer: EveryLength;
  readonly ordering: EveryLength;
  /** Lengths at which the answer has to be proved for this, of those that were offered, or was. */
  readonly examples: readonly DimValues[];
}

/** Boxes of lengths that are looked at, at most. */
const MOST_BOXES = 1000;

/**
 * @param shapes lengths at which the answer may be proved, with aligned buffers; the first are the first to be taken
 * @param prove proves the kernel's answer at some of them; null: it is proved there, or somebody will
 * @param only lengths that it is about; by default all that the kernel takes
 * @param product an input that stands for a product: any block may take any of its elements
 * @param ofAnyBlock scratch of which any block may take any element, too
 * @param isOfParts whether what a dimension divides by divides a product, too, in which that is then no length of its own
 * @throws nothing that means a wrong program: what is not shown says why
 */
export function everyLength(
  kernel: Kernel,
  shapes: readonly DimValues[],
  prove: ((dims: DimValues) => Answer) | null = null,
  only: readonly DimValues[] | null = null,
  product: string | null = null,
  ofAnyBlock: string | null = product,
  isOfParts = product !== null,
): EveryClaim {
  let answer: EveryLength = { holds: true };
  const whereAnswered = (of: () => void): void => {
    if (!answer.holds) return;
    try {
      of();
    } catch (e) {
      answer = notShown(kernel, e);
    }
  };
  try {
    if (hasRoles(kernel)) {
      const looked = new Set<string>();
      for (const left of checkProducts(kernel, whereAnswered)) {
        // Several ways through a launch may leave one kernel, of which the same is then shown.
        const { clauses } = left.kernel;
        const key = JSON.stringify([printKernel(left.kernel), clauses, left.product, left.ofAnyBlock, left.shapes]);
        if (looked.has(key)) continue;
        looked.add(key);
        const executed = predicated(left.kernel);
        const proveIt = (dims: DimValues): Answer => proveAnswer(executed, { dims });
        const of = left.shapes === undefined ? only : null;
        const { product: stands, ofAnyBlock: taken = stands } = left;
        const claim = everyLength(left.kernel, left.shapes ?? shapes, proveIt, of, stands, taken);
        if (!claim.ordering.holds) return { answer: claim.ordering, ordering: claim.ordering, examples: [] };
        if (answer.holds) answer = claim.answer;
      }
      return { answer, ordering: { holds: true }, examples: [] };
    }
    const expressions = new Expressions(divisorsOf(kernel));
    const { program, left } = programOf(kernel, shapes, expressions, ofAnyBlock, isOfParts);
    const pairs = new Pairs(program);
    const needed = new Set<string>();
    const examples: DimValues[] = [];
    // Of rounds, what they make of rows is shown by itself; what is left goes element by element.
    whereAnswered(() => (left === null ? answersOf(kernel) : answerWithout(left(), shapes, only)));
    /** Looks at boxes that have such names, and together all lengths. */
    const everywhere = (names: readonly string[], look: (lengths: Lengths) => void): void => {
      const boxes = only === null ? [boxOf(names)] : only.map((dims) => pointOf(names, dims));
      const allowed = (box: Box): void => {
        const lengths = new Lengths(program, box);
        if (lengths.isAllowed()) look(lengths);
      };
      if (!boxes.every((box) => explore(box, MOST_BOXES, allowed)))
        throw new NotShown("there are too many cases of lengths", NO_SPAN);
    };
    const names = namesOf(program);
    // Products that strips alone are counted by are dimensions' products to all else.
    const ofStrips = namesOf(program, true);
    if (ofStrips.length > names.length) everywhere(ofStrips, checkStrips);
    everywhere(names, (lengths) => {
      if (ofStrips.length === names.length) checkStrips(lengths);
      checkOrder(lengths, pairs);
      if (left === null) whereAnswered(() => outputsOf(lengths, false).forEach((key) => needed.add(key)));
    });
    whereAnswered(() => {
      const refused: Answer[] = [];
      for (const dims of shapes) {
        if (needed.size === 0) break;
        const keys = [...outputsOf(new Lengths(program, pointOf(names, dims)), true)].filter((k) => needed.has(k));
        if (keys.length === 0) continue;
        const proof = prove?.(dims);
        if (proof !== undefined && proof.status !== "proved") {
          refused.push(proof);
          continue;
        }
        examples.push(dims);
        for (const key of keys) needed.delete(key);
      }
      if (needed.size > 0) demand("kinds", false, reasonFor(refused), NO_SPAN);
    });
    return { answer, ordering: { holds: true }, examples };
  } catch (e) {
    const ordering = notShown(kernel, e);
    return { answer: ordering, ordering, examples: [] };
  }
}

/** Asks for the answer of a kernel that stands for one. @throws NotShown */
function answerWithout(kernel: Kernel, shapes: readonly DimValues[], only: readonly DimValues[] | null): void {
  const executed = predicated(kernel);
  const { answer } = everyLength(kernel, shapes, (dims) => proveAnswer(executed, { dims }), only, null, null, true);
  if (!answer.holds) throw new NotShown(answer.reason, answer.span, answer.condition);
}

/** Why elements of some kinds are not known to be right. @param refused what no proof was found of, at lengths that have some */
function reasonFor([first]: readonly Answer[]): string {
  if (first === undefined) return "some elements are made in a way that no proved shape has";
  const at = Object.entries(first.claim.dims).map(([name, n]) => `${name}=${n}`);
  const what = first.status === "wrong" ? first.message : first.status === "unknown" ? first.reason : "";
  return `the answer is not proved${at.length === 0 ? "" : ` at ${at.join(" ")}`}: ${what}`;
}

/** Why something is not shown. Rethrows what means something else: a box to be cut, or a bug. */
function notShown(kernel: Kernel, e: unknown): EveryLength {
  const fails = (reason: string, span: Span, condition: Condition | null = null): EveryLength => ({
    holds: false,
    reason,
    condition,
    span: span.end === 0 ? placeOf(kernel) : span,
  });
  if (e instanceof NotShown) return fails(e.reason, e.span, e.condition);
  if (e instanceof Undecided) return fails("lengths are compared in a way that is not followed", NO_SPAN);
  if (e instanceof NotAffine) return fails(`there is ${e.what}`, NO_SPAN);
  if (e instanceof Fails || e instanceof CannotTell) return fails(e.message, NO_SPAN);
  throw e;
}

function pointOf(names: readonly string[], dims: DimValues): Box {
  const at = (name: string): Form => constant(dimsIn(name).reduce((n, d) => n * dims[d]!, 1));
  return { ranges: new Map(), names: new Map(names.map((name) => [name, at(name)])) };
}

/** What the signature says that dimensions are multiples of. */
function divisorsOf({ requirements }: Kernel): ReadonlyMap<string, number> {
  const divisors = new Map<string, number>();
  for (const requirement of requirements) {
    const known = divisorOf(requirement);
    if (known === null || typeof known.length !== "string") continue;
    const before = divisors.get(known.length) ?? 1;
    divisors.set(known.length, (before * known.divisor) / greatestCommon(before, known.divisor));
  }
  return divisors;
}

/** The kernel as movements. @throws NotShown */
function programOf(
  kernel: Kernel,
  proved: readonly DimValues[],
  expressions: Expressions,
  ofAnyBlock: string | null,
  isOfParts: boolean,
): { readonly program: Program; readonly left: (() => Kernel) | null } {
  checkOps(kernel);
  for (const { name, values } of kernel.inputs)
    if (values !== undefined && [values.from, values.to].some((e) => extentNames(e).size > 0))
      throw new NotShown(`the values of '${name}' are limited by a length`, NO_SPAN);
  const dims = proved.find((d) => Object.values(d).every((n) => n > 0));
  if (dims === undefined) throw new NotShown("there is no proved shape", NO_SPAN);
  for (const b of kernel.buffers)
    if (b.role === "packet") checkCounted(expressions.extent(b.shape[0]!), placeOf(kernel));
  const launches = launchesOf(kernel);
  const all = new Movements(kernel, expressions, ofAnyBlock);
  const footprints = new Footprints(kernel, expressions);
  const orders = (kernel.maxBlocks > 1 ? [1, 2] : [1]).map((grid) => StretchOrder.of(kernel, dims, grid, launches));
  const [first] = orders as [StretchOrder];
  const counters = new Set([...first.counters].filter((name) => orders.every((o) => o.counters.has(name))));
  const walks = new Map<string, Walk>();
  for (let rank = 0; rank < kernel.world; rank++)
    for (let parity = 0; parity < Math.min(2, launches); parity++)
      walks.set(`${rank} ${parity}`, new Walk(kernel, expressions, rank, parity, counters));
  // Where the last block has a part of its own, two others and the last stand for any number.
  if (kernel.maxBlocks > 1 && isAsked("alike") && checkBlocksAlike(kernel) && kernel.maxBlocks > 2)
    orders.push(StretchOrder.of(kernel, dims, 3, launches));
  if (!orders.every((o) => [...counters].every((name) => o.counters.has(name))))
    throw new NotShown("launches are not counted alike", placeOf(kernel));
  const units: Unit[] = [];
  const shared = new SharedMovements();
  const movements = new Map<Stretch, readonly Movement[]>();
  for (const { rank, stretches } of walks.values())
    for (const s of stretches)
      movements.set(s, shared.of(rank, s.rounds === null ? all.of(s) : footprints.of(s.rounds)));
  for (let rank = 0; rank < kernel.world; rank++)
    for (let launch = 0; launch < launches; launch++) {
      const { stretches } = walks.get(`${rank} ${launch % 2}`)!;
      for (const order of orders)
        for (let block = 0; block < order.grid; block++)
          if (order.count(rank, block, launch) !== stretches.length)
            throw new NotShown("blocks do not all come to the same loops", placeOf(kernel));
      for (const [stretch, s] of stretches.entries())
        units.push({ rank, launch, stretch, run: s.run, movements: movements.get(s)!, hasRounds: s.rounds !== null });
    }
  const timeOf = (unit: Unit): number => first.timeOf({ ...unit, block: 0 });
  const sorted = units.sort((a, b) => a.launch - b.launch || timeOf(a) - timeOf(b));
  const hasPackets = kernel.buffers.some((b) => b.role === "packet");
  const at = (i: number): Place => ({ ...sorted[i]!, block: 0 });
  const inOrder = hasPackets
    ? inOrderOfPackets(kernel, sorted, orders)
    : inOneOrder(
        sorted,
        (a, b) => first.isBefore(at(a), at(b)),
        () => {
          throw new InternalCompilerError("what comes before what goes in a circle");
        },
      );
  const toFollow = areLaunchesAlike(kernel, inOrder) ? 1 : launches;
  const program = { kernel, expressions, launches: toFollow, units: inOrder, orders, isOfParts };
  if (!units.some((u) => u.hasRounds)) return { program, left: null };
  return { program, left: () => withoutRounds(kernel, expressions, footprints, [...walks.values()]) };
}

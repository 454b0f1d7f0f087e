/**
 * What a round stores, on one way through it: of each element an expression of elements in its place, in its row and in its column, and of what
 * its row folds to. docs/PROOF.md, "Rows", says what is shown and why it is enough. What is not followed throws why.
 */
import { bufferOf, type Kernel, memoryOperands, type Op, type Value } from "../../ir/module.js";
import type { Reduction } from "../../ir/ops.js";
import { lanesOf, scalarOf } from "../../ir/types.js";
import type { Span } from "../../source.js";
import { boundOf, type Counter, exactQuotient, isAtLeastZeroWhere } from "./bounds.js";
import { demand, NotShown } from "./conditions.js";
import { constantOf, equal, type Form, isConstant, minus, ONE, parameter, plus, product, Undecided, ZERO } from "./forms.js"; // prettier-ignore
import { type Asking, contentOf, foldedAt, type Folding, orderIn, type SharedContent, type SharedStore, type Space } from "./row-contents.js"; // prettier-ignore
import {
  foldedIn,
  foldOf,
  foldTree,
  loadTree,
  movedFolded,
  opTree,
  orderOf,
  type Tree,
  type Where,
} from "./row-trees.js";
import { areSurelyApart } from "./phases.js";
import type { RoundTouch, RoundWay } from "./round-way.js";
import { COUNTER, type RoundValues } from "./round-values.js";
import type { Rounds } from "./rounds.js";
import { has, intervalOf, type Run, runOf } from "./runs.js";

/** A number of one element: of which place in all rows, which row and which column; null where it goes by none. */
interface Element {
  readonly kind: "element";
  readonly tree: Tree;
  readonly place: Form | null;
  readonly row: Form | null;
  readonly column: Form | null;
}

/** What an op makes; of what is not followed, why. */
type Data = Element | Folding | NotShown;

/** How rows lie in a box, and in the round that is looked at. */
export interface RowsAt {
  /** Elements of a row. */
  readonly row: Form;
  /** By buffer of all that is touched outside of shared memory: where its rows begin, and what of it is one for each of. */
  readonly lie: ReadonlyMap<string, { readonly where: Where; readonly base: Form }>;
  /** What the round's rows are of each buffer that is no input. */
  readonly own: ReadonlyMap<string, { readonly start: Form; readonly end: Form } | null>;
}

/** What is stored to a buffer of rows. */
export interface RowStore {
  readonly where: Where;
  readonly tree: Tree;
  /** Ranks whose memory it is, -1 for the own; or all of so many. */
  readonly owners: readonly number[];
}

/** What a round does, on one way. */
export interface RowEffects {
  readonly stores: ReadonlyMap<string, RowStore>;
  /** By key of a fold: in which order it is made. */
  readonly orders: ReadonlyMap<string, string>;
  /** Buffers that are read as they were before the round. */
  readonly read: ReadonlySet<string>;
}

/** A store to rows outside of shared memory. */
interface Stored {
  readonly touch: RoundTouch;
  readonly tree: Tree;
  /** With that of the lanes. */
  readonly counters: readonly Counter[];
}

const LANE = `${COUNTER}lane`;

/** What a function of two numbers folds up. */
const FOLDS: Readonly<Record<string, Reduction>> = { add: "sum", mul: "prod", min: "min", max: "max" };

const LANEWISE = new Set(["const", "scalar", "cast", "binary", "unary", "compare", "select", "splat"]);

export class RowValues {
  private readonly data = new Map<Value, Data>();
  private readonly shared = new Map<string, SharedStore[]>();
  private readonly sharedTouches = new Map<string, RoundTouch[]>();
  /** By buffer and phase: what it holds when the phase begins. */
  private readonly contents = new Map<string, SharedContent>();
  private readonly loads: RoundTouch[] = [];
  private readonly stores: Stored[] = [];
  private readonly orders = new Map<string, string>();
  private readonly read = new Set<string>();
  private readonly asking: Asking = { isAtLeastZero: (f, counters) => this.isAtLeastZero(f, counters) };

  constructor(
    private readonly kernel: Kernel,
    private readonly rounds: Rounds,
    private readonly values: RoundValues,
    private readonly rows: RowsAt,
  ) {}

  /** @throws NotShown */
  of({ steps }: RoundWay): RowEffects {
    for (const step of steps) {
      if (step.kind === "touch") this.touch(step.touch);
      else if (step.kind === "value") this.made(step.op, step.counters);
      else this.folded(step.op, step.counter, step.counters);
    }
    return { stores: this.effects(), orders: this.orders, read: this.read };
  }

  private isAtLeastZero(f: Form, counters: readonly Counter[]): boolean {
    const { ranges } = this.values.box;
    try {
      return isAtLeastZeroWhere(boundOf(f, counters, false, ranges), this.values.facts, ranges);
    } catch (x) {
      if (x instanceof Undecided) return false;
      throw x;
    }
  }

  /** Whether a number is from 0 on and below another, in all iterations. */
  private isBelow(f: Form, end: Form, counters: readonly Counter[]): boolean {
    return this.isAtLeastZero(f, counters) && this.isAtLeastZero(minus(minus(end, f), ONE), counters);
  }

  // -- ops ------------------------------------------------------------------------------------------------------------

  /** What is not followed is refused where something is made of it. */
  private note(op: Op, make: () => Data): void {
    const [result] = op.results;
    if (result === undefined) return;
    try {
      this.data.set(result, make());
    } catch (x) {
      if (!(x instanceof NotShown)) throw x;
      this.data.set(result, x);
    }
  }

  private made(op: Op, counters: readonly Counter[]): void {
    this.note(op, () => {
      const all = withLanes(counters, op);
      const given = op.operands.map((v) => this.valueOf(v, op.span));
      const of = given.map((d, i) => this.numberBeside(d, given[1 - i], all, op.span));
      const fn = op.name === "binary" ? FOLDS[op.attributes["fn"] as string] : undefined;
      if (fn !== undefined && areOfPlaces(of)) {
        checkFloat(op);
        const [a, b] = of.map((d) => this.part(d, fn, all, op.span)) as [Folding["of"], Folding["of"]];
        return { kind: "folding", fn, of: { kind: "both", of: [a, b] } };
      }
      return this.element(
        op,
        of.map((d) => this.whole(d, all, op.span)),
      );
    });
  }

  /** The fold of a whole row is a number where a number of a place is beside it, and no part of another fold. */
  private numberBeside(
    d: Element | Folding,
    other: Element | Folding | undefined,
    counters: readonly Counter[],
    span: Span,
  ): Element | Folding {
    // prettier-ignore
    if (d.kind === "element" || other?.kind !== "element") return d;
    try {
      return this.whole(d, counters, span);
    } catch (x) {
      if (x instanceof NotShown) return d;
      throw x;
    }
  }

  /** What a loop folds. */
  private folded(op: Op, counter: Counter | null, counters: readonly Counter[]): void {
    this.note(op, () => {
      if (counter === null) return { kind: "folding", fn: null, of: { kind: "none" } };
      checkFloat(op);
      const result = op.regions[0]!.ops.at(-1)!.operands[0]!;
      const fn = op.attributes["fn"] as Reduction;
      const of = this.part(this.valueOf(result, op.span), fn, withLanes(counters, op), op.span);
      return { kind: "folding", fn, of: { kind: "over", counter, of } };
    });
  }

  private valueOf(v: Value, span: Span): Element | Folding {
    const data = this.data.get(v) ?? this.outside(v, span);
    if (data instanceof NotShown) throw data;
    return data;
  }

  /** What is made before the rounds: of numbers, of numbers of the launch, and of lengths. */
  private outside(v: Value, span: Span): Element {
    if (scalarOf(v.type) === "index") {
      const expression = this.rounds.values.get(v);
      if (expression === undefined) throw new NotShown("a value is made of data that decides", span);
      return elementOf({ kind: "length", expression, key: `length ${expression.id}` });
    }
    const op = this.rounds.makers.get(v);
    if (op?.name === "splat") return this.outside(op.operands[0]!, span);
    if (op === undefined || !LANEWISE.has(op.name)) throw new NotShown("a value from before a round is not followed", span); // prettier-ignore
    return elementOf(
      opTree(
        op,
        op.operands.map((o) => this.outside(o, span).tree),
      ),
    );
  }

  private element(op: Op, of: readonly Element[]): Element {
    if (!LANEWISE.has(op.name)) throw new NotShown(`there is a '${op.name}' in a round`, op.span);
    if (op.name === "splat") return of[0]!;
    const common = (what: "place" | "row" | "column"): Form | null =>
      of.reduce<Form | null>((a, e) => {
        const b = e[what];
        if (a !== null && b !== null && !equal(a, b)) throw new NotShown("a value is made of elements of several places", op.span); // prettier-ignore
        return a ?? b;
      }, null);
    const places = { place: common("place"), row: common("row"), column: common("column") };
    const mean = this.mean(op, of);
    return { kind: "element", tree: mean ?? opTree(op, of.map((e) => e.tree)), ...places }; // prettier-ignore
  }

  /** A sum over the length of the row is a mean. */
  private mean(op: Op, [sum, by]: readonly Element[]): Tree | null {
    if (op.name !== "binary" || op.attributes["fn"] !== "div" || sum?.tree.kind !== "fold") return null;
    const { fold } = sum.tree;
    if (fold.fn !== "sum" || !this.isLength(by!.tree)) return null;
    const mean = foldOf("mean", fold.of, fold.type);
    this.ordered(mean.key, this.orders.get(fold.key)!, op.span);
    return foldTree(mean);
  }

  private isLength(tree: Tree): boolean {
    const { row } = this.rows;
    if (tree.kind !== "op") return false;
    if (tree.op.name === "const") return isConstant(row) && tree.op.attributes["value"] === constantOf(row);
    const [of] = tree.of;
    return tree.op.name === "cast" && of?.kind === "length" && equal(this.values.of(of.expression), row);
  }

  // -- folds ----------------------------------------------------------------------------------------------------------

  /** Something as what is folded up. */
  private part(d: Element | Folding, fn: Reduction, counters: readonly Counter[], span: Span): Folding["of"] {
    if (d.kind === "folding" && (d.fn === null || d.fn === fn)) return d.of;
    const { tree, place, ...at } = this.whole(d, counters, span);
    if (place === null) throw new NotShown("what is folded up is no element of a row", span);
    this.checkPlace({ ...at, place }, counters, span);
    return { kind: "at", at: place, space: this.spaceOf(tree) };
  }

  private spaceOf(of: Tree): Space {
    const { row } = this.rows;
    const rowOf = ({ start }: Run): Form | null => (start.size === 0 ? ZERO : exactQuotient(start, row));
    return { id: `rows of ${of.key}`, of, order: "", length: row, rowOf };
  }

  /** A fold as a number of its row, where it is that of the whole one. */
  private whole(d: Element | Folding, counters: readonly Counter[], span: Span): Element {
    if (d.kind === "element") return d;
    const all = foldedIn(d.of);
    const space = all[0]?.space;
    const run =
      space === undefined || all.some((f) => f.space.id !== space.id)
        ? null
        : intervalOf(
            all.map(({ at, counters: own }) => runOf(at, own)),
            (f) => this.isAtLeastZero(f, counters),
          );
    const isWhole = run !== null && equal(minus(run.end, run.start), space!.length);
    if (run !== null) demand("whole rows", isWhole, "a row is not folded up as a whole", span);
    const row = run === null ? null : space!.rowOf(run, counters);
    if (row === null || d.fn === null) throw new NotShown("nothing shows that each element of a row is folded up once", span); // prettier-ignore
    const fold = foldOf(d.fn, space!.of, "f32");
    // Of the places of one row, wherever it is.
    this.ordered(fold.key, orderOf(movedFolded(d.of, run!.start), orderIn), span);
    return { kind: "element", tree: foldTree(fold), place: null, row, column: null };
  }

  /** Notes in which order a fold is made, which is the same wherever it is. */
  private ordered(key: string, order: string, span: Span): void {
    const known = this.orders.get(key);
    if (known !== undefined && known !== order) throw new NotShown("a row is folded up in several orders", span);
    this.orders.set(key, order);
  }

  // -- places ---------------------------------------------------------------------------------------------------------

  /** Checks that what goes by a row or a column is of the place's. */
  private checkPlace(
    { place, row, column }: Pick<Element, "row" | "column"> & { readonly place: Form },
    counters: readonly Counter[],
    span: Span,
  ): void {
    // prettier-ignore
    const { row: length } = this.rows;
    const isOfOne = (holds: boolean): void => {
      demand("one row", holds, "a value is made of elements of several rows or columns", span);
    };
    if (row !== null) isOfOne(this.isBelow(minus(place, product(row, length)), length, counters));
    if (column === null) return;
    const before = minus(place, column);
    const isColumn = before.size === 0 || exactQuotient(before, length) !== null;
    isOfOne(isColumn && this.isBelow(column, length, counters));
  }

  private touch(touch: RoundTouch): void {
    const { access, counters } = touch;
    const { op, buffer, isStored, lanes } = access;
    const all = lanes > 1 ? [...counters, laneCounter(lanes)] : counters;
    const index = lanes > 1 ? plus(touch.index, parameter(LANE)) : touch.index;
    if (isStored) this.store(touch, this.valueOf(memoryOperands(op).value!, access.span), index, all);
    else this.note(op, () => this.loaded(touch, buffer, index, all));
  }

  private loaded(touch: RoundTouch, buffer: string, index: Form, counters: readonly Counter[]): Element | Folding {
    const { op, span } = touch.access;
    const isShared = bufferOf(this.kernel, buffer).role === "shared";
    this.loads.push(touch);
    if (isShared) return this.loadedShared(touch, index, counters);
    const { where, base } = this.rows.lie.get(buffer)!;
    const stored = this.stores.filter((s) => s.touch.access.buffer === buffer);
    const at = minus(index, base);
    if (typeof touch.owner !== "number") throw new NotShown("which rank's element is read goes with the block", span);
    // So far: what comes before in the text of a round does so in each of its threads.
    if (stored.every((s) => areSurelyApart(s.touch, touch, this.values.box))) {
      this.read.add(buffer);
      return placed(where, at, loadTree(buffer, touch.owner, where, scalarOf(op.results[0]!.type)));
    }
    if (stored.some((s) => s.touch.phase === touch.phase || s.touch.owner !== -1) || touch.owner !== -1)
      throw new NotShown(`'${buffer}' is read where it is stored to`, span);
    // Of the round's own rows, in which all accesses lie.
    return placed(where, at, this.storedTo(buffer, stored));
  }

  private loadedShared(touch: RoundTouch, index: Form, counters: readonly Counter[]): Element | Folding {
    const { buffer, span } = touch.access;
    for (const s of this.sharedTouches.get(buffer) ?? [])
      if (s.phase === touch.phase && !areSurelyApart(s, touch, this.values.box))
        throw new NotShown(`'${buffer}' is read where it is stored to`, span);
    const content = this.contentOf(buffer, touch.phase, span);
    if (content.kind === "folded") return foldedAt(content, index, counters, span, this.asking); // prettier-ignore
    const isIn = this.isBelow(minus(index, content.start), minus(content.end, content.start), counters);
    if (!isIn) throw new NotShown(`'${buffer}' may be read where nothing was stored`, span);
    return placed(content.kind, plus(index, content.shift), content.tree);
  }

  private contentOf(buffer: string, phase: number, span: Span): SharedContent {
    const key = `${buffer} ${phase}`;
    const known = this.contents.get(key);
    if (known !== undefined) return known;
    const before = (this.shared.get(buffer) ?? []).filter((s) => s.phase < phase);
    if (before.length === 0) throw new NotShown(`'${buffer}' is read before it is stored to`, span);
    // All that earlier phases do is known when one begins.
    const isKept = (of: number): boolean => this.loads.some((l) => l.access.buffer === buffer && l.phase === of);
    const content = contentOf(buffer, before, isKept, this.asking);
    this.contents.set(key, content);
    return content;
  }

  private store(touch: RoundTouch, d: Element | Folding, index: Form, counters: readonly Counter[]): void {
    const { buffer, span } = touch.access;
    if (bufferOf(this.kernel, buffer).role === "shared") {
      this.storeShared(touch, d, index, counters);
      return;
    }
    const { where, base } = this.rows.lie.get(buffer)!;
    const at = minus(index, base);
    const { tree, place, row, column } = this.whole(d, counters, span);
    if (where === "place") {
      if (place !== null && !equal(place, at)) throw new NotShown("a value is stored in another place than it is made of", span); // prettier-ignore
      this.checkPlace({ place: at, row, column }, counters, span);
    } else {
      const isOfRow = where === "row" && place === null && column === null && (row === null || equal(row, at));
      if (!isOfRow) throw new NotShown("a value is stored in another row than it is made of", span);
    }
    this.stores.push({ touch, tree, counters });
  }

  private storeShared(touch: RoundTouch, d: Element | Folding, index: Form, counters: readonly Counter[]): void {
    const { access, phase, threads } = touch;
    const { buffer, span } = access;
    // What was read of it in this phase was read before: in the same iteration, or elsewhere.
    for (const load of this.loads) {
      if (load.access.buffer !== buffer || load.phase !== phase || areSurelyApart(load, touch, this.values.box))
        continue;
      const isOne = load.threads === threads && touch.counters.every((c) => threads!.names.has(c.name));
      if (!isOne) throw new NotShown(`'${buffer}' is stored to where it is read`, span);
    }
    this.sharedTouches.set(buffer, [...(this.sharedTouches.get(buffer) ?? []), touch]);
    const push = (holds: SharedStore["holds"]): void =>
      void this.shared.set(buffer, [...(this.shared.get(buffer) ?? []), { phase, index, counters, span, holds }]);
    if (d.kind === "folding") {
      push(d);
      return;
    }
    const { tree, place, row, column } = d;
    if (place !== null) this.checkPlace({ place, row, column }, counters, span);
    const of = place ?? (column === null ? row : null);
    const shift = of === null ? null : minus(of, index);
    const isFixed = shift !== null && !counters.some((c) => has(shift, c.name)); // prettier-ignore
    if (!isFixed) throw new NotShown("what shared memory holds is not followed", span);
    push({ kind: place === null ? "row" : "place", tree, shift });
  }

  // -- what is left ---------------------------------------------------------------------------------------------------

  /** What all elements of a round's rows hold that were stored to. @throws NotShown unless all were, once */
  private storedTo(buffer: string, stores: readonly Stored[]): Tree {
    const [first] = stores as readonly [Stored];
    const { span } = first.touch.access;
    const runs = stores.map(({ touch, counters }) =>
      runOf(touch.access.lanes > 1 ? plus(touch.index, parameter(LANE)) : touch.index, counters),
    );
    const all = intervalOf(runs, (f) => this.isAtLeastZero(f, []));
    const own = this.rows.own.get(buffer)!;
    const isOnce = all !== null && equal(all.start, own!.start) && equal(all.end, own!.end);
    demand("stored once", isOnce, `nothing shows that each element of '${buffer}' is stored once`, span);
    if (stores.some((s) => s.tree.key !== first.tree.key))
      throw new NotShown(`elements of '${buffer}' are made in several ways`, span);
    return first.tree;
  }

  private effects(): ReadonlyMap<string, RowStore> {
    const effects = new Map<string, RowStore>();
    for (const { touch } of this.stores) {
      const { buffer, span } = touch.access;
      const isInPlace = bufferOf(this.kernel, buffer).role === "inout";
      if (this.read.has(buffer) && !isInPlace) throw new NotShown(`'${buffer}' is read before it is stored to`, span);
      if (effects.has(buffer)) continue;
      const own = this.stores.filter((s) => s.touch.access.buffer === buffer);
      const owners = new Map<string, typeof own>();
      for (const s of own) {
        const key = JSON.stringify(s.touch.owner);
        owners.set(key, [...(owners.get(key) ?? []), s]);
      }
      const trees = [...owners.values()].map((of) => this.storedTo(buffer, of));
      if (trees.some((t) => t.key !== trees[0]!.key)) throw new NotShown(`elements of '${buffer}' are made in several ways`, span); // prettier-ignore
      const { where } = this.rows.lie.get(buffer)!;
      effects.set(buffer, { where, tree: trees[0]!, owners: ownersOf(own.map((s) => s.touch), span) }); // prettier-ignore
    }
    return effects;
  }
}

/** Whose memory is stored to; of ranks in an order that goes with the block, all of them. */
function ownersOf(touches: readonly RoundTouch[], span: Span): readonly number[] {
  const numbers = new Set(touches.flatMap(({ owner }) => (typeof owner === "number" ? [owner] : [])));
  const turns = touches.flatMap(({ owner }) => (typeof owner === "number" ? [] : [owner]));
  const [turn] = turns;
  if (turn === undefined) return [...numbers].sort((a, b) => a - b);
  const isAll =
    numbers.size === 0 && turns.every((t) => t.of === turn.of) && new Set(turns.map((t) => t.by)).size === turn.of;
  if (!isAll) throw new NotShown("which ranks are stored to goes with the block", span);
  return Array.from({ length: turn.of }, (_, rank) => rank);
}

/** Sums of whole numbers may wrap, and go by their dtype. */
function checkFloat(op: Op): void {
  if (scalarOf(op.results[0]!.type) !== "f32") throw new NotShown("what is folded up is not of f32", op.span);
}

function laneCounter(lanes: number): Counter {
  return { name: LANE, times: ONE, limit: new Map([["", lanes]]) };
}

function withLanes(counters: readonly Counter[], op: Op): readonly Counter[] {
  const [result] = op.results;
  const lanes = result === undefined ? 1 : lanesOf(result.type);
  return lanes > 1 ? [...counters, laneCounter(lanes)] : counters;
}

function elementOf(tree: Tree): Element {
  return { kind: "element", tree, place: null, row: null, column: null };
}

function placed(where: Where, at: Form, tree: Tree): Element {
  return { kind: "element", tree, place: null, row: null, column: null, [where]: at };
}

/** Whether numbers are of several places, or folds of such, so that a function of them folds them up. */
function areOfPlaces(of: readonly (Element | Folding)[]): boolean {
  const isOfPlace = (d: Element | Folding): boolean => d.kind === "folding" || d.place !== null;
  if (!of.every(isOfPlace)) return false;
  const [a, b] = of as readonly [Element | Folding, Element | Folding];
  return a.kind === "folding" || b.kind === "folding" || !equal(a.place!, b.place!);
}

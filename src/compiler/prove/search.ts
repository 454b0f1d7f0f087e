/**
 * Lengths at which something happens in a program: a condition holds, or two, in loops whose bounds go with the lengths. Boxes of
 * lengths, ranks and iterations are cut until intervals exclude them or their lower corner is an example; those with the fewest
 * elements come first, so the example is the shortest there is. Nothing is executed.
 */
import { type Kernel, type Op, type Region, text, type Value } from "../ir/module.js";
import { type DimValues, type Extent, extentNames } from "../types/extent.js";
import { isContradiction } from "./contradictions.js";
import { isNeverLess } from "./never-less.js";
import { both, compareRange, extentRange, type Range, rangeOf } from "./ranges.js";
import { between, type Bounds, type Box, operandsOf, Queue } from "./search-boxes.js";

/** What is to be so: a truth value; that one number is less than another; that one is at least a length, or, where that is null, below 0. */
export type Test =
  | { readonly value: Value; readonly is: 0 | 1 }
  | { readonly less: Value; readonly than: Value }
  | { readonly index: Value; readonly past: Extent | null };

/** The values that a test is about. */
export const valuesOf = (t: Test): Value[] => ("value" in t ? [t.value] : "less" in t ? [t.less, t.than] : [t.index]);

/** Whether some rank and iteration does what is asked for, and at which lengths; `undecided` where that takes too long. */
export type Found = { readonly dims: DimValues; readonly rank: number } | "never" | "undecided";

/** An op around another, and the region that this is in. */
export interface Parent {
  readonly op: Op;
  readonly region: Region;
}

/** No dimension of an example is longer. */
export const LONGEST = 2 ** 30;

/** No tensor has more, on all ranks: a GPU has addresses for 2⁴⁹ bytes. */
const MOST_ELEMENTS = 2 ** 49;

/** Into so many parts a box of such lengths is cut at most. */
const MOST_PARTS = 1024;

/** What doubles count exactly: no dimension is longer in any launch, and no index larger. */
const FARTHEST = Number.MAX_SAFE_INTEGER;

/** What a step of the walk gives a value to. */
type Step = { readonly op: Op; readonly loop: false } | { readonly op: Op; readonly loop: true };

/** What leads to a place, and what is asked there. */
export class Search {
  private readonly steps: Step[] = [];
  private readonly variables: (string | Value)[];
  /** Variables that are cut: those that the tests are made of first. */
  private readonly splits: readonly (readonly number[])[];
  private readonly numbers = new Map<string | Value, number>();
  private readonly ranges = new Map<Value, Range>();
  /** Whether what is asked for happens at no length, which nobody has to search for. */
  private readonly isNever: boolean;

  /** @param makers the ops that give values, and the loops of variables */
  constructor(
    private readonly kernel: Kernel,
    private readonly makers: ReadonlyMap<Value, Op>,
    parents: readonly Parent[],
    private readonly tests: readonly Test[],
  ) {
    this.isNever =
      tests.some((t) => "less" in t && isNeverLess(t.less, t.than, kernel, makers)) ||
      isContradiction(kernel, makers, parents, tests);
    const loops = parents.filter(({ op }) => op.operands.length > 1);
    const tested = this.behind(tests.flatMap(valuesOf));
    const needed = new Set([...tested, ...this.behind(loops.flatMap(({ op }) => op.operands))]);
    const collect = (region: Region, depth: number): void => {
      for (const op of region.ops) {
        if (op.results.some((v) => needed.has(v))) this.steps.push({ op, loop: false });
        const parent = parents[depth];
        if (op !== parent?.op) continue;
        if (op.operands.length > 1) this.steps.push({ op, loop: true });
        collect(parent.region, depth + 1);
      }
    };
    collect(kernel.body, 0);
    const own = loops.flatMap(({ region }) => region.arguments);
    this.variables = [...kernel.dims, "", ...own];
    this.variables.forEach((v, i) => this.numbers.set(v, i));
    const named = new Set<string>(
      kernel.requirements.flatMap((r) => [...extentNames(r.left), ...extentNames(r.right)]),
    );
    const variablesIn = (values: ReadonlySet<Value>): Set<string | Value> => {
      const found = new Set<string | Value>(own.filter((v) => values.has(v)));
      for (const v of values) {
        const op = makers.get(v);
        if (op?.name === "dim") found.add(text(op, "name"));
        if (op?.name === "rank") found.add("");
      }
      return found;
    };
    const [first, all] = [variablesIn(tested), variablesIn(needed)];
    for (const t of tests) if ("index" in t && t.past !== null) for (const name of extentNames(t.past)) first.add(name);
    const placesOf = (isWanted: (v: string | Value) => boolean): number[] =>
      this.variables.flatMap((v, i) => (isWanted(v) ? [i] : []));
    this.splits = [
      placesOf((v) => first.has(v)),
      placesOf((v) => !first.has(v) && (all.has(v) || (typeof v === "string" && named.has(v)))),
    ];
  }

  private behind(values: readonly Value[]): Set<Value> {
    const found = new Set<Value>();
    const work = [...values];
    for (let v = work.pop(); v !== undefined; v = work.pop()) {
      if (found.has(v)) continue;
      found.add(v);
      const op = this.makers.get(v);
      if (op !== undefined && op.regions.length === 0) work.push(...op.operands);
    }
    return found;
  }

  /**
   * @param at lengths to look at; null for any that the signature allows
   * @param least the shortest lengths that are tried, and those of the dimensions that do not matter; 0 is tried alone
   * @param limit steps of the walk that it may take
   */
  find(at: DimValues | null, least: DimValues, limit: number): { readonly found: Found; readonly steps: number } {
    const { kernel, variables, splits } = this;
    if (this.isNever) return { found: "never", steps: 0 };
    const range = (v: string | Value, i: number): Bounds => {
      if (v === "") return [0, kernel.world - 1];
      if (typeof v !== "string") return [-FARTHEST, FARTHEST];
      if (at !== null) return [at[v]!, at[v]!];
      const from = least[v] ?? 1;
      if (from === 0) return [0, 0];
      return [from, splits.some((all) => all.includes(i)) ? LONGEST : from];
    };
    const start = variables.map(range);
    const queue = new Queue();
    queue.add(this.box(start.map(([lo]) => lo), start.map(([, hi]) => hi), 0)); // prettier-ignore
    const each = this.steps.length + this.tests.length + kernel.requirements.length + 1;
    let steps = 0;
    let isOpen = false;
    /** The cheapest box whose lower corner is an example. */
    let best: Box | null = null;
    for (let box = queue.take(); box !== null && (best === null || box.cost < best.cost); box = queue.take()) {
      if ((steps += 2 * each) > limit) return { found: best === null ? "undecided" : this.example(best), steps };
      if (!this.isPossible(box, at === null) || !this.narrow(box)) continue;
      if (this.corner(box, at === null)) {
        const found = this.box(box.low, box.low, box.depth);
        if (best === null || found.cost < best.cost) best = found;
        continue;
      }
      const i = this.widest(box);
      if (i === null) {
        // Of a single point that may be an example still, numbers are too large to say.
        isOpen ||= this.isPossible(box, at === null);
        continue;
      }
      const middle = between(box.low[i]!, box.high[i]!);
      const [low, high] = [box.low.slice(), box.high.slice()];
      high[i] = middle;
      low[i] = middle + 1;
      // Of equal ones the lower half comes first.
      queue.add(this.box(low, box.high, box.depth + 1));
      queue.add(this.box(box.low, high, box.depth + 1));
    }
    if (best !== null) return { found: this.example(best), steps };
    return { found: isOpen || (at === null && this.isPossibleBeyond(start)) ? "undecided" : "never", steps };
  }

  /**
   * Whether intervals leave a chance where some dimension is longer than all that are tried, and the others so short that no tensor has more
   * than {@link MOST_ELEMENTS}: what is twice as long goes with what is half as long.
   */
  private isPossibleBeyond(start: readonly Bounds[]): boolean {
    const { kernel } = this;
    const { dims } = kernel;
    const isTried = (d: number): boolean => start[d]![1] === LONGEST;
    const shapes = [...kernel.inputs, ...kernel.outputs].map(
      (t) => new Set(t.shape.flatMap((e) => [...extentNames(e)])),
    );
    return dims.some((name, long) => {
      if (!isTried(long)) return false;
      const beside = new Set(shapes.filter((names) => names.has(name)).flatMap((names) => [...names]));
      for (let length = LONGEST; length < MOST_ELEMENTS; length *= 2) {
        const most = (d: number): number =>
          d === long ? 2 * length : beside.has(dims[d]!) ? MOST_ELEMENTS / length : MOST_ELEMENTS;
        const low = start.map(([lo], i) => (i === long ? length + 1 : lo));
        const high = start.map(([, hi], i) => (i < dims.length && isTried(i) ? most(i) : hi));
        if (low.every((lo, i) => lo <= high[i]!) && this.isPossibleIn(this.box(low, high, 0))) return true;
      }
      return false;
    });
  }

  /** Whether intervals leave a chance in a box, or in each part that ranks and short loops cut it into. */
  private isPossibleIn(box: Box): boolean {
    const left = [box];
    for (let tried = 0; tried < MOST_PARTS; tried++) {
      const part = left.pop();
      if (part === undefined) return false;
      if (!this.isPossible(part, true) || !this.narrow(part) || !this.isPossible(part, true)) continue;
      const widths = part.low.map((lo, i) => part.high[i]! - lo);
      const shortest = Math.min(...widths.filter((width) => width > 0));
      if (shortest >= MOST_PARTS) return true;
      const i = widths.indexOf(shortest);
      const [low, high] = [part.low.slice(), part.high.slice()];
      high[i] = part.low[i]! + Math.floor(shortest / 2);
      low[i] = high[i]! + 1;
      left.push(this.box(low, part.high, 0), this.box(part.low, high, 0));
    }
    return true;
  }

  private box(low: number[], high: number[], depth: number): Box {
    let cost = 1;
    for (let d = 0; d < this.kernel.dims.length; d++) cost *= Math.max(1, low[d]!);
    return { low: low.slice(), high: high.slice(), cost, depth };
  }

  /** What is cut next: what is widest for what it is. */
  private widest({ low, high }: Box): number | null {
    for (const splits of this.splits) {
      let best: number | null = null;
      let most = 0;
      for (const i of splits) {
        if (high[i]! <= low[i]!) continue;
        const width = Math.log2(high[i]! - low[i]! + 1) - 0.5 * Math.log2(1 + Math.max(0, low[i]!));
        if (best === null || width > most) [best, most] = [i, width];
      }
      if (best !== null) return best;
    }
    return null;
  }

  /** Whether intervals leave a chance; bounds of loops cut the box. */
  private isPossible(box: Box, isFree: boolean): boolean {
    const { kernel, numbers, ranges } = this;
    const of = (v: string): Range => this.rangeIn(box, v);
    if (isFree)
      for (const { left, relation, right } of kernel.requirements) {
        const [a, b] = [extentRange(left, of), extentRange(right, of)];
        if (a !== null && b !== null && compareRange(relation, a, b)![1] === 0) return false;
      }
    for (const { op, loop } of this.steps) {
      if (!loop) {
        ranges.set(op.results[0]!, this.value(op, of));
        continue;
      }
      for (const [d, variable] of op.regions[0]!.arguments.entries()) {
        const i = numbers.get(variable)!;
        const [lo, hi] = [ranges.get(op.operands[2 * d]!) ?? null, ranges.get(op.operands[2 * d + 1]!) ?? null];
        if (lo !== null) box.low[i] = Math.max(box.low[i]!, lo[0]);
        if (hi !== null) box.high[i] = Math.min(box.high[i]!, hi[1] - 1);
        if (box.high[i]! < box.low[i]!) return false;
        ranges.set(variable, [box.low[i]!, box.high[i]!]);
      }
    }
    return this.tests.every((t) => this.outcome(t, of)[1] === 1);
  }

  /** Cuts from a box what tests exclude, op by op back to the variables; false where nothing is left. */
  private narrow(box: Box): boolean {
    let isCut = false;
    const cut = (variable: string | Value, lo: number, hi: number): void => {
      const i = this.numbers.get(variable)!;
      isCut ||= lo > box.low[i]! || hi < box.high[i]!;
      box.low[i] = Math.max(box.low[i]!, lo);
      box.high[i] = Math.min(box.high[i]!, hi);
    };
    const within = (v: Value, least: number, most: number): boolean => {
      const range = this.ranges.get(v);
      if (range === undefined || range === null || (least <= range[0] && most >= range[1])) return true;
      const [lo, hi] = [Math.max(least, range[0]), Math.min(most, range[1])];
      if (lo > hi) return false;
      const op = this.makers.get(v)!;
      if (this.numbers.has(v)) cut(v, lo, hi);
      else if (op.name === "dim") cut(text(op, "name"), lo, hi);
      else if (op.name === "rank") cut("", lo, hi);
      else return operandsOf(op, [lo, hi], (w) => this.ranges.get(w) ?? null).every(([w, ...to]) => within(w, ...to));
      return true;
    };
    // An iteration needs bounds that include it.
    for (const { op, loop } of this.steps) {
      if (!loop) continue;
      for (const [d, variable] of op.regions[0]!.arguments.entries()) {
        const i = this.numbers.get(variable)!;
        if (!within(op.operands[2 * d]!, -Infinity, box.high[i]!)) return false;
        if (!within(op.operands[2 * d + 1]!, box.low[i]! + 1, Infinity)) return false;
      }
    }
    for (const test of this.tests) {
      if ("value" in test) {
        if (!within(test.value, test.is, test.is === 0 ? 0 : Infinity)) return false;
        continue;
      }
      if ("index" in test) {
        const length = test.past === null ? null : extentRange(test.past, (v) => this.rangeIn(box, v));
        if (test.past === null && !within(test.index, -Infinity, -1)) return false;
        if (length !== null && !within(test.index, length[0], Infinity)) return false;
        continue;
      }
      const [a, b] = [this.ranges.get(test.less) ?? null, this.ranges.get(test.than) ?? null];
      if (a === null || b === null) continue;
      if (!within(test.less, -Infinity, b[1] - 1) || !within(test.than, a[0] + 1, Infinity)) return false;
    }
    return !isCut || box.low.every((lo, i) => lo <= box.high[i]!);
  }

  /** What is asked for happens in a box of one point; `valueAt` tells more of it. */
  private example(box: Box): Found {
    const { dims } = this.kernel;
    this.corner(box, false);
    return { dims: Object.fromEntries(dims.map((name, d) => [name, box.low[d]!])), rank: box.low[dims.length]! };
  }

  /** Whether what is asked for happens at the lower corner. */
  private corner(box: Box, isFree: boolean): boolean {
    const { kernel, numbers, ranges } = this;
    const of = (v: string): Range => both(box.low[numbers.get(v)!]!);
    if (isFree)
      for (const { left, relation, right } of kernel.requirements) {
        const [a, b] = [extentRange(left, of), extentRange(right, of)];
        if (a === null || b === null || compareRange(relation, a, b)![0] === 0) return false;
      }
    for (const { op, loop } of this.steps) {
      if (!loop) {
        ranges.set(op.results[0]!, this.value(op, of));
        continue;
      }
      for (const [d, variable] of op.regions[0]!.arguments.entries()) {
        const i = numbers.get(variable)!;
        const [lo, hi] = [ranges.get(op.operands[2 * d]!) ?? null, ranges.get(op.operands[2 * d + 1]!) ?? null];
        if (lo === null || hi === null) return false;
        const first = Math.max(box.low[i]!, lo[0]);
        if (first > Math.min(box.high[i]!, hi[0] - 1)) return false;
        ranges.set(variable, both(first));
      }
    }
    return this.tests.every((t) => this.outcome(t, of)[0] === 1);
  }

  private rangeIn(box: Box, dim: string): Bounds {
    const i = this.numbers.get(dim)!;
    return [box.low[i]!, box.high[i]!];
  }

  /** What a value is in the example that was found last; null where it has no part in it. */
  valueAt(v: Value): number | null {
    const range = this.ranges.get(v) ?? null;
    return range !== null && range[0] === range[1] ? range[0] : null;
  }

  private value(op: Op, of: (variable: string) => Range): Range {
    if (op.name === "dim") return of(text(op, "name"));
    if (op.name === "rank") return of("");
    return rangeOf(
      op,
      op.operands.map((v) => this.ranges.get(v) ?? null),
    );
  }

  /** Whether a test may fail, and whether it may hold: [1, 1] is that it holds for sure. */
  private outcome(test: Test, of: (variable: string) => Range): Bounds {
    if ("value" in test) {
      const range = this.ranges.get(test.value) ?? null;
      if (range === null) return [0, 1];
      return test.is === 1 ? [range[0] > 0 ? 1 : 0, range[1] > 0 ? 1 : 0] : [range[1] === 0 ? 1 : 0, range[0] === 0 ? 1 : 0]; // prettier-ignore
    }
    if ("index" in test) {
      const range = this.ranges.get(test.index) ?? null;
      if (range === null) return [0, 1];
      if (test.past === null) return [range[1] < 0 ? 1 : 0, range[0] < 0 ? 1 : 0];
      const length = extentRange(test.past, of);
      return length === null ? [0, 1] : [range[0] >= length[1] ? 1 : 0, range[1] >= length[0] ? 1 : 0];
    }
    const [a, b] = [this.ranges.get(test.less) ?? null, this.ranges.get(test.than) ?? null];
    return a === null || b === null ? [0, 1] : compareRange("lt", a, b)!;
  }
}

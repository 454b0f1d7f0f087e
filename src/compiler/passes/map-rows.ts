/**
 * map-rows: a loop over rows becomes a loop over blocks. In an iteration a block has a few neighbouring rows, or one long one, and
 * takes one tile loop after the other with all of its threads, which meet in between.
 *
 * As many rows to an iteration as fill a block's widest accesses once; one number for all loops over rows of the kernel, so that a
 * row falls to blocks of one number everywhere (derive-sync relies on it). Threads share a long fold (`support/row-folds.ts`).
 * What only the iteration itself needs of a row stays in shared memory, and what the next loop folds it takes as it is made.
 */
import { Builder } from "../ir/builder.js";
import { type Buffer, isRemote, type Kernel, memoryOperands, type Op, text, type Value } from "../ir/module.js";
import { rewriteOps, Substitution, walk, walkKernel } from "../ir/visit.js";
import { type DType } from "../types/dtype.js";
import { extent, type Extent } from "../types/extent.js";
import type { PassOptions } from "./options.js";
import { Definitions } from "./support/analysis.js";
import { isRowFold, PARTS, RowFolds, type RowIteration, type RowParts, rowThreads } from "./support/row-folds.js";
import { meetsBetweenIterations } from "./support/block-sync.js";
import { forwarding, type Producer } from "./support/row-forwarding.js";
import { mostElements, upperBound } from "./support/upper-bound.js";
import { vectorLanes } from "./support/vector-lanes.js";

type RowOptions = Pick<PassOptions, "elementThreads" | "rowThreads" | "accessBytes" | "rowLoadsInFlight">;

export function mapRows(kernel: Kernel, options: RowOptions): Kernel {
  const found: Op[] = [];
  walkKernel(kernel, (op) => void (isRowLoop(op) && found.push(op)));
  if (found.length === 0) return kernel;
  return new RowMapping(kernel, options, found).run();
}

function isRowLoop(op: Op): boolean {
  return op.name === "for" && op.attributes["map"] === "rows";
}

/** Of a variable of a loop over rows. */
interface RowBounds {
  readonly lo: Value;
  readonly length: Value;
}

/** Whether neighbouring rows have neighbouring terms, and not the terms of one row. */
function isAcross(op: Op): boolean {
  return op.attributes["across"] === true;
}

/** Threads that have neighbouring rows whose terms lie side by side: one access of all of them is one of memory's widest. */
const THREADS_ACROSS = 32;

interface Iteration extends RowIteration {
  /** The loop's variables for a row of the iteration. */
  readonly row: (n: Value) => readonly Value[];
  /** Scratch that lies in shared memory, by its name. */
  readonly shared: ReadonlyMap<string, string>;
}

class RowMapping {
  private readonly definitions: Definitions;
  private readonly buffers: Buffer[];
  private readonly build = new Builder({ start: 0, end: 0 });
  private readonly lanes: number;
  /** Elements that a block's threads take with one wide access each; or a few rows of known length. */
  private readonly span: number;
  /** Rows in an iteration. */
  private readonly rows: Extent;
  private readonly folds: RowFolds;

  constructor(
    private readonly kernel: Kernel,
    private readonly options: RowOptions,
    private readonly loops: readonly Op[],
  ) {
    this.definitions = new Definitions(kernel);
    this.buffers = [...kernel.buffers];
    this.lanes = vectorLanes(kernel, options);
    const wide = (kernel.blockThreads || options.elementThreads) * this.lanes;
    const lengths = loops.filter((loop) => !isAcross(loop)).map((loop) => this.longest(loop, wide));
    const longest = lengths.length === 0 ? 1 : lengths.reduce((a, b) => extent("max", a, b));
    this.span = Math.max(wide, this.severalRows(longest));
    this.folds = new RowFolds(this.build, this.span, this.lanes, this.across, (name, dtype, length) => {
      const full = `${name}_${dtype}`;
      const known = this.buffers.find((b) => b.name === full && b.role === "shared");
      return known?.name ?? this.declare(full, dtype, length);
    });
    this.rows = extent("max", 1, extent("div", this.span, this.whole(longest)));
  }

  run(): Kernel {
    const { kernel, build, definitions } = this;
    const work: Extent[] = [...kernel.work];
    const homes = new Map(this.loops.map((loop) => [loop, this.sharedScratch(loop)]));
    rewriteOps(kernel.body.ops, build, new Substitution(), (op, _, values) => {
      if (!isRowLoop(op)) return false;
      const rows = isAcross(op) ? this.across : this.rows;
      work.push(extent("ceildiv", mostElements(op, kernel, definitions), rows));
      if (isAcross(op)) this.loopAcross(op, values);
      else this.loop(op, values, homes.get(op)!);
      return true;
    });
    const moved = new Set([...homes.values()].flatMap((names) => [...names.keys()]));
    const buffers = this.buffers.filter((b) => !moved.has(b.name));
    return { ...kernel, buffers, work, body: { arguments: [], ops: build.ops } };
  }

  /** Elements of two rows of known length, if that is short enough for a block to take several. */
  private severalRows(length: Extent): number {
    const whole = this.whole(length);
    if (typeof whole !== "number") return 0;
    return 2 * whole <= this.options.rowThreads * this.lanes ? 2 * whole : 0;
  }

  /** Rows in an iteration, where their terms lie side by side: of each there are parts enough for threads to fold once more. */
  private get across(): number {
    return Math.max(this.lanes, Math.min(THREADS_ACROSS * this.lanes, Math.floor(this.span / PARTS)));
  }

  /** Whole vectors. */
  private whole(length: Extent): Extent {
    return extent("mul", extent("ceildiv", length, this.lanes), this.lanes);
  }

  /** Most elements of a row in any of the loops inside, folded or not. */
  private longest(rows: Op, span: number): Extent {
    const { definitions } = this;
    const lengths: (Extent | null)[] = [];
    walk(rows.regions[0]!, (op) => {
      if (op.name === "for" && op.attributes["map"] === "tiles")
        lengths.push(upperBound(op.operands[0]!, op.operands[1]!, definitions));
      else if (isRowFold(op, definitions)) lengths.push(upperBound(op.operands[0]!, op.operands[1]!, definitions));
    });
    return lengths.reduce<Extent>((a, b) => extent("max", a, b ?? span), 1);
  }

  /**
   * Scratch with one element a row that nothing but this loop touches, each row only its own. What the first tile loop
   * touches stays in global memory: the block would have to meet once more, before the next iteration. So does, where the loop runs
   * again and again, what it may read as it was left by a time before.
   */
  private sharedScratch(rows: Op): Map<string, string> {
    const variables = rows.regions[0]!.arguments;
    const within = new Set<Op>();
    const shared = new Map<string, string>();
    const inside = rows.regions[0]!;
    const first = inside.ops.findIndex((o) => o.attributes["map"] === "tiles");
    let isRepeated = false;
    walkKernel(this.kernel, (op, parents) => {
      if (op === rows) isRepeated = parents.some((o) => o.name === "for");
    });
    walk({ ...inside, ops: inside.ops.slice(first + 1) }, (op) => void within.add(op));
    for (const { name, role, shape, symmetric, memory, dtype } of this.kernel.buffers) {
      if (
        role !== "scratch" ||
        symmetric ||
        memory !== undefined ||
        shape.length !== variables.length + 1 ||
        shape.at(-1) !== 1
      )
        continue;
      let isOwn = true;
      walkKernel(this.kernel, (op) => {
        if ((op.name !== "load" && op.name !== "store") || text(op, "buffer") !== name) return;
        const { indices } = memoryOperands(op);
        isOwn &&= within.has(op) && !isRemote(op) && variables.every((v, d) => indices[d] === v);
      });
      if (isOwn && (!isRepeated || this.isStoredFirst(name, inside.ops)))
        shared.set(name, this.declare(`${name}_row`, dtype, this.span / this.lanes));
    }
    return shared;
  }

  /** Whether the first of a row's loops that touches the buffer stores its one element before anything else, whatever the data. */
  private isStoredFirst(name: string, ops: readonly Op[]): boolean {
    const touches = (op: Op): boolean =>
      op.attributes["buffer"] === name || op.regions.some((r) => r.ops.some(touches));
    const loop = ops.find(touches);
    if (loop?.attributes["map"] !== "tiles") return false;
    const [lo, hi] = loop.operands.map((v) => this.definitions.constant(v));
    return lo !== undefined && hi !== undefined && lo < hi && loop.regions[0]!.ops.find(touches)?.name === "store";
  }

  private declare(wanted: string, dtype: DType, length: number): string {
    let name = wanted;
    while (this.buffers.some((b) => b.name === name)) name += "_";
    this.buffers.push({ name, role: "shared", dtype, shape: [length], symmetric: false });
    return name;
  }

  // -- loops ---------------------------------------------------------------------------------------

  /** Two loops over blocks, for short rows and for long ones: those need no division to find their elements. */
  private loop(op: Op, values: Substitution, shared: ReadonlyMap<string, string>): void {
    const { build } = this;
    const [zero, one] = [build.constant(0), build.constant(1)];
    const bounds = this.boundsOf(op, values, zero);
    const total = bounds.map((b) => b.length).reduce((a, b) => build.mul(a, b));
    const rows = build.extent(this.rows);
    const row = (number: Value): readonly Value[] => {
      const indices: Value[] = [];
      let rest = number;
      for (const [d, { lo, length }] of [...bounds.entries()].reverse()) {
        indices.unshift(build.add(lo, d === 0 ? rest : build.rem(rest, length)));
        if (d > 0) rest = build.div(rest, length);
      }
      return indices;
    };
    const iterations = (number: Value, isOne: boolean): void =>
      build.for("blocks", [[zero, number]], ([iteration]) => {
        const first = isOne ? iteration! : build.mul(iteration!, rows);
        const count = isOne ? one : build.binary("min", rows, build.sub(total, first));
        this.iteration(op, { count, isOne, isAcross: false, row: (n) => row(build.add(first, n)), shared }, values);
      });
    build.if(
      build.compare("gt", rows, one),
      () => iterations(build.ceilDiv(total, rows), false),
      () => iterations(total, true),
    );
  }

  /** A loop over blocks for as many neighbours as one has, and one for what is left of a line of neighbours. */
  private loopAcross(op: Op, values: Substitution): void {
    const { build } = this;
    const [zero, one, most] = [build.constant(0), build.constant(1), build.constant(this.across)];
    const bounds = this.boundsOf(op, values, zero);
    const [line, ...lines] = bounds.toReversed() as [RowBounds, ...RowBounds[]];
    const all = lines.map((b) => b.length).reduce((a, b) => build.mul(a, b), one);
    const whole = build.div(line.length, most);
    const rest = build.sub(line.length, build.mul(whole, most));
    const iterations = (each: Value, count: Value, first: (n: Value) => Value): void =>
      build.for("blocks", [[zero, build.mul(all, each)]], ([number]) => {
        const isOneLine = build.constantOf(all) === 1;
        let left = isOneLine ? zero : build.div(number!, each);
        const before: Value[] = [];
        for (const [i, { lo, length }] of lines.entries()) {
          const isLast = i === lines.length - 1;
          before.unshift(build.add(lo, isLast ? left : build.rem(left, length)));
          if (!isLast) left = build.div(left, length);
        }
        const begin = build.add(line.lo, first(isOneLine ? number! : build.rem(number!, each)));
        const row = (n: Value): readonly Value[] => [...before, build.add(begin, n)];
        this.iteration(op, { count, isOne: false, isAcross: true, row, shared: new Map() }, values);
      });
    iterations(whole, most, (n) => build.mul(n, most));
    iterations(build.binary("min", rest, one), rest, () => build.mul(whole, most));
  }

  private boundsOf(op: Op, values: Substitution, zero: Value): readonly RowBounds[] {
    const { build } = this;
    return op.regions[0]!.arguments.map((_, d) => {
      const [lo, hi] = [op.operands[2 * d]!, op.operands[2 * d + 1]!].map((v) => values.get(v)) as [Value, Value];
      return { lo, length: build.binary("max", build.sub(hi, lo), zero) };
    });
  }

  /** The tile loops of an iteration, one after the other; one that a fold next to it takes its elements from goes into that. */
  private iteration(op: Op, iteration: Iteration, values: Substitution): void {
    const [inside] = op.regions;
    const rows = inside!.arguments;
    const loops = inside!.ops.filter((o) => o.attributes["map"] === "tiles");
    rewriteOps(
      inside!.ops.filter((o) => !loops.includes(o)),
      this.build,
      values,
    );
    const producers = loops.map((loop, i) =>
      i === 0 ? null : forwarding(loops[i - 1]!, loop, rows, this.definitions),
    );
    for (const [i, loop] of loops.entries()) {
      this.build.span = loop.span;
      if (producers[i + 1] != null) continue;
      this.tiles(loop, producers[i] ?? null, rows, iteration, values);
      if (i < loops.length - 1) this.meet();
    }
    const shared = this.buffers.filter((b) => b.role === "shared").map((b) => b.name);
    const isAlone = this.loops.length === 1 && !this.kernel.buffers.some((b) => b.role === "shared");
    if (meetsBetweenIterations(this.build.ops, new Set(shared), isAlone)) this.meet();
  }

  private meet(): void {
    this.build.op("block_sync", [], {}, null);
  }

  /** One tile loop of the iteration's rows. */
  private tiles(
    op: Op,
    producer: Producer | null,
    variables: readonly Value[],
    iteration: Iteration,
    values: Substitution,
  ): void {
    const { build } = this;
    const [lo, hi] = op.operands.map((v) => values.get(v)) as [Value, Value];
    const [body] = op.regions;
    const folded = new Map<Op, RowParts>();
    const copy = (ops: readonly Op[], n: Value, inner: Substitution): void =>
      rewriteOps(ops, build, inner, (o, _, v) => this.inIteration(o, n, iteration, { folded, producer }, v));
    /** Values for the element `column` of row `n` of the iteration. */
    const at = (n: Value, column: Value): Substitution => {
      const inner = new Substitution(values);
      iteration.row(n).forEach((v, d) => inner.set(variables[d]!, v));
      inner.set(body!.arguments[0]!, build.add(lo, column));
      return inner;
    };
    const i = body!.ops.findIndex((o) => isRowFold(o, this.definitions));
    const fold = body!.ops[i];
    if (fold !== undefined) {
      const [region] = fold.regions;
      const made = producer?.loop.regions[0];
      const before = body!.ops.slice(0, i).filter((o) => o.name !== "store");
      const ops = [...(made?.ops ?? []), ...before, ...region!.ops.slice(0, -1)];
      const [from, to] = fold.operands.map((v) => values.get(v)) as [Value, Value];
      const terms = (n: Value, columns: readonly Value[]): Value[] => {
        const each = columns.map((k) => {
          const inner = at(n, build.constant(0));
          for (const r of made === undefined ? [region!] : [region!, made])
            inner.set(r.arguments[0]!, build.add(from, k));
          return inner;
        });
        for (const o of ops) for (const inner of each) copy([o], n, inner);
        build.span = fold.span;
        return each.map((inner) => inner.get(region!.ops.at(-1)!.operands[0]!));
      };
      folded.set(fold, this.folds.parts(fold, iteration, this.lengthOf(from, to), terms, this.inFlight(ops, producer)));
    }
    this.spread(iteration, this.lengthOf(lo, hi), (n, column) => copy(body!.ops, n, at(n, column)));
  }

  /** How many elements of a row a thread should have under way at once. */
  private inFlight(ops: readonly Op[], producer: Producer | null): number {
    const loadsOf = (op: Op): number => {
      if (op.name === "load") return producer?.values.has(op) === true ? 0 : 1;
      const inside = op.regions.flatMap((r) => r.ops.map(loadsOf)).reduce((a, b) => a + b, 0);
      return inside * (op.name === "reduce" ? (this.definitions.constant(op.operands[1]!) ?? 1) : 1);
    };
    const loads = ops.map(loadsOf).reduce((a, b) => a + b, 0);
    const most = Math.floor(this.options.rowLoadsInFlight / Math.max(1, loads));
    return most >= 4 ? 4 : most >= 2 ? 2 : 1;
  }

  private lengthOf(lo: Value, hi: Value): Value {
    return this.build.binary("max", this.build.sub(hi, lo), this.build.constant(0));
  }

  /** What is in shared memory, folds that are done, and elements that were just made, in their place. */
  private inIteration(
    op: Op,
    n: Value,
    iteration: Iteration,
    { folded, producer }: { folded: ReadonlyMap<Op, RowParts>; producer: Producer | null },
    values: Substitution,
  ): boolean {
    const { build } = this;
    const parts = folded.get(op);
    if (parts !== undefined) {
      values.set(op.results[0]!, this.folds.rest(op, parts, n));
      return true;
    }
    const made = producer?.values.get(op);
    if (made !== undefined) {
      values.set(op.results[0]!, values.get(made));
      return true;
    }
    const name = op.name === "load" || op.name === "store" ? iteration.shared.get(text(op, "buffer")) : undefined;
    if (name === undefined) return false;
    if (op.name === "store") build.store(name, values.get(memoryOperands(op).value!), [n]);
    else values.set(op.results[0]!, build.load(name, [n], op.results[0]!.type));
    return true;
  }

  /** Every column of every row of the iteration. */
  private spread(iteration: Iteration, length: Value, body: (n: Value, column: Value) => void): void {
    const { build } = this;
    const zero = build.constant(0);
    const threads = (count: Value, element: (e: Value) => void): void => rowThreads(build, count, element);
    if (build.constantOf(length) === 1) return threads(iteration.count, (n) => body(n, zero));
    if (!iteration.isOne)
      return threads(build.mul(iteration.count, length), (e) => body(build.div(e, length), build.rem(e, length)));
    const span = build.constant(this.span);
    const full = build.div(length, span);
    const pieces = ([k]: readonly Value[]): void => {
      const first = build.mul(k!, span);
      threads(span, (t) => body(zero, build.add(first, t)));
    };
    build.for("serial", [[zero, full]], pieces, { unordered: true });
    const first = build.mul(full, span);
    threads(build.sub(length, first), (t) => body(zero, build.add(first, t)));
  }
}

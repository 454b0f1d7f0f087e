/**
 * map-rows: a loop over rows becomes a loop over blocks. In an iteration a block has a few neighbouring rows, or one long one, and
 * takes one tile loop after the other with all of its threads, which meet in between.
 *
 * A row has so many of the block's threads that each takes a vector of it, or a few where no block waits for another; what is left of the
 * block takes the rows after it. One number of rows serves all loops over rows of the kernel, so that a row falls to blocks of one number
 * everywhere (derive-sync relies on it). Threads share a long fold (`support/row-folds.ts`). What only the iteration itself needs of a row
 * stays in shared memory, and what the next loop folds it takes as it is made.
 *
 * Blocks that wait for nobody are small, and a multiprocessor has several: while the threads of one meet, others load.
 */
import { Builder } from "../ir/builder.js";
import { type Buffer, isRemote, type Kernel, memoryOperands, type Op, text, type Value } from "../ir/module.js";
import { definitionOf } from "../ir/ops.js";
import { rewriteOps, Substitution, walk, walkKernel } from "../ir/visit.js";
import { type DType } from "../types/dtype.js";
import { extent, type Extent } from "../types/extent.js";
import type { PassOptions } from "./options.js";
import { Definitions } from "./support/analysis.js";
import {
  inGroups,
  isRowFold,
  PARTS,
  rowAndPlace,
  RowFolds,
  type RowIteration,
  type RowParts,
  rowThreads,
} from "./support/row-folds.js";
import { meetsBetweenIterations } from "./support/block-sync.js";
import { forwarding, type Producer } from "./support/row-forwarding.js";
import { mostElements, upperBound } from "./support/upper-bound.js";
import { vectorLanes } from "./support/vector-lanes.js";

type RowOptions = Pick<
  PassOptions,
  "elementThreads" | "rowThreads" | "rowBlocks" | "busyBlocks" | "accessBytes" | "loadsInFlight" | "rowLoadsInFlight"
>;

export function mapRows(kernel: Kernel, options: RowOptions): Kernel {
  const found: Op[] = [];
  walkKernel(kernel, (op) => void (isRowLoop(op) && found.push(op)));
  if (found.length === 0) return kernel;
  // Neighbours whose terms lie side by side need a block's width.
  if (!isAlone(kernel) || found.every(isAcross)) return new RowMapping(kernel, options, found, 1).run();
  const { threads, each } = options.rowBlocks;
  const mapped: Kernel = {
    ...kernel,
    blockThreads: Math.min(options.elementThreads, threads),
    maxBlocks: options.busyBlocks * each,
    ...(each === 1 ? {} : { blocksEach: each }),
  };
  return new RowMapping(
    mapped,
    { ...options, rowThreads: Math.min(options.rowThreads, threads) },
    found,
    VECTORS,
  ).run();
}

/** Whether no block waits for another, of this rank or of one else. */
function isAlone(kernel: Kernel): boolean {
  let isSo = kernel.blockThreads === 0 && !kernel.buffers.some((b) => b.role === "packet");
  walkKernel(kernel, (op) => (isSo &&= definitionOf(op.name).effect !== "sync"));
  return isSo;
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

/**
 * Vectors of a row that a thread takes, where a row has so many and nobody waits for the block: it meets for as many rows, and has as much under
 * way. Where others wait, few rows are sooner done by all blocks.
 */
const VECTORS = 4;

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
  /** Elements that a block's threads take with one wide access each. */
  private readonly span: number;
  /** Rows in an iteration. */
  private readonly rows: Extent;
  /** Threads that a row has of a block. */
  private readonly own: Extent;
  private readonly folds: RowFolds;

  constructor(
    private readonly kernel: Kernel,
    private readonly options: RowOptions,
    private readonly loops: readonly Op[],
    vectors: number,
  ) {
    this.definitions = new Definitions(kernel);
    this.buffers = [...kernel.buffers];
    this.lanes = vectorLanes(kernel, options);
    const threads = kernel.blockThreads || options.elementThreads;
    this.span = threads * this.lanes;
    const lengths = loops.filter((loop) => !isAcross(loop)).map((loop) => this.longest(loop, this.span));
    const longest = lengths.length === 0 ? 1 : lengths.reduce((a, b) => extent("max", a, b));
    const wanted = extent("max", 1, extent("div", longest, vectors * this.lanes));
    let own = extent("min", threads, wanted);
    if (typeof wanted === "number") {
      // With fewer threads, as in proofs, a block takes several rows of known length where it does with all.
      const rows = Math.max(1, Math.floor(options.rowThreads / wanted));
      own = Math.min(wanted, Math.max(1, Math.floor(threads / rows)));
    }
    this.own = own;
    this.rows = extent("div", threads, own);
    this.folds = new RowFolds(this.build, this.span, this.lanes, this.across, (name, dtype, length) => {
      const full = `${name}_${dtype}`;
      const known = this.buffers.find((b) => b.name === full && b.role === "shared");
      return known?.name ?? this.declare(full, dtype, length);
    });
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

  /** Rows in an iteration, where their terms lie side by side: of each there are parts enough for threads to fold once more. */
  private get across(): number {
    return Math.max(this.lanes, Math.min(THREADS_ACROSS * this.lanes, Math.floor(this.span / PARTS)));
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

  /** A loop over blocks. */
  private loop(op: Op, values: Substitution, shared: ReadonlyMap<string, string>): void {
    const { build } = this;
    const zero = build.constant(0);
    const bounds = this.boundsOf(op, values, zero);
    const total = bounds.map((b) => b.length).reduce((a, b) => build.mul(a, b));
    const [rows, threads] = [build.extent(this.rows), build.extent(this.own)];
    const width = build.mul(threads, build.constant(this.lanes));
    const row = (number: Value): readonly Value[] => {
      const indices: Value[] = [];
      let rest = number;
      for (const [d, { lo, length }] of [...bounds.entries()].reverse()) {
        indices.unshift(build.add(lo, d === 0 ? rest : build.rem(rest, length)));
        if (d > 0) rest = build.div(rest, length);
      }
      return indices;
    };
    const isOne = build.constantOf(rows) === 1;
    build.for("blocks", [[zero, isOne ? total : build.ceilDiv(total, rows)]], ([iteration]) => {
      const first = isOne ? iteration! : build.mul(iteration!, rows);
      const count = isOne ? rows : build.binary("min", rows, build.sub(total, first));
      const of = { count, width, threads, row: (n: Value) => row(build.add(first, n)), shared };
      this.iteration(op, of, values);
    });
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
        const width = build.div(build.constant(this.span), count);
        this.iteration(op, { count, width, threads: null, row, shared: new Map() }, values);
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
    const copy = (ops: readonly Op[], n: Value, inner: readonly Substitution[]): void => {
      for (const o of ops)
        for (const values of inner)
          rewriteOps([o], build, values, (part, _, v) => this.inIteration(part, n, iteration, producer, v));
    };
    /** Values for elements `columns` of row `n` of the iteration. */
    const at = (n: Value, columns: readonly Value[]): Substitution[] =>
      columns.map((column) => {
        const inner = new Substitution(values);
        iteration.row(n).forEach((v, d) => inner.set(variables[d]!, v));
        inner.set(body!.arguments[0]!, build.add(lo, column));
        return inner;
      });
    const i = body!.ops.findIndex((o) => isRowFold(o, this.definitions));
    const fold = body!.ops[i];
    let parts: RowParts | null = null;
    if (fold !== undefined) {
      const [region] = fold.regions;
      const made = producer?.loop.regions[0];
      const before = body!.ops.slice(0, i).filter((o) => o.name !== "store");
      const ops = [...(made?.ops ?? []), ...before, ...region!.ops.slice(0, -1)];
      const [from, to] = fold.operands.map((v) => values.get(v)) as [Value, Value];
      const terms = (n: Value, columns: readonly Value[]): Value[] => {
        const each = columns.map((k) => {
          const [inner] = at(n, [build.constant(0)]) as [Substitution];
          for (const r of made === undefined ? [region!] : [region!, made])
            inner.set(r.arguments[0]!, build.add(from, k));
          return inner;
        });
        copy(ops, n, each);
        build.span = fold.span;
        return each.map((inner) => inner.get(region!.ops.at(-1)!.operands[0]!));
      };
      const together = this.together(ops, producer, this.options.rowLoadsInFlight);
      parts = this.folds.parts(fold, iteration, this.lengthOf(from, to), terms, together);
    }
    const others = body!.ops.filter((o) => o !== fold);
    this.spread(iteration, this.lengthOf(lo, hi), this.together(others, producer, this.options.loadsInFlight), (n) => {
      const folded = parts === null ? null : this.folds.rest(fold!, parts, n);
      return (columns) => {
        const each = at(n, columns);
        if (folded !== null) for (const inner of each) inner.set(fold!.results[0]!, folded);
        copy(others, n, each);
      };
    });
  }

  /** How many elements of a row a thread should have under way at once, of so many loads that it should. */
  private together(ops: readonly Op[], producer: Producer | null, inFlight: number): number {
    const loadsOf = (op: Op): number => {
      if (op.name === "load") return producer?.values.has(op) === true ? 0 : 1;
      const inside = op.regions.flatMap((r) => r.ops.map(loadsOf)).reduce((a, b) => a + b, 0);
      return inside * (op.name === "reduce" ? (this.definitions.constant(op.operands[1]!) ?? 1) : 1);
    };
    const loads = ops.map(loadsOf).reduce((a, b) => a + b, 0);
    const most = Math.floor(inFlight / Math.max(1, loads));
    return most >= 4 ? 4 : most >= 2 ? 2 : 1;
  }

  private lengthOf(lo: Value, hi: Value): Value {
    return this.build.binary("max", this.build.sub(hi, lo), this.build.constant(0));
  }

  /** What is in shared memory, and elements that were just made, in their place. */
  private inIteration(
    op: Op,
    n: Value,
    iteration: Iteration,
    producer: Producer | null,
    values: Substitution,
  ): boolean {
    const { build } = this;
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

  /** Every column of every row of the iteration, so many of a thread's at once. @param row emits what columns of a row have in common, and then columns */
  private spread(
    iteration: RowIteration,
    length: Value,
    together: number,
    row: (n: Value) => (columns: readonly Value[]) => void,
  ): void {
    const { build } = this;
    const { count, width } = iteration;
    if (build.constantOf(length) === 1) return rowThreads(build, count, (n) => row(n)([build.constant(0)]));
    const steps = build.div(length, width);
    rowThreads(build, build.mul(count, width), (q) => {
      const [n, place] = rowAndPlace(build, iteration, width, q);
      const columns = row(n);
      const at = (step: Value): Value => build.add(build.mul(step, width), place);
      inGroups(build, steps, together, at, (count, each) =>
        build.for("serial", [[build.constant(0), count]], ([k]) => columns(each(k!)), { unordered: true }),
      );
    });
    const covered = build.mul(steps, width);
    const rest = build.sub(length, covered);
    rowThreads(build, build.mul(count, rest), (q) => {
      const [n, place] = rowAndPlace(build, iteration, rest, q);
      row(n)([build.add(covered, place)]);
    });
  }
}

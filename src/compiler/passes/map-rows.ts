/**
 * map-rows: a loop over rows becomes a loop over blocks. In a turn a block has a few neighbouring rows, or one long one, and
 * takes one tile loop after the other with all of its threads, which meet in between.
 *
 * As many rows to a turn as fill a block's widest accesses once; one number for all loops over rows of the kernel, so that a
 * row falls to blocks of one number everywhere (derive-sync relies on it). A long fold is shared by the threads: every lane
 * takes the elements a stride apart, then sixteen parts become one until a thread has few enough left. What only the
 * turn itself needs of a row stays in shared memory.
 */
import { Builder } from "../ir/builder.js";
import {
  type Buffer,
  bufferOf,
  isRemote,
  type Kernel,
  memoryOperands,
  type Op,
  text,
  type Value,
} from "../ir/module.js";
import type { BinaryFunction, Reduction } from "../ir/ops.js";
import { rewriteOps, Substitution, walk, walkKernel } from "../ir/visit.js";
import { type DType } from "../types/dtype.js";
import { scalar, scalarOf } from "../ir/types.js";
import { extent, type Extent } from "../types/extent.js";
import type { PassOptions } from "./options.js";
import { Definitions } from "./support/analysis.js";
import { isRowFold } from "./support/row-folds.js";
import { mostElements, upperBound } from "./support/upper-bound.js";
import { vectorLanes } from "./support/vector-lanes.js";

/** Parts that a thread folds at a time. */
const PARTS = 16;
const COMBINE: Record<Reduction, BinaryFunction> = { sum: "add", prod: "mul", min: "min", max: "max" };

export function mapRows(kernel: Kernel, options: PassOptions): Kernel {
  const found: Op[] = [];
  walkKernel(kernel, (op) => void (isRowLoop(op) && found.push(op)));
  if (found.length === 0) return kernel;
  return new RowMapping(kernel, options, found).run();
}

function isRowLoop(op: Op): boolean {
  return op.name === "for" && op.attributes["map"] === "rows";
}

/** The rows of one turn of a block. */
interface Turn {
  /** Number of the first, and how many. */
  readonly first: Value;
  readonly count: Value;
  /** The loop's variables for a row of the turn. */
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
  /** Rows in a turn. */
  private readonly rows: Extent;

  constructor(
    private readonly kernel: Kernel,
    private readonly options: PassOptions,
    private readonly loops: readonly Op[],
  ) {
    this.definitions = new Definitions(kernel);
    this.buffers = [...kernel.buffers];
    this.lanes = vectorLanes(kernel, options);
    this.span = (kernel.blockThreads || options.elementThreads) * this.lanes;
    const longest = loops.map((loop) => this.longest(loop)).reduce((a, b) => extent("max", a, b));
    this.rows = extent("max", 1, extent("div", this.span, this.whole(longest)));
  }

  run(): Kernel {
    const { kernel, build, definitions } = this;
    const work: Extent[] = [...kernel.work];
    const homes = new Map(this.loops.map((loop) => [loop, this.sharedScratch(loop)]));
    rewriteOps(kernel.body.ops, build, new Substitution(), (op, _, values) => {
      if (!isRowLoop(op)) return false;
      work.push(extent("ceildiv", mostElements(op, kernel, definitions), this.rows));
      this.loop(op, values, homes.get(op)!);
      return true;
    });
    const moved = new Set([...homes.values()].flatMap((names) => [...names.keys()]));
    const buffers = this.buffers.filter((b) => !moved.has(b.name));
    return { ...kernel, buffers, work, body: { arguments: [], ops: build.ops } };
  }

  /** Whole vectors. */
  private whole(length: Extent): Extent {
    return extent("mul", extent("ceildiv", length, this.lanes), this.lanes);
  }

  /** Most elements of a row in any of the loops inside, folded or not. */
  private longest(rows: Op): Extent {
    const { definitions } = this;
    const lengths: (Extent | null)[] = [];
    walk(rows.regions[0]!, (op) => {
      if (op.name === "for" && op.attributes["map"] === "tiles")
        lengths.push(upperBound(op.operands[0]!, op.operands[1]!, definitions));
      else if (isRowFold(op, definitions)) lengths.push(upperBound(op.operands[0]!, op.operands[1]!, definitions));
    });
    return lengths.reduce<Extent>((a, b) => extent("max", a, b ?? this.span), 1);
  }

  /** Scratch with one element a row that nothing but this loop touches, each row only its own. */
  private sharedScratch(rows: Op): Map<string, string> {
    const variables = rows.regions[0]!.arguments;
    const within = new Set<Op>();
    const shared = new Map<string, string>();
    walk(rows.regions[0]!, (op) => void within.add(op));
    for (const { name, role, shape, symmetric, dtype } of this.kernel.buffers) {
      if (role !== "scratch" || symmetric || shape.length !== variables.length + 1 || shape.at(-1) !== 1) continue;
      let isOwn = true;
      walkKernel(this.kernel, (op) => {
        if ((op.name !== "load" && op.name !== "store") || text(op, "buffer") !== name) return;
        const { indices } = memoryOperands(op);
        isOwn &&= within.has(op) && !isRemote(op) && variables.every((v, d) => indices[d] === v);
      });
      if (isOwn) shared.set(name, this.declare(`${name}_row`, dtype, this.span / this.lanes));
    }
    return shared;
  }

  private declare(wanted: string, dtype: DType, length: number): string {
    let name = wanted;
    while (this.buffers.some((b) => b.name === name)) name += "_";
    this.buffers.push({ name, role: "shared", dtype, shape: [length], symmetric: false });
    return name;
  }

  // -- loops ---------------------------------------------------------------------------------------

  private loop(op: Op, values: Substitution, shared: ReadonlyMap<string, string>): void {
    const { build } = this;
    const zero = build.constant(0);
    const bounds = op.regions[0]!.arguments.map((_, d) => {
      const [lo, hi] = [op.operands[2 * d]!, op.operands[2 * d + 1]!].map((v) => values.get(v)) as [Value, Value];
      return { lo, length: build.binary("max", build.sub(hi, lo), zero) };
    });
    const total = bounds.map((b) => b.length).reduce((a, b) => build.mul(a, b));
    const rows = build.extent(this.rows);
    build.for("blocks", [[zero, build.ceilDiv(total, rows)]], ([turn]) => {
      const first = build.mul(turn!, rows);
      const count = build.binary("min", rows, build.sub(total, first));
      const row = (n: Value): readonly Value[] => {
        let rest = build.add(first, n);
        return bounds.toReversed().map(({ lo, length }, d) => {
          const within = d === bounds.length - 1 ? rest : build.rem(rest, length);
          if (d < bounds.length - 1) rest = build.div(rest, length);
          return build.add(lo, within);
        }).toReversed(); // prettier-ignore
      };
      const [inside] = op.regions;
      for (const inner of inside!.ops) {
        build.span = inner.span;
        if (inner.attributes["map"] === "tiles")
          this.tiles(inner, inside!.arguments, { first, count, row, shared }, values);
        else rewriteOps([inner], build, values);
      }
    });
  }

  /** One tile loop of the turn's rows. Ends where the threads have met. */
  private tiles(op: Op, variables: readonly Value[], turn: Turn, values: Substitution): void {
    const { build } = this;
    const [lo, hi] = op.operands.map((v) => values.get(v)) as [Value, Value];
    const [body] = op.regions;
    const length = build.binary("max", build.sub(hi, lo), build.constant(0));
    /** Values for the element `column` of row `n` of the turn. */
    const at = (n: Value, column: Value): Substitution => {
      const inner = new Substitution(values);
      turn.row(n).forEach((v, d) => inner.set(variables[d]!, v));
      inner.set(body!.arguments[0]!, build.add(lo, column));
      return inner;
    };
    /** Folds that the threads have shared, and where what is left of them lies. */
    const folded = new Map<Op, FoldedRow>();
    const copy = (ops: readonly Op[], n: Value, inner: Substitution): void =>
      rewriteOps(ops, build, inner, (o, _, v) => this.inTurn(o, n, turn, folded, v));
    body!.ops.forEach((inner, i) => {
      if (!isRowFold(inner, this.definitions)) return;
      const before = body!.ops.slice(0, i);
      folded.set(inner, this.fold(inner, turn, (n) => {
        const values = at(n, build.constant(0));
        copy(before.filter((o) => o.name !== "store"), n, values);
        return values;
      }, copy)); // prettier-ignore
    });
    this.spread(turn.count, length, (n, column) => copy(body!.ops, n, at(n, column)));
    this.meet();
  }

  /** What is in shared memory, and folds that are done, in their place. */
  private inTurn(op: Op, n: Value, turn: Turn, folded: ReadonlyMap<Op, FoldedRow>, values: Substitution): boolean {
    const { build } = this;
    const left = folded.get(op);
    if (left !== undefined) {
      const at = build.mul(n, left.count);
      const kind = scalar(bufferOf({ ...this.kernel, buffers: this.buffers }, left.buffer).dtype);
      const fn = text(op, "fn") as Reduction;
      const rest = build.reduce(fn, build.constant(0), left.count, (k) => build.load(left.buffer, [build.add(at, k)], kind), { unordered: true }); // prettier-ignore
      values.set(op.results[0]!, rest);
      return true;
    }
    const name = op.name === "load" || op.name === "store" ? turn.shared.get(text(op, "buffer")) : undefined;
    if (name === undefined) return false;
    if (op.name === "store") build.store(name, values.get(memoryOperands(op).value!), [n]);
    else values.set(op.results[0]!, build.load(name, [n], op.results[0]!.type));
    return true;
  }

  /** Every column of every row of the turn, `span` of them at a time, and then the rest. */
  private spread(count: Value, length: Value, body: (n: Value, column: Value) => void): void {
    const { build } = this;
    const zero = build.constant(0);
    if (build.constantOf(length) === 1) return build.for("threads", [[zero, count]], ([n]) => body(n!, zero));
    const total = build.mul(count, length);
    const span = build.constant(this.span);
    const full = build.div(total, span);
    const element = (e: Value): void => body(build.div(e, length), build.rem(e, length));
    build.for("serial", [[zero, full]], ([k]) => {
      const first = build.mul(k!, span);
      build.for("threads", [[zero, span]], ([t]) => element(build.add(first, t!)));
    }, { unordered: true }); // prettier-ignore
    const first = build.mul(full, span);
    build.for("threads", [[zero, build.sub(total, first)]], ([t]) => element(build.add(first, t!)));
  }

  private meet(): void {
    this.build.op("block_sync", [], {}, null);
  }

  // -- folds ---------------------------------------------------------------------------------------

  /**
   * A fold of every row of the turn down to a few parts each, in shared memory.
   * @param inRow the values that the fold's region uses, for a row
   */
  private fold(
    op: Op,
    turn: Turn,
    inRow: (n: Value) => Substitution,
    copy: (ops: readonly Op[], n: Value, inner: Substitution) => void,
  ): FoldedRow {
    const { build, lanes, span } = this;
    const fn = text(op, "fn") as Reduction;
    const kind = scalarOf(op.results[0]!.type);
    const dtype = kind as DType;
    const zero = build.constant(0);
    const outer = inRow(zero);
    const [lo, hi] = op.operands.map((v) => outer.get(v)) as [Value, Value];
    const length = build.binary("max", build.sub(hi, lo), zero);
    const wide = build.constant(lanes);
    const parts = build.binary("min", build.mul(build.ceilDiv(length, wide), wide), build.constant(span));
    const buffer = this.shared("parts", dtype, span);
    const region = op.regions[0]!;
    const term = (n: Value, inner: Substitution, k: Value): Value => {
      const values = new Substitution(inner);
      values.set(region.arguments[0]!, build.add(lo, k));
      copy(region.ops.slice(0, -1), n, values);
      build.span = op.span;
      return values.get(region.ops.at(-1)!.operands[0]!);
    };
    // All lanes have as many elements, so that neighbouring ones are taken at once; what is over comes after.
    const turns = build.div(length, parts);
    build.for("threads", [[zero, build.mul(turn.count, parts)]], ([q]) => {
      const [n, lane] = [build.div(q!, parts), build.rem(q!, parts)];
      const inner = inRow(n);
      const part = build.reduce(fn, zero, turns, (k) => term(n, inner, build.add(build.mul(k, parts), lane)), { unordered: true }); // prettier-ignore
      build.store(buffer, part, [q!]);
    });
    this.meet();
    const covered = build.mul(turns, parts);
    const over = build.sub(length, covered);
    build.for("threads", [[zero, build.mul(turn.count, over)]], ([q]) => {
      const [n, lane] = [build.div(q!, over), build.rem(q!, over)];
      const inner = inRow(n);
      const at = build.add(build.mul(n, parts), lane);
      const value = term(n, inner, build.add(covered, lane));
      build.store(buffer, build.binary(COMBINE[fn], build.load(buffer, [at], scalar(kind)), value), [at]);
    });
    this.meet();
    return this.narrowed(fn, { buffer, count: parts }, turn, dtype);
  }

  /** Twice sixteen parts to one: 4096 become 16. */
  private narrowed(fn: Reduction, from: FoldedRow, turn: Turn, dtype: DType): FoldedRow {
    const { build, span, lanes } = this;
    const zero = build.constant(0);
    const fewer = this.shared("fewer_parts", dtype, Math.ceil(span / PARTS) + span / lanes);
    let now = from;
    for (const buffer of [fewer, from.buffer]) {
      const count = build.ceilDiv(now.count, build.constant(PARTS));
      const source = now;
      build.for("threads", [[zero, build.mul(turn.count, count)]], ([q]) => {
        const [n, w] = [build.div(q!, count), build.rem(q!, count)];
        const at = build.add(build.mul(n, source.count), w);
        const terms = build.ceilDiv(build.sub(source.count, w), count);
        const part = build.reduce(fn, zero, terms, (k) => build.load(source.buffer, [build.add(at, build.mul(k, count))], scalar(dtype)), { unordered: true }); // prettier-ignore
        build.store(buffer, part, [q!]);
      });
      this.meet();
      now = { buffer, count };
    }
    return now;
  }

  /** Shared memory that all folds of a dtype use, one after the other. */
  private shared(hint: string, dtype: DType, length: number): string {
    const name = `${hint}_${dtype}`;
    const known = this.buffers.find((b) => b.name === name && b.role === "shared");
    return known?.name ?? this.declare(name, dtype, length);
  }
}

/** What is left of folded rows: `count` parts a row, one row after the other. */
interface FoldedRow {
  readonly buffer: string;
  readonly count: Value;
}

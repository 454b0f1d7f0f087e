/**
 * fuse-rows: tile loops over the same rows, one after the other, become one loop over rows that holds them, wherever a row
 * is folded and what goes from loop to loop stays in its row.
 *
 * A row is then one block's: what another loop wrote of it is there as soon as the block's threads have met, and no barrier
 * of all blocks stands between. A fold along a row is shared by the threads of its block (map-rows). Loops that a product's
 * tiles come from stay as they are.
 */
import { Builder } from "../ir/builder.js";
import { isRemote, type Kernel, memoryOperands, type Op, type Region, text, type Value } from "../ir/module.js";
import { definitionOf } from "../ir/ops.js";
import { rewriteOps, Substitution, walk } from "../ir/visit.js";
import { Definitions } from "./support/analysis.js";
import { contractsIn } from "./support/contraction.js";
import { isRowFold } from "./support/row-folds.js";

export function fuseRows(kernel: Kernel): Kernel {
  return { ...kernel, body: new RowFusion(kernel).region(kernel.body) };
}

/** What a loop does with one buffer. */
interface Use {
  readonly buffer: string;
  readonly writes: boolean;
  /** The indices that name the row, as text that is equal in loops over equal rows; null if others' rows may be meant. */
  readonly row: string | null;
}

interface RowLoop {
  readonly op: Op;
  readonly uses: readonly Use[];
  readonly folds: boolean;
  /** How many of its variables name a row: all but the last; or all, where every element is the fold of a row of its own. */
  readonly rows: number;
  /** Whether neighbouring elements are the folds of rows that lie side by side in memory. */
  readonly isAcross: boolean;
}

class RowFusion {
  private readonly definitions: Definitions;
  private readonly ids = new Map<Value, number>();
  /** Bounds of the rows that are folded somewhere in the kernel, so that blocks have rows anyway. */
  private readonly foldedRows = new Set<string>();

  constructor(private readonly kernel: Kernel) {
    this.definitions = new Definitions(kernel);
    walk(kernel.body, (op) => {
      const loop = this.rowLoop(op);
      if (loop?.folds === true && !loop.isAcross) this.foldedRows.add(this.boundsOf(loop));
    });
  }

  region(region: Region): Region {
    const out: Op[] = [];
    let group: RowLoop[] = [];
    const flush = (): void => {
      out.push(...this.fused(group));
      group = [];
    };
    for (const op of region.ops) {
      const loop = this.rowLoop(op);
      if (loop !== null) {
        if (group.length > 0 && !this.mayJoin(loop, group)) flush();
        group.push(loop);
      } else if (definitionOf(op.name).effect === "pure") {
        out.push(op); // before the group: its operands are there, too
      } else {
        flush();
        const isTiles = op.attributes["map"] === "tiles";
        out.push(isTiles ? op : { ...op, regions: op.regions.map((r) => this.region(r)) });
      }
    }
    flush();
    return { arguments: region.arguments, ops: out };
  }

  /** A loop over rows and, innermost, what is in a row. */
  private rowLoop(op: Op): RowLoop | null {
    if (op.name !== "for" || op.attributes["map"] !== "tiles") return null;
    const [body] = op.regions as [Region];
    const { definitions } = this;
    const found = body.ops.filter((o) => isRowFold(o, definitions));
    if (found.length > 1) return null; // parts of one row's fold at a time have room
    const [fold] = found;
    const variables = body.arguments.length;
    const [lo, hi] = op.operands.slice(-2).map((v) => definitions.constant(v));
    const isOneColumn = lo === 0 && hi === 1;
    // A fold for each element of a row is many folds. Threads share each where its terms are neighbours in memory; else the
    // loop over elements spreads them better.
    const isEach = fold !== undefined && !isOneColumn;
    const isAcross = isEach && this.liesSideBySide(fold, body.arguments.at(-1)!);
    if (isEach && !isAcross && !this.takesNeighbours(fold)) return null;
    if (fold !== undefined && !(standsAlone(fold, body) && isKnownBefore(fold, body))) return null;
    const rows = isEach ? variables : variables - 1;
    if (rows === 0 && fold === undefined) return null; // all elements in one row: more than one block should have them
    if (contractsIn(op).length > 0) return null;
    return { op, uses: this.usesOf(op, rows), folds: fold !== undefined, rows, isAcross };
  }

  /** Whether a fold's terms go through memory in steps, and those of the next element lie beside them. Whoever reads others' memory has an order of its own for that. */
  private liesSideBySide(fold: Op, element: Value): boolean {
    const [region] = fold.regions as [Region];
    const [along] = region.arguments as [Value];
    const dependsOn = (v: Value, variable: Value): boolean => this.definitions.argumentsOf(v).includes(variable);
    let [is, steps] = [true, false];
    walk(region, (op) => {
      if (op.name !== "load") return;
      const { indices } = memoryOperands(op);
      const last = indices.at(-1)!;
      const before = indices.slice(0, -1);
      is &&= !isRemote(op) && !dependsOn(last, along) && !before.some((v) => dependsOn(v, element));
      is &&= !dependsOn(last, element) || this.definitions.isNext(last, element);
      steps ||= before.some((v) => dependsOn(v, along)) && dependsOn(last, element);
    });
    return is && steps;
  }

  /** Whether each load of a fold's terms goes along memory with the fold. */
  private takesNeighbours(fold: Op): boolean {
    const [region] = fold.regions as [Region];
    const [along] = region.arguments as [Value];
    const depends = (v: Value): boolean => this.definitions.argumentsOf(v).includes(along);
    let all = true;
    walk(region, (op) => {
      if (op.name !== "load") return;
      const { indices, peer } = memoryOperands(op);
      const last = indices.at(-1)!;
      const isAlong = !depends(last) || this.definitions.isNext(last, along);
      all &&= isAlong && ![...indices.slice(0, -1), ...(peer === null ? [] : [peer])].some(depends);
    });
    return all;
  }

  private usesOf(loop: Op, count: number): Use[] {
    const rows = loop.regions[0]!.arguments.slice(0, count);
    const uses: Use[] = [];
    walk(loop.regions[0]!, (op) => {
      if (op.name !== "load" && op.name !== "store") return;
      const row = isRemote(op) ? null : this.rowOf(memoryOperands(op).indices, rows);
      uses.push({ buffer: text(op, "buffer"), writes: op.name === "store", row });
    });
    return uses;
  }

  /** The leading indices, if they are the loop's variables, each plus something from outside the loop. */
  private rowOf(indices: readonly Value[], rows: readonly Value[]): string | null {
    if (indices.length < rows.length) return null;
    const parts = rows.map((variable, d) => {
      const index = indices[d]!;
      if (index === variable) return "";
      const [a, b] = this.definitions.binary(index, "add")?.operands ?? [];
      const offset = a === variable ? b : b === variable ? a : undefined;
      const isOutside = offset !== undefined && this.definitions.argumentsOf(offset).length === 0;
      return isOutside ? this.definitions.key(offset) : null;
    });
    return parts.includes(null) ? null : parts.join(";");
  }

  private boundsOf(loop: RowLoop): string {
    return loop.op.operands
      .slice(0, 2 * loop.rows)
      .map((v) => {
        if (!this.ids.has(v)) this.ids.set(v, this.ids.size);
        return this.ids.get(v);
      })
      .join(" ");
  }

  private mayJoin(loop: RowLoop, group: readonly RowLoop[]): boolean {
    if (loop.rows === 0 || this.boundsOf(loop) !== this.boundsOf(group[0]!)) return false;
    if (loop.isAcross || group[0]!.isAcross) return false;
    return group.every((earlier) => conflicts(earlier, loop).every(([a, b]) => a.row !== null && a.row === b.row));
  }

  /** The loops, or one in their place; those at either end that fold nothing and share nothing with others stay outside. */
  private fused(group: readonly RowLoop[]): readonly Op[] {
    const isBound = (loop: RowLoop): boolean =>
      loop.folds || group.some((other) => other !== loop && conflicts(other, loop).length > 0);
    const first = group.findIndex(isBound);
    if (group[0]?.isAcross === true) return [rowsLoop(group)];
    if (first < 0 || !this.foldedRows.has(this.boundsOf(group[first]!))) return group.map((l) => l.op);
    const last = group.findLastIndex(isBound);
    const ops = group.map((l) => l.op);
    return [...ops.slice(0, first), rowsLoop(group.slice(first, last + 1)), ...ops.slice(last + 1)];
  }
}

/** Whether the ends of a fold are the same for all elements, and known before the first. */
function isKnownBefore(fold: Op, body: Region): boolean {
  const made = new Set([...body.arguments, ...body.ops.flatMap((o) => o.results)]);
  return fold.operands.every((v) => !made.has(v));
}

/**
 * Whether the terms of a fold can be made ahead of its iteration of the loop, by other threads, and more than once: what comes before
 * it only computes, loads and stores, and stores nothing that they are made of.
 */
function standsAlone(fold: Op, body: Region): boolean {
  const before = body.ops.slice(0, body.ops.indexOf(fold));
  const stored = new Set(before.filter((op) => op.name === "store").map((op) => text(op, "buffer")));
  const mayRepeat = (op: Op): boolean =>
    op.name === "yield" ||
    definitionOf(op.name).effect === "pure" ||
    (op.name === "load" && !stored.has(text(op, "buffer"))) ||
    (op.name === "reduce" && op.regions[0]!.ops.every(mayRepeat));
  return mayRepeat(fold) && before.every((op) => op.name === "store" || mayRepeat(op));
}

/** Pairs of uses of one buffer, one of them a store. */
function conflicts(a: RowLoop, b: RowLoop): (readonly [Use, Use])[] {
  return a.uses.flatMap((x) =>
    b.uses.flatMap((y) => (x.buffer === y.buffer && (x.writes || y.writes) ? [[x, y] as const] : [])),
  );
}

function rowsLoop(loops: readonly RowLoop[]): Op {
  const [first] = loops as [RowLoop];
  const build = new Builder(first.op.span);
  const pairs = (op: Op): [Value, Value][] =>
    op.regions[0]!.arguments.map((_, d) => [op.operands[2 * d]!, op.operands[2 * d + 1]!]);
  const bounds = pairs(first.op);
  const inRows = first.rows > 0 ? bounds.slice(0, first.rows) : bounds;
  const body = (rows: readonly Value[]): void => {
    for (const { op, rows: count } of loops) {
      build.span = op.span;
      const [body] = op.regions as [Region];
      const columns = (): [Value, Value][] =>
        count < body.arguments.length ? pairs(op).slice(-1) : [[build.constant(0), build.constant(1)]];
      build.for("tiles", columns(), ([column]) => {
        const inner = new Substitution();
        body.arguments.forEach((a, d) => inner.set(a, d < count ? rows[d]! : column!));
        rewriteOps(body.ops, build, inner);
      });
    }
  };
  build.for("rows", inRows, body, first.isAcross ? { across: true } : {});
  return build.ops.at(-1)!;
}

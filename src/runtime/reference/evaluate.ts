/**
 * Evaluates a specification over logical tensors in float64, together with a bound on the error that correct
 * float32 arithmetic may make (running error analysis; u = 2^-24). Rows are evaluated on demand.
 */
import {
  evaluateExtent,
  InternalCompilerError,
  type DimValues,
  type Manifest,
  partsOfSpecification,
  shapeOfSpecification,
  type Specification,
} from "../../compiler/index.js";
import type { BinaryFunction, Comparison, UnaryFunction } from "../../compiler/index.js";
import { binaryRows, castRows, compareRows, constantError, roundedRows, selectRows, unaryRows } from "./elementwise.js";
import { foldRows } from "./folds.js";
import type { TypedArray } from "../numbers/index.js";
import type { InputReader } from "./inputs.js";
import {
  type Columns,
  givenTo,
  readRows,
  rowLength,
  type Rows,
  shapeOf,
  summandsOf,
  type Whole,
  wholeKind,
} from "./logical.js";
import { evaluateProduct } from "./product.js";
import { withRoundings } from "./roundings.js";
import { concatRows, permuteRows, repeatRows, reshapeRows, sliceRows, spreadRows } from "./views.js";

/** What an evaluation needs to know. */
export interface Context {
  readonly manifest: Manifest;
  readonly dims: DimValues;
  readonly read: InputReader;
  /** What was found out before. A value that is used twice is one specification, and evaluated once. */
  readonly known: Knowledge;
}

/** `any` and `any64`: constants that are whole numbers go with others, the large ones as those of 64 bits alone. */
type WholeKind = Whole | "any" | "any64";

interface Knowledge {
  readonly shapes: Map<Specification, readonly number[]>;
  readonly kinds: Map<Specification, WholeKind | null>;
  /** Whether a dimension lies over the ranks. */
  readonly sharded: Map<Specification, Map<number, boolean>>;
  readonly wholes: Map<Specification, Map<number, Rows>>;
  /** Of the rows at hand: `forgetRows` forgets them. */
  readonly rows: Map<Specification, Map<string, Rows>>;
}

export function newKnowledge(): Knowledge {
  return { shapes: new Map(), kinds: new Map(), sharded: new Map(), wholes: new Map(), rows: new Map() };
}

/** Gives back the memory of rows that nobody asks for again. */
export function forgetRows(c: Context): void {
  c.known.rows.clear();
}

/** Shape of a specification's value; [] for constants. Throws RangeError where operands do not fit. */
export function specificationShape(s: Specification, c: Context): readonly number[] {
  const input = (name: string): readonly number[] => shapeOf(tensorOf(name, c), c.dims);
  return shapeOfSpecification(s, { input, extent: (e) => evaluateExtent(e, c.dims) }, c.known.shapes);
}

function tensorOf(name: string, c: Context): Manifest["inputs"][number] {
  const tensor = c.manifest.inputs.find((t) => t.name === name);
  if (tensor === undefined)
    throw new InternalCompilerError(`the specification names an input '${name}' that is not in the manifest`);
  return tensor;
}

/** How a value is computed in whole numbers, which wrap: its inputs are such. Null where it is computed in floats. */
export function wholeOf(s: Specification, c: Context): Whole | null {
  const kind = kindOf(s, c);
  return kind === "any" ? "i32" : kind === "any64" ? "i64" : kind;
}

function kindOf(s: Specification, c: Context): WholeKind | null {
  let known = c.known.kinds.get(s);
  if (known === undefined) c.known.kinds.set(s, (known = findKind(s, c)));
  return known;
}

function findKind(s: Specification, c: Context): WholeKind | null {
  const together = (parts: readonly Specification[]): WholeKind | null => {
    const kinds = parts.map((p) => kindOf(p, c));
    if (kinds.includes(null)) return null;
    return kinds.find((k) => k !== "any" && k !== "any64") ?? kinds.find((k) => k === "any64") ?? "any";
  };
  switch (s.kind) {
    case "input":
      return wholeKind(tensorOf(s.name, c).dtype);
    case "constant":
      // 1e30 is a float, though no fraction shows it.
      return !Number.isSafeInteger(s.value) ? null : Math.abs(s.value) < 2 ** 32 ? "any" : "any64";
    case "iota":
      return "i32";
    case "scalar":
      return wholeKind(c.manifest.scalars.find(({ name }) => name === s.name)!.dtype);
    case "cast":
      return wholeKind(s.dtype);
    case "select":
      return together([s.a, s.b]);
    case "compare":
      // Of floats, a comparison may be open, and bears an error.
      return together([s.a, s.b]) === null ? null : "i32";
    default:
      return together(partsOfSpecification(s));
  }
}

/** Rows `first` … `last` (exclusive) of the value, for the rank `self` (it matters for `local` inputs only). */
export function evaluateRows(s: Specification, c: Context, first: number, last: number, self: number): Rows {
  if (s.kind === "input" || s.kind === "constant" || s.kind === "scalar") return computeRows(s, c, first, last, self);
  return keptRows(s, c, first, last, self);
}

function computeRows(s: Specification, c: Context, first: number, last: number, self: number): Rows {
  const rowsOf = (x: Specification): Rows => evaluateRows(x, c, first, last, self);
  /** An operand as the elements of this value need it. */
  const operand = (x: Specification): Rows => {
    const rows = spreadRows(x, specificationShape(s, c), c, first, last, self);
    const off = x.kind === "constant" && wholeOf(s, c) === null ? constantError(x.value) : 0;
    return off === 0 ? rows : { ...rows, error: new Float64Array(rows.values.length).fill(off) };
  };
  switch (s.kind) {
    case "input":
      return inputRows(s.name, c, first, last, self, null);
    case "constant":
      return { values: Float64Array.of(s.value), error: null, copied: false };
    case "iota": {
      const shape = specificationShape(s, c);
      const step = shape.slice(s.dim + 1).reduce((a, n) => a * n, 1);
      const from = first * rowLength(shape);
      const values = Float64Array.from({ length: (last - first) * rowLength(shape) }, (_, i) => Math.floor((from + i) / step) % shape[s.dim]!); // prettier-ignore
      return { values, error: null, copied: false };
    }
    case "scalar":
      return { values: Float64Array.of(givenTo(s.name, c.manifest, c.dims)), error: null, copied: false };
    case "matmul":
      return evaluateProduct(s, c, first, last, self);
    case "unary":
      return unaryRows(s.fn as UnaryFunction, rowsOf(s.a), wholeOf(s, c));
    case "binary":
      return binaryRows(s.fn as BinaryFunction, operand(s.a), operand(s.b), wholeOf(s, c));
    case "compare":
      return compareRows(s.fn as Comparison, operand(s.a), operand(s.b));
    case "select":
      return selectRows(operand(s.condition), operand(s.a), operand(s.b));
    case "cast":
      return castRows(s.dtype, rowsOf(s.a), c.manifest.ranks, wholeOf(s.a, c) === null);
    case "rounded":
      return roundedRows(s.dtype, rowsOf(s.a), c.manifest.ranks);
    case "fold":
      return foldRows(s, c, first, last, self);
    case "permute":
      return permuteRows(s, c, first, last, self);
    case "reshape":
      return reshapeRows(s, c, first, last, self);
    case "repeat":
      return repeatRows(s, c, first, last, self);
    case "slice": {
      const columns = columnsOfInput(s, c);
      if (columns === null) return sliceRows(s, c, first, last, self);
      return inputRows(columns.name, c, first + columns.row, last + columns.row, self, columns);
    }
    case "concat":
      return concatRows(s, c, first, last, self);
  }
}

function inputRows(name: string, c: Context, first: number, last: number, self: number, columns: Columns | null): Rows {
  const tensor = tensorOf(name, c);
  const read = (rank: number, from: number, to: number): TypedArray => c.read(name, rank, from, to);
  const rows = readRows(tensor, c.dims, c.manifest, read, first, last, self, columns);
  return withRoundings(rows, tensor, c.manifest.roundings, summandsOf(tensor, c.manifest, self));
}

/** Of a slice of an input's rows and columns and of nothing else, where it begins: no more than that is read. */
function columnsOfInput(
  { a, from, shape }: Extract<Specification, { kind: "slice" }>,
  c: Context,
): (Columns & { readonly name: string; readonly row: number }) | null {
  if (a.kind !== "input" || shape.length < 2) return null;
  const own = specificationShape(a, c);
  const between = shape.slice(1, -1);
  if (between.some((length, d) => evaluateExtent(length, c.dims) !== own[d + 1])) return null;
  const [row, first, count] = [from[0]!, from.at(-1)!, shape.at(-1)!].map((e) => evaluateExtent(e, c.dims));
  return { name: a.name, row: row!, from: first!, count: count! };
}

/** Rows that are asked for again before others are: those of an input are kept here, too. */
export function keptRows(s: Specification, c: Context, first: number, last: number, self: number): Rows {
  let ranges = c.known.rows.get(s);
  if (ranges === undefined) c.known.rows.set(s, (ranges = new Map()));
  const key = `${first} ${last} ${self}`;
  let rows = ranges.get(key);
  if (rows === undefined) ranges.set(key, (rows = computeRows(s, c, first, last, self)));
  return rows;
}

/** All rows of a value, kept: for operations that look across rows. */
export function evaluateWhole(s: Specification, c: Context, self: number): Rows {
  let ranks = c.known.wholes.get(s);
  if (ranks === undefined) c.known.wholes.set(s, (ranks = new Map()));
  let rows = ranks.get(self);
  if (rows === undefined) ranks.set(self, (rows = evaluateRows(s, c, 0, specificationShape(s, c)[0] ?? 1, self)));
  return rows;
}

/** How the operands of a matrix product lie in memory: what the loads behind a `contract` and the loop around it say. */
import type { Builder } from "../../ir/builder.js";
import { bufferOf, isRemote, type Kernel, memoryOperands, type Op, text, type Value } from "../../ir/module.js";
import { APART_COLUMNS } from "../../ir/tile-window.js";
import type { Substitution } from "../../ir/visit.js";
import { type ComputeDType, type DType, DTYPES } from "../../types/dtype.js";
import { sameExtent } from "../../types/extent.js";
import type { Definitions } from "./analysis.js";
import { valueExtent } from "./upper-bound.js";
import { widenedFrom } from "./widened-operands.js";

/** An index of an operand: one of the product's variables, perhaps the number of its run, or none, plus values from outside the loop. */
export interface Index {
  readonly along: Value | null;
  /** How long the runs are that are counted: 1, but for scales. */
  readonly per: number;
  readonly terms: readonly Term[];
}

interface Term {
  readonly fn: "add" | "sub";
  readonly value: Value | number;
}

/** A matrix in a buffer, strided: one dimension runs with the depth, one with the rows or columns of the product. */
export interface OperandView {
  readonly buffer: string;
  readonly dtype: DType;
  /** Rank it is read from, the same for all elements; null for this one. */
  readonly peer: Value | null;
  readonly indices: readonly Index[];
  /** Dimension that the rows of its tiles go along; their columns go along the last. */
  readonly rows: number;
  /** Whether the depth goes along the last dimension. */
  readonly isDeep: boolean;
  /** Whether the depth ends before the buffer does, so that what lies beyond belongs to something else. */
  readonly isCut: boolean;
}

/** Scales of an operand, one for each run of its rows, or columns, and of its depth. Its depth are the runs. */
export interface ScaleView extends OperandView {
  /** For how many terms a scale stays, and for how many rows or columns; 0 for all. */
  readonly run: number;
  readonly per: number;
}

export interface Contraction {
  /** The op that computes the element. */
  readonly contract: Op;
  /** The loop's variables that count rows and columns; the others count batches. */
  readonly row: Value;
  readonly column: Value;
  /** Number of terms; they start at 0. */
  readonly depth: Value;
  readonly a: OperandView;
  readonly b: OperandView;
  readonly scales: { readonly a: ScaleView | null; readonly b: ScaleView | null };
  /** A second product of the same loop and the same a, whose b lies as this one's does; null where there is none. */
  readonly twin: { readonly contract: Op; readonly b: OperandView } | null;
}

/** Why a product is left to scalar arithmetic, and what would bring it to the units for matrices. */
export interface Refusal {
  readonly reason: string;
}

/** The products that a loop over elements computes of each. */
export function contractsIn(loop: Op): readonly Op[] {
  const isTiles = loop.name === "for" && loop.attributes["map"] === "tiles";
  return isTiles ? loop.regions[0]!.ops.filter((op) => op.name === "contract") : [];
}

/** The ops of a loop's products, the one of the accumulator first, then that of its twin. */
export function contractsOf({ contract, twin }: Contraction): readonly Op[] {
  return twin === null ? [contract] : [contract, twin.contract];
}

/** Dtypes of operands that are multiplied by tiles: 16-bit floats on tensor cores, f32 on the scalar units. */
const TILED: readonly DType[] = ["f32", "f16", "bf16"];
/** Those that only warp groups multiply, and only where both operands' depth goes along their rows (PTX, "wgmma"). */
const DEEP: readonly DType[] = ["f8e4m3", "f8e5m2", "i8", "u8"];

/** What a product's terms are added up in. */
export function accumulatedIn({ a }: Contraction): ComputeDType {
  return DTYPES[a.dtype].compute;
}

/** Whether only products by roles can have these operands. */
export function needsRoles({ a }: Contraction): boolean {
  return DEEP.includes(a.dtype);
}

/**
 * The operands of a loop's product as strided matrices, or why they are none.
 * @param hasRoles whether the machine has products by roles
 */
export function viewContraction(
  loop: Op,
  contract: Op,
  kernel: Kernel,
  definitions: Definitions,
  hasRoles: boolean,
): Contraction | Refusal {
  const [body] = loop.regions;
  const [region] = contract.regions;
  const k = region!.arguments[0]!;
  const inside = new Set([...region!.ops, ...body!.ops].flatMap((o) => o.results).concat(body!.arguments, k));
  const [factors, scales] = [[0, 2], [2]].map(([from, to]) => region!.ops.at(-1)!.operands.slice(from, to)) as [Value[], Value[]]; // prettier-ignore
  const loads = factors.map((v) => elementLoad(v, definitions));
  const [first, second] = loads;
  if (first == null || second == null)
    return { reason: "an operand is computed as it is multiplied; name it with `let` before the product" };
  const dtypes = loads.map((load) => bufferOf(kernel, text(load!, "buffer")).dtype);
  if (dtypes[0] !== dtypes[1])
    return { reason: `its operands are of ${dtypes.join(" and ")}; cast one of them to the other's dtype` };
  const isDeepOnly = DEEP.includes(dtypes[0]!);
  if (!TILED.includes(dtypes[0]!) && !(isDeepOnly && hasRoles)) {
    const [from, other] = loads.map((load) => widenedFrom(kernel, text(load!, "buffer"), definitions));
    const isTaken = hasRoles && from === other && (from === "i8" || from === "u8") && !isDeepOnly;
    const instead = isTaken
      ? `cast the product in place of the operands, as in '${dtypes[0]!}(a @ transpose(b))' for a and b of ${from}`
      : "cast the operands to bf16 or f16";
    return { reason: `this machine has no tiles of ${dtypes[0]!}; ${instead}` };
  }
  const indices = loads.map((load) => indicesOf(load!, inside, definitions));
  const [x, y] = indices;
  if (x == null || y == null || [...x, ...y].some(({ per }) => per > 1))
    return { reason: "an operand's index is more than a variable plus something fixed; copy the operand to an array" };
  const isOf = (of: readonly Index[], v: Value): boolean => of.some((i) => i.along === v);
  const only = (of: readonly Index[], other: readonly Index[]): Value | undefined =>
    body!.arguments.findLast((v) => isOf(of, v) && !isOf(other, v));
  const [mine, yours] = [only(x, y), only(y, x)];
  if (mine === undefined || yours === undefined)
    return { reason: "one operand is a vector: each of its elements serves one row only" };
  // Columns are what varies last: neighbours of a row are stored together.
  const isSwapped = body!.arguments.indexOf(mine) > body!.arguments.indexOf(yours);
  const [row, column] = isSwapped ? [yours, mine] : [mine, yours];
  const depth = contract.operands[1]!;
  const view = (n: number, free: Value): OperandView | Refusal =>
    viewOf(loads[n]!, indices[n]!, { k, free, depth }, kernel, inside, definitions);
  const a = view(isSwapped ? 1 : 0, row);
  const b = view(isSwapped ? 0 : 1, column);
  if ("reason" in a) return a;
  if ("reason" in b) return b;
  const shallow = [a, b].find((v) => !v.isDeep);
  if (isDeepOnly && shallow !== undefined)
    return {
      reason: `the rows of '${shallow.buffer}' do not run along the depth, as those of ${shallow.dtype} have to; store it transposed, and write 'a @ transpose(b)'`,
    };
  const found: { a: ScaleView | null; b: ScaleView | null } = { a: null, b: null };
  for (const scale of scales) {
    const laid = scaleOf(scale, { k, row, column }, kernel, inside, definitions);
    if ("reason" in laid) return laid;
    const of = laid.along === column || (laid.along === null && found.a !== null) ? "b" : "a";
    if (found[of] !== null) return { reason: "an operand has two scales; multiply one by the other before" };
    found[of] = laid.view;
  }
  return { contract, row, column, depth, a, b, scales: found, twin: null };
}

/** How scales lie in memory, and which of the product's variables they go along besides the depth. */
function scaleOf(
  scale: Value,
  { k, row, column }: { readonly k: Value; readonly row: Value; readonly column: Value },
  kernel: Kernel,
  inside: ReadonlySet<Value>,
  definitions: Definitions,
): { readonly view: ScaleView; readonly along: Value | null } | Refusal {
  const load = elementLoad(scale, definitions);
  if (load === null)
    return { reason: "a scale is computed as it is multiplied; name it with `let` before the product" };
  const { name, dtype, shape } = bufferOf(kernel, text(load, "buffer"));
  const indices = indicesOf(load, inside, definitions);
  if (dtype !== "f32" || isRemote(load) || indices === null)
    return { reason: `the scales '${name}' are no f32 of this rank's, one for a run; copy them to an array of such` };
  const last = shape.length - 1;
  const deep = indices.findIndex((i) => i.along === k);
  const free = indices.findIndex((i) => i.along === row || i.along === column);
  const others = indices.filter((i, d) => d !== deep && d !== free && [k, row, column].includes(i.along!));
  // Its tile has rows and columns, one of which counts the runs.
  const rows = deep === last ? (free < 0 ? last - 1 : free) : deep;
  if (deep < 0 || rows < 0 || others.length > 0 || (deep !== last && free !== last))
    return { reason: `the scales '${name}' are no matrix of runs of one operand; copy them to an array that is` };
  const along = free < 0 ? null : indices[free]!.along;
  const per = free < 0 ? 0 : indices[free]!.per;
  const lies = { buffer: name, dtype, peer: null, indices, rows, isDeep: deep === last, isCut: false };
  return { view: { ...lies, run: indices[deep]!.per, per }, along };
}

/** Why tiles of that size do not have the scales at hand; null where they do. @param first where each of the loop's variables begins */
export function misfitOf(
  { scales, row, column }: Contraction,
  { m, n, k }: { readonly m: number; readonly n: number; readonly k: number },
  first: (v: Value) => number | undefined,
): Refusal | null {
  const check = (view: ScaleView | null, free: Value, size: number, least: number): Refusal | null => {
    if (view === null) return null;
    const { buffer, run, per } = view;
    if (run % k !== 0)
      return {
        reason: `the scales '${buffer}' change every ${run} terms, and what is scaled has ${k}; make runs of ${k}`,
      };
    if (per === 0) return null;
    const isEven = per % least === 0 && (per % size === 0 || size % per === 0);
    if (isEven && (per === 1 || (first(free) ?? 1) % per === 0)) return null;
    const what = free === row ? "rows" : "columns";
    return {
      reason: `the scales '${buffer}' change every ${per} ${what}, and ${least} neighbours are scaled alike; make runs of ${least}, or swap the operands`,
    };
  };
  return check(scales.a, row, m, 1) ?? check(scales.b, column, n, Math.min(n, APART_COLUMNS));
}

/** Scales of a stage: rows and columns of their tile. @param size of the operand's tile along its rows, or columns */
export function scaleTile({ per, isDeep }: ScaleView, size: number): readonly [rows: number, columns: number] {
  const count = per === 0 ? 1 : Math.max(1, size / per);
  return isDeep ? [count, 1] : [1, count];
}

/** The load behind an element, through its widening. */
function elementLoad(v: Value, definitions: Definitions): Op | null {
  const op = definitions.of(v);
  if (op?.name === "cast") return elementLoad(op.operands[0]!, definitions);
  return op?.name === "load" ? op : null;
}

function indicesOf(load: Op, inside: ReadonlySet<Value>, definitions: Definitions): readonly Index[] | null {
  const indices = memoryOperands(load).indices.map((v) => indexOf(v, inside, definitions));
  return indices.includes(null) ? null : (indices as Index[]);
}

function indexOf(v: Value, inside: ReadonlySet<Value>, definitions: Definitions): Index | null {
  if (!inside.has(v)) return { along: null, per: 1, terms: [{ fn: "add", value: v }] };
  const op = definitions.of(v);
  if (op?.name === "const") return { along: null, per: 1, terms: [{ fn: "add", value: definitions.constant(v)! }] };
  if (op === undefined) return { along: v, per: 1, terms: [] };
  const fn = op.name === "binary" ? op.attributes["fn"] : null;
  if (fn !== "add" && fn !== "sub" && fn !== "div") return null;
  const [a, b] = op.operands as [Value, Value];
  if (fn === "div") {
    const [of, run] = [indexOf(a, inside, definitions), definitions.constant(b)];
    const isRun = of !== null && of.along !== null && of.terms.length === 0 && run !== undefined;
    return isRun ? { ...of, per: of.per * run } : null;
  }
  const isFixed = (x: Value): boolean => !inside.has(x) || definitions.constant(x) !== undefined;
  const [base, value] = fn === "add" && isFixed(a) ? [b, a] : [a, b];
  const plus = definitions.constant(value) ?? (inside.has(value) ? null : value);
  const index = plus === null ? null : indexOf(base, inside, definitions);
  return index === null ? null : { ...index, terms: [...index.terms, { fn, value: plus! }] };
}

function viewOf(
  load: Op,
  indices: readonly Index[],
  { k, free, depth }: { k: Value; free: Value; depth: Value },
  kernel: Kernel,
  inside: ReadonlySet<Value>,
  definitions: Definitions,
): OperandView | Refusal {
  const buffer = bufferOf(kernel, text(load, "buffer"));
  const { peer } = memoryOperands(load);
  if (isRemote(load) && inside.has(peer!))
    return { reason: `'${buffer.name}' is read from several ranks; gather it first` };
  const places = (v: Value): number[] => indices.flatMap((i, d) => (i.along === v ? [d] : []));
  const [deep, wide] = [places(k), places(free)];
  const last = indices.length - 1;
  if (deep.length !== 1 || wide.length !== 1)
    return { reason: `'${buffer.name}' is read along a diagonal; copy it to an array` };
  if (deep[0] !== last && wide[0] !== last)
    return { reason: `neighbours in a row of '${buffer.name}' are not multiplied together; copy it to an array` };
  const end = valueExtent(depth, definitions);
  const isWhole = indices[deep[0]!]!.terms.length === 0 && end !== null && sameExtent(end, buffer.shape[deep[0]!]!);
  return {
    buffer: buffer.name,
    dtype: buffer.dtype,
    peer: isRemote(load) ? peer : null,
    indices,
    rows: deep[0] === last ? wide[0]! : deep[0]!,
    isDeep: deep[0] === last,
    isCut: !isWhole,
  };
}

/** Emits an index that begins at `from`. */
function emitIndex(build: Builder, { terms }: Index, from: Value, values: Substitution): Value {
  return terms.reduce((sum, { fn, value }) => {
    return build.binary(fn, sum, typeof value === "number" ? build.constant(value) : values.get(value));
  }, from);
}

/**
 * Emits the start of a copy of the tile of an operand where the product's variables have the values `at`.
 * @param columns so many of the product are wanted, the first; those of an operand that has these
 */
export function copyTile(
  build: Builder,
  view: OperandView,
  to: string,
  at: ReadonlyMap<Value, Value>,
  stage: Value,
  depth: Value,
  values: Substitution,
  { columns, ...extra }: { readonly ring?: string; readonly plain?: true; readonly columns?: Value } = {},
): void {
  const last = view.indices.length - 1;
  const deep = view.isDeep ? last : view.rows;
  const indices = view.indices.map((index) => {
    const along = index.along === null ? build.constant(0) : at.get(index.along)!;
    const from = index.per === 1 ? along : build.div(along, build.constant(index.per));
    return emitIndex(build, index, from, values);
  });
  const operands = [...(view.peer === null ? [] : [values.get(view.peer)]), ...indices, stage];
  const end = view.isCut ? [emitIndex(build, view.indices[deep]!, depth, values)] : [];
  build.op(
    "copy_tile",
    [...operands, ...end, ...(columns === undefined ? [] : [columns])],
    {
      from: view.buffer,
      to,
      rows: view.rows,
      ...(view.peer === null ? {} : { remote: true }),
      ...(view.isCut ? { end: view.isDeep ? "columns" : "rows" } : {}),
      ...(columns === undefined ? {} : { limit: view.isDeep ? "rows" : "columns" }),
      // Its rows are the result's, and nobody asks for those outside.
      ...(view.isDeep && extra.ring !== undefined ? { spare: true } : {}),
      ...extra,
    },
    null,
  );
}

/** Which operands' tiles lie the other way round. */
export function transposedOf({ a, b }: Contraction): { readonly transposed?: string } {
  const transposed = `${a.isDeep ? "" : "a"}${b.isDeep ? "b" : ""}`;
  return transposed === "" ? {} : { transposed };
}

/** Recognises a matrix product among the elements of a tile loop. */
import type { Builder } from "../../ir/builder.js";
import { bufferOf, isRemote, type Kernel, memoryOperands, type Op, text, type Value } from "../../ir/module.js";
import type { Substitution } from "../../ir/visit.js";
import type { Definitions } from "./analysis.js";

/** An operand: the load of one element, and how its place follows from the tile's origin. */
export interface ContractionOperand {
  readonly load: Op;
  /** Rank it is read from, the same for all elements; null for this one. */
  readonly peer: Value | null;
  readonly row: (build: Builder, origin: Value, values: Substitution) => Value;
  readonly column: (build: Builder, origin: Value, values: Substitution) => Value;
}

export interface Contraction {
  /** The fold that computes the element. */
  readonly fold: Op;
  /** Number of terms; the fold starts at 0. */
  readonly depth: Value;
  readonly a: ContractionOperand;
  readonly b: ContractionOperand;
}

/** The product computed by a tile loop over (i, j), or null if it is not of that shape. */
export function matchContraction(loop: Op, kernel: Kernel, definitions: Definitions): Contraction | null {
  if (loop.name !== "for" || loop.attributes["map"] !== "tiles" || loop.operands.length !== 4) return null;
  const [body] = loop.regions;
  const [i, j] = body!.arguments as [Value, Value];
  const folds = body!.ops.filter(
    (o) => o.name === "reduce" && o.attributes["fn"] === "sum" && definitions.constant(o.operands[1]!) === undefined,
  );
  if (folds.length !== 1) return null;
  const fold = folds[0]!;
  const k = fold.regions[0]!.arguments[0]!;
  const product = definitions.binary(fold.regions[0]!.ops.at(-1)!.operands[0]!, "mul");
  if (product === undefined || definitions.constant(fold.operands[0]!) !== 0) return null;
  const inside = new Set([...fold.regions[0]!.ops, ...body!.ops].flatMap((o) => o.results).concat(i, j, k));
  const loads = product.operands.map((v) => elementLoad(v, definitions));
  for (const [first, second] of [loads, [...loads].reverse()]) {
    if (first == null || second == null) return null;
    const a = operand(first, kernel, inside, definitions, { row: i, column: k });
    const b = operand(second, kernel, inside, definitions, { row: k, column: j });
    const sameDType = bufferOf(kernel, text(first, "buffer")).dtype === bufferOf(kernel, text(second, "buffer")).dtype;
    if (a !== null && b !== null && sameDType) return { fold, depth: fold.operands[1]!, a, b };
  }
  return null;
}

/** The load behind an element, through its widening. */
function elementLoad(v: Value, definitions: Definitions): Op | null {
  const op = definitions.of(v);
  if (op?.name === "cast") return elementLoad(op.operands[0]!, definitions);
  return op?.name === "load" ? op : null;
}

type Place = (build: Builder, origin: Value, values: Substitution) => Value;

function operand(
  load: Op,
  kernel: Kernel,
  inside: ReadonlySet<Value>,
  definitions: Definitions,
  variables: { row: Value; column: Value },
): ContractionOperand | null {
  const { dtype } = bufferOf(kernel, text(load, "buffer"));
  if (!["f32", "f16", "bf16"].includes(dtype)) return null;
  const { peer, indices } = memoryOperands(load);
  if (indices.length !== 2 || (isRemote(load) && inside.has(peer!))) return null;
  const row = place(indices[0]!, variables.row, inside, definitions);
  const column = place(indices[1]!, variables.column, inside, definitions);
  return row === null || column === null ? null : { load, peer, row, column };
}

/** The index as origin + something from outside the loop, if it is `variable` plus that. */
function place(index: Value, variable: Value, inside: ReadonlySet<Value>, definitions: Definitions): Place | null {
  if (index === variable) return (_build, origin) => origin;
  for (const fn of ["add", "sub"] as const) {
    const [a, b] = definitions.binary(index, fn)?.operands ?? [];
    if (a === variable && !inside.has(b!)) return (build, origin, values) => build.binary(fn, origin, values.get(b!));
    if (fn === "add" && b === variable && !inside.has(a!))
      return (build, origin, values) => build.add(values.get(a!), origin);
  }
  return null;
}

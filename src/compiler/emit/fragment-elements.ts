/** CUDA text of ops inside a loop over an accumulator's elements, where the loop knows more of what it counts than they say. */
import { InternalCompilerError } from "../diagnostics/ice.js";
import { type Op, text, type Value } from "../ir/module.js";
import { lanesOf, scalar, scalarOf, vector } from "../ir/types.js";
import type { DType } from "../types/dtype.js";
import type { CudaEmitter } from "./cuda.js";
import { C_TYPE } from "./scalars.js";

/** What a loop over an accumulator's elements tells the ops inside it. */
export interface FragmentElements {
  readonly lanes: number;
  /** Of each accumulator, text of the place of what the iteration counts, and the dtype it lies there in. */
  readonly places: ReadonlyMap<string, string>;
  readonly dtype: DType;
  /** The cast that has been done already. */
  readonly cast: Op | null;
  /** Text of the row and the column of what an iteration counts, which is a row's length times the one and the other; null where nobody knows better. */
  readonly counted: {
    readonly variable: Value;
    readonly width: number;
    readonly row: string;
    readonly column: string;
    /** Values that are the number of the first of the elements. */
    readonly firsts: Set<Value>;
  } | null;
  /** Where loads lie that are started ahead of the rest, and whether this is their start. */
  readonly ahead?: { readonly places: ReadonlyMap<Op, string>; readonly isStart: boolean };
}

/** Prints the row or the column that an op makes of an element's number, where the loop has them; gives whether it does. */
export function isPlaceText(
  { results: [result], operands: [a, b], attributes: { fn } }: Op,
  { lanes, counted }: FragmentElements,
  constants: ReadonlyMap<Value, number>,
  out: CudaEmitter,
): boolean {
  if (counted === null) return false;
  const by = constants.get(b!);
  if (fn === "mul" && a === counted.variable && by === lanes) counted.firsts.add(result!);
  if ((fn !== "div" && fn !== "rem") || !counted.firsts.has(a!) || by !== counted.width) return false;
  out.line(`const i64 ${out.name(result!)} = ${fn === "div" ? counted.row : counted.column};`);
  return true;
}

/** Prints a load that is started ahead of the rest, or what it has brought; gives whether the op is one. */
export function isAheadText(op: Op, at: string, { ahead }: FragmentElements, out: CudaEmitter): boolean {
  const place = ahead?.places.get(op);
  if (place === undefined) return false;
  const [result] = op.results;
  const [element, lanes] = [C_TYPE[scalarOf(result!.type)], lanesOf(result!.type)];
  out.use("words");
  if (ahead!.isStart) out.line(`${place} = load_words<sizeof(${element}) * ${lanes}>(${at});`);
  else out.line(`const ${out.cType(result!.type)} ${out.name(result!)} = vec_of<${element}, ${lanes}>(${place});`);
  return true;
}

/** Prints a load of an accumulator, of which there is what the loop around it counts, and nothing else. */
export function fragmentLoadText(op: Op, elements: FragmentElements | null, out: CudaEmitter): void {
  const [result] = op.results;
  const lanes = lanesOf(result!.type);
  const place = elements?.places.get(text(op, "buffer"));
  if (elements === null || place === undefined || elements.lanes !== lanes)
    throw new InternalCompilerError("an accumulator is read where its elements are not counted");
  const { dtype } = elements;
  const value = lanes === 1 ? `*(${place})` : `load_vec<${C_TYPE[dtype]}, ${lanes}>(${place})`;
  const type = out.cType(lanes === 1 ? scalar(dtype) : vector(dtype, lanes));
  out.line(`const ${type} ${out.name(result!)} = ${value};`);
}

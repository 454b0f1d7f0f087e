/** Which iterations of a program touch an element: the source of what is said of two accesses of one block. */
import { BINARY, foldCompare, UNARY } from "../ir/functions.js";
import { bufferOf, type Kernel, memoryOperands, type Op, type Region, text, type Value } from "../ir/module.js";
import type { BinaryFunction, Comparison, UnaryFunction } from "../ir/ops.js";
import { scalarOf } from "../ir/types.js";
import type { Span } from "../source.js";
import { type DimValues, evaluateExtent } from "../types/extent.js";
import { isFloat } from "../types/dtype.js";
import type { InputValues } from "./inputs.js";
import type { Place } from "./results.js";

/** An iteration: each loop around, outside in, with its variables. */
export type Iteration = readonly { readonly loop: Op; readonly at: readonly number[] }[];

/** Ops that are gone through at most. */
const MOST_OPS = 1 << 20;

/** Iterations that are found at most: two that differ are enough. */
const MOST_FOUND = 64;

class Enough {}

/**
 * The iterations in which a rank's accesses at a place in the source touch an element; none where what decides is not known.
 * @param program the kernel on rank level
 * @param inputs what inputs that steer hold
 */
export function touches(
  program: Kernel,
  dims: DimValues,
  inputs: InputValues,
  rank: number,
  launch: number,
  span: Span,
  { buffer, owner, index: element }: NonNullable<Place["element"]>,
): Iteration[] {
  const values = new Map<Value, number>();
  const found: Iteration[] = [];
  const around: { readonly loop: Op; readonly at: number[] }[] = [];
  let left = MOST_OPS;
  const linear = (name: string, indices: readonly Value[]): number | undefined => {
    const { shape } = bufferOf(program, name);
    return indices.reduce<number | undefined>((all, v, d) => {
      const i = values.get(v);
      return all === undefined || i === undefined ? undefined : all * evaluateExtent(shape[d]!, dims) + i;
    }, 0);
  };
  const load = (op: Op, peer: number): number | undefined => {
    const tensor = program.inputs.find((t) => t.name === text(op, "buffer"));
    const index = linear(text(op, "buffer"), memoryOperands(op).indices);
    if (tensor === undefined || index === undefined || !inputs.steers(tensor.name)) return undefined;
    return inputs.numbers(launch, tensor.name, inputs.nameOf(tensor, peer))(index);
  };
  const access = (op: Op): number | undefined => {
    const { peer, indices } = memoryOperands(op);
    const whose = peer === null ? rank : values.get(peer);
    if (whose === undefined) return undefined;
    const isIt = op.span.start === span.start && op.span.end === span.end && text(op, "buffer") === buffer;
    if (isIt && whose === owner && linear(buffer, indices) === element) {
      found.push(around.map(({ loop, at }) => ({ loop, at: [...at] })));
      if (found.length >= MOST_FOUND) throw new Enough();
    }
    return op.name === "load" ? load(op, whose) : undefined;
  };
  const compute = (op: Op): number | undefined => {
    const [a, b, c] = op.operands.map((v) => values.get(v));
    switch (op.name) {
      case "const":
        return op.attributes["value"] as number;
      case "dim":
        return dims[text(op, "name")];
      case "rank":
        return rank;
      case "select":
        return a === undefined ? undefined : a !== 0 ? b : c;
      case "cast":
        return isFloat(scalarOf(op.results[0]!.type)) ? undefined : a;
      case "unary":
        return a === undefined ? undefined : UNARY[op.attributes["fn"] as UnaryFunction].whole?.(a);
      case "binary":
        return a === undefined || b === undefined
          ? undefined
          : BINARY[op.attributes["fn"] as BinaryFunction].fold(a, b);
      case "compare":
        return a === undefined || b === undefined
          ? undefined
          : Number(foldCompare(op.attributes["fn"] as Comparison, a, b));
      default:
        return undefined;
    }
  };
  const fold = (op: Op, fn: BinaryFunction | null): void => {
    const [body] = op.regions as readonly [Region];
    const entry = { loop: op, at: body.arguments.map(() => 0) };
    around.push(entry);
    let total: number | undefined = fn === "mul" ? 1 : fn === "add" ? 0 : undefined;
    const iteration = (d: number): void => {
      if (d === body.arguments.length) {
        const yielded = region(body);
        if (fn !== null && total !== undefined)
          total = yielded === undefined ? undefined : BINARY[fn].fold(total, yielded);
        return;
      }
      const [lo, hi] = [values.get(op.operands[2 * d]!), values.get(op.operands[2 * d + 1]!)];
      if (lo === undefined || hi === undefined) {
        total = undefined;
        return;
      }
      for (let i = lo; i < hi; i++) {
        values.set(body.arguments[d]!, i);
        entry.at[d] = i;
        iteration(d + 1);
      }
    };
    iteration(0);
    around.pop();
    if (op.results.length > 0) keep(op.results[0]!, total);
  };
  const keep = (v: Value, value: number | undefined): void => {
    if (value === undefined) values.delete(v);
    else values.set(v, value);
  };
  const FOLDS: Partial<Record<string, BinaryFunction>> = { sum: "add", prod: "mul" };
  const region = ({ ops }: Region): number | undefined => {
    for (const op of ops) {
      if (left-- <= 0) throw new Enough();
      if (op.name === "yield") return values.get(op.operands[0]!);
      if (op.name === "if") {
        const condition = values.get(op.operands[0]!);
        // Where data decides, both.
        if (condition !== 0) region(op.regions[0]!);
        if (condition === undefined || condition === 0) region(op.regions[1]!);
      } else if (op.regions.length > 0 && op.operands.length > 0) fold(op, FOLDS[String(op.attributes["fn"])] ?? null);
      else if (op.name === "message") region(op.regions[0]!);
      else {
        const value = op.name === "load" || op.name === "store" ? access(op) : compute(op);
        if (op.results.length > 0) keep(op.results[0]!, value);
      }
    }
    return undefined;
  };
  try {
    region(program.body);
  } catch (e) {
    if (!(e instanceof Enough)) throw e;
  }
  return found;
}

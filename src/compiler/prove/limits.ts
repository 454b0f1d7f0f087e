/** Which data leads an access out of its buffer, and the clause of the signature that would forbid it. */
import { showExtent } from "../check/extents.js";
import { bufferOf, type Kernel, memoryOperands, type Op, text, type Value } from "../ir/module.js";
import { walkKernel } from "../ir/visit.js";
import type { SignatureTensor } from "../manifest.js";
import { DTYPES } from "../types/dtype.js";
import { type Extent, extent, productOf, sameExtent } from "../types/extent.js";

/** A summand of an index: something that is not looked into, times what is known before a launch. */
interface Term {
  readonly value: Value;
  readonly times: Extent;
}

/** What to do about an access outside its buffer; null where no data has a part in it. */
export function limitHelp(kernel: Kernel, op: Op): string | null {
  if (op.name !== "load" && op.name !== "store") return null;
  const makers = new Map<Value, Op>();
  walkKernel(kernel, (o) => o.results.forEach((r) => makers.set(r, o)));
  const { indices } = memoryOperands(op);
  const input = indices.map((v) => inputBehind(kernel, v, makers)).find((found) => found !== null);
  if (input === undefined || input === null) return null;
  const range = rangeOf(kernel, op, input, makers);
  const { name, values } = input;
  if (range === null) {
    const whose = `so that this index stays inside '${text(op, "buffer")}'`;
    return values === undefined
      ? `add 'where ${name} in a..b' with ends that fit, ${whose}`
      : `narrow 'where ${name} in ${showExtent(values.from)}..${showExtent(values.to)}', ${whose}`;
  }
  const clause = `'where ${name} in ${range}'`;
  return values === undefined ? `add ${clause}` : `limit it further: ${clause}`;
}

/** The first integer input that a value is made from. */
function inputBehind(kernel: Kernel, from: Value, makers: ReadonlyMap<Value, Op>): SignatureTensor | null {
  const [work, seen] = [[from], new Set<Value>()];
  for (let v = work.pop(); v !== undefined; v = work.pop()) {
    if (seen.has(v)) continue;
    seen.add(v);
    const op = makers.get(v);
    if (op === undefined) continue;
    const input = loaded(kernel, op);
    if (input !== null) return input;
    work.push(...op.operands);
    if (op.name === "reduce") work.push(op.regions[0]!.ops.at(-1)!.operands[0]!);
  }
  return null;
}

function loaded(kernel: Kernel, op: Op | undefined): SignatureTensor | null {
  if (op?.name !== "load") return null;
  const { role, dtype } = bufferOf(kernel, text(op, "buffer"));
  if (role !== "input" || DTYPES[dtype].kind !== "int") return null;
  return kernel.inputs.find((i) => i.name === text(op, "buffer")) ?? null;
}

/** `0..n` where the input's elements are indices of one dimension as they are; null where more is done with them. */
function rangeOf(kernel: Kernel, op: Op, { name }: SignatureTensor, makers: ReadonlyMap<Value, Op>): string | null {
  const { shape } = bufferOf(kernel, text(op, "buffer"));
  const { indices } = memoryOperands(op);
  // An index for each dimension, or one for all of them.
  const isFlat = indices.length === 1;
  const terms = indices.flatMap((v, d) => {
    const stride = productOf(shape.slice(isFlat ? shape.length : d + 1));
    return termsOf(v, stride, makers);
  });
  const isInput = ({ value }: Term): boolean => loaded(kernel, makers.get(value))?.name === name;
  const own = terms.filter(isInput);
  if (own.length !== 1) return null;
  const { times } = own[0]!;
  const isAlone = terms.every((t) => isInput(t) || !sameExtent(t.times, times));
  const dim = shape.findIndex((_, d) => sameExtent(times, productOf(shape.slice(d + 1))));
  return isAlone && dim >= 0 ? `0..${showExtent(shape[dim]!)}` : null;
}

/** A value as a sum. */
function termsOf(value: Value, times: Extent, makers: ReadonlyMap<Value, Op>): Term[] {
  const op = makers.get(value);
  const operands = op?.operands ?? [];
  if (op?.name === "cast") return termsOf(operands[0]!, times, makers);
  if (op?.name === "const" && op.attributes["value"] === 0) return [];
  const fn = op?.name === "binary" ? op.attributes["fn"] : undefined;
  if (fn === "add") return operands.flatMap((v) => termsOf(v, times, makers));
  if (fn === "mul")
    for (const [a, b] of [operands, [...operands].reverse()] as [Value, Value][]) {
      const factor = extentOf(b, makers);
      if (factor !== null) return termsOf(a, extent("mul", times, factor), makers);
    }
  return [{ value, times }];
}

/** A value that is known before a launch. */
function extentOf(value: Value, makers: ReadonlyMap<Value, Op>): Extent | null {
  const op = makers.get(value);
  if (op?.name === "dim") return text(op, "name");
  if (op?.name === "const") return op.attributes["value"] as number;
  const fn = op?.name === "binary" ? op.attributes["fn"] : undefined;
  if (fn !== "mul" && fn !== "add" && fn !== "sub") return null;
  const [a, b] = op!.operands.map((v) => extentOf(v, makers)) as [Extent | null, Extent | null];
  return a === null || b === null ? null : extent(fn, a, b);
}

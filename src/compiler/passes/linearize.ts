/**
 * linearize: one row-major index in place of one index a dimension, from the buffer's shape. Where the indices are what an offset
 * was taken apart into, by the same lengths, the offset itself is the index, and nothing is divided: unless it has to be for another access
 * of the same loop, as for one to a vector that each row has a copy of.
 */
import { Builder } from "../ir/builder.js";
import { bufferOf, type Kernel, memoryOperands, type Op, text, type Value } from "../ir/module.js";
import { rewriteOps, Substitution, walkKernel } from "../ir/visit.js";
import { type Extent, sameExtent } from "../types/extent.js";
import { Definitions } from "./support/analysis.js";
import { valueExtent } from "./support/upper-bound.js";

const INDEXED = new Set<Op["name"]>(["load", "store"]);

export function linearize(kernel: Kernel): Kernel {
  const build = new Builder({ start: 0, end: 0 });
  const definitions = new Definitions(kernel);
  const divided = dividedAnyway(kernel, definitions);
  rewriteOps(kernel.body.ops, build, new Substitution(), (op, b, values) => {
    if (!INDEXED.has(op.name)) return false;
    const { shape, name } = bufferOf(kernel, text(op, "buffer"));
    const { value, peer, indices } = memoryOperands(op);
    if (indices.length <= 1) return false;
    const isWhole = !indices.some((v) => definitions.argumentsOf(v).some((variable) => divided.has(variable)));
    const at = rowMajor(indices, shape, isWhole ? definitions : null, b, values);
    const to = peer === null ? null : values.get(peer);
    if (op.name === "store") b.store(name, values.get(value!), [at], to);
    else values.set(op.results[0]!, b.load(name, [at], op.results[0]!.type, to));
    return true;
  });
  return { ...kernel, body: { arguments: [], ops: build.ops } };
}

/** Variables of loops that are divided for an access which needs a part of an offset. */
function dividedAnyway(kernel: Kernel, definitions: Definitions): ReadonlySet<Value> {
  const divided = new Set<Value>();
  const build = new Builder({ start: 0, end: 0 });
  const isPart = (v: Value): boolean => {
    const op = definitions.of(v);
    const isDivision = op?.name === "binary" && ["div", "rem"].includes(op.attributes["fn"] as string);
    const [, by] = op?.operands ?? [];
    if (isDivision && definitions.constant(by!) === undefined) return true;
    return op?.name === "binary" && op.operands.some(isPart);
  };
  walkKernel(kernel, (op) => {
    if (!INDEXED.has(op.name)) return;
    const { indices } = memoryOperands(op);
    const { shape } = bufferOf(kernel, text(op, "buffer"));
    if (!indices.some(isPart)) return;
    const sum = indices.length === 1 ? null : summed(indices, shape, definitions, build, new Substitution());
    const isWhole = sum !== null && sum.rest !== null && !isPart(sum.rest);
    if (!isWhole) for (const v of indices) for (const variable of definitions.argumentsOf(v)) divided.add(variable);
  });
  return divided;
}

/** A sum: what has been built, and a value of the kernel at hand, which may be a quotient. */
interface Sum {
  readonly base: Value | null;
  readonly rest: Value | null;
}

/** @param definitions null where offsets stay taken apart */
function rowMajor(
  indices: readonly Value[],
  shape: readonly Extent[],
  definitions: Definitions | null,
  build: Builder,
  values: Substitution,
): Value {
  if (definitions !== null) {
    const { base, rest } = summed(indices, shape, definitions, build, values);
    return plus(base, rest === null ? null : values.get(rest), build)!;
  }
  return indices
    .map((v) => values.get(v))
    .reduce((sum, v, d) => (d === 0 ? v : build.add(build.mul(sum, build.extent(shape[d]!)), v)));
}

function plus(a: Value | null, b: Value | null, build: Builder): Value | null {
  return a === null ? b : b === null ? a : build.add(a, b);
}

function summed(
  indices: readonly Value[],
  shape: readonly Extent[],
  definitions: Definitions,
  build: Builder,
  values: Substitution,
): Sum {
  const got = (v: Value | null): Value | null => (v === null ? null : values.get(v));
  const whole = ({ base, rest }: Sum): Value => plus(base, got(rest), build)!;
  const [first, ...others] = indices;
  let { base, rest }: Sum = split(first!, "div", definitions, got);
  for (const [d, index] of others.entries()) {
    const size = shape[d + 1]!;
    const own = split(index, "rem", definitions, got);
    const offset = rest === null || own.rest === null ? null : offsetOf(rest, own.rest, size, definitions);
    if (offset !== null) {
      // (x + o / size) · size + y + o % size
      const scaled = base === null ? null : build.mul(base, build.extent(size));
      [base, rest] = [plus(scaled, own.base, build), offset];
    } else [base, rest] = [build.add(build.mul(whole({ base, rest }), build.extent(size)), values.get(index)), null];
  }
  return { base, rest };
}

/** An index as a sum of something and a quotient, or a remainder; as something alone, where it is none. */
function split(index: Value, fn: "div" | "rem", definitions: Definitions, got: (v: Value | null) => Value | null): Sum {
  const isOne = (v: Value): boolean => definitions.binary(v, fn) !== undefined;
  if (isOne(index)) return { base: null, rest: index };
  const terms = definitions.binary(index, "add")?.operands ?? [];
  const at = terms.findIndex(isOne);
  return at === -1 ? { base: got(index), rest: null } : { base: got(terms[1 - at]!), rest: terms[at]! };
}

/** Of `max(n, 0)`, as lengths of loops are written, n where that is no less. */
function unclamped(length: Value, definitions: Definitions): Value {
  const [n, zero] = definitions.binary(length, "max")?.operands ?? [];
  return n !== undefined && definitions.constant(zero!) === 0 && definitions.isCount(n) ? n : length;
}

/** The offset of which a quotient and a remainder by the size are. */
function offsetOf(quotient: Value, remainder: Value, size: Extent, definitions: Definitions): Value | null {
  const [over, within] = [definitions.binary(quotient, "div"), definitions.binary(remainder, "rem")];
  if (over === undefined || within === undefined) return null;
  const [[a, n], [b, m]] = [over.operands, within.operands] as [[Value, Value], [Value, Value]];
  const isSame = a === b && definitions.key(n) === definitions.key(m);
  const length = isSame ? valueExtent(unclamped(n, definitions), definitions) : null;
  return length !== null && sameExtent(length, size) ? a : null;
}

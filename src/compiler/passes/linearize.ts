/**
 * linearize: one row-major index in place of one index a dimension, from the buffer's shape. Where the indices are what an offset
 * was taken apart into, by the same lengths, the offset itself is the index, and nothing is divided: unless it has to be for another access
 * of the same loop, as for one to a vector that each row has a copy of. Where accesses of a loop differ by what stays the same in it,
 * as the rows of a matrix and their copy further down in a larger one do, they share what varies.
 */
import { Builder } from "../ir/builder.js";
import { bufferOf, type Kernel, type MemoryOperands, memoryOperands, type Op, text, type Value } from "../ir/module.js";
import { rewriteOps, Substitution, walkKernel } from "../ir/visit.js";
import { type Extent, sameExtent } from "../types/extent.js";
import { Definitions } from "./support/analysis.js";
import { valueExtent } from "./support/upper-bound.js";

const INDEXED = new Set<Op["name"]>(["load", "store"]);

export function linearize(kernel: Kernel): Kernel {
  const build = new Builder({ start: 0, end: 0 });
  const definitions = new Definitions(kernel);
  const wholes = wholesOf(kernel, definitions);
  const shared = sharedOf(kernel, wholes, definitions);
  rewriteOps(kernel.body.ops, build, new Substitution(), (op, b, values) => {
    if (!INDEXED.has(op.name)) return false;
    const { shape, name } = bufferOf(kernel, text(op, "buffer"));
    const { value, peer, indices } = memoryOperands(op);
    if (indices.length <= 1) return false;
    const sumOf = (of: readonly (Value | null)[]): Value | null =>
      of.reduce<Value | null>((a, v) => (v === null ? a : a === null ? values.get(v) : b.add(a, values.get(v))), null);
    /** One index in place of sums of values, one sum a dimension. */
    const linear = (sums: readonly (readonly (Value | null)[])[]): Value | null =>
      sums.reduce<Value | null>((all, of, d) => {
        const [before, sum] = [all === null ? null : b.mul(all, b.extent(shape[d]!)), sumOf(of)];
        return before === null || sum === null ? (before ?? sum) : b.add(before, sum);
      }, null);
    const plus = (x: Value | null, y: Value | null): Value =>
      x === null || y === null ? (x ?? y ?? b.constant(0)) : b.add(x, y);
    const [whole, parts] = [wholes.get(op), shared.get(op)];
    const at =
      whole !== undefined
        ? plus(linear(whole.terms.map((term) => [term])), values.get(whole.offset))
        : parts !== undefined
          ? plus(linear(parts.map((p) => p.varying)), linear(parts.map((p) => p.fixed)))
          : plus(linear(indices.map((index) => [index])), null);
    const to = peer === null ? null : values.get(peer);
    if (op.name === "store") b.store(name, values.get(value!), [at], to);
    else values.set(op.results[0]!, b.load(name, [at], op.results[0]!.type, to, op.attributes["message"] === true));
    return true;
  });
  return { ...kernel, body: { arguments: [], ops: build.ops } };
}

/** Indices that an offset was taken apart into: the offset, and what is added in each dimension besides. */
interface Whole {
  readonly terms: readonly (Value | null)[];
  readonly offset: Value;
}

/** Accesses with such indices, in loops in which nothing else asks for a part of the offset. */
function wholesOf(kernel: Kernel, definitions: Definitions): ReadonlyMap<Op, Whole> {
  const wholes = new Map<Op, Whole>();
  /** Values made from quotients and remainders. */
  const parts = new Set<Value>();
  /** Variables of loops that are divided for an access which needs a part. */
  const divided = new Set<Value>();
  const variablesOf = ({ indices }: MemoryOperands): Value[] => indices.flatMap((v) => definitions.argumentsOf(v));
  walkKernel(kernel, (op) => {
    const isDivision = op.attributes["fn"] === "div" || op.attributes["fn"] === "rem";
    if (
      op.name === "binary" &&
      (op.operands.some((v) => parts.has(v)) || (isDivision && !isByConstant(op, definitions)))
    )
      parts.add(op.results[0]!);
    if (!INDEXED.has(op.name) || !memoryOperands(op).indices.some((v) => parts.has(v))) return;
    const whole = wholeOf(memoryOperands(op).indices, bufferOf(kernel, text(op, "buffer")).shape, definitions);
    if (whole !== null && !parts.has(whole.offset)) wholes.set(op, whole);
    else for (const v of variablesOf(memoryOperands(op))) divided.add(v);
  });
  return new Map([...wholes].filter(([op]) => !variablesOf(memoryOperands(op)).some((v) => divided.has(v))));
}

/** An index as a sum of what varies in the loop of its access, and what does not. */
interface Split {
  readonly varying: readonly Value[];
  readonly fixed: readonly Value[];
}

/** Indices of accesses with others in their loop that differ from them by fixed terms, where rows and columns both vary. */
function sharedOf(
  kernel: Kernel,
  wholes: ReadonlyMap<Op, Whole>,
  definitions: Definitions,
): ReadonlyMap<Op, readonly Split[]> {
  const alike = new Map<Op, Map<string, [Op, readonly Split[]][]>>();
  walkKernel(kernel, (op, parents) => {
    const loop = parents.findLast((p) => p.name === "for");
    if (!INDEXED.has(op.name) || loop === undefined || wholes.has(op)) return;
    const variables = loop.regions[0]!.arguments;
    const varies = (v: Value): boolean => definitions.argumentsOf(v).some((a) => variables.includes(a));
    const terms = (v: Value): readonly Value[] => definitions.binary(v, "add")?.operands.flatMap(terms) ?? [v];
    const splits = memoryOperands(op).indices.map((index): Split => {
      const all = terms(index);
      return { varying: all.filter(varies), fixed: all.filter((v) => !varies(v)) };
    });
    if (splits.filter(({ varying }) => varying.length > 0).length < 2) return;
    const { shape } = bufferOf(kernel, text(op, "buffer"));
    const forms = splits.map(({ varying }) => varying.map((v) => definitions.key(v)).join("+"));
    const key = JSON.stringify([forms, shape.slice(1)]);
    const ofLoop = alike.get(loop) ?? new Map<string, [Op, readonly Split[]][]>();
    alike.set(loop, ofLoop);
    const known = ofLoop.get(key);
    if (known === undefined) ofLoop.set(key, [[op, splits]]);
    else known.push([op, splits]);
  });
  const fixedText = (splits: readonly Split[]): string =>
    splits.map(({ fixed }) => fixed.map((v) => definitions.key(v)).join("+")).join();
  const groups = [...alike.values()].flatMap((ofLoop) => [...ofLoop.values()]);
  return new Map(groups.filter((g) => new Set(g.map(([, splits]) => fixedText(splits))).size > 1).flat());
}

function isByConstant({ operands }: Op, definitions: Definitions): boolean {
  return definitions.constant(operands[1]!) !== undefined;
}

function wholeOf(indices: readonly Value[], shape: readonly Extent[], definitions: Definitions): Whole | null {
  const split = indices.map((index, d) => splitOff(index, d === 0 ? "div" : "rem", definitions));
  const offset = split
    .map(({ part }) => part)
    .reduce((over, rest, d) => (over === null || rest === null ? null : offsetOf(over, rest, shape[d]!, definitions)));
  return offset === null ? null : { terms: split.map(({ term }) => term), offset };
}

/** An index as a quotient, or a remainder, and what is added to it. */
function splitOff(
  index: Value,
  fn: "div" | "rem",
  definitions: Definitions,
): { readonly term: Value | null; readonly part: Value | null } {
  const isPart = (v: Value): boolean => definitions.binary(v, fn) !== undefined;
  if (isPart(index)) return { term: null, part: index };
  const terms = definitions.binary(index, "add")?.operands ?? [];
  const at = terms.findIndex(isPart);
  return at === -1 ? { term: index, part: null } : { term: terms[1 - at]!, part: terms[at]! };
}

/** The offset of which a quotient and a remainder by the size are: (x + o / size) · size + y + o % size is x · size + y + o. */
function offsetOf(quotient: Value, remainder: Value, size: Extent, definitions: Definitions): Value | null {
  const [over, within] = [definitions.binary(quotient, "div"), definitions.binary(remainder, "rem")];
  if (over === undefined || within === undefined) return null;
  const [[a, n], [b, m]] = [over.operands, within.operands] as [[Value, Value], [Value, Value]];
  const isSame = a === b && definitions.key(n) === definitions.key(m);
  const length = isSame ? valueExtent(unclamped(n, definitions), definitions) : null;
  return length !== null && sameExtent(length, size) ? a : null;
}

/** Of `max(n, 0)`, as lengths of loops are written, n where that is no less. */
function unclamped(length: Value, definitions: Definitions): Value {
  const [n, zero] = definitions.binary(length, "max")?.operands ?? [];
  return n !== undefined && definitions.constant(zero!) === 0 && definitions.isNatural(n) ? n : length;
}

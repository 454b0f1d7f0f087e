/** Makes ops, with constants folded and results typed, into a growing list. */
import type { Span } from "../source.js";
import { type Extent } from "../types/extent.js";
import type { LaunchDType, ScalarKind } from "../types/dtype.js";
import { type Attributes, type Op, type Region, Value } from "./module.js";
import type { BinaryFunction, Comparison, LoopMap, OpName, Reduction, UnaryFunction } from "./ops.js";
import { BOOL, INDEX, sameType, scalar, scalarOf, type Type, withScalar } from "./types.js";
import { foldBinary, foldCompare, wrapped } from "./functions.js";

/** The two factors of a product's terms, and their scales. */
export type Factors = readonly [Value, Value, ...Value[]];

export class Builder {
  ops: Op[] = [];
  /** Constants known for values this builder made, for folding. */
  private readonly constants = new Map<Value, number>();
  /** Index values this builder made that are surely not below zero. */
  private readonly natural = new Set<Value>();

  constructor(public span: Span) {}

  /** Appends an op with any number of regions; the general form behind the named methods. */
  op(
    name: OpName,
    operands: readonly Value[],
    attributes: Attributes,
    resultType: Type | null,
    regions: readonly Region[] = [],
  ): Value | null {
    const results = resultType === null ? [] : [new Value(resultType)];
    const op: Op = { name, operands, results, attributes, regions, span: this.span };
    this.ops.push(op);
    const result = results[0] ?? null;
    if (result !== null && staysNatural(op, (v) => this.natural.has(v))) this.natural.add(result);
    return result;
  }

  private value(
    name: OpName,
    operands: readonly Value[],
    attributes: Attributes,
    type: Type,
    regions?: readonly Region[],
  ): Value {
    return this.op(name, operands, attributes, type, regions)!;
  }

  /** The constant a value is known to be, if this builder made it. */
  constantOf(v: Value): number | undefined {
    return this.constants.get(v);
  }

  /** Whether an index is surely not below zero, for all this builder can tell. */
  isNatural(v: Value): boolean {
    return this.natural.has(v);
  }

  constant(given: number, type: Type = INDEX): Value {
    const value = wrapped(scalarOf(type), given);
    const v = this.value("const", [], { value }, type);
    this.constants.set(v, value);
    return v;
  }

  bool(value: boolean): Value {
    return this.constant(value ? 1 : 0, BOOL);
  }

  dim(name: string): Value {
    return this.value("dim", [], { name }, INDEX);
  }

  /** A number that the launch was given. */
  scalar(name: string, dtype: LaunchDType): Value {
    return this.value("scalar", [], { name }, scalar(dtype));
  }

  rank(): Value {
    return this.value("rank", [], {}, INDEX);
  }

  binary(fn: BinaryFunction, a: Value, b: Value): Value {
    const ca = this.constants.get(a);
    const cb = this.constants.get(b);
    const kind = scalarOf(a.type);
    if (kind === "index" || kind === "bool") {
      if (ca !== undefined && cb !== undefined) {
        const folded = foldBinary(fn, ca, cb);
        if (folded !== undefined) return this.constant(folded, a.type);
      }
      if ((fn === "add" || fn === "sub") && cb === 0) return a;
      if (fn === "add" && ca === 0) return b;
      if ((fn === "mul" || fn === "div") && cb === 1) return a;
      if (fn === "mul" && ca === 1) return b;
      if (fn === "rem" && cb === 1) return this.constant(0);
      if (fn === "mul" && (ca === 0 || cb === 0)) return this.constant(0);
      if (kind === "bool" && (fn === "and" || fn === "or")) {
        const known = ca ?? cb;
        const other = ca === undefined ? a : b;
        if (known !== undefined) return (known !== 0) === (fn === "and") ? other : this.constant(known, a.type);
      }
    }
    return this.value("binary", [a, b], { fn }, a.type);
  }

  add(a: Value, b: Value): Value {
    return this.binary("add", a, b);
  }
  sub(a: Value, b: Value): Value {
    return this.binary("sub", a, b);
  }
  mul(a: Value, b: Value): Value {
    return this.binary("mul", a, b);
  }
  div(a: Value, b: Value): Value {
    return this.binary("div", a, b);
  }
  rem(a: Value, b: Value): Value {
    return this.binary("rem", a, b);
  }

  /** ceil(a / b) on indices. */
  ceilDiv(a: Value, b: Value): Value {
    if (this.constants.get(b) === 1) return a;
    return this.div(this.add(a, this.sub(b, this.constant(1))), b);
  }

  unary(fn: UnaryFunction, a: Value): Value {
    return this.value("unary", [a], { fn }, a.type);
  }

  compare(fn: Comparison, a: Value, b: Value): Value {
    const ca = this.constants.get(a);
    const cb = this.constants.get(b);
    if (ca !== undefined && cb !== undefined) return this.bool(foldCompare(fn, ca, cb));
    return this.value("compare", [a, b], { fn }, withScalar(a.type, "bool"));
  }

  select(condition: Value, a: Value, b: Value): Value {
    const c = this.constants.get(condition);
    if (c !== undefined) return c !== 0 ? a : b;
    return this.value("select", [condition, a, b], {}, a.type);
  }

  cast(a: Value, kind: ScalarKind): Value {
    const type = withScalar(a.type, kind);
    return sameType(type, a.type) ? a : this.value("cast", [a], {}, type);
  }

  /** @param isSent whether it is a message's */
  load(buffer: string, indices: readonly Value[], type: Type, peer: Value | null = null, isSent = false): Value {
    const operands = peer === null ? indices : [peer, ...indices];
    const message = isSent ? { message: true } : {};
    return this.value("load", operands, { buffer, ...(peer === null ? {} : { remote: true }), ...message }, type);
  }

  store(buffer: string, value: Value, indices: readonly Value[], peer: Value | null = null): void {
    const operands = peer === null ? [value, ...indices] : [value, peer, ...indices];
    this.op("store", operands, peer === null ? { buffer } : { buffer, remote: true }, null);
  }

  /** Builds a region with `count` index arguments; those of a loop are at least `lowest`. */
  region(count: number, body: (args: readonly Value[]) => void, lowest: readonly Value[] = []): Region {
    const { ops: outer, span } = this;
    const args = Array.from({ length: count }, () => new Value(INDEX));
    args.forEach((a, d) => {
      if (lowest[d] !== undefined && this.natural.has(lowest[d])) this.natural.add(a);
    });
    this.ops = [];
    try {
      body(args);
      return { arguments: args, ops: this.ops };
    } finally {
      this.ops = outer;
      this.span = span; // the op around the region stands where it begins
    }
  }

  for(
    map: LoopMap,
    bounds: readonly (readonly [Value, Value])[],
    body: (variables: readonly Value[]) => void,
    extra: Attributes = {},
    limit: Value | null = null,
  ): void {
    const lowest = bounds.map(([from]) => from);
    const region = this.region(bounds.length, body, lowest);
    const operands = [...bounds.flat(), ...(limit === null ? [] : [limit])];
    this.op("for", operands, { map, ...extra, ...(limit === null ? {} : { limit: "columns" }) }, null, [region]);
  }

  if(condition: Value, then: () => void, otherwise: () => void = () => {}): void {
    const c = this.constants.get(condition);
    if (c !== undefined) return c !== 0 ? then() : otherwise();
    const regions = [this.region(0, then), this.region(0, otherwise)];
    this.op("if", [condition], {}, null, regions);
  }

  reduce(fn: Reduction, from: Value, to: Value, body: (variable: Value) => Value, extra: Attributes = {}): Value {
    let type: Type = INDEX;
    const fold = ([v]: readonly Value[]): void => {
      const result = body(v!);
      type = result.type;
      this.op("yield", [result], {}, null);
    };
    const region = this.region(1, fold, [from]);
    return this.value("reduce", [from, to], { fn, ...extra }, type, [region]);
  }

  /** One element of a matrix product; see the op `contract`. @param run for how many terms the scales stay, where there are any */
  contract(from: Value, to: Value, body: (k: Value) => Factors, run: number | null = null): Value {
    let type: Type = INDEX;
    const factors = ([k]: readonly Value[]): void => {
      const yielded = body(k!);
      type = yielded[0].type;
      this.op("yield", yielded, {}, null);
    };
    const region = this.region(1, factors, [from]);
    return this.value("contract", [from, to], run === null ? {} : { run }, type, [region]);
  }

  /**
   * Emits the computation of an extent, of each of its parts once.
   * @param known parts that were emitted before, where what follows can use them
   */
  extent(e: Extent, known = new Map<Extent, Value>()): Value {
    if (typeof e === "number") return this.constant(e);
    const before = known.get(e);
    if (before !== undefined) return before;
    const made = typeof e === "string" ? this.dim(e) : this.operation(e.op, this.extent(e.a, known), this.extent(e.b, known)); // prettier-ignore
    known.set(e, made);
    return made;
  }

  private operation(op: Exclude<Extent, number | string>["op"], a: Value, b: Value): Value {
    return op === "ceildiv" ? this.ceilDiv(a, b) : this.binary(op === "mod" ? "rem" : op, a, b);
  }
}

/** Whether an op gives an index that is surely not below zero, knowing the same of its operands. */
export function staysNatural({ name, operands, attributes }: Op, isNatural: (v: Value) => boolean): boolean {
  switch (name) {
    case "const":
      return (attributes["value"] as number) >= 0;
    case "dim":
    case "rank":
      return true;
    case "select":
      return isNatural(operands[1]!) && isNatural(operands[2]!);
    case "binary": {
      const fn = attributes["fn"] as BinaryFunction;
      if (fn === "sub") return false;
      const [a, b] = [isNatural(operands[0]!), isNatural(operands[1]!)];
      if (fn === "rem") return a;
      return fn === "max" || fn === "and" ? a || b : a && b;
    }
    default:
      return false;
  }
}

/** Ops that compute: the domain writes each lane. */
import { text, type Value } from "../../ir/module.js";
import type { OpOf } from "../../ir/typed.js";
import { lanesOf, scalarOf } from "../../ir/types.js";
import { isInteger, type ScalarKind } from "../../types/dtype.js";
import type { Form } from "../setting.js";
import type { Writer } from "../writer.js";

export function constant(w: Writer, { results, attributes }: OpOf<"const">): void {
  const [result] = results;
  w.bind(result, [w.domain.literal(scalarOf(result.type), attributes.value)]);
}

/** Binds a value to a name, or to what is computed once. */
function name(w: Writer, value: Value, text: string): void {
  w.bind(value, [{ text, isKnown: true }]);
}

export function dim(w: Writer, op: OpOf<"dim">): void {
  const dim = op.attributes.name;
  name(w, op.results[0], w.constant(`D${w.kernel.dims.indexOf(dim)}`, `M.dims[${JSON.stringify(dim)}]`));
}

export function scalar(w: Writer, op: OpOf<"scalar">): void {
  const { name } = op.attributes;
  const at = w.kernel.scalars.findIndex((s) => s.name === name);
  const { text, isKnown } = w.domain.scalar(w.kernel.scalars[at]!.dtype, name);
  w.bind(op.results[0], [{ text: w.constant(`S${at}`, text), isKnown }]);
}

export function number(w: Writer, op: OpOf<"rank"> | OpOf<"block">): void {
  name(w, op.results[0], op.name);
}

export function grid(w: Writer, op: OpOf<"grid">): void {
  name(w, op.results[0], w.grid);
}

export function binary(w: Writer, op: OpOf<"binary">): void {
  const [a, b] = op.operands;
  const { fn } = op.attributes;
  const kind = scalarOf(a.type);
  if (w.domain.checksDivisors && (fn === "div" || fn === "rem")) checkDivisor(w, op, kind);
  w.define(op.results[0], (i) => w.domain.binary(fn, kind, w.form(a, i), w.form(b, i)));
}

/** Integers must not be divided by zero, nor indices by what is not above zero: GPUs would give different nonsense. */
function checkDivisor(w: Writer, op: OpOf<"binary">, kind: ScalarKind): void {
  if (kind !== "index" && !isInteger(kind)) return;
  const [a, b] = op.operands;
  for (let i = 0; i < lanesOf(a.type); i++) {
    const [x, y] = [w.lane(a, i), w.lane(b, i)];
    if (/^[1-9]\d*n?$/.test(y)) continue;
    w.line(
      `if(${y}${kind === "index" ? "<=0" : kind === "i64" ? "===0n" : "===0"})M.faults.arithmetic(f,${w.op(op)},${x},${y});`,
    );
  }
}

export function unary(w: Writer, op: OpOf<"unary">): void {
  const [a] = op.operands;
  w.define(op.results[0], (i) => w.domain.unary(op.attributes.fn, scalarOf(a.type), w.form(a, i)));
}

export function compare(w: Writer, op: OpOf<"compare">): void {
  const [a, b] = op.operands;
  w.define(op.results[0], (i) => w.domain.compare(op.attributes.fn, scalarOf(a.type), w.form(a, i), w.form(b, i)));
}

export function select(w: Writer, { operands: [c, a, b], results }: OpOf<"select">): void {
  w.define(results[0], (i) => w.domain.select(w.form(c, i), w.form(a, i), w.form(b, i)));
}

export function cast(w: Writer, { operands: [a], results: [result] }: OpOf<"cast">): void {
  const [from, to] = [scalarOf(a.type), scalarOf(result.type)];
  w.define(result, (i) => w.domain.cast(from, to, w.form(a, i)));
}

/** One number goes with every lane. */
export function splat(w: Writer, { operands: [a], results }: OpOf<"splat">): void {
  w.bind(results[0], [w.form(a) satisfies Form]);
}

export function pack(w: Writer, { operands, results: [result] }: OpOf<"pack">): void {
  w.define(result, (i) => w.form(operands[i]!));
}

export function lane(w: Writer, { operands: [a], results: [result], attributes }: OpOf<"lane">): void {
  w.bind(result, [w.form(a, attributes.lane)]);
}

export function aligned(w: Writer, op: OpOf<"aligned">): void {
  const buffer = w.kernel.buffers.findIndex((b) => b.name === text(op, "buffer"));
  const [peer] = op.operands;
  const owner = peer === undefined ? w.use("rank") : w.known(peer, "the rank of a buffer");
  const test = `M.isAligned(${buffer},${owner},${op.attributes.bytes})`;
  w.define(op.results[0], () => w.domain.truth(test));
}

/**
 * Conditions that differ from rank to rank, taken apart so that all ranks can synchronise between their parts:
 * `if c { A; B } else { C }` becomes `if c { A } else { C }; if c { B }`, a condition around a loop that all ranks could
 * run in step moves into it, and a loop of other iterations on each rank becomes one of all iterations with such a condition. Each
 * rank does what it did, in the same order.
 */
import { Builder } from "../../ir/builder.js";
import { type Kernel, type Op, type Region, text, type Value } from "../../ir/module.js";
import { rewriteOps, Substitution } from "../../ir/visit.js";
import { Definitions, rankVarying } from "./analysis.js";
import { RankValues } from "./rank-values.js";

export interface Distributed {
  readonly kernel: Kernel;
  /** The condition that an op is a part of. */
  readonly origins: ReadonlyMap<Op, Op>;
}

export function distributeConditions(kernel: Kernel): Distributed {
  const first = distributeOnce(kernel);
  if (!first.hasNewLoops) return first;
  // Inner loops may go by the iterations of those that all ranks now share.
  const second = distributeConditions(first.kernel);
  return { kernel: second.kernel, origins: new Map([...first.origins, ...second.origins]) };
}

function distributeOnce(kernel: Kernel): Distributed & { readonly hasNewLoops: boolean } {
  const origins = new Map<Op, Op>();
  let hasNewLoops = false;
  const varying = rankVarying(kernel);
  const definitions = new Definitions(kernel);
  const ranks = Array.from({ length: kernel.world }, (_, r) => RankValues.of(definitions, r));
  const inputs = new Set(kernel.buffers.filter((b) => b.role === "input").map((b) => b.name));
  const isUniform = (op: Op): boolean => !op.operands.some((v) => varying.has(v));
  const within = (region: Region): Region => ({ arguments: region.arguments, ops: region.ops.flatMap(one) });
  const one = (op: Op): Op[] => {
    if (op.name !== "if" && !isSteps(op)) return [op];
    if (isUniform(op)) return [{ ...op, regions: op.regions.map(within) }];
    return op.name === "if" ? apart(op) : shared(op);
  };
  /** A loop whose bounds differ from rank to rank: all ranks take all iterations, each doing something in its own. */
  const shared = (op: Op): Op[] => {
    const bounds = op.operands.length === 2 ? ranks.map((r) => op.operands.map((v) => r.number(v))) : [[null]];
    if (bounds.flat().includes(null)) return [op];
    const [los, his] = [0, 1].map((k) => bounds.map((b) => b[k]!)) as [number[], number[]];
    hasNewLoops = true;
    const build = new Builder(op.span);
    const [lo, hi] = [build.constant(Math.min(...los)), build.constant(Math.max(...his))];
    const [body] = op.regions as [Region];
    const [iteration] = body.arguments as [Value];
    const inner = new Builder(op.span);
    const isOwn = inner.binary(
      "and",
      inner.compare("ge", iteration, op.operands[0]!),
      inner.compare("lt", iteration, op.operands[1]!),
    );
    varying.add(isOwn);
    const own: Op = { name: "if", operands: [isOwn], results: [], attributes: {}, regions: [{ arguments: [], ops: body.ops }, { arguments: [], ops: [] }], span: op.span }; // prettier-ignore
    const loop: Op = { ...op, operands: [lo, hi], regions: [{ arguments: body.arguments, ops: [...inner.ops, ...apart(own)] }] }; // prettier-ignore
    origins.set(loop, op);
    return [...build.ops, loop];
  };
  const apart = (op: Op): Op[] => {
    const [then, otherwise] = op.regions.map((r) => partsOf(within(r).ops, inputs));
    if (then == null || otherwise == null) return [op];
    const out: Op[] = [];
    while (then.length > 0 || otherwise.length > 0) {
      // Where one side tells or waits, the other first does what comes before its own telling or waiting.
      const [first, second] = [then, otherwise].map((side, i) => {
        const other = [otherwise, then][i]!;
        const mayWait = isWord(side[0]) && other.length > 0 && !isWord(other[0]);
        return mayWait ? undefined : side.shift();
      });
      out.push(...inside(op, first, second));
    }
    for (const part of out) origins.set(part, op);
    return out;
  };
  /** One part of each side under the condition; inside the loop, if that is all there is. */
  const inside = (op: Op, then: Part | undefined, otherwise: Part | undefined): Op[] => {
    const whole = [conditional(op, then, otherwise)];
    if (then !== undefined && otherwise !== undefined) return whole;
    const part = (then ?? otherwise)!;
    const [values, loop] = [part.slice(0, -1), part.at(-1)!];
    const isNotZero = (v: Value): boolean => {
      const source = values.find((o) => o.results[0] === v) ?? definitions.of(v);
      return source?.name === "const" && source.attributes["value"] !== 0;
    };
    if (!isSteps(loop) || !isUniform(loop) || !values.every((v) => isTotal(v, isNotZero))) return whole;
    const [body] = loop.regions as [Region];
    const parts = partsOf(body.ops, inputs);
    if (parts === null) return whole;
    const ops = parts.flatMap((p) => inside(op, then && p, otherwise && p));
    return [...values, { ...loop, regions: [{ arguments: body.arguments, ops }] }];
  };
  const body = within(kernel.body);
  return { kernel: { ...kernel, body }, origins, hasNewLoops };
}

/** An op that does something, and before it the values that it needs. */
type Part = readonly Op[];

/**
 * Ops as parts that can stand on their own, each with a copy of the values that it needs; null if one of those is read
 * from memory that may change in between.
 */
function partsOf(ops: readonly Op[], inputs: ReadonlySet<string>): Part[] | null {
  const given = new Map(ops.flatMap((op) => op.results.map((v): [Value, Op] => [v, op])));
  if (given.size === 0) return ops.map((op) => [op]);
  if (ops.some((op) => op.results.length > 0 && !readsOnly(op, inputs))) return null;
  return ops
    .filter((op) => op.results.length === 0)
    .map((op) => {
      const needed = new Set<Op>();
      const need = (user: Op): void => {
        for (const v of user.operands) {
          const source = given.get(v);
          if (source === undefined || needed.has(source)) continue;
          need(source);
          needed.add(source);
        }
        for (const r of user.regions) r.ops.forEach(need);
      };
      need(op);
      if (needed.size === 0) return [op];
      const build = new Builder(op.span);
      rewriteOps([...needed, op], build, new Substitution());
      return build.ops;
    });
}

function readsOnly(op: Op, buffers: ReadonlySet<string>): boolean {
  if (op.name === "load" && !buffers.has(text(op, "buffer"))) return false;
  return op.regions.every((r) => r.ops.every((o) => readsOnly(o, buffers)));
}

/** Whether a value may be computed where the program would not have. */
function isTotal(op: Op, isNotZero: (v: Value) => boolean): boolean {
  if (op.name !== "binary") return ["const", "dim", "rank", "compare", "select"].includes(op.name);
  const fn = text(op, "fn");
  if (fn === "div" || fn === "rem") return isNotZero(op.operands[1]!);
  return ["add", "sub", "mul", "min", "max", "and", "or"].includes(fn);
}

/** A loop whose iterations all ranks may take in step. */
function isSteps(op: Op): boolean {
  return op.name === "for" && ["serial", "ranks"].includes(text(op, "map"));
}

function isWord(part: Part | undefined): boolean {
  const name = part?.at(-1)?.name;
  return name === "notify" || name === "await";
}

function conditional(op: Op, then: Part | undefined, otherwise: Part | undefined): Op {
  const side = (part: Part | undefined): Region => ({ arguments: [], ops: part ?? [] });
  return { ...op, regions: [side(then), side(otherwise)] };
}

/** Neighbours under one condition become one again. */
export function fuseConditions(ops: readonly Op[]): Op[] {
  const out: Op[] = [];
  const conditionOf = (op: Op | undefined): Value | undefined => (op?.name === "if" ? op.operands[0] : undefined);
  for (const op of ops) {
    const last = out.at(-1);
    if (last === undefined || conditionOf(last) === undefined || conditionOf(last) !== conditionOf(op)) {
      out.push(op);
      continue;
    }
    const regions = last.regions.map((r, i): Region => ({ arguments: [], ops: [...r.ops, ...op.regions[i]!.ops] }));
    out[out.length - 1] = { ...last, regions };
  }
  return out;
}

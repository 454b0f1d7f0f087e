/**
 * Conditions that differ from rank to rank, taken apart so that all ranks can synchronise between their parts:
 * `if c { A; B } else { C }` becomes `if c { A } else { C }; if c { B }`, and a condition around a loop that all ranks could
 * run in step moves into it. Each rank does what it did, in the same order.
 */
import type { Kernel, Op, Region, Value } from "../../ir/module.js";
import { rankVarying } from "./analysis.js";

export interface Distributed {
  readonly kernel: Kernel;
  /** The condition that an op is a part of. */
  readonly origins: ReadonlyMap<Op, Op>;
}

export function distributeConditions(kernel: Kernel): Distributed {
  const origins = new Map<Op, Op>();
  const varying = rankVarying(kernel);
  const isUniform = (op: Op): boolean => !op.operands.some((v) => varying.has(v));
  const within = (region: Region): Region => ({ arguments: region.arguments, ops: region.ops.flatMap(one) });
  const one = (op: Op): Op[] => {
    const isLoop = op.name === "for" && ["serial", "ranks"].includes(op.attributes["map"] as string);
    if (op.name !== "if" && !isLoop) return [op];
    if (!isUniform(op)) return op.name === "if" ? apart(op) : [op];
    return [{ ...op, regions: op.regions.map(within) }];
  };
  const apart = (op: Op): Op[] => {
    const sides = op.regions.map((r) => within(r).ops) as [Op[], Op[]];
    if (sides.flat().some((o) => o.results.length > 0)) return [op];
    const [then, otherwise] = sides;
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
  const inside = (op: Op, then: Op | undefined, otherwise: Op | undefined): Op[] => {
    const [loop, isThen] = then === undefined ? [otherwise, false] : [then, otherwise === undefined];
    const isAlone = then === undefined || otherwise === undefined;
    const map = loop?.attributes["map"];
    if (isAlone && loop?.name === "for" && (map === "serial" || map === "ranks") && isUniform(loop)) {
      const [body] = loop.regions as [Region];
      if (body.ops.some((o) => o.results.length > 0)) return [conditional(op, then, otherwise)];
      const parts = body.ops.flatMap((o) => inside(op, isThen ? o : undefined, isThen ? undefined : o));
      return [{ ...loop, regions: [{ arguments: body.arguments, ops: parts }] }];
    }
    return [conditional(op, then, otherwise)];
  };
  return { kernel: { ...kernel, body: within(kernel.body) }, origins };
}

function isWord(op: Op | undefined): boolean {
  return op?.name === "notify" || op?.name === "await";
}

function conditional(op: Op, then: Op | undefined, otherwise: Op | undefined): Op {
  const side = (o: Op | undefined): Region => ({ arguments: [], ops: o === undefined ? [] : [o] });
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

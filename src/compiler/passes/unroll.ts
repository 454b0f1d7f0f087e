/**
 * unroll: folds and serial loops of few, constant iterations, inside code that threads run, become straight code.
 * All values of a fold are computed first and combined after, so that their loads are in flight together.
 */
import { Builder } from "../ir/builder.js";
import type { Kernel, Op, Value } from "../ir/module.js";
import { COMBINES, type Reduction } from "../ir/ops.js";
import { rewriteOps, Substitution } from "../ir/visit.js";

/** Longest loop unrolled: the ranks of one NVLink domain of today, and then some. */
const MOST_TRIPS = 16;

export function unroll(kernel: Kernel): Kernel {
  const build = new Builder({ start: 0, end: 0 });
  rewriteOps(kernel.body.ops, build, new Substitution(), (op, b, values) => rewrite(op, b, values, false));
  return { ...kernel, body: { arguments: [], ops: build.ops } };
}

function rewrite(op: Op, build: Builder, values: Substitution, inThreads: boolean): boolean {
  const recurse = (ops: readonly Op[], inner: Substitution, threads: boolean): void =>
    rewriteOps(ops, build, inner, (o, b, v) => rewrite(o, b, v, threads));
  if (op.name !== "for" && op.name !== "reduce") return false;
  const map = op.attributes["map"];
  const trips = constantTrips(op, build, values);
  const [body] = op.regions;
  if (op.name === "for" && (map === "threads" || map === "fragment")) {
    const [from, to, limit] = op.operands.map((v) => values.get(v)) as [Value, Value, Value?];
    const each = ([t]: readonly Value[]): void => recurse(body!.ops, bound(values, body!.arguments[0]!, t!), true);
    build.for(map, [[from, to]], each, extra(op), limit ?? null);
    return true;
  }
  if (trips === null || !inThreads || (op.name === "for" && map !== "serial")) return false;
  const [from, count] = trips;
  const results: Value[] = [];
  for (let i = 0; i < count; i++) {
    const inner = bound(values, body!.arguments[0]!, build.constant(from + i));
    const yielded = body!.ops.at(-1)!;
    recurse(op.name === "reduce" ? body!.ops.slice(0, -1) : body!.ops, inner, inThreads);
    if (op.name === "reduce") results.push(inner.get(yielded.operands[0]!));
  }
  build.span = op.span;
  if (op.name === "reduce")
    values.set(
      op.results[0]!,
      results.reduce((a, b) => build.binary(COMBINES[op.attributes["fn"] as Reduction], a, b)),
    );
  return true;
}

/** First index and number of iterations, if both are known and few; a fold over nothing has no value to give. */
function constantTrips(op: Op, build: Builder, values: Substitution): [number, number] | null {
  const [lo, hi] = op.operands.slice(0, 2).map((v) => build.constantOf(values.get(v)));
  if (lo === undefined || hi === undefined || hi - lo > MOST_TRIPS) return null;
  return op.name === "reduce" && hi <= lo ? null : [lo, Math.max(0, hi - lo)];
}

function bound(outer: Substitution, argument: Value, to: Value): Substitution {
  const inner = new Substitution(outer);
  inner.set(argument, to);
  return inner;
}

function extra(op: Op): Op["attributes"] {
  const { map: _map, ...rest } = op.attributes;
  return rest;
}

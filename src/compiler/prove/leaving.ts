/**
 * Accesses that leave a dimension at some length, however long: looked for among all lengths, ranks and iterations by intervals
 * (`search.ts`), not only at those that are executed. An example refutes the program; that none is found shows nothing.
 */
import { bufferOf, type Kernel, memoryOperands, type Op, text, type Value } from "../ir/module.js";
import { walkKernel } from "../ir/visit.js";
import { type DimValues, evaluateExtent, type Extent } from "../types/extent.js";
import type { OutsideDimension } from "./dimension-bounds.js";
import { followedIn, parentsOf, testsOf } from "./outcomes.js";
import { type Parent, Search, type Test } from "./search.js";

/** An access outside of a dimension, and the lengths at which it is. */
export interface Leaving {
  readonly dims: DimValues;
  readonly outside: OutsideDimension;
}

/** Steps of searches for one end of an index, and for all of a program, in equal parts. */
const MOST_FOR_ONE = 120_000;
const MOST_TOGETHER = 600_000;

/** An index and the end of its dimension that it may come past. */
interface Question {
  readonly op: Op;
  readonly parents: readonly Parent[];
  readonly dimension: number;
  readonly test: Extract<Test, { readonly index: Value }>;
}

/** Found once for each program: it is asked for each mapping. */
const known = new WeakMap<Kernel, Leaving | null>();

/**
 * The first access that some rank and iteration makes outside of a dimension; null where none is found. Of those whose indices,
 * and all conditions around, are made of lengths, ranks and iterations.
 * @param program the kernel on rank level, as its author wrote it
 */
export function leavingOf(program: Kernel): Leaving | null {
  let found = known.get(program);
  if (found === undefined) known.set(program, (found = find(program)));
  return found;
}

function find(program: Kernel): Leaving | null {
  const { makers, followed } = followedIn(program);
  const questions: Question[] = [];
  walkKernel(program, (op, around) => {
    if (op.name !== "load" && op.name !== "store") return;
    const parents = parentsOf(op, around);
    if (!parents.every((p) => p.op.operands.every((v) => followed.has(v)))) return;
    const { shape } = bufferOf(program, text(op, "buffer"));
    const { indices } = memoryOperands(op);
    if (indices.length !== shape.length) return;
    for (const [dimension, index] of indices.entries())
      for (const past of [null, shape[dimension]!])
        if (followed.has(index) && !isBounded(program, index, past, parents, makers))
          questions.push({ op, parents, dimension, test: { index, past } });
  });
  const share = Math.min(MOST_FOR_ONE, Math.floor(MOST_TOGETHER / Math.max(1, questions.length)));
  for (const { op, parents, dimension, test } of questions) {
    const search = new Search(program, makers, parents, [...testsOf(parents, followed), test]);
    const { found } = search.find(null, {}, share);
    if (typeof found !== "object") continue;
    const { dims, rank } = found;
    const buffer = text(op, "buffer");
    const length = evaluateExtent(bufferOf(program, buffer).shape[dimension]!, dims);
    const indices = memoryOperands(op).indices.map((v) => search.valueAt(v));
    return { dims, outside: { op, rank, buffer, indices, dimension, length, index: indices[dimension]! } };
  }
  return null;
}

/** A sum of multiples of what has a name, and a number. */
interface Linear {
  readonly terms: ReadonlyMap<string | Value, number>;
  readonly constant: number;
}

function sum(a: Linear, b: Linear, times = 1): Linear {
  const terms = new Map(a.terms);
  for (const [name, n] of b.terms) terms.set(name, (terms.get(name) ?? 0) + times * n);
  return { terms: new Map([...terms].filter(([, n]) => n !== 0)), constant: a.constant + times * b.constant };
}

const NUMBER = (constant: number): Linear => ({ terms: new Map(), constant });
const NAMED = (name: string | Value): Linear => ({ terms: new Map([[name, 1]]), constant: 0 });

/** Whether an index stays on its side of an end for every length, as most do: its loop ends where the dimension does. */
function isBounded(
  { world }: Kernel,
  index: Value,
  past: Extent | null,
  parents: readonly Parent[],
  makers: ReadonlyMap<Value, Op>,
): boolean {
  // By how much it is below the length, or below 0; at most.
  const sign = past === null ? -1 : 1;
  let most = sum(NUMBER(0), linearOf(index, makers), sign);
  if (past !== null) most = sum(most, linearExtent(past), -1);
  for (const { op, region } of [...parents].reverse())
    for (const [d, variable] of region.arguments.entries()) {
      const times = most.terms.get(variable) ?? 0;
      if (times === 0) continue;
      const [low, high] = [op.operands[2 * d], op.operands[2 * d + 1]];
      if (low === undefined || high === undefined) return false;
      const end = times > 0 ? sum(linearOf(high, makers), NUMBER(-1)) : linearOf(low, makers);
      most = sum(sum(most, NAMED(variable), -times), end, times);
    }
  const rank = most.terms.get("rank of this") ?? 0;
  if (rank !== 0) most = sum(sum(most, NAMED("rank of this"), -rank), NUMBER(Math.max(0, rank * (world - 1))));
  // Lengths are at least 0, and what has a name is one, or made of them.
  const isLess = [...most.terms].every(([name, n]) => typeof name === "string" && n < 0);
  return isLess && most.constant < (past === null ? 1 : 0);
}

function linearOf(v: Value, makers: ReadonlyMap<Value, Op>): Linear {
  const op = makers.get(v);
  const of = (i: number): Linear => linearOf(op!.operands[i]!, makers);
  switch (op?.name) {
    case "const":
      return NUMBER(op.attributes["value"] as number);
    case "dim":
      return NAMED(text(op, "name"));
    case "rank":
      return NAMED("rank of this");
    case "cast":
      return of(0);
    case "binary":
      break;
    default:
      return NAMED(v);
  }
  switch (op.attributes["fn"]) {
    case "add":
      return sum(of(0), of(1));
    case "sub":
      return sum(of(0), of(1), -1);
    case "mul": {
      const [a, b] = [of(0), of(1)];
      if (b.terms.size === 0) return sum(NUMBER(0), a, b.constant);
      return a.terms.size === 0 ? sum(NUMBER(0), b, a.constant) : NAMED(v);
    }
    default:
      return NAMED(v);
  }
}

function linearExtent(e: Extent): Linear {
  if (typeof e === "number") return NUMBER(e);
  if (typeof e === "string") return NAMED(e);
  const [a, b] = [linearExtent(e.a), linearExtent(e.b)];
  if (e.op === "add" || e.op === "sub") return sum(a, b, e.op === "add" ? 1 : -1);
  if (e.op === "mul" && b.terms.size === 0) return sum(NUMBER(0), a, b.constant);
  if (e.op === "mul" && a.terms.size === 0) return sum(NUMBER(0), b, a.constant);
  return NAMED(JSON.stringify(e));
}

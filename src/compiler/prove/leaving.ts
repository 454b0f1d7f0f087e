/**
 * Accesses that leave a dimension at some length, however long: looked for among all lengths, ranks and iterations by intervals
 * (`search.ts`), not only at those that are executed. An example refutes the program; that none is found shows nothing.
 */
import { bufferOf, type Kernel, memoryOperands, type Op, text, type Value } from "../ir/module.js";
import { printKernel } from "../ir/print.js";
import { walkKernel } from "../ir/visit.js";
import { type DimValues, evaluateExtent, type Extent } from "../types/extent.js";
import { polynomialOf } from "../types/normal-form.js";
import type { OutsideDimension } from "./dimension-bounds.js";
import {
  constant,
  constantOf,
  factors,
  type Form,
  minus,
  ONE,
  parameter,
  plus,
  product,
  substituted,
  ZERO,
} from "./every/forms.js";
import { canBeLaunched } from "./lengths.js";
import { isNeverPast } from "./never-less.js";
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
/** Texts of programs in which none is found: the ways of one program that differ further on, as with packets and without, have one. */
const without = new Set<string>();

/**
 * The first access that some rank and iteration makes outside of a dimension; null where none is found. Of those whose indices,
 * and all conditions around, are made of lengths, ranks and iterations.
 * @param program the kernel on rank level, as its author wrote it
 */
export function leavingOf(program: Kernel): Leaving | null {
  let found = known.get(program);
  if (found !== undefined) return found;
  const text = printKernel({ ...program, name: "" }, { spans: false });
  found = without.has(text) ? null : find(program);
  if (found === null) without.add(text);
  known.set(program, found);
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
        if (
          followed.has(index) &&
          !isBounded(program, index, past, parents, makers) &&
          !isNeverPast(index, past, program, makers)
        )
          questions.push({ op, parents, dimension, test: { index, past } });
  });
  const share = Math.min(MOST_FOR_ONE, Math.floor(MOST_TOGETHER / Math.max(1, questions.length)));
  for (const { op, parents, dimension, test } of questions) {
    const search = new Search(program, makers, parents, [...testsOf(parents, followed), test]);
    const { found } = search.find(null, {}, share);
    if (typeof found !== "object" || !canBeLaunched(program, found.dims)) continue;
    const { dims, rank } = found;
    const buffer = text(op, "buffer");
    const length = evaluateExtent(bufferOf(program, buffer).shape[dimension]!, dims);
    const indices = memoryOperands(op).indices.map((v) => search.valueAt(v));
    return { dims, outside: { op, rank, buffer, indices, dimension, length, index: indices[dimension]! } };
  }
  return null;
}

/** What the rank is called in a form; no dimension is. */
const RANK = "@rank";

/** Whether an index stays on its side of an end for every length, as most do: its loop ends where the dimension does. */
function isBounded(
  { world }: Kernel,
  index: Value,
  past: Extent | null,
  parents: readonly Parent[],
  makers: ReadonlyMap<Value, Op>,
): boolean {
  const names = new Map<Value, string>();
  const of = (v: Value): Form => formOf(v, makers, names);
  // By how much it is past the end, at most: below 0, or above what comes last.
  let most = past === null ? minus(ZERO, of(index)) : minus(of(index), polynomialOf(past));
  /** With the end of a range in place of what is in it; null where more than a multiple of that counts. */
  const atMost = (name: string, low: Form, high: Form): Form | null => {
    const times = most.get(name) ?? 0;
    const isMore = [...most.keys()].some((key) => key !== name && factors(key).includes(name));
    return isMore ? null : substituted(most, new Map([[name, times > 0 ? high : low]]));
  };
  const ranges: [string, Form, Form][] = [...parents].reverse().flatMap(({ op, region }) =>
    region.arguments.flatMap((variable, d): [string, Form, Form][] => {
      const name = names.get(variable);
      const [low, high] = [op.operands[2 * d], op.operands[2 * d + 1]];
      return name === undefined || low === undefined || high === undefined
        ? []
        : [[name, of(low), minus(of(high), ONE)]];
    }),
  );
  for (const [name, low, high] of [...ranges, [RANK, ZERO, constant(world - 1)] as const]) {
    const next = atMost(name, low, high);
    if (next === null) return false;
    most = next;
  }
  // Lengths are at least 0, and what has a name is one, or made of them.
  return constantOf(most) < (past === null ? 1 : 0) && [...most].every(([key, n]) => key === "" || (n < 0 && !key.includes("@"))); // prettier-ignore
}

/** A value as a polynomial in lengths, the rank, and what else it is made of. @param names of that */
function formOf(v: Value, makers: ReadonlyMap<Value, Op>, names: Map<Value, string>): Form {
  const op = makers.get(v);
  const of = (i: number): Form => formOf(op!.operands[i]!, makers, names);
  const fn = op?.name === "binary" ? op.attributes["fn"] : op?.name;
  switch (fn) {
    case "const":
      return constant(op!.attributes["value"] as number);
    case "dim":
      return parameter(text(op!, "name"));
    case "rank":
      return parameter(RANK);
    case "cast":
      return of(0);
    case "add":
      return plus(of(0), of(1));
    case "sub":
      return minus(of(0), of(1));
    case "mul":
      return product(of(0), of(1));
    default:
      if (!names.has(v)) names.set(v, `@${names.size}`);
      return parameter(names.get(v)!);
  }
}

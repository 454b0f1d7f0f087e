/** What single elements of a rank's output must be, where an `ensures` clause says so. */
import {
  BINARY_FUNCTIONS,
  type BinaryFunction,
  type Comparison,
  COMPARISONS,
  UNARY_FUNCTIONS,
  type UnaryFunction,
} from "../ir/ops.js";
import type { Kernel } from "../ir/module.js";
import type { ElementExpression, ElementSpecification } from "../manifest.js";
import type { Span } from "../source.js";
import { freeVariables, partsOfExpression, sharedParts } from "../specification-shape.js";
import { DTYPES, isFloat, isInteger, type ScalarKind } from "../types/dtype.js";
import { type DimValues, evaluateExtent } from "../types/extent.js";
import { REDUCE } from "../ir/functions.js";
import type { Algebra, Number_ } from "./algebra.js";
import type { InputValues } from "./inputs.js";
import { CannotTell, Fails } from "./results.js";
import { sumOf } from "./sums.js";
import { binaryOf, castOf, compareOf, selectOf, unaryOf } from "./values.js";

/** An expression where the claim now is. */
type Evaluate = () => Number_;

/** Where a claim is evaluated now. */
interface Claim {
  rank: number;
  /** The clause that makes it; null where there is none to be named. */
  readonly span: Span | null;
  /** Choices around that data decides: both sides are looked at, of which one need not make sense. */
  open: number;
  /** Values of variables by number. */
  readonly variables: number[];
  readonly numbers: ReadonlyMap<string, number>;
  /** Numbers of the indices that the claim is about; the others are of reductions. */
  readonly own: readonly number[];
  readonly free: Map<ElementExpression, ReadonlySet<string>>;
  /** Expressions with a reduction in them, and the numbers of the variables that are bound around each. */
  readonly folding: ReadonlyMap<ElementExpression, ReadonlySet<number>>;
  /** Another for each place: what is known of shared values is known there alone. */
  iteration: number;
  iterations: number;
  /** Without what is known of them, the time doubles with every value that is used twice. */
  readonly shared: ReadonlySet<ElementExpression>;
  readonly made: Map<ElementExpression, Evaluate>;
}

export class ElementExpectation {
  constructor(
    private readonly kernel: Kernel,
    private readonly dims: DimValues,
    private readonly algebra: Algebra,
    private readonly launch: number,
    private readonly values: InputValues,
  ) {}

  private readonly kinds = new Map<ElementExpression, ScalarKind>();
  private readonly claims = new Map<ElementSpecification, { readonly claim: Claim; readonly value: Evaluate }>();

  /** The elements of the rank's own part, by their numbers; `lengths` is its shape. */
  of(s: ElementSpecification, output: number, lengths: readonly number[], rank: number): (at: number) => Number_ {
    let made = this.claims.get(s);
    if (made === undefined) this.claims.set(s, (made = this.claim(s, output)));
    const { claim, value } = made;
    const { variables, own } = claim;
    return (at) => {
      claim.rank = rank;
      claim.iteration = ++claim.iterations;
      for (let d = own.length - 1; d >= 0; d--) {
        variables[own[d]!] = at % lengths[d]!;
        at = Math.floor(at / lengths[d]!);
      }
      return value();
    };
  }

  private claim(s: ElementSpecification, output: number): { readonly claim: Claim; readonly value: Evaluate } {
    const numbers = new Map(s.variables.map((v, d) => [v, d]));
    const own = s.variables.map((v) => numbers.get(v)!);
    const around = new Map<ElementExpression, Set<number>>();
    const folding = new Map<ElementExpression, ReadonlySet<number>>();
    const look = (e: ElementExpression, bound: readonly number[]): void => {
      let known = around.get(e);
      // A part that is used twice may have other variables around it there.
      if (known !== undefined && bound.every((number) => known!.has(number))) return;
      if (known === undefined) around.set(e, (known = new Set()));
      for (const number of bound) known.add(number);
      if (e.kind === "reduce" && !numbers.has(e.variable)) numbers.set(e.variable, numbers.size);
      const inside = e.kind === "reduce" ? [...bound, numbers.get(e.variable)!] : bound;
      const parts = partsOfExpression(e);
      for (const part of parts) look(part, e.kind === "reduce" && part === e.body ? inside : bound);
      if (e.kind === "reduce" || parts.some((part) => folding.has(part))) folding.set(e, known);
    };
    look(s.value, own);
    const claim: Claim = {
      rank: -1,
      span: this.kernel.clauses?.ensures[output] ?? null,
      open: 0,
      variables: new Array<number>(numbers.size).fill(0),
      numbers,
      own,
      free: new Map(),
      folding,
      iteration: 0,
      iterations: 0,
      shared: sharedParts([s.value], partsOfExpression),
      made: new Map(),
    };
    return { claim, value: this.evaluate(s.value, claim) };
  }

  private evaluate(e: ElementExpression, claim: Claim): Evaluate {
    let made = claim.made.get(e);
    if (made === undefined) {
      made = this.make(e, claim);
      const around = claim.folding.get(e);
      if (around !== undefined) made = foldedOnce(made, e, around, claim);
      if (claim.shared.has(e)) made = remembered(made, claim);
      claim.made.set(e, made);
    }
    return made;
  }

  private make(e: ElementExpression, claim: Claim): Evaluate {
    const { algebra } = this;
    const of = (x: ElementExpression): Evaluate => this.evaluate(x, claim);
    switch (e.kind) {
      case "constant":
        return () => e.value;
      case "variable": {
        const { variables } = claim;
        const number = claim.numbers.get(e.name)!;
        return () => variables[number]!;
      }
      case "dim": {
        const value = this.dims[e.name]!;
        return () => value;
      }
      case "scalar": {
        const given = algebra.leavesOf(this.launch, e.name, -1)(0);
        return () => given;
      }
      case "rank":
        return () => claim.rank;
      case "unary": {
        const [a, kind, isNot] = [of(e.a), this.kind(e.a), e.fn === "not"];
        const fn = oneOf(UNARY_FUNCTIONS, e.fn) as UnaryFunction;
        return () => {
          const x = a();
          return isNot && typeof x === "number" ? (x === 0 ? 1 : 0) : unaryOf(algebra, fn, kind, x);
        };
      }
      case "binary":
        return this.binary(e.fn, this.kind(e), of(e.a), of(e.b));
      case "compare": {
        const [a, b, fn] = [of(e.a), of(e.b), oneOf(COMPARISONS, e.fn) as Comparison];
        return () => compareOf(algebra, fn, a(), b());
      }
      case "select": {
        const [condition, a, b] = [of(e.condition), of(e.a), of(e.b)];
        // Only the side that is chosen need make sense.
        return () => {
          const x = condition();
          if (typeof x === "number") return x !== 0 ? a() : b();
          claim.open++;
          try {
            return selectOf(algebra, x, a(), b());
          } finally {
            claim.open--;
          }
        };
      }
      case "cast": {
        const [a, kind] = [of(e.a), this.kind(e.a)];
        return () => castOf(algebra, kind, e.dtype, a());
      }
      case "index":
        return of(e.a);
      case "load":
        return this.load(e, claim);
      case "reduce":
        return this.reduce(e, claim);
    }
  }

  private reduce(e: Extract<ElementExpression, { kind: "reduce" }>, claim: Claim): Evaluate {
    const { algebra } = this;
    const [low, high, body] = [e.from, e.to, e.body].map((x) => this.evaluate(x, claim)) as [
      Evaluate,
      Evaluate,
      Evaluate,
    ];
    const kind = this.kind(e.body);
    const [first, fn] = [REDUCE[e.fn].identity(kind), REDUCE[e.fn].fn];
    const { variables } = claim;
    const number = claim.numbers.get(e.variable)!;
    const adds = e.fn === "sum" && isFloat(kind);
    return () => {
      const from = known(low(), `the range of '${e.variable}' in the claim`, claim.span);
      const to = known(high(), `the range of '${e.variable}' in the claim`, claim.span);
      const { iteration } = claim;
      const outer = variables[number]!;
      const sum = adds ? sumOf(algebra) : null;
      let total: Number_ = first;
      for (let i = from; i < to; i++) {
        variables[number] = i;
        claim.iteration = ++claim.iterations;
        if (sum !== null) sum.add(body());
        else total = binaryOf(algebra, fn, kind, total, body());
      }
      variables[number] = outer;
      claim.iteration = iteration;
      return sum?.build() ?? total;
    };
  }

  private binary(name: string, kind: ScalarKind, a: Evaluate, b: Evaluate): Evaluate {
    const { algebra } = this;
    const isWhole = isInteger(kind);
    const fn = oneOf(BINARY_FUNCTIONS, name === "mod" ? "rem" : name === "floordiv" ? "div" : name) as BinaryFunction;
    const ofNumbers: ((x: number, y: number) => number) | null =
      name === "floordiv"
        ? (x, y) => Math.floor(x / y)
        : name === "mod"
          ? (x, y) => ((x % y) + y) % y
          : name === "div"
            ? (x, y) => (isWhole ? Math.trunc(x / y) : x / y)
            : null;
    return () => {
      const x = a();
      const y = b();
      if (ofNumbers !== null && typeof x === "number" && typeof y === "number") return ofNumbers(x, y);
      const value = binaryOf(algebra, fn, kind, x, y);
      if (name !== "floordiv" && name !== "mod") return value;
      // What a machine gives of numbers below 0 is a number more, or a rest below 0.
      const rest = name === "mod" ? value : binaryOf(algebra, "rem", kind, x, y);
      const moved = name === "mod" ? binaryOf(algebra, "add", kind, rest, y) : binaryOf(algebra, "sub", kind, value, 1);
      return selectOf(algebra, compareOf(algebra, "lt", rest, 0), moved, value);
    };
  }

  private load(e: Extract<ElementExpression, { kind: "load" }>, claim: Claim): Evaluate {
    const { values, kernel } = this;
    const { world } = kernel;
    const tensor = this.kernel.inputs.find((t) => t.name === e.input)!;
    const lengths = tensor.localShape.map((extent) => evaluateExtent(extent, this.dims));
    const indices = e.indices.map((x) => this.evaluate(x, claim));
    const peer = e.peer === null ? null : this.evaluate(e.peer, claim);
    const elements = Array.from({ length: world }, (_, rank) =>
      values.elements(this.algebra, this.launch, e.input, values.nameOf(tensor, rank)),
    );
    // It is read before it is asked for again: an index does not depend on itself.
    const found = new Array<Number_>(indices.length);
    return () => {
      const rank =
        peer === null ? claim.rank : known(peer(), `the rank whose '${e.input}' the claim reads`, claim.span);
      for (let d = 0; d < indices.length; d++) found[d] = indices[d]!();
      if (!(rank >= 0 && rank < world))
        throw this.outside(claim, `reads '${e.input}' of rank ${rank}, where ranks are 0 to ${world - 1}`);
      let at = 0;
      for (let d = 0; d < lengths.length; d++) {
        const length = lengths[d]!;
        const i = known(found[d]!, `the index at which the claim reads '${e.input}'`, claim.span);
        if (!(i >= 0 && i < length))
          throw this.outside(claim, `reads '${e.input}' at index ${i} of a dimension of ${length}`);
        at = at * length + i;
      }
      return elements[rank]!(at);
    };
  }

  /** A claim that reads what there is not is wrong; on a side that may not be chosen, it may be right. */
  private outside({ rank, span, open }: Claim, what: string): Fails | CannotTell {
    if (open > 0) return new CannotTell(`the claim ${what}, where data decides whether it reads it`, span);
    const places = span === null ? [] : [{ rank, block: -1, launch: this.launch, span, what: "claimed here" }];
    return new Fails("claim", `the claim ${what}, on rank ${rank}`, places);
  }

  /** The kind in which an expression is computed. */
  private kind(e: ElementExpression): ScalarKind {
    let kind = this.kinds.get(e);
    if (kind === undefined) this.kinds.set(e, (kind = this.kindOf(e)));
    return kind;
  }

  private kindOf(e: ElementExpression): ScalarKind {
    switch (e.kind) {
      case "load":
        return DTYPES[this.kernel.inputs.find((t) => t.name === e.input)!.dtype].compute;
      case "scalar":
        return this.kernel.scalars.find((x) => x.name === e.name)!.dtype;
      case "cast":
        return DTYPES[e.dtype].compute;
      case "select":
      case "binary": {
        const a = this.kind(e.a);
        return a === "index" ? this.kind(e.b) : a;
      }
      case "unary":
        return this.kind(e.a);
      case "compare":
        return "bool";
      case "reduce":
        return this.kind(e.body);
      default:
        return "index";
    }
  }
}

/** @param what it is, for those who are told that it is no number */
function known(x: Number_, what: string, span: Span | null): number {
  if (typeof x === "number") return x;
  throw new CannotTell(`${what} is made of data by which the kernel reads and writes nothing`, span);
}

function oneOf(names: readonly string[], fn: string): string {
  if (!names.includes(fn)) throw new CannotTell(`the prover does not know '${fn}'`);
  return fn;
}

/** A value that is used in several places, as far as it is known where the claim now is. */
function remembered(evaluate: Evaluate, claim: Claim): Evaluate {
  let iteration = -1;
  let value: Number_ = 0;
  return () => {
    if (iteration !== claim.iteration) {
      const now = evaluate();
      iteration = claim.iteration;
      value = now;
    }
    return value;
  };
}

/** Results that are kept of each such expression at a time. */
const MOST_FOLDED = 1 << 16;

/**
 * A reduction that not all variables around it decide about, as in `max(k in 0..n) x[i, k]` for each j, or as that maximum inside of another
 * reduction over the row, and what is made of it are computed once for those that do: to divide a maximum by a number takes as long as the maximum.
 * @param around numbers of the variables that are bound where it stands
 */
function foldedOnce(fold: Evaluate, e: ElementExpression, around: ReadonlySet<number>, claim: Claim): Evaluate {
  const deciding = [...freeVariables(e, claim.free)].map((name) => claim.numbers.get(name)!);
  if ([...around].every((number) => deciding.includes(number))) return fold;
  const { variables } = claim;
  const known = new Map<string, Number_>();
  // Most often it is asked for at the place where it was asked for before, and a key takes longer than a look.
  const last = deciding.map(() => NaN);
  let rank = NaN;
  let total: Number_ = 0;
  const isLast = (): boolean => {
    if (rank !== claim.rank) return false;
    for (let i = 0; i < deciding.length; i++) if (last[i] !== variables[deciding[i]!]) return false;
    return true;
  };
  return () => {
    if (isLast()) return total;
    let key = String(claim.rank);
    for (const number of deciding) key += ` ${variables[number]!}`;
    let found = known.get(key);
    if (found === undefined) {
      found = fold();
      if (known.size >= MOST_FOLDED) known.clear();
      known.set(key, found);
    }
    for (let i = 0; i < deciding.length; i++) last[i] = variables[deciding[i]!]!;
    rank = claim.rank;
    total = found;
    return total;
  };
}

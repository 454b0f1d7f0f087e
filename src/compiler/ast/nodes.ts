/**
 * The abstract syntax of Coll. Plain data; `build.ts` makes it from the parser's concrete tree,
 * `check/` gives every expression a type, `lower/` turns it into IR. Nothing here refers to a later stage.
 */
import type { Span } from "../source.js";
import type { DType } from "../types/dtype.js";
import type { ReductionOp } from "../types/layout.js";

export interface Name {
  readonly text: string;
  readonly span: Span;
}

export interface Program {
  readonly imports: readonly Import[];
  readonly constants: readonly Constant[];
  readonly functions: readonly Func[];
  readonly collectives: readonly Collective[];
}

/** `import next, GRANULE from "ring.coll"`: names of another file, which mean here what they mean there. */
export interface Import {
  readonly names: readonly Name[];
  /** As written between the quotes: relative to the importing file, or a file of the library. */
  readonly path: string;
  readonly pathSpan: Span;
  readonly span: Span;
}

/** `const GRANULE = 64`: known when the file is compiled; may be made of other constants and `world`. */
export interface Constant {
  readonly name: Name;
  readonly doc: string;
  readonly value: Expression;
  readonly span: Span;
}

/** `fn next(r) = (r + 1) % world`: an expression with parameters, checked anew for each call. */
export interface Func {
  readonly name: Name;
  readonly doc: string;
  readonly parameters: readonly Name[];
  readonly value: Expression;
  readonly span: Span;
}

export interface Collective {
  readonly name: Name;
  /** Text of the `///` lines above it, without the slashes. */
  readonly doc: string;
  readonly inputs: readonly TensorDeclaration[];
  readonly outputs: readonly TensorDeclaration[];
  /** Numbers that are given at each launch, in the order of the signature. */
  readonly scalars: readonly ScalarDeclaration[];
  /** Names of the axes of `mesh(node, gpu)`, the outermost first; empty for ranks in one row. */
  readonly mesh: readonly Name[];
  readonly where: readonly DTypeConstraint[];
  readonly requires: readonly Requirement[];
  readonly limits: readonly ValueLimit[];
  readonly ensures: readonly Ensures[];
  readonly body: readonly Statement[];
  readonly span: Span;
}

/** `where T in (f16, bf16)` */
export interface DTypeConstraint {
  readonly variable: Name;
  readonly dtypes: readonly { readonly dtype: DType; readonly span: Span }[];
  readonly span: Span;
}

/**
 * A condition on the world size and the dimensions: `where world in (2, 4)` (`choices`), `where n % 128 == 0`
 * (`condition`). What is known when the collective is compiled is decided then, the rest at each launch.
 */
export interface Requirement {
  readonly choices: readonly number[] | null;
  readonly condition: Expression | null;
  readonly span: Span;
}

/** `where counts in 0..n + 1`: the elements of an input are at least `from` and below `to`. */
export interface ValueLimit {
  readonly input: Name;
  readonly from: Expression;
  readonly to: Expression;
  readonly span: Span;
}

/**
 * `ensures c == a @ b`: a tensor expression over the logical inputs that the output must equal.
 * `ensures y[i] == x@((rank + 1) % world)[i]`: what each rank's element must equal, of what the ranks hold.
 */
export interface Ensures {
  readonly output: Name;
  /** The names of the output's indices; null for whole tensors. */
  readonly variables: readonly Name[] | null;
  readonly value: Expression;
  readonly span: Span;
}

/** `x: T[m, k] sharded(1)`: the shape is the logical one. */
export interface TensorDeclaration {
  readonly name: Name;
  readonly dtype: DTypeReference;
  readonly shape: readonly Expression[];
  readonly layout: LayoutReference;
  readonly span: Span;
}

/** `eps: f32`: a number that is given at each launch, the same on every rank. */
export interface ScalarDeclaration {
  readonly name: Name;
  readonly dtype: DTypeReference;
  readonly span: Span;
}

/** `sharded(0)`, as it is written; the checker says whether there is such a layout. */
export interface LayoutReference {
  readonly name: string;
  readonly arguments: readonly string[];
  readonly span: Span;
  /** What is said of further axes: `sharded(0, dp) sharded(1, tp)`. */
  readonly further?: readonly LayoutReference[];
}

/** A concrete dtype, or the name of a dtype variable such as `T`. */
export interface DTypeReference {
  readonly name: string;
  readonly span: Span;
  /** `accumulator(T)`: the dtype that sums of T are computed in. The checker says whether there is such a function. */
  readonly wrapper?: Name;
}

export type Statement =
  | { readonly kind: "let"; readonly name: Name; readonly value: Expression; readonly span: Span }
  /** `scratch s: f32[world, n]`: workspace, one such array on every rank; `scratch s: f32[n] sharded(0)`: its part of it. */
  | {
      readonly kind: "scratch";
      readonly name: Name;
      readonly dtype: DTypeReference;
      readonly shape: readonly Expression[];
      /** Null where none is written: a tensor of each rank's own. */
      readonly layout: LayoutReference | null;
      readonly span: Span;
    }
  /** `y[i] = e`, `y@p[i, j] = e`, or, for whole tensors, `c = e` (no indices). */
  | {
      readonly kind: "assign";
      readonly target: Name;
      readonly peer: Expression | null;
      readonly indices: readonly Expression[] | null;
      readonly value: Expression;
      readonly span: Span;
    }
  | {
      readonly kind: "for";
      readonly variables: readonly Name[];
      readonly over: Domain;
      readonly body: readonly Statement[];
      readonly span: Span;
    }
  | {
      readonly kind: "if";
      readonly condition: Expression;
      readonly then: readonly Statement[];
      readonly otherwise: readonly Statement[];
      readonly span: Span;
    }
  /** All ranks wait for each other here, and all earlier accesses are ordered before all later ones. */
  | { readonly kind: "barrier"; readonly span: Span }
  /** `signal p`: tells rank p that all this rank did before is done. `wait p`: waits for p's next signal to this rank. */
  | { readonly kind: "signal" | "wait"; readonly peer: Expression; readonly span: Span };

/** What a loop runs over. */
export type Domain =
  /** `tiles(a, b)`: every element, in no particular order; the compiler spreads them over the machine. One entry a variable. */
  | { readonly kind: "tiles"; readonly ranges: readonly RangeExpression[]; readonly span: Span }
  /**
   * `ranks`: every rank, `peers`: every rank but this one; in no particular order. `ranks(gpu)`: only those that differ
   * from this one along that axis of the mesh alone.
   */
  | { readonly kind: "ranks"; readonly includeSelf: boolean; readonly axis: Name | null; readonly span: Span }
  /** `a..b`: one after the other. */
  | { readonly kind: "serial"; readonly range: RangeExpression; readonly span: Span };

/**
 * A range of indices.
 * - `bounds`: `a..b`, or `n` for `0..n`.
 * - `shard`: `shard(n, r)`, the slice of 0..n that `sharded` gives rank r; n must divide.
 * - `chunk`: `chunk(n, r)`, the r-th of `world` nearly equal pieces of 0..n that the compiler cuts at
 *   convenient places; any n, the last ones may be short or empty.
 * A third argument says how many pieces there are; else it is `world`.
 */
export type RangeExpression =
  | { readonly kind: "bounds"; readonly from: Expression | null; readonly to: Expression; readonly span: Span }
  | {
      readonly kind: "shard" | "chunk";
      readonly length: Expression;
      readonly rank: Expression;
      readonly parts: Expression | null;
      readonly span: Span;
    };

// prettier-ignore
export type BinaryOperator =
  | "+" | "-" | "*" | "/" | "%" | "^" | "&" | "<<" | ">>" | "==" | "!=" | "<" | "<=" | ">" | ">=" | "and" | "or";

export type Expression =
  | { readonly kind: "number"; readonly value: number; readonly isInteger: boolean; readonly span: Span }
  /** A variable, tensor, dimension, or one of `rank` and `world`. */
  | { readonly kind: "name"; readonly name: string; readonly span: Span }
  /** `x[i]`, `x@p[i, j]`. */
  | {
      readonly kind: "element";
      readonly tensor: Name;
      readonly peer: Expression | null;
      readonly indices: readonly Expression[];
      readonly span: Span;
    }
  /** `x[a..b, ..]`, `(x + y)[.., i]`: a part of a whole tensor. */
  | {
      readonly kind: "slice";
      readonly operand: Expression;
      /** One is a range, or the operand is neither `x` nor `x@p`: else it were an element. */
      readonly ranges: readonly SliceRange[];
      readonly span: Span;
    }
  /** `rank.gpu`: this rank's place along an axis of the mesh; `world.gpu`: the length of the axis. */
  | { readonly kind: "axis"; readonly base: Name; readonly axis: Name; readonly span: Span }
  /** `shard(n, r).start`; member is start, end or length. */
  | { readonly kind: "member"; readonly range: RangeExpression; readonly member: Name; readonly span: Span }
  | { readonly kind: "unary"; readonly operator: "-" | "not"; readonly operand: Expression; readonly span: Span }
  | {
      readonly kind: "binary";
      readonly operator: BinaryOperator;
      readonly left: Expression;
      readonly right: Expression;
      readonly span: Span;
    }
  /** `a @ b` with spaces: the matrix product of two tensors. */
  | { readonly kind: "matmul"; readonly left: Expression; readonly right: Expression; readonly span: Span }
  /**
   * `exp(v)`, `where(c, a, b)`, casts `f32(v)` and `T(v)`, and on whole tensors the conversions
   * `all_reduce(t)`, `reduce_scatter(t, dim: 0)`, `all_gather(t, dim: 0)`, `all_to_all(t, dim: 1)`, `broadcast(t)`.
   */
  | {
      readonly kind: "call";
      readonly callee: Name;
      readonly arguments: readonly Expression[];
      readonly named: readonly { readonly name: Name; readonly value: Expression }[];
      readonly span: Span;
    }
  /** A call of a function of the file, put in place: its expression, with names for the arguments. */
  | {
      readonly kind: "inlined";
      readonly callee: Name;
      readonly bindings: readonly { readonly name: Name; readonly value: Expression }[];
      readonly body: Expression;
      /** The call. */
      readonly span: Span;
    }
  /** `sum(p in ranks) e`, `max(k in 0..n) e`: in increasing order of the variable. */
  | {
      readonly kind: "reduce";
      readonly op: ReductionOp;
      readonly variable: Name;
      readonly over: Domain;
      readonly body: Expression;
      readonly span: Span;
    };

/** What a slice takes of a dimension; null where the range goes on to the end on that side. */
export interface SliceRange {
  readonly from: Expression | null;
  readonly to: Expression | null;
  /** Written as one index, `i`, which is the range `i..i + 1`. */
  readonly isIndex: boolean;
  readonly span: Span;
}

export type ExpressionKind = Expression["kind"];

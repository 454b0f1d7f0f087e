/** What checking hands to lowering: the syntax tree with every name resolved and every expression typed. */
import type { Collective, Expression, Statement } from "../ast/nodes.js";
import type { MeshAxis } from "../manifest.js";
import type { Span } from "../source.js";
import type { ComputeDType, DType, LaunchDType } from "../types/dtype.js";
import type { Extent } from "../types/extent.js";
import type { Layout } from "../types/layout.js";
import type { Requirement } from "../types/requirement.js";

export type ExpressionType =
  /** A 64-bit index: loop variables, dimensions, `rank`, `world`, integer literals, and arithmetic on them. */
  | { readonly kind: "index" }
  | { readonly kind: "bool" }
  /** An element in a register. Elements of 16- and 8-bit floats are f32 here; storing rounds once. */
  | { readonly kind: "value"; readonly dtype: ComputeDType }
  /** A whole tensor in a tensor expression. `shape` is logical. */
  | {
      readonly kind: "tensor";
      readonly dtype: DType;
      readonly shape: readonly Extent[];
      readonly layout: Layout;
    };

export interface CheckedTensor {
  readonly name: string;
  /** `inout`: an input that an output names again; its layout and shape are the input's, and `after` is the output. */
  readonly role: "input" | "output" | "inout" | "scratch";
  readonly dtype: DType;
  /** Logical shape. */
  readonly shape: readonly Extent[];
  /** What one rank holds; equals `shape` except along a sharded dimension. */
  readonly localShape: readonly Extent[];
  /** `local` for scratch that says no other. */
  readonly layout: Layout;
  /** Of `inout`: what it is once it is assigned. */
  readonly after?: { readonly shape: readonly Extent[]; readonly layout: Layout; readonly span: Span };
  /** Limits of an input's elements: at least `from`, below `to`. */
  readonly values?: { readonly from: Extent; readonly to: Extent };
  readonly span: Span;
}

/** A number that is given at each launch: as a register holds it. */
export interface CheckedScalar {
  readonly name: string;
  readonly dtype: LaunchDType;
}

export interface CheckedCollective {
  readonly syntax: Collective;
  readonly world: number;
  /** Dtype variables and what they stand for in this instance. */
  readonly dtypes: Readonly<Record<string, DType>>;
  /** Dimension names, in the order of their first mention in the signature. */
  readonly dims: readonly string[];
  /** Numbers that are given at each launch, in the order of the signature. */
  readonly scalars: readonly CheckedScalar[];
  /** Parameters and scratch arrays by name. */
  readonly tensors: ReadonlyMap<string, CheckedTensor>;
  /** Named tensor values that loops index, by name: each rank keeps its part in memory. */
  readonly stored: ReadonlyMap<string, CheckedTensor>;
  readonly types: ReadonlyMap<Expression, ExpressionType>;
  /** Axes of the grid of ranks, the outermost first; empty for ranks in one row. */
  readonly mesh: readonly MeshAxis[];
  /** Conditions the dimensions must meet at a launch, with the reason shown to the user. */
  readonly requirements: readonly Requirement[];
}

/** Statements that name a tensor expression: `let c = a @ b`. */
export function isTensorLet(checked: CheckedCollective, s: Statement): s is Extract<Statement, { kind: "let" }> {
  return s.kind === "let" && checked.types.get(s.value)?.kind === "tensor";
}

/** Statements that assign a whole tensor expression: `c = reduce_scatter(a @ b, dim: 0)`. */
export function isTensorAssignment(s: Statement): s is Extract<Statement, { kind: "assign" }> {
  return s.kind === "assign" && s.indices === null;
}

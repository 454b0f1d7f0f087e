/** Tensor expressions → what they mean, over the logical inputs. Conversions of layout change no value. */
import type { Expression } from "../ast/nodes.js";
import { type CheckedCollective, isTensorAssignment, isTensorLet } from "../check/checked.js";
import { extentOf } from "../check/extents.js";
import { CONVERSIONS } from "../check/functions.js";
import { namedExtents } from "./facts.js";
import { foldOf } from "../check/tensor-folds.js";
import { ranksIn } from "../check/tensors.js";
import { orderOf, swapLast } from "../check/tensor-views.js";
import { InternalCompilerError } from "../diagnostics/ice.js";
import type { Specification } from "../manifest.js";
import { type DType, isDType, isFloat } from "../types/dtype.js";
import type { Extent } from "../types/extent.js";
import { partialOf } from "../types/layout.js";

type Names = ReadonlyMap<string, Specification>;
type Call = Extract<Expression, { kind: "call" }>;

const ARITHMETIC: Record<string, string> = { "+": "add", "-": "sub", "*": "mul", "/": "div", and: "and", or: "or" };
const COMPARISON: Record<string, string> = { "==": "eq", "!=": "ne", "<": "lt", "<=": "le", ">": "gt", ">=": "ge" };

/** What an expression means at the end of the body, where all lets and outputs have their values. */
export function tensorSpecification(e: Expression, checked: CheckedCollective): Specification {
  const translation = new Translation(checked);
  const names = new Map(namesIn(checked, translation));
  // Of what is changed in place, claims speak as it was before.
  for (const { name, role } of checked.tensors.values()) if (role === "inout") names.delete(name);
  return translation.of(e, names);
}

/**
 * The same for a value that is stored: what a conversion may round on the way is rounded by the store alone. Parts of a
 * sum over ranks are rounded where they travel all the same. What becomes a whole number is another one.
 * @param dtype of what it is stored in
 */
export function storedSpecification(e: Expression, dtype: DType, checked: CheckedCollective): Specification {
  const translation = new Translation(checked);
  const s = translation.of(e, namesIn(checked, translation, e));
  const stored = s.kind === "rounded" && !translation.roundedParts.has(s) ? s.a : s;
  return asStored(stored, translation.dtypeOf(e), dtype);
}

/** What is stored where numbers are whole, of what need not be: the store cuts it off. */
export function asStored(s: Specification, from: DType | null, to: DType): Specification {
  return from !== null && isFloat(from) && !isFloat(to) ? { kind: "cast", dtype: to, a: s } : s;
}

/** Lets and outputs by name, where an expression stands or at the end. What lies in memory, an output or a let that loops index, is read from there, rounded to its dtype. */
function namesIn(checked: CheckedCollective, translation: Translation, until?: Expression): Names {
  const names = new Map<string, Specification>();
  for (const s of checked.syntax.body) {
    if ("value" in s && s.value === until) break;
    if (!isTensorLet(checked, s) && !isTensorAssignment(s)) continue;
    const name = s.kind === "let" ? s.name.text : s.target.text;
    const value = translation.of(s.value, names);
    const isKept = s.kind === "assign" || checked.stored.has(name);
    const memory = checked.tensors.get(name) ?? checked.stored.get(name);
    const isAsItWas = value.kind === "input" && checked.tensors.get(value.name)?.dtype === memory?.dtype;
    names.set(name, !isKept || isAsItWas ? value : { kind: "cast", dtype: memory!.dtype, a: value });
  }
  return names;
}

class Translation {
  /** Roundings of each rank's part of a sum that is not a product alone; of a product, they belong to the product. */
  readonly roundedParts = new Set<Specification>();

  constructor(private readonly checked: CheckedCollective) {}

  of(e: Expression, names: Names): Specification {
    const ranks = ranksIn(e, this.checked);
    if (ranks !== null) return { kind: "constant", value: ranks };
    switch (e.kind) {
      case "number":
        return { kind: "constant", value: e.value };
      case "name":
        if (this.checked.scalars.some(({ name }) => name === e.name)) return { kind: "scalar", name: e.name };
        return names.get(e.name) ?? { kind: "input", name: e.name };
      case "matmul":
        return { kind: "matmul", a: this.of(e.left, names), b: this.of(e.right, names) };
      case "binary": {
        const [a, b] = [this.of(e.left, names), this.of(e.right, names)];
        const comparison = COMPARISON[e.operator];
        if (comparison !== undefined) return { kind: "compare", fn: comparison, a, b };
        return { kind: "binary", fn: ARITHMETIC[e.operator]!, a, b };
      }
      case "unary":
        return { kind: "unary", fn: e.operator === "not" ? "not" : "neg", a: this.of(e.operand, names) };
      case "slice": {
        const from = e.ranges.map((r) => (r.from === null ? 0 : this.extent(r.from)));
        return { kind: "slice", from, shape: this.shape(e), a: this.of(e.operand, names) };
      }
      case "inlined": {
        const inner = new Map(names);
        for (const { name, value } of e.bindings) inner.set(name.text, this.of(value, names));
        return this.of(e.body, inner);
      }
      case "call":
        return this.call(e, names);
      default:
        throw new InternalCompilerError(`a '${e.kind}' expression among tensors passed the checker`);
    }
  }

  private call(e: Call, names: Names): Specification {
    const callee = e.callee.text;
    const [first] = e.arguments as [Expression];
    const dim = e.named.find((n) => n.name.text === "dim")?.value;
    const along = dim?.kind === "number" ? dim.value : 0;
    if (callee === "iota") return { kind: "iota", shape: this.shape(e), dim: along };
    if (callee === "concat") return { kind: "concat", dim: along, parts: e.arguments.map((a) => this.of(a, names)) };
    const a = this.of(first, names);
    const fold = foldOf(e);
    if (fold !== null) return { kind: "fold", fn: fold, dim: along, a };
    if (callee === "reshape") return { kind: "reshape", shape: this.shape(e), a: a.kind === "reshape" ? a.a : a };
    if (callee === "repeat")
      return { kind: "repeat", dim: along, times: this.extent(e.named.find((n) => n.name.text === "times")!.value) as number, a }; // prettier-ignore
    if (callee === "transpose") return permuted(swapLast(this.shape(e).length), a);
    if (callee === "permute") return permuted(orderOf(e), a);
    const [, b, c] = e.arguments.map((x) => this.of(x, names));
    if (callee === "where") return { kind: "select", condition: a, a: b!, b: c! };
    if (b !== undefined) return { kind: "binary", fn: callee, a, b };
    if (CONVERSIONS.has(callee)) return this.converted(first, a);
    const dtype = this.checked.dtypes[callee] ?? callee;
    if (!isDType(dtype)) return { kind: "unary", fn: callee, a };
    return a.kind === "input" && this.dtypeOf(first) === dtype ? a : { kind: "cast", dtype, a };
  }

  /** What is computed may be rounded to its dtype when it travels, or is kept for those who need it. */
  private converted(operand: Expression, a: Specification): Specification {
    const type = this.checked.types.get(operand);
    const isMoved = a.kind === "input" && type?.kind === "tensor" && partialOf(type.layout) === null;
    const dtype = this.dtypeOf(operand);
    const isSummand = type?.kind === "tensor" && partialOf(type.layout) !== null;
    // What one axis has reduced and another is still to reduce is rounded as it lies in between.
    if (isMoved || (a.kind === "rounded" && !isSummand) || dtype === null) return a;
    const rounded: Specification = { kind: "rounded", dtype, a };
    // Parts of a sum that are computed may lie in memory before they travel, each rounded to its dtype.
    if (isSummand && a.kind !== "matmul" && a.kind !== "input") this.roundedParts.add(rounded);
    return rounded;
  }

  dtypeOf(e: Expression): DType | null {
    const type = this.checked.types.get(e);
    return type?.kind === "tensor" ? type.dtype : null;
  }

  private shape(e: Expression): readonly Extent[] {
    const type = this.checked.types.get(e);
    if (type?.kind !== "tensor") throw new InternalCompilerError(`a '${e.kind}' expression was not typed as a tensor`);
    return type.shape;
  }

  private extent(e: Expression): Extent {
    const found = extentOf(e, this.checked.world, namedExtents(this.checked));
    if (found === null) throw new InternalCompilerError("a slice without known bounds passed the checker");
    return found;
  }
}

/** A permute of a permute is one, and what is in its order is no permute. */
function permuted(order: readonly number[], a: Specification): Specification {
  const [of, own] = a.kind === "permute" ? [a.a, order.map((d) => a.order[d]!)] : [a, order];
  return own.every((d, at) => d === at) ? of : { kind: "permute", order: own, a: of };
}

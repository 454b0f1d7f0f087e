/** Tensor expressions → tensor-level ops: one op a node; broadcasts and conversions of layout explicit. */
import type { Expression, Statement } from "../ast/nodes.js";
import type { CheckedCollective, ExpressionType } from "../check/checked.js";
import { extentOf, type Lookup } from "../check/extents.js";
import { CONVERSIONS } from "../check/functions.js";
import { foldOf } from "../check/tensor-folds.js";
import { ranksIn } from "../check/tensors.js";
import { orderOf, swapLast, VIEWS } from "../check/tensor-views.js";
import { InternalCompilerError } from "../diagnostics/ice.js";
import type { Builder } from "../ir/builder.js";
import type { Attributes, Value } from "../ir/module.js";
import type { BinaryFunction, Comparison, UnaryFunction } from "../ir/ops.js";
import { sameType, type Type } from "../ir/types.js";
import { isDType } from "../types/dtype.js";
import type { Extent } from "../types/extent.js";
import { type Layout, type Placement, sameLayout } from "../types/layout.js";
import { hasAxes, layoutOf, type MeshAxis, placementsOf } from "../types/mesh.js";

type TensorType = Extract<Type, { kind: "tensor" }>;
type Call = Extract<Expression, { kind: "call" }>;
type TensorStatement = Extract<Statement, { kind: "let" | "assign" }>;
type Scope = ReadonlyMap<string, Value>;

/** Signs of the language and the functions of elements that they stand for. */
export const BINARY: Readonly<Record<string, BinaryFunction>> = {
  "+": "add",
  "-": "sub",
  "*": "mul",
  "/": "div",
  and: "and",
  or: "or",
};
export const COMPARE: Readonly<Record<string, Comparison>> = {
  "==": "eq",
  "!=": "ne",
  "<": "lt",
  "<=": "le",
  ">": "gt",
  ">=": "ge",
};

/** Lowers statements on whole tensors, one after the other. */
export class TensorStatements {
  private scope: Scope = new Map();
  /** How often each array has been stored to: a read must not be taken for one before a store. */
  private readonly stores = new Map<string, number>();

  /** @param extents lengths that names stand for: dimensions, and lets over them. */
  constructor(
    private readonly checked: CheckedCollective,
    private readonly build: Builder,
    private readonly extents: Lookup,
  ) {}

  lower(s: TensorStatement): void {
    const { build, checked } = this;
    build.span = s.span;
    if (s.kind === "let") {
      const value = this.value(s.value, null, this.scope);
      const { text: name } = s.name;
      this.scope = new Map(this.scope).set(name, checked.stored.has(name) ? this.kept(name, value, s) : value);
      return;
    }
    const declared = checked.tensors.get(s.target.text)!;
    const target = { ...declared, ...declared.after };
    const type: TensorType = { kind: "tensor", dtype: target.dtype, shape: target.shape, layout: target.layout };
    const value = this.value(s.value, type, this.scope);
    build.span = s.span;
    // Later expressions that name the output read it from memory.
    build.op("output", [value], { buffer: target.name }, null);
    this.noteStore(target.name);
  }

  /** Says that an array has other elements from here on. */
  noteStore(name: string): void {
    this.stores.set(name, (this.stores.get(name) ?? 0) + 1);
  }

  /** Puts a value that loops index into memory, from where tensor expressions read it, too. */
  private kept(name: string, value: Value, s: TensorStatement): Value {
    this.build.span = s.span;
    this.build.op("output", [value], { buffer: name }, null);
    return this.build.op("input", [], { buffer: name }, value.type)!;
  }
  /** @param wanted type the place of use asks for: a literal takes it; what differs is cast, broadcast and converted. */
  private value(e: Expression, wanted: TensorType | null, scope: Scope): Value {
    const { build } = this;
    const number = e.kind === "number" ? e.value : ranksIn(e, this.checked);
    if (number !== null) return build.op("const", [], { value: number }, wanted)!;
    const type = this.typeOf(e);
    const value = this.node(e, type, scope);
    if (wanted === null || sameType(value.type, wanted)) return value;
    build.span = e.span;
    return this.adapted(value, wanted);
  }

  private adapted(value: Value, wanted: TensorType): Value {
    const { build } = this;
    let [v, type] = [value, value.type as TensorType];
    const step = (name: "cast" | "expand" | "convert", to: TensorType): void => {
      if (!sameType(type, to) && (name !== "convert" || !sameLayout(type.layout, to.layout)))
        [v, type] = [build.op(name, [v], {}, to)!, to];
    };
    step("cast", { ...type, dtype: wanted.dtype });
    // What is repeated along a dimension is the same on all ranks that the dimension is cut among.
    const layout = within(wanted.layout, wanted.shape, type, this.checked.mesh);
    if (!hasAxes(layout) && !hasAxes(type.layout)) step("convert", { ...type, layout });
    else {
      // Along one axis after the other, the first of the mesh first: so its cuts are the outer ones.
      const { mesh } = this.checked;
      for (const [at, placement] of placementsOf(layout, mesh).entries())
        step("convert", { ...type, layout: layoutOf(placementsOf(type.layout, mesh).with(at, placement), mesh) });
    }
    step("expand", wanted); // also where a length is only written in two ways
    return v;
  }

  private node(e: Expression, type: TensorType, scope: Scope): Value {
    const { build } = this;
    const lower = (operand: Expression, wanted: TensorType | null): Value => {
      const v = this.value(operand, wanted, scope);
      build.span = e.span;
      return v;
    };
    switch (e.kind) {
      case "name":
        build.span = e.span;
        if (this.isNumber(e.name)) return build.op("scalar", [], { name: e.name }, type)!;
        return this.named(e.name, type, scope);
      case "slice": {
        const source = lower(e.operand, null);
        const starts = e.ranges.map((r) => build.extent(r.from === null ? 0 : this.extent(r.from)));
        return build.op("slice", [source, ...starts], {}, type)!;
      }
      case "matmul": {
        const operands = [lower(e.left, null), lower(e.right, null)];
        const [a, b] = operands.map((v) => this.narrowed(v));
        // A product adds up in f32 whatever it multiplies, and f32 has each product of two such elements.
        const taken = a != null && b != null && a.dtype === b.dtype ? [a.make(), b.make()] : operands;
        return build.op("matmul", taken.map((v) => this.batched(v, type)), {}, type)!; // prettier-ignore
      }
      case "binary": {
        const fn = COMPARE[e.operator];
        if (fn === undefined)
          return build.op("binary", [lower(e.left, type), lower(e.right, type)], { fn: BINARY[e.operator]! }, type)!;
        const dtype = [e.left, e.right].flatMap((x) => this.dtypeOf(x) ?? [])[0]!;
        const operand: TensorType = { ...type, dtype };
        return build.op("compare", [lower(e.left, operand), lower(e.right, operand)], { fn }, type)!;
      }
      case "unary":
        return build.op("unary", [lower(e.operand, type)], { fn: e.operator === "not" ? "not" : "neg" }, type)!;
      case "inlined": {
        const inner = new Map(scope);
        for (const { name, value } of e.bindings) inner.set(name.text, lower(value, null));
        return this.value(e.body, type, inner);
      }
      case "call":
        return this.call(e, type, lower);
      default:
        throw new InternalCompilerError(`a '${e.kind}' expression has no tensor form`);
    }
  }

  private call(e: Call, type: TensorType, lower: (e: Expression, wanted: TensorType | null) => Value): Value {
    const { build } = this;
    const callee = e.callee.text;
    const [first, second, third] = e.arguments as [Expression, Expression?, Expression?];
    const isCast = isDType(this.checked.dtypes[callee] ?? callee);
    // A number of the launch becomes what the place computes in: nothing is rounded.
    if (isCast && first.kind === "name" && this.isNumber(first.name))
      return build.op("scalar", [], { name: first.name }, type)!;
    const ranks = ranksIn(first, this.checked);
    if (isCast && ranks !== null) return build.op("const", [], { value: ranks }, type)!;
    if (Object.hasOwn(VIEWS, callee)) return this.view(e, type, lower);
    if (callee === "iota") return build.op("iota", [], { dim: dimOf(e) }, type)!;
    const fold = foldOf(e);
    const dim = e.named.find((n) => n.name.text === "dim")?.value;
    if (fold !== null)
      return build.op("fold", [lower(first, null)], { fn: fold, dim: dim?.kind === "number" ? dim.value : 0 }, type)!;
    if (callee === "where") {
      const condition = lower(first, { ...type, dtype: "bool" });
      return build.op("select", [condition, lower(second!, type), lower(third!, type)], {}, type)!;
    }
    if (second !== undefined)
      return build.op("binary", [lower(first, type), lower(second, type)], { fn: callee }, type)!;
    const operand = lower(first, null);
    if (CONVERSIONS.has(callee))
      return sameType(operand.type, type) ? operand : build.op("convert", [operand], {}, type)!;
    if (isCast) return build.op("cast", [operand], {}, type)!;
    return build.op("unary", [operand], { fn: callee as UnaryFunction }, type)!;
  }

  private view(e: Call, type: TensorType, lower: (e: Expression, wanted: TensorType | null) => Value): Value {
    const { build } = this;
    const operand = (x: Expression): Value => lower(x, null);
    switch (e.callee.text) {
      case "reshape":
        return build.op("reshape", [operand(e.arguments[0]!)], {}, type)!;
      case "repeat":
        return build.op("repeat", [operand(e.arguments[0]!)], { dim: dimOf(e), times: this.timesOf(e) }, type)!;
      case "concat": {
        const dim = e.named.find((n) => n.name.text === "dim")!.value;
        const parts = e.arguments.map((x) => lower(x, { ...type, shape: this.typeOf(x).shape }));
        return build.op("concat", parts, { dim: dim.kind === "number" ? dim.value : 0 }, type)!;
      }
      default: {
        const order = e.callee.text === "transpose" ? swapLast(type.shape.length) : orderOf(e);
        return build.op("permute", [operand(e.arguments[0]!)], { order: order.join(",") }, type)!;
      }
    }
  }

  /** An operand of a product, cut like the product where that is cut along the batches. */
  /** What an f32 operand of a product was made wider from, where tensor cores take that: a cast, of which only the order of dimensions has changed since. */
  private narrowed(v: Value): { readonly dtype: "bf16" | "f16"; readonly make: () => Value } | null {
    const { build } = this;
    const type = v.type as TensorType;
    const made = type.dtype === "f32" ? build.ops.findLast((op) => op.results[0] === v) : undefined;
    const [from] = made?.operands ?? [];
    if (made?.name === "permute") {
      const inner = this.narrowed(from!);
      if (inner === null) return null;
      const { dtype } = inner;
      return { dtype, make: () => build.op("permute", [inner.make()], made.attributes, { ...type, dtype })! };
    }
    if (made?.name !== "cast") return null;
    const { dtype } = from!.type as TensorType;
    const isNarrow = dtype === "bf16" || dtype === "f16";
    return isNarrow && this.isRounded(from!) ? { dtype, make: () => from! } : null;
  }

  /** Whether the elements of a value are of its dtype as they are: read from memory, moved, or cast to it. What is computed is kept in f32. */
  private isRounded(v: Value): boolean {
    const made = this.build.ops.findLast((op) => op.results[0] === v);
    const [from] = made?.operands ?? [];
    switch (made?.name) {
      case "input":
      case "cast":
        return true;
      case "permute":
      case "reshape":
      case "slice":
        return this.isRounded(from!);
      case "convert":
        return (from!.type as TensorType).layout.kind === "sharded" && this.isRounded(from!);
      default:
        return false;
    }
  }

  private batched(v: Value, product: TensorType): Value {
    const type = v.type as TensorType;
    const { mesh } = this.checked;
    const isOfAxes = hasAxes(product.layout) || hasAxes(type.layout);
    const missing = product.shape.length - type.shape.length;
    const cut = (whole: Placement, own: Placement): Placement => {
      if (whole.kind !== "sharded" || whole.dim >= product.shape.length - 2 || own.kind !== "replicated") return own;
      const dim = whole.dim - missing;
      return dim < 0 || type.shape[dim] === 1 ? own : { kind: "sharded", dim };
    };
    const own = isOfAxes ? placementsOf(type.layout, mesh) : [type.layout as Placement];
    const whole = isOfAxes ? placementsOf(product.layout, mesh) : [product.layout as Placement];
    const placements = whole.map((p, at) => cut(p, own[at]!));
    return this.adapted(v, { ...type, layout: isOfAxes ? layoutOf(placements, mesh) : placements[0]! });
  }

  private named(name: string, type: TensorType | null, scope: Scope): Value {
    const bound = scope.get(name);
    if (bound !== undefined) return bound;
    const { dtype, shape, layout, role } = this.checked.tensors.get(name)!;
    const stores = this.stores.get(name) ?? 0;
    // What is changed in place is there before it is stored to.
    const attributes: Attributes = stores > (role === "inout" ? 0 : 1) ? { buffer: name, stores } : { buffer: name };
    return this.build.op("input", [], attributes, type ?? { kind: "tensor", dtype, shape, layout })!;
  }

  /** How often a `repeat` has each index. */
  private timesOf(e: Call): number {
    return this.extent(e.named.find((n) => n.name.text === "times")!.value) as number;
  }

  private isNumber(name: string): boolean {
    return this.checked.scalars.some((s) => s.name === name);
  }

  private extent(e: Expression): Extent {
    const found = extentOf(e, this.checked.world, this.extents);
    if (found === null) throw new InternalCompilerError("a slice without known bounds passed the checker");
    return found;
  }

  private dtypeOf(e: Expression): TensorType["dtype"] | null {
    const type = e.kind === "number" ? undefined : this.checked.types.get(e);
    return type?.kind === "tensor" ? type.dtype : null;
  }

  private typeOf(e: Expression): TensorType {
    const type: ExpressionType | undefined = this.checked.types.get(e);
    if (type?.kind !== "tensor") throw new InternalCompilerError(`a '${e.kind}' expression was not typed as a tensor`);
    return type;
  }
}

/** The dimension that a call names; 0 where it names none. */
function dimOf(e: Call): number {
  const dim = e.named.find((n) => n.name.text === "dim")?.value;
  return dim?.kind === "number" ? dim.value : 0;
}

/**
 * The layout that a value must have to be broadcast to a shape that lies like that: dimensions are matched from the last one.
 * What is repeated along a dimension is the same on all ranks that the dimension is cut among, and stays as it is.
 */
function within(
  layout: Layout,
  shape: readonly Extent[],
  value: Pick<TensorType, "shape" | "layout">,
  mesh: readonly MeshAxis[],
): Layout {
  const missing = shape.length - value.shape.length;
  const place = (p: Placement, own: Placement): Placement => {
    if (p.kind !== "sharded") return p;
    const dim = p.dim - missing;
    return dim < 0 || value.shape[dim] === 1 ? own : { kind: "sharded", dim };
  };
  if (!hasAxes(layout) && !hasAxes(value.layout)) return place(layout as Placement, value.layout as Placement);
  const own = placementsOf(value.layout, mesh);
  return layoutOf(
    placementsOf(layout, mesh).map((p, at) => place(p, own[at]!)),
    mesh,
  );
}

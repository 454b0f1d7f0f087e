/** Tensor expressions → tensor-level ops: one op a node, conversions of layout explicit. */
import type { Expression } from "../ast/nodes.js";
import { type CheckedCollective, type ExpressionType, isTensorAssignment } from "../check/checked.js";
import type { Builder } from "../ir/builder.js";
import type { Value } from "../ir/module.js";
import type { BinaryFunction, UnaryFunction } from "../ir/ops.js";
import { sameType, type Type } from "../ir/types.js";
import { isDType } from "../types/dtype.js";
import { InternalCompilerError } from "../diagnostics/ice.js";

type TensorType = Extract<Type, { kind: "tensor" }>;
const BINARY: Record<string, BinaryFunction> = { "+": "add", "-": "sub", "*": "mul", "/": "div" };

export function lowerTensorStatements(checked: CheckedCollective, build: Builder): void {
  const scope = new Map<string, Value>();
  for (const s of checked.syntax.body) {
    build.span = s.span;
    if (s.kind === "let") scope.set(s.name.text, lowerTensor(s.value, null, checked, build, scope));
    else if (isTensorAssignment(s)) {
      const target = checked.tensors.get(s.target.text)!;
      const type: TensorType = { kind: "tensor", dtype: target.dtype, shape: target.shape, layout: target.layout };
      const value = lowerTensor(s.value, type, checked, build, scope);
      build.span = s.span;
      build.op("output", [value], { buffer: target.name }, null);
      scope.set(target.name, value); // later expressions may name the output
    } else throw new InternalCompilerError(`a '${s.kind}' statement stands among tensor expressions`);
  }
}

/** @param wanted type the place of use asks for: a literal takes it, and a layout that differs is converted. */
function lowerTensor(
  e: Expression,
  wanted: TensorType | null,
  checked: CheckedCollective,
  build: Builder,
  scope: ReadonlyMap<string, Value>,
): Value {
  if (e.kind === "number") return build.op("const", [], { value: e.value }, wanted)!;
  const type = tensorType(checked.types.get(e), e);
  const value = lowerNode(e, type, checked, build, scope);
  if (wanted === null || sameType(value.type, wanted)) return value;
  build.span = e.span;
  const sameDType =
    type.dtype === wanted.dtype ? value : build.op("cast", [value], {}, { ...type, dtype: wanted.dtype })!;
  return sameType(sameDType.type, wanted) ? sameDType : build.op("convert", [sameDType], {}, wanted)!;
}

function lowerNode(
  e: Expression,
  type: TensorType,
  checked: CheckedCollective,
  build: Builder,
  scope: ReadonlyMap<string, Value>,
): Value {
  const lower = (operand: Expression, wanted: TensorType | null): Value => {
    const v = lowerTensor(operand, wanted, checked, build, scope);
    build.span = e.span;
    return v;
  };
  switch (e.kind) {
    case "name":
      build.span = e.span;
      return scope.get(e.name) ?? build.op("input", [], { buffer: e.name }, type)!;
    case "matmul":
      return build.op("matmul", [lower(e.left, null), lower(e.right, null)], {}, type)!;
    case "binary":
      return build.op("binary", [lower(e.left, type), lower(e.right, type)], { fn: BINARY[e.operator]! }, type)!;
    case "unary":
      return build.op("unary", [lower(e.operand, type)], { fn: "neg" }, type)!;
    case "inlined": {
      const inner = new Map(scope);
      for (const { name, value } of e.bindings) inner.set(name.text, lower(value, null));
      return lowerTensor(e.body, type, checked, build, inner);
    }
    case "call": {
      const [first, second] = e.arguments;
      if (second !== undefined)
        return build.op("binary", [lower(first!, type), lower(second, type)], { fn: e.callee.text }, type)!;
      const operand = lower(first!, null);
      if (operand.type.kind === "tensor" && operand.type.dtype !== type.dtype)
        return build.op("cast", [operand], {}, type)!;
      if (isDType(checked.dtypes[e.callee.text] ?? e.callee.text)) return operand; // a cast to what it is already
      const isConversion = !sameType(operand.type, type);
      return isConversion
        ? build.op("convert", [operand], {}, type)!
        : build.op("unary", [operand], { fn: e.callee.text as UnaryFunction }, type)!;
    }
    default:
      throw new InternalCompilerError(`a '${e.kind}' expression has no tensor form`);
  }
}

function tensorType(type: ExpressionType | undefined, e: Expression): TensorType {
  if (type?.kind !== "tensor") throw new InternalCompilerError(`a '${e.kind}' expression was not typed as a tensor`);
  return type;
}

/** Types of IR values, and their text form. */
import { type DType, isDType, type ScalarKind } from "../types/dtype.js";
import { type Extent, printExtent } from "../types/extent.js";
import { type Layout, printLayout } from "../types/layout.js";

export type Type =
  | { readonly kind: "scalar"; readonly scalar: ScalarKind }
  /** `lanes` neighbouring elements in one thread's registers. */
  | { readonly kind: "vector"; readonly scalar: ScalarKind; readonly lanes: number }
  /** A whole tensor (tensor level only), or what a comparison of two gives; `shape` is the logical one. */
  | {
      readonly kind: "tensor";
      readonly dtype: DType;
      readonly shape: readonly Extent[];
      readonly layout: Layout;
    };

export const INDEX: Type = { kind: "scalar", scalar: "index" };
export const BOOL: Type = { kind: "scalar", scalar: "bool" };

export function scalar(kind: ScalarKind): Type {
  return { kind: "scalar", scalar: kind };
}

export function vector(kind: ScalarKind, lanes: number): Type {
  return lanes === 1 ? scalar(kind) : { kind: "vector", scalar: kind, lanes };
}

/** Elements in a value of this type that one thread holds. */
export function lanesOf(type: Type): number {
  return type.kind === "vector" ? type.lanes : 1;
}

/** The element kind of a scalar, vector or tensor. */
export function scalarOf(type: Type): ScalarKind {
  return type.kind === "tensor" ? type.dtype : type.scalar;
}

/** The same shape of value with another element kind. */
export function withScalar(type: Type, kind: ScalarKind): Type {
  if (type.kind !== "tensor") return { ...type, scalar: kind };
  if (!isDType(kind)) throw new RangeError(`no tensor of ${kind}`);
  return { ...type, dtype: kind };
}

export function printType(type: Type): string {
  switch (type.kind) {
    case "scalar":
      return type.scalar;
    case "vector":
      return `vec<${type.lanes} x ${type.scalar}>`;
    case "tensor":
      return `tensor<${type.dtype}[${type.shape.map(printExtent).join(", ")}] ${printLayout(type.layout)}>`;
  }
}

export function sameType(a: Type, b: Type): boolean {
  if (a === b) return true;
  if (a.kind !== b.kind) return false;
  // Texts are for the few types that have a shape: types are compared for every op, after every pass.
  if (a.kind === "tensor" || b.kind === "tensor") return printType(a) === printType(b);
  return a.scalar === b.scalar && lanesOf(a) === lanesOf(b);
}

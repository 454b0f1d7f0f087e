/** What an element is made of, whichever place it has: a function of a product's sum, and of elements that lie as that does. */
import type { Specification } from "../../../manifest.js";
import type { Op } from "../../../ir/module.js";
import type { ScalarKind } from "../../../types/dtype.js";
import { NotShown } from "../conditions.js";
import { type Form, keyOf } from "../forms.js";

export type Made =
  /** Of the product, or of its twin: that of the same rows with another right factor. */
  | { readonly kind: "sum"; readonly isTwin?: true }
  | { readonly kind: "constant"; readonly value: number; readonly of: ScalarKind }
  | { readonly kind: "scalar"; readonly name: string; readonly of: ScalarKind }
  /** An input's element in that place, or in that column. */
  | { readonly kind: "input"; readonly name: string; readonly isColumn: boolean }
  /** What ranks have left in that place, moved by so many elements. */
  | { readonly kind: "left"; readonly buffer: string; readonly distance: Form }
  | { readonly kind: "unary"; readonly fn: string; readonly a: Made }
  | { readonly kind: "binary"; readonly fn: string; readonly a: Made; readonly b: Made }
  | { readonly kind: "cast"; readonly of: ScalarKind; readonly a: Made };

export const SUM: Made = { kind: "sum" };
export const TWIN_SUM: Made = { kind: "sum", isTwin: true };

/** An input that is multiplied; turned, its rows and columns change places before. */
export interface Factor {
  readonly name: string;
  readonly isTurned: boolean;
}

/** The factors of a product, and the right one of its twin, where it has one. */
export type Factors = readonly [left: Factor, right: Factor, twin?: Factor];

/** One text for what is the same to the last bit. */
export function textOf(made: Made): string {
  switch (made.kind) {
    case "sum":
      return made.isTwin === true ? "sum of the twin" : "sum";
    case "constant":
      return `${made.of} ${made.value}`;
    case "scalar":
      return `${made.of} scalar ${made.name}`;
    case "input":
      return `input ${made.name}${made.isColumn ? " by column" : ""}`;
    case "left":
      return `${made.buffer} from ${keyOf(made.distance)}`;
    case "unary":
      return `${made.fn}(${textOf(made.a)})`;
    case "binary":
      return `${made.fn}(${textOf(made.a)}, ${textOf(made.b)})`;
    case "cast":
      return `${made.of}(${textOf(made.a)})`;
  }
}

const COMMUTES = new Set(["add", "mul", "min", "max"]);

/** One text for what is the same in the mathematics of the answer. */
export function wordsOf(made: Made): string {
  switch (made.kind) {
    case "constant":
      return `${made.value}`;
    case "scalar":
      return `scalar ${made.name}`;
    case "input":
      return `input ${made.name}`;
    case "unary":
      return `${made.fn}(${wordsOf(made.a)})`;
    case "binary": {
      const of = [wordsOf(made.a), wordsOf(made.b)];
      return `${made.fn}(${(COMMUTES.has(made.fn) ? of.sort() : of).join(", ")})`;
    }
    case "cast":
      return wordsOf(made.a);
    default:
      return textOf(made);
  }
}

/** The parts of what is made that are made of nothing. */
export function leavesOf(made: Made): readonly Made[] {
  if (made.kind === "binary") return [...leavesOf(made.a), ...leavesOf(made.b)];
  return made.kind === "unary" || made.kind === "cast" ? leavesOf(made.a) : [made];
}

/** The same, of another sum. */
export function madeOf(made: Made, sum: Made): Made {
  switch (made.kind) {
    case "sum":
      return sum;
    case "unary":
    case "cast":
      return { ...made, a: madeOf(made.a, sum) };
    case "binary":
      return { ...made, a: madeOf(made.a, sum), b: madeOf(made.b, sum) };
    default:
      return made;
  }
}

/** Dtypes between which a cast does nothing but round: what comes of that, a claim about the answer leaves out. */
export function isRounded(kind: string): boolean {
  return kind === "f32" || kind === "f16" || kind === "bf16";
}

/**
 * What is specified of an element, in the same words.
 * @param factors inputs that are multiplied
 * @param has whether an input has an element for each place, or for each column
 * @throws NotShown for what is not followed
 */
export function specified(s: Specification, factors: Factors, has: (name: string) => boolean, op: Op): Made {
  const of = (x: Specification): Made => specified(x, factors, has, op);
  switch (s.kind) {
    case "constant":
      return { kind: "constant", value: s.value, of: "f32" };
    case "scalar":
      return { kind: "scalar", name: s.name, of: "f32" };
    case "input":
      if (!has(s.name)) break;
      return { kind: "input", name: s.name, isColumn: false };
    case "rounded":
    case "cast":
      if (!isRounded(s.dtype)) break;
      return { kind: "cast", of: s.dtype, a: of(s.a) };
    case "unary":
      return { kind: "unary", fn: s.fn, a: of(s.a) };
    case "binary":
      return { kind: "binary", fn: s.fn, a: of(s.a), b: of(s.b) };
    case "matmul":
      if (isProductOf(s, factors)) return SUM;
      if (factors[2] === undefined || !isProductOf(s, [factors[0], factors[2]])) break;
      return TWIN_SUM;
    default:
  }
  throw new NotShown(`the answer has a '${s.kind}' that goes by places`, op.span);
}

/** The same specification over an input that the product lies in. @throws NotShown where something else is made of the factors */
export function withProduct(
  s: Specification,
  factors: readonly [Factor, Factor],
  product: string,
  op: Op,
): Specification {
  const of = (x: Specification): Specification => withProduct(x, factors, product, op);
  switch (s.kind) {
    case "constant":
    case "scalar":
      return s;
    case "input":
      if (factors.some(({ name }) => name === s.name)) break;
      return s;
    case "rounded":
    case "cast":
    case "unary":
      return { ...s, a: of(s.a) };
    case "binary":
    case "compare":
      return { ...s, a: of(s.a), b: of(s.b) };
    case "select":
      return { ...s, condition: of(s.condition), a: of(s.a), b: of(s.b) };
    case "matmul":
      if (!isProductOf(s, factors)) break;
      return { kind: "input", name: product };
    default:
  }
  throw new NotShown(`the answer has a '${s.kind}' that goes by places`, op.span);
}

function isProductOf(s: Specification & { readonly kind: "matmul" }, [a, b]: Factors): boolean {
  return isFactor(s.a, a) && isFactor(s.b, b);
}

function isFactor(s: Specification, { name, isTurned }: Factor): boolean {
  if (!isTurned) return s.kind === "input" && s.name === name;
  return s.kind === "permute" && s.order.join() === "1,0" && s.a.kind === "input" && s.a.name === name;
}

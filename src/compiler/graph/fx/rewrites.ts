/** FX nodes that are others in a row: constants, indices, bounds, masks, sums of products. */
import { UsageError } from "../../../errors.js";
import { DTYPES, isDType } from "../../types/dtype.js";
import { decode, encode } from "../../types/formats.js";
import type { Extent } from "../../types/extent.js";
import { Compounds } from "./compounds.js";
import { dtypeOf, type FxArgument, type FxNode } from "./fx.js";
import { broadcastShape, scalarOf, Unknown } from "./making.js";
import { sameShape } from "./sizes.js";

const BITWISE: Readonly<Record<string, string>> = { bitwise_and: "and", bitwise_or: "or", bitwise_not: "not" };

export class Rewrites extends Compounds {
  /** By tensor that is one number everywhere, the number. */
  private readonly constants = new Map<string, number>();

  /** The value of a node that others say as well; null for one that is no such node. */
  protected rewritten({ name: of, args = [], shape = [], dtype: written }: FxNode, name: string): string | null {
    const [a, b, c, d] = args;
    const dtype = dtypeOf(written);
    const plain = name.replace(/_$/, "");
    switch (plain) {
      case "full":
      case "full_like": // prettier-ignore
        return this.constant(valueOf(b), shape, dtype);
      case "scalar_tensor":
        return this.constant(valueOf(a), [], dtype);
      case "arange":
        // One argument is where it ends.
        return b == null ? this.counted(0, 1, shape, dtype) : this.arange(of, a, b, scalarOf(c, 1), shape, dtype);
      case "iota":
        return this.counted(scalarOf(b, 0), scalarOf(c, 1), shape, dtype);
      case "rsub": {
        const alpha = scalarOf(c, 1);
        const x = alpha === 1 ? this.operand(a) : this.pointwise("mul", [this.operand(a), alpha], dtype);
        return this.pointwise("sub", [this.operand(b), x], dtype);
      }
      case "sign":
      case "sgn": // prettier-ignore
        return this.sign(this.tensor(a), dtype);
      case "square":
        return this.pointwise("mul", [this.tensor(a), this.tensor(a)], dtype);
      case "maximum":
      case "minimum":
        return this.extreme(plain === "maximum" ? "max" : "min", this.operand(a), this.operand(b), dtype);
      case "clamp":
        return this.clamped(a, b, c, dtype);
      case "clamp_min":
        return this.clamped(a, b, null, dtype);
      case "clamp_max":
        return this.clamped(a, null, b, dtype);
      case "masked_fill":
        return this.chosen(this.tensor(b), this.operand(c), this.tensor(a), shape, dtype);
      case "bitwise_and":
      case "bitwise_or":
      case "bitwise_not": {
        // prettier-ignore
        if (dtype !== "bool") throw new Unknown(`collc has ${plain} of truth values alone`);
        const xs = plain === "bitwise_not" ? [this.tensor(a)] : [this.tensor(a), this.tensor(b)];
        return this.pointwise(BITWISE[plain]!, xs, dtype);
      }
      case "fma":
        return this.pointwise("add", [this.pointwise("mul", [this.operand(a), this.operand(b)], dtype), this.operand(c)], dtype); // prettier-ignore
      case "addcmul":
      case "addcdiv": {
        // prettier-ignore
        const factor = scalarOf(d, 1);
        const term = this.pointwise(plain === "addcmul" ? "mul" : "div", [this.operand(b), this.operand(c)], dtype);
        return this.pointwise("add", [this.operand(a), factor === 1 ? term : this.pointwise("mul", [term, factor], dtype)], dtype); // prettier-ignore
      }
      case "lerp": {
        const way = this.pointwise("sub", [this.operand(b), this.operand(a)], dtype);
        return this.pointwise("add", [this.operand(a), this.pointwise("mul", [way, this.operand(c)], dtype)], dtype);
      }
      case "glu": {
        const x = this.tensor(a);
        const { shape: from } = this.of(x);
        const dim = Number(b ?? -1) < 0 ? Number(b ?? -1) + from.length : Number(b);
        const half = shape[dim];
        if (half === undefined || from.length !== shape.length) throw new UsageError(`node '${of}' names dimension ${Number(b ?? -1)} of a tensor that has ${from.length}`, "dump the graph with torch's own shapes"); // prettier-ignore
        const [value, gate] = [this.slice(x, dim, 0, half), this.slice(x, dim, half, half)];
        return this.pointwise("mul", [value, this.pointwise("sigmoid", [gate], dtype)], dtype);
      }
      default:
        return null;
    }
  }

  /** 1, 0 or -1, and 0 of what is no number. */
  private sign(x: string, dtype: string): string {
    const is = (fn: "gt" | "lt"): string => this.pointwise(fn, [x, 0], this.of(x).dtype, "bool");
    return this.pointwise("sub", [is("gt"), is("lt")], dtype);
  }

  /** A quotient without its fraction: towards zero (`trunc`) or down (`floor`); of whole numbers the first alone. */
  protected wholeQuotient(a: string | number, b: string | number, rounding: string, dtype: string): string {
    if (rounding !== "trunc" && (rounding !== "floor" || isWhole(dtype)))
      throw new Unknown(`collc has no division of ${dtype} that rounds by '${rounding}'`);
    if (isWhole(dtype)) return this.pointwise("div", [a, b], dtype);
    const quotient = this.pointwise("div", [a, b], "f32");
    return this.cast(this.pointwise(rounding, [quotient], "f32"), dtype) as string;
  }

  /** Elements of one tensor where a condition holds, and of another where not. */
  protected chosen(
    condition: string,
    yes: string | number,
    no: string | number,
    shape: readonly Extent[],
    dtype: string,
  ): string {
    // prettier-ignore
    const [k, ...xs] = this.elements([condition, yes, no]);
    const values = xs.map((x) => this.cast(x, dtype));
    const numbers = values.map((x) => (typeof x === "number" ? x : this.of(x).op === "number" ? (this.of(x).inputs[0] as number) : null)); // prettier-ignore
    // Two numbers have no dtype of their own: of one there is a tensor that says it.
    if (numbers.every((x) => x !== null)) values[0] = this.constant(numbers[0]!, [1], dtype);
    return this.make("where", [k!, ...values], shape, dtype);
  }

  protected override operand(a: FxArgument | undefined): string | number {
    return typeof a === "string" ? this.constant(valueOf(a), [], "f32") : super.operand(a);
  }

  protected override cast(x: string | number, dtype: string): string | number {
    const node = typeof x === "string" ? this.of(x) : undefined;
    return node?.op === "number" ? this.number(node.inputs[0] as number, dtype, node.fx) : super.cast(x, dtype);
  }

  protected override pointwise(op: string, xs: readonly (string | number)[], dtype: string, result = dtype): string {
    return super.pointwise(op, this.elements(xs), dtype, result);
  }

  /** Operands, with numbers for constants that are no larger than what they stand beside. A number is still of the node that has made the constant. */
  private elements(xs: readonly (string | number)[]): (string | number)[] {
    const shapeOf = (x: string | number): readonly Extent[] => (typeof x === "number" ? [] : this.of(x).shape);
    const isConstant = (x: string | number): x is string => typeof x === "string" && this.constants.has(x) && this.isAsAt(this.of(x)); // prettier-ignore
    const rest = xs.filter((x) => typeof x === "string" && !isConstant(x)).map(shapeOf);
    if (rest.length === 0) return [...xs];
    const isWithin = (x: string): boolean => sameShape(broadcastShape(rest), broadcastShape([...rest, shapeOf(x)]));
    return xs.map((x) => (isConstant(x) && isWithin(x) ? this.number(this.constants.get(x)!, this.of(x).dtype, this.of(x).fx) : x)); // prettier-ignore
  }

  private number(value: number, dtype: string, fx: string): string {
    return this.make("number", [rounded(value, dtype)], [], dtype, { fx });
  }

  private clamped(
    x: FxArgument | undefined,
    least: FxArgument | undefined,
    most: FxArgument | undefined,
    dtype: string,
  ): string {
    const value = this.tensor(x);
    const above = least == null ? value : this.extreme("max", value, this.operand(least), dtype);
    return most == null ? above : this.extreme("min", above, this.operand(most), dtype);
  }

  /** The greater or the lesser of two, and NaN where one is: to Coll's `max` and `min` a number is more than none. */
  private extreme(fn: "max" | "min", a: string | number, b: string | number, dtype: string): string {
    if (isWhole(dtype) || dtype === "bool") return this.pointwise(fn, [a, b], dtype);
    if (typeof a === "number" && typeof b !== "number") return this.extreme(fn, b, a, dtype);
    const is = (than: string, x: string | number, y: string | number): string => this.pointwise(than, [x, y], dtype, "bool"); // prettier-ignore
    const shape = broadcastShape([a, b].map((x) => (typeof x === "number" ? [] : this.of(x).shape)));
    if (typeof b === "number") return this.chosen(is(fn === "max" ? "lt" : "gt", a, b), b, a, shape, dtype);
    const isFirst = this.pointwise("or", [is(fn === "max" ? "gt" : "lt", a, b), is("ne", a, a)], "bool");
    return this.chosen(isFirst, a, b, shape, dtype);
  }

  private arange(
    of: string,
    from: FxArgument | undefined,
    to: FxArgument,
    step: number,
    shape: readonly Extent[],
    dtype: string,
  ): string {
    // prettier-ignore
    const start = scalarOf(from, 0);
    const count = typeof to === "number" ? Math.max(0, Math.ceil((to - start) / step)) : shape[0];
    if (typeof shape[0] === "number" && count !== shape[0]) throw new UsageError(`node '${of}' says that it has ${shape[0]} elements; from ${start} to ${String(to)} there are ${String(count)}`, "dump the graph with torch's own shapes"); // prettier-ignore
    return this.counted(start, step, shape, dtype);
  }

  /** Numbers from one on, as far apart as said. */
  private counted(start: number, step: number, shape: readonly Extent[], dtype: string): string {
    const index = this.make("iota", [], shape, "i32", { along: 0 });
    const wide = this.cast(index, isFloat(dtype) ? "f32" : dtype) as string;
    const inside = this.of(wide).dtype;
    const steps = step === 1 ? wide : this.pointwise("mul", [wide, step], inside);
    const value = start === 0 ? steps : this.pointwise("add", [steps, start], inside);
    return this.cast(value, dtype) as string;
  }

  /** A tensor of one number. Where its elements are taken one by one, the number serves instead. */
  private constant(value: number, shape: readonly Extent[], dtype: string): string {
    if (!isDType(dtype)) throw new Unknown(`collc has no tensors of ${dtype}`);
    if (shape.length === 0) return this.held(value, dtype, this.reshape(this.constant(value, [1], dtype), []));
    if (Number.isNaN(value)) throw new Unknown("collc has no constants that are not a number");
    const index = this.make("iota", [], shape, "i32", { along: shape.length - 1 });
    const zero = this.pointwise("mul", [index, 0], "i32");
    if (dtype === "bool") return this.pointwise(value === 0 ? "ne" : "eq", [zero, 0], "i32", "bool");
    const inside = isFloat(dtype) ? "f32" : dtype;
    let made = this.cast(zero, inside) as string;
    // The language writes no infinity: it is the logarithm of 0.
    if (Number.isFinite(value)) made = this.pointwise("add", [made, rounded(value, dtype)], inside);
    else made = this.pointwise("log", [made], inside);
    if (value === Infinity) made = this.pointwise("neg", [made], inside);
    return this.held(value, dtype, this.cast(made, dtype) as string);
  }

  private held(value: number, dtype: string, id: string): string {
    if (Number.isFinite(value) && dtype !== "bool") this.constants.set(id, rounded(value, dtype));
    return id;
  }
}

/** Whether a dtype is one of whole numbers. */
export const isWhole = (dtype: string): boolean => isDType(dtype) && DTYPES[dtype].kind === "int";

const isFloat = (dtype: string): boolean => isDType(dtype) && DTYPES[dtype].kind === "float";

/** As an element has it. */
function rounded(value: number, dtype: string): number {
  if (!isDType(dtype) || DTYPES[dtype].kind !== "float") return Math.trunc(value);
  return decode(dtype, encode(dtype, value));
}

/** The number that a constant is full of. */
function valueOf(a: FxArgument | undefined): number {
  const infinite = typeof a === "string" ? /^([+-]?)inf$/.exec(a) : null;
  if (infinite !== null) return infinite[1] === "-" ? -Infinity : Infinity;
  if (typeof a !== "number" && typeof a !== "boolean")
    throw new Unknown("collc has constants of numbers, and no others");
  return Number(a);
}

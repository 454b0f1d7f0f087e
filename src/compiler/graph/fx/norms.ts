/** FX nodes that take the sum of a dimension and go on with it: softmax and its logarithm, variances, and the norms that are made of them. */
import { UsageError } from "../../../errors.js";
import { type FxArgument, type FxNode } from "./fx.js";
import { type Extent, productOf } from "../../types/extent.js";
import { scalarOf, Unknown } from "./making.js";
import { Rewrites } from "./rewrites.js";

/** `eps` where a call has none: of an RMS norm what torch takes for f32. */
const RMS_EPS = 2 ** -23;
const LAYER_EPS = 1e-5;

export class Norms extends Rewrites {
  /** The dimension of a tensor that a node names; negative ones count from the end. */
  protected axis(x: string, d: number): number {
    const { shape } = this.of(x);
    const at = d < 0 ? d + shape.length : d;
    if (at in shape) return at;
    throw new UsageError(`node '${this.current.name}' names dimension ${d} of a tensor that has ${shape.length}`, "dump the graph with torch's own shapes"); // prettier-ignore
  }

  /** The dimensions that a node names, in order; all of them where it names none. */
  protected axes(x: string, given: FxArgument | undefined): number[] {
    const named = Array.isArray(given) ? given.map(Number) : given == null ? [] : [Number(given)];
    if (named.length === 0) return [...this.of(x).shape.keys()];
    return named.map((d) => this.axis(x, d)).sort((p, q) => p - q);
  }

  /** The value of a norm, or the list of what torch's own gives; null for a node that is none. */
  protected normalized(node: FxNode, name: string, dtype: string): string | readonly string[] | null {
    const [a, b, c, d, e] = node.args ?? [];
    switch (name) {
      case "_softmax":
      case "softmax": {
        // prettier-ignore
        const x = this.cast(this.tensor(a), dtype) as string;
        const dims = [this.axis(x, Number(b))];
        const powers = this.pointwise("exp", [this.pointwise("sub", [x, this.fold("max", x, dims, true)], dtype)], dtype); // prettier-ignore
        return this.pointwise("div", [powers, this.fold("sum", powers, dims, true)], dtype);
      }
      case "_log_softmax":
      case "log_softmax": {
        // prettier-ignore
        const x = this.cast(this.tensor(a), dtype) as string;
        const dims = [this.axis(x, Number(b))];
        const less = this.pointwise("sub", [x, this.fold("max", x, dims, true)], dtype);
        const sum = this.fold("sum", this.pointwise("exp", [less], dtype), dims, true);
        return this.pointwise("sub", [less, this.pointwise("log", [sum], dtype)], dtype);
      }
      case "var":
        return this.variance(this.tensor(a), b, c, d === true).variance;
      case "var_mean": {
        const { variance, mean } = this.variance(this.tensor(a), b, c, d === true);
        return [variance, mean];
      }
      case "rms_norm":
      case "_fused_rms_norm": {
        // prettier-ignore
        const x = this.tensor(a);
        // Torch's own gives a tuple, with the norm's factor behind it, and no dtype.
        const isTuple = name === "_fused_rms_norm" && node.shape === undefined;
        const out = isTuple ? this.of(x).dtype : dtype;
        const wide = this.cast(x, "f32") as string;
        const mean = this.fold("mean", this.pointwise("mul", [wide, wide], "f32"), this.lastDims(x, b), true);
        const scale = this.inverseRoot(mean, d, RMS_EPS);
        const normed = this.cast(this.pointwise("mul", [wide, scale], "f32"), out) as string;
        const value = c == null ? normed : this.pointwise("mul", [normed, this.tensor(c)], out);
        return isTuple ? [value, scale] : value;
      }
      case "layer_norm":
      case "native_layer_norm": {
        // prettier-ignore
        const x = this.tensor(a);
        const out = this.of(x).dtype;
        const { variance, mean, centred } = this.variance(this.cast(x, "f32") as string, this.lastDims(x, b), 0, true);
        const scale = this.inverseRoot(variance, e, LAYER_EPS);
        let value = this.pointwise("mul", [centred, scale], "f32");
        if (c != null) value = this.pointwise("mul", [value, this.tensor(c)], "f32");
        if (d != null) value = this.pointwise("add", [value, this.tensor(d)], "f32");
        value = this.cast(value, out) as string;
        return name === "layer_norm" ? value : [value, mean, scale];
      }
      default:
        return null;
    }
  }

  /** The dimensions that a norm is of: as many of the last ones as its shape has. */
  private lastDims(x: string, shape: FxArgument | undefined): number[] {
    const count = Array.isArray(shape) ? shape.length : 1;
    return Array.from({ length: count }, (_, i) => this.axis(x, i - count));
  }

  private inverseRoot(x: string, eps: FxArgument | undefined, otherwise: number): string {
    return this.pointwise("rsqrt", [this.pointwise("add", [x, scalarOf(eps, otherwise)], "f32")], "f32");
  }

  /**
   * The mean of the squares of what is left without the mean, in f32 at least: two passes, as exact for a mean that is far from 0.
   * @param correction what the number of elements is less, 1 where it is not said
   * @throws Unknown where the number of elements that a correction is of depends on sizes
   */
  private variance(
    x: string,
    given: FxArgument | undefined,
    correction: FxArgument | undefined,
    keep: boolean,
  ): { readonly variance: string; readonly mean: string; readonly centred: string } {
    const { dtype, shape } = this.of(x);
    if (typeof given === "boolean") throw new Unknown(`collc has variances of dimensions, by their numbers`);
    const dims = this.axes(x, given);
    const less = correction == null ? 1 : Number(correction);
    const wide = this.cast(x, "f32") as string;
    const mean = this.fold("mean", wide, dims, true);
    const centred = this.pointwise("sub", [wide, mean], "f32");
    const squares = this.pointwise("mul", [centred, centred], "f32");
    let variance = this.fold("mean", squares, dims, true);
    if (less !== 0) {
      const count: Extent = productOf(dims.map((d) => shape[d]!));
      if (typeof count !== "number" || count <= less) throw new Unknown(`collc has variances with a correction of ${less} of more elements than that, as many as are known`); // prettier-ignore
      variance = this.pointwise("mul", [variance, count / (count - less)], "f32");
    }
    const out = (value: string): string => {
      const kept = keep ? value : this.reshape(value, shape.filter((_, d) => !dims.includes(d))); // prettier-ignore
      return this.cast(kept, dtype) as string;
    };
    return { variance: out(variance), mean: out(mean), centred };
  }
}

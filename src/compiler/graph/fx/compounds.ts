/** FX nodes that are several core nodes, or that what stands around them is a part of: scaled products, detours, conversions. */
import { UsageError } from "../../../errors.js";
import { DTYPES, isDType } from "../../types/dtype.js";
import { type Extent, extent, sameExtent } from "../../types/extent.js";
import { showExtent, showShape } from "../../check/extents.js";
import type { Effects } from "./effects.js";
import { COLLECTIVES, dtypeOf, type FxArgument, type FxGraph, type FxNode } from "./fx.js";
import { type CoreNode, Making, Unknown } from "./making.js";
import { named } from "./parameters.js";
import { isOther, tidy } from "./sizes.js";

export const VIEW_OPS: ReadonlySet<string> = new Set(["reshape", "permute", "slice", "repeat"]);

/** Reductions by torch's names; an average is a sum, divided. */
const REDUCTIONS = new Map<FxArgument, "sum" | "min" | "max" | "prod">([["sum", "sum"], ["avg", "sum"], ["min", "min"], ["max", "max"], ["product", "prod"], ["prod", "prod"]]); // prettier-ignore

export class Compounds extends Making {
  constructor(
    protected readonly fx: FxGraph,
    protected readonly effects: Effects,
  ) {
    super();
  }

  /** Whether memory is now as it was when a node was carried out, so that what it read can be read again. */
  protected isAsAt(node: CoreNode): boolean {
    return this.effects.epochs.get(node.fx) === this.effects.epochs.get(this.current.name);
  }

  /** A product of two tensors of one dtype. */
  protected product(a: string, b: string, shape: readonly Extent[], dtype: string): string {
    if ([a, b].some((x) => this.of(x).shape.length === 0)) throw new UsageError(`node '${this.current.name}' multiplies a tensor without dimensions as a matrix`, "dump the graph with torch's own shapes"); // prettier-ignore
    const [x, y] = [this.of(a).shape, this.of(b).shape];
    if (x.length === 1 || y.length === 1) {
      // A vector is a matrix of one row on the left, and of one column on the right; the product is without them.
      const rows = x.length === 1 ? shape.toSpliced(y.length === 1 ? shape.length : -1, 0, 1) : shape;
      const whole = y.length === 1 ? [...rows, 1] : rows;
      if (whole.length !== Math.max(x.length, y.length, 2)) throw new UsageError(`node '${this.current.name}' says that ${showShape(x)} times ${showShape(y)} has the shape ${showShape(shape)}`, "dump the graph with torch's own shapes"); // prettier-ignore
      const left = x.length === 1 ? this.reshape(a, [1, ...x]) : a;
      const right = y.length === 1 ? this.reshape(b, [...y, 1]) : b;
      return this.reshape(this.product(left, right, whole, dtype), shape);
    }
    this.compareFactors(a, b, shape);
    if (this.of(a).dtype !== this.of(b).dtype)
      throw new Unknown(`it multiplies ${this.of(a).dtype} by ${this.of(b).dtype}`);
    const product = this.make("matmul", [this.wrapped(a), this.wrapped(b)], shape, this.of(a).dtype);
    return this.cast(product, dtype) as string;
  }

  /** @throws UsageError for matrices that do not fit together, and for another result than theirs */
  private compareFactors(a: string, b: string, shape: readonly Extent[]): void {
    const [x, y] = [this.of(a).shape, this.of(b).shape];
    if ([x, y, shape].some(({ length }) => length < 2)) return;
    const [rows, depth] = x.slice(-2) as [Extent, Extent];
    const [same, columns] = y.slice(-2) as [Extent, Extent];
    const help = "dump the graph with torch's own shapes";
    const name = `node '${this.current.name}'`;
    if (isOther(depth, same)) throw new UsageError(`${name} multiplies ${showShape(x)} by ${showShape(y)}: ${showExtent(depth)} columns meet ${showExtent(same)} rows`, help); // prettier-ignore
    if (isOther(shape.at(-2)!, rows) || isOther(shape.at(-1)!, columns)) throw new UsageError(`${name} says that ${showShape(x)} times ${showShape(y)} has the shape ${showShape(shape)}; it has ${showExtent(rows)} rows of ${showExtent(columns)}`, help); // prettier-ignore
  }

  /**
   * `_scaled_mm(a, b, scale_a, scale_b, bias, scale_result, out_dtype)`. Tensor cores take 8-bit floats of one dtype where the depth runs
   * along the rows of both, as torch has b. Others are multiplied in bf16, in which their products are exact, rather than one by one.
   */
  protected scaled({ args = [], shape = [], dtype: written }: FxNode): string {
    const dtype = dtypeOf(written);
    if (args[5] != null) throw new Unknown("collc has no _scaled_mm with scale_result");
    const [a, b] = [this.tensor(args[0]), this.tensor(args[1])];
    this.compareFactors(a, b, shape);
    const isTurned = (x: string): boolean => this.of(x).op === "permute";
    const inside = this.of(a).dtype === this.of(b).dtype && isTurned(b) && !isTurned(a) ? this.of(a).dtype : "bf16";
    const factors = [a, b].map((x) => this.cast(x, inside));
    let value: string = this.cast(this.make("matmul", factors, shape, inside), "f32") as string;
    for (const i of [2, 3]) {
      let scale = this.tensor(args[i]);
      if (this.of(scale).shape.length < 2 && this.of(scale).shape.every((n) => n === 1))
        scale = this.reshape(scale, [1, 1]);
      const isOneOrAll = this.of(scale).shape.every((n, d) => n === 1 || sameExtent(n, shape[d]!));
      if (this.of(scale).shape.length !== 2 || !isOneOrAll) throw new Unknown("collc has scales by tensor and by row"); // prettier-ignore
      value = this.pointwise("mul", [value, scale], "f32");
    }
    if (args[4] != null) value = this.pointwise("add", [value, this.tensor(args[4])], "f32");
    return this.cast(value, dtype) as string;
  }

  /** GELU by its approximation with tanh. */
  protected geluTanh(x: string, dtype: string): string {
    const wide = this.cast(x, "f32");
    const cube = this.pointwise("mul", [this.pointwise("mul", [wide, wide], "f32"), wide], "f32");
    const inner = this.pointwise("mul", [this.pointwise("add", [wide, this.pointwise("mul", [cube, 0.044715], "f32")], "f32"), Math.sqrt(2 / Math.PI)], "f32"); // prettier-ignore
    const half = this.pointwise(
      "mul",
      [this.pointwise("add", [this.pointwise("tanh", [inner], "f32"), 1], "f32"), 0.5],
      "f32",
    );
    return this.cast(this.pointwise("mul", [wide, half], "f32"), dtype) as string;
  }

  /** Bytes under another name. Around a conversion that only moves, it is a detour for the sake of libraries without the dtype. */
  protected viewAs(x: string, dtype: string): string {
    const node = this.of(x);
    if (node.dtype === dtype) return x;
    if (isDType(dtype) && isDType(node.dtype) && DTYPES[dtype].bytes !== DTYPES[node.dtype].bytes) throw new Unknown(`it sees ${node.dtype} as ${dtype}, which has elements of another size`); // prettier-ignore
    const moved = this.undone(x, dtype);
    if (moved !== null) return moved;
    return this.make("view_as", [x], node.shape, dtype);
  }

  /** The same movement of what was there before a `view_as` from the dtype; null where something else is between. */
  private undone(x: string, dtype: string): string | null {
    const node = this.of(x);
    const [input] = node.inputs;
    if (node.op === "view_as") return typeof input === "string" && this.of(input).dtype === dtype ? input : null;
    if (!(VIEW_OPS.has(node.op) || node.op === "concat" || node.op === "all_gather")) return null;
    const inputs = node.inputs.map((i) => this.undone(i as string, dtype));
    if (inputs.includes(null)) return null;
    const { fx, id, ...rest } = node;
    // Conversions are few, and each is carried out once.
    const known = [...this.nodes.values()].find(
      (n) => n.op === node.op && n.op === "all_gather" && n.inputs[0] === inputs[0] && n.dim === node.dim,
    );
    if (known !== undefined) return known.id;
    const fresh = `${id}__${dtype}`;
    this.nodes.set(fresh, { ...rest, id: fresh, fx, inputs: inputs as string[], dtype });
    return fresh;
  }

  /** Parts side by side. Those of a gathered tensor, in order, are the tensor gathered along that dimension. */
  protected joined(parts: readonly string[], dim: number, shape: readonly Extent[], dtype: string): string {
    const sources = parts.map((p) => this.of(p));
    const [first] = sources as [CoreNode];
    const gathered = typeof first.inputs[0] === "string" ? this.nodes.get(first.inputs[0]) : undefined;
    if (
      gathered?.op === "all_gather" &&
      this.isAsAt(gathered) &&
      gathered.dim === 0 &&
      sources.length === this.fx.groups[gathered.group!]
    ) {
      const each = extent("div", gathered.shape[0]!, sources.length);
      const inOrder = sources.every(
        (s, i) => s.op === "slice" && s.inputs[0] === gathered.id && s.ranges!.every(([from, to], d) => (d === 0 ? sameExtent(from, extent("mul", i, each)) && sameExtent(to, extent("mul", i + 1, each)) : from === 0 && sameExtent(to, gathered.shape[d]!))), // prettier-ignore
      );
      if (inOrder && dim !== 0)
        return this.make("all_gather", gathered.inputs, shape, dtype, {
          dim,
          group: gathered.group!,
          absorbs: [gathered.fx],
        });
    }
    if (parts.length === 1) return parts[0]!;
    return this.make("concat", parts, shape, dtype, { dim });
  }

  /** A conversion, or the wait for one; of a list of tensors, a conversion of each. */
  protected collective(node: FxNode, name: string): string | readonly string[] {
    const [given] = node.args ?? [];
    const op = COLLECTIVES[name];
    if (op === undefined) return this.tensor(given);
    if (!/_coalesced_?$/.test(name)) return this.conversion(node, op, this.tensor(given));
    if (!Array.isArray(given) || given.length === 0) throw new UsageError(`node '${node.name}' is a conversion of no list of tensors`, "its first argument is a list of nodes"); // prettier-ignore
    return given.map((x: FxArgument) => this.conversion(node, op, this.tensor(x)));
  }

  private conversion(node: FxNode, op: string, given: string): string {
    const { shape = [] } = node;
    const {
      group_name: group,
      group_size: size,
      reduce_op: written = "sum",
      src = 0,
      out,
      output_split_sizes: received,
      input_split_sizes: sent,
    } = named(node);
    if (typeof group !== "string" || !Object.hasOwn(this.fx.groups, group))
      throw new Unknown(`its process group ${JSON.stringify(group)} is not among the graph's groups (${Object.keys(this.fx.groups).join(", ")})`); // prettier-ignore
    const ranks = this.fx.groups[group]!;
    if (typeof size === "number" && size !== ranks) throw new UsageError(`node '${node.name}' is among ${size} ranks of process group ${group}, which has ${ranks}`, "list under groups how many ranks each has"); // prettier-ignore
    const { dtype, shape: from } = this.of(given);
    const into = out === undefined ? {} : { into: this.tensor(out) };
    const reduce = REDUCTIONS.get(written);
    if (reduce === undefined) throw new Unknown(`collc has no reduction ${JSON.stringify(written)}`);
    if (written === "avg" && isDType(dtype) && DTYPES[dtype].kind !== "float") throw new Unknown(`collc averages floats, and this holds ${dtype}`); // prettier-ignore
    const x = reduce === "min" || reduce === "max" ? this.wrapped(given) : given;
    const each = (length: Extent): Extent => tidy(extent("div", length, ranks));
    const requireFirst = (): Extent => {
      const [length] = from;
      if (length === undefined)
        throw new UsageError(
          `node '${this.current.name}' is ${op} of a tensor without dimensions`,
          "dump the graph with torch's own shapes",
        );
      return length;
    };
    const averaged = (value: string): string =>
      written === "avg" ? this.pointwise("mul", [value, 1 / ranks], dtype) : value;
    switch (op) {
      case "all_gather":
        return this.make(op, [x], from.with(0, extent("mul", requireFirst(), ranks)), dtype, {
          dim: 0,
          group,
          ...into,
        });
      case "all_reduce":
        return averaged(this.make(op, [x], from, dtype, { group, reduce }));
      case "reduce_scatter": {
        // Parts along another dimension, laid one after the other along the first for those who cut that alone.
        const whole = this.of(x);
        const parts =
          whole.op === "concat" && this.isAsAt(whole) && whole.dim === 0
            ? whole.inputs.map((i) => this.of(i as string))
            : [];
        const source = parts[0]?.op === "slice" ? this.of(parts[0].inputs[0] as string) : null;
        const dim =
          source === null
            ? -1
            : parts[0]!.ranges!.findIndex((_, d) => !sameExtent(parts[0]!.shape[d]!, source.shape[d]!));
        const inOrder = source !== null && dim > 0 && parts.length === ranks && parts.every((p, i) => p.op === "slice" && p.inputs[0] === source.id && sameExtent(p.ranges![dim]![0], extent("mul", i, each(source.shape[dim]!))) && sameExtent(extent("mul", p.shape[dim]!, ranks), source.shape[dim]!)); // prettier-ignore
        if (inOrder) return averaged(this.make(op, [source.id], source.shape.with(dim, each(source.shape[dim]!)), dtype, { dim, group, reduce, ...into, absorbs: [whole.fx] })); // prettier-ignore
        return averaged(
          this.make(op, [x], from.with(0, each(requireFirst())), dtype, { dim: 0, group, reduce, ...into }),
        );
      }
      case "all_to_all": {
        const to = shape.length === 0 ? from : shape;
        this.requireEven("sends", sent, requireFirst(), ranks);
        this.requireEven("receives", received, to[0]!, ranks);
        if (!sameExtent(requireFirst(), to[0]!))
          throw new Unknown(`it sends ${showExtent(requireFirst())} rows and receives ${showExtent(to[0]!)}; collc has all_to_all of equal parts`); // prettier-ignore
        return this.make(op, [x], to, dtype, { dim: 0, group });
      }
      default:
        return this.make(op, [x], from, dtype, { group, from: Number(src) });
    }
  }

  /**
   * Sees to the parts of an all_to_all: as many as there are ranks, all as long, and no list of them says so, too.
   *
   * @throws Unknown where they are not, or where only the launch knows; UsageError where they are not the parts of a tensor that long
   */
  private requireEven(verb: string, sizes: FxArgument | undefined, rows: Extent, ranks: number): void {
    if (!Array.isArray(sizes) || sizes.length === 0) return;
    const wrong = (what: string): UsageError => new UsageError(`node '${this.current.name}' ${verb} ${what}`, "give the rows of each rank's part, or none where all are as many"); // prettier-ignore
    if (sizes.length !== ranks) throw wrong(`${sizes.length} parts among ${ranks} ranks`);
    const known = sizes.flatMap((n: FxArgument) => this.length(n) ?? []);
    if (known.length < ranks) throw new Unknown("how long its parts are, only the launch knows");
    const listed = known.map(showExtent).join(", ");
    if (known.some((n) => !sameExtent(n, known[0]!)))
      throw new Unknown(`it ${verb} parts of ${listed} rows; collc has all_to_all of equal parts`);
    const all = known.reduce((sum, n) => tidy(extent("add", sum, n)));
    if (typeof all === "number" && typeof rows === "number" && all !== rows)
      throw wrong(`parts of ${listed} rows, of a tensor that has ${rows}`);
    if (!sameExtent(all, rows)) throw new Unknown(`whether parts of ${listed} rows are equal ones of ${showExtent(rows)}, only the launch knows`); // prettier-ignore
  }
}

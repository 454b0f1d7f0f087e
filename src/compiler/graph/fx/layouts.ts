/**
 * What ranks do one by one, as one graph over all of them. FX says what each rank computes on what it holds; a graph says what
 * happens to whole tensors and how they lie over the ranks. So each value gets a layout in which the region's conversions mean what
 * they do: what is reduced must be `partial`, what is gathered `sharded`, and an input is declared as whatever is asked of
 * it, for what a rank holds can be read as a slice, a summand, or a tensor of its own. `stacking.ts` has what is computed of
 * summands and is not linear.
 */
import { isDType } from "../../types/dtype.js";
import { type Graph, GRAPH_FORMAT, GRAPH_OPS, type GraphNode, type GraphOperand } from "../graph.js";
import { showExtent } from "../../check/extents.js";
import { type Extent, extent, extentNames, productOf, sameExtent } from "../../types/extent.js";
import { type Core, type CoreNode, VIEW_OPS } from "./core.js";
import { ownShape } from "./emitting.js";
import { CONVERTS } from "./fx.js";
import { rowsApart } from "./merged-rows.js";
import { described, dimOf, isPartial, isSharded, type Mode, type Realized, sharded, Unfusable, type Wanted, wantedAs } from "./modes.js"; // prettier-ignore
import { tidy } from "./sizes.js";
import { Stacking } from "./stacking.js";

/** A region as a graph, and which core values its inputs and outputs are. */
export interface Realization {
  readonly graph: Graph;
  readonly inputs: ReadonlyMap<string, string>;
  readonly outputs: ReadonlyMap<string, string>;
}

const LINEAR = new Set(["add", "sub", "neg", "mul", "div", "cast"]);

/**
 * @param isInside whether a core node is the region's; views of what is outside are, too
 * @param results core values that others use
 * @param replicated core values that are the same on every rank of the group that the program is of
 * @throws Unfusable
 */
export function realize(
  name: string,
  core: Core,
  ranks: number,
  isInside: (node: CoreNode) => boolean,
  results: readonly string[],
  replicated: ReadonlySet<string>,
): Realization {
  return new Realizer(core, ranks, isInside, replicated).graph(name, results);
}

class Realizer extends Stacking {
  private results: ReadonlySet<string> = new Set();

  graph(name: string, results: readonly string[]): Realization {
    this.results = new Set(results);
    results.forEach((value) => {
      const { dtype, fx } = this.at(value);
      if (dtype === "") throw new Unfusable(this.core.unknown.get(fx) ?? `'${fx}' is no tensor`);
      if (!isDType(dtype)) throw new Unfusable(`collc stores no tensors of ${dtype}, as '${fx}' is`);
      const { mode } = this.value(value, "any");
      if (isPartial(mode)) throw new Unfusable(`'${this.at(value).fx}' is used outside, where each rank must have its own summand of it`); // prettier-ignore
    });
    const made = results.map((of) => {
      const { id, mode } = this.value(of, "any");
      return { of, value: (mode === "local" ? this.madeFor(of) : null)?.id ?? id };
    });
    const ids = new Set<GraphOperand>([...this.nodes.keys(), ...this.inputs.keys()]);
    // An output with an input's id would be that input, changed in place.
    const outputs = made.map(({ of, value }) => {
      let id = `out_${of}`;
      for (let i = 2; ids.has(id); i++) id = `out_${of}__as${i}`;
      ids.add(id);
      return { id, value };
    });
    // What was tried in another layout, and is not used, goes.
    const used = new Set<GraphOperand>(outputs.map((o) => o.value));
    const nodes = [...this.nodes.values()].toReversed().filter((n) => {
      if (used.has(n.id)) n.inputs.forEach((x) => used.add(x));
      return used.has(n.id);
    });
    const inputs = [...this.inputs.values()].filter((t) => used.has(t.id));
    const lengths = [...inputs.flatMap((t) => t.shape), ...nodes.flatMap((n) => [...(n.shape ?? []), ...(n.ranges ?? []).flatMap(({ from = 0, to = 0 }) => [from, to])])]; // prettier-ignore
    const unsayable = lengths.find((e) => !isSayable(e));
    if (unsayable !== undefined) throw new Unfusable(`a length is ${showExtent(unsayable)}, and lengths of programs are sums, products and quotients`); // prettier-ignore
    const named = new Set(inputs.flatMap((t) => t.shape.flatMap((e) => [...extentNames(e)])));
    const unnamed = lengths.flatMap((e) => [...extentNames(e)]).find((name) => !named.has(name));
    if (unnamed !== undefined) throw new Unfusable(`it depends on ${unnamed}, which is no length of what it is given`);
    return {
      graph: {
        format: GRAPH_FORMAT,
        name,
        inputs: inputs.map(({ value: _, mode: __, ...t }) => t),
        nodes: nodes.toReversed(),
        outputs,
      },
      inputs: new Map(inputs.map((t) => [t.id, t.value])),
      outputs: new Map(outputs.map(({ id }, i) => [id, results[i]!])),
    };
  }

  /** A value in a layout. What is `replicated` serves as `local` and `stacked`, too. */
  protected value(id: string, want: Wanted): Realized {
    const key = `${id} ${want}`;
    const free = this.known.get(`${id} any`);
    const known = this.known.get(key) ?? (free?.mode === want ? free : undefined);
    if (known !== undefined) return known;
    const node = this.at(id);
    // A conversion comes out in one layout.
    const isFixed = CONVERTS.has(node.op) && this.isInside(node) && want !== "any" && want !== "stacked";
    const made = isFixed ? this.value(id, "any") : this.make(node, want);
    const fits =
      want === "any" || made.mode === want || ((want === "local" || want === "stacked") && made.mode === "replicated");
    if (!fits) throw new Unfusable(`'${node.fx}' comes out ${described(made.mode)}, and ${wantedAs(want)} is needed`);
    this.known.set(key, made);
    this.known.set(`${id} ${made.mode}`, made);
    return made;
  }

  /** Each rank's own tensor as a conversion has it, for which it is not made once more; null where none has. */
  private madeFor(id: string): Realized | null {
    const modes: Mode[] = ["stacked", ...this.at(id).shape.map((_, d) => sharded(d))];
    return modes.map((mode) => this.known.get(`${id} ${mode}`)).find((made) => made !== undefined) ?? null;
  }

  /** The value in a layout, or null where it has none such. */
  private tried(id: string, want: Wanted): Realized | null {
    try {
      return this.value(id, want);
    } catch (error) {
      if (error instanceof Unfusable) return null;
      throw error;
    }
  }

  protected make(node: CoreNode, want: Wanted): Realized {
    if (want === "stacked") return this.stacked(node);
    if (VIEW_OPS.has(node.op)) {
      try {
        return this.view(node, want);
      } catch (error) {
        // A view of what others make can be made by them.
        if (!(error instanceof Unfusable) || this.isMadeInside(node) || !this.isValue(node)) throw error;
        return this.leaf(node, want);
      }
    }
    if (node.op === "number") return this.number(node, want);
    if (!this.isInside(node)) return this.leaf(node, want);
    if (node.op === "iota") return this.indices(node, want);
    if (CONVERTS.has(node.op)) return this.conversion(node);
    if (node.op === "matmul") return this.product(node, want);
    if (node.op === "concat") return this.joined(node, want);
    if (node.dim !== undefined) return this.fold(node, want);
    if (!Object.hasOwn(GRAPH_OPS, node.op)) throw new Unfusable(this.core.unknown.get(node.fx) ?? `collc has no ${node.op}`); // prettier-ignore
    return this.pointwise(node, want);
  }

  // -- conversions ---------------------------------------------------------------------------------

  private conversion(node: CoreNode): Realized {
    const { ranks } = this;
    const x = node.inputs[0] as string;
    const of = (mode: Mode): GraphOperand => this.value(x, mode).id;
    switch (node.op) {
      case "all_gather":
        return this.emit(node, "replicated", node.op, [of(sharded(node.dim!))]);
      case "all_reduce":
        return this.emit(node, "replicated", node.op, [this.summands(x, node.reduce!)]);
      case "reduce_scatter":
        return this.emit(node, sharded(node.dim!), node.op, [this.summands(this.cutInside(x, node.dim!), node.reduce!)], { dim: node.dim! }); // prettier-ignore
      case "broadcast":
        return this.emit(node, "replicated", node.op, [of(`on(${node.from!})`)]);
      default: {
        // Each rank's rows, as pieces for each rank: piece j of rank r becomes piece r of rank j.
        const [rows, ...rest] = node.shape as [Extent, ...Extent[]];
        if (typeof rows === "number" && rows % ranks !== 0)
          throw new Unfusable(`the ${rows} rows of '${node.fx}' do not divide by ${ranks} ranks`);
        const pieces = this.emit(node, sharded(0), "reshape", [of(sharded(0))], { shape: [ranks, ranks, tidy(extent("div", rows, ranks)), ...rest] }); // prettier-ignore
        const moved = this.emit(node, sharded(1), "all_to_all", [pieces.id], { dim: 1 });
        const order = [1, 0, 2, ...rest.map((_, i) => i + 3)];
        const turned = this.emit(node, sharded(0), "permute", [moved.id], { order });
        return this.emit(node, sharded(0), "reshape", [turned.id], {
          shape: [tidy(extent("mul", ranks, rows)), ...rest],
        });
      }
    }
  }

  /** What is cut along a dimension that is not the outermost: where that is of rows which were merged, the same of rows that are not. */
  private cutInside(id: string, dim: number): string {
    const { op, inputs, shape } = this.at(id);
    if (op !== "reshape" || shape.slice(0, dim).every((n) => n === 1)) return id;
    const rows = rowsApart(inputs[0] as string, shape, {
      at: (x) => this.at(x),
      isInside: this.isInside,
      isOfOne: (x) => readersIn(this.core).get(x) === 1 && !this.results.has(x),
      add: (made) => this.others.set(made.id, made),
    });
    return rows ?? id;
  }

  // -- products ------------------------------------------------------------------------------------

  private product(node: CoreNode, want: Wanted): Realized {
    const [a, b] = node.inputs as [string, string];
    const [rankA, rankB] = [this.at(a).shape.length, this.at(b).shape.length];
    const rank = node.shape.length;
    const make = (mode: Mode, left: Wanted, right: Wanted): Realized => this.emit(node, mode, "matmul", [this.value(a, left).id, this.value(b, right).id]); // prettier-ignore
    /** A batch's dimension of an operand: cut like the product's, or whole where it is one for all. */
    const batch = (id: string, own: number, dim: number): Mode => {
      const d = dim - rank + own;
      return d < 0 || this.at(id).shape[d] === 1 ? "replicated" : sharded(d);
    };
    if (want === "any") {
      const left = this.value(a, "any").mode;
      if (left === "replicated" || left === "local") {
        const right = this.value(b, "any").mode;
        if (right === "replicated" || right === "local") return make(left === "local" || right === "local" ? "local" : "replicated", left, right); // prettier-ignore
        if (left === "replicated" && isSharded(right) && dimOf(right) === rankB - 1) return make(sharded(rank - 1), left, right); // prettier-ignore
        throw new Unfusable(`'${this.at(b).fx}' lies ${described(right)}, which the other factor of '${node.fx}' does not go with`); // prettier-ignore
      }
      if (isPartial(left)) return make(left, left, "replicated");
      if (!isSharded(left)) return make(left, left, "replicated");
      const d = dimOf(left);
      if (d === rankA - 1) return make("partial(sum)", left, sharded(rankB - 2));
      if (d === rankA - 2) return make(sharded(rank - 2), left, "replicated");
      const dim = d + rank - rankA;
      return make(sharded(dim), left, batch(b, rankB, dim));
    }
    if (want === "partial(sum)") return make(want, sharded(rankA - 1), sharded(rankB - 2));
    if (isPartial(want)) throw new Unfusable(`'${node.fx}' is a sum, and ${want} is needed`);
    if (isSharded(want)) {
      const d = dimOf(want);
      if (d === rank - 1) return make(want, "replicated", sharded(rankB - 1));
      if (d === rank - 2) return make(want, sharded(rankA - 2), "replicated");
      return make(want, batch(a, rankA, d), batch(b, rankB, d));
    }
    return make(want, want, want);
  }

  // -- elementwise ---------------------------------------------------------------------------------

  private pointwise(node: CoreNode, want: Wanted): Realized {
    const { op, inputs, shape } = node;
    const tensors = inputs.filter((x): x is string => typeof x === "string");
    const extra: Partial<GraphNode> = op === "cast" ? { dtype: node.dtype } : {};
    const emit = (mode: Mode, of: (id: string, i: number) => Wanted): Realized =>
      this.emit(node, mode, op, inputs.map((x, i) => (typeof x === "number" ? x : this.value(x, of(x, i)).id)), extra); // prettier-ignore
    if (want === "any") {
      const modes = tensors.map((x) => this.value(x, "any").mode);
      const fixed = modes.findIndex((m) => m !== "replicated" && m !== "local");
      if (fixed < 0 && modes.includes("local")) {
        // What is cut for another use, too, is not computed once more, where that serves here.
        const cut = shape.findIndex((_, d) => tensors.some((x) => this.at(x).shape.length === shape.length && this.isInside(this.at(x)) && this.known.has(`${x} ${sharded(d)}`))); // prettier-ignore
        const again = cut < 0 ? null : this.tried(node.id, sharded(cut));
        if (again !== null) return again;
      }
      if (fixed < 0) return emit(modes.includes("local") ? "local" : "replicated", (x) => this.value(x, "any").mode);
      const mode = modes[fixed]!;
      const dim = isSharded(mode) ? dimOf(mode) + shape.length - this.at(tensors[fixed]!).shape.length : 0;
      return this.value(node.id, isSharded(mode) ? sharded(dim) : mode);
    }
    if (isSharded(want)) {
      // What is repeated along the dimension is the same on all ranks.
      return emit(want, (x) => {
        const own = this.at(x).shape;
        const d = dimOf(want) - shape.length + own.length;
        return d < 0 || (own[d] === 1 && shape[dimOf(want)] !== 1) ? "replicated" : sharded(d);
      });
    }
    if (isPartial(want)) {
      if (!LINEAR.has(op) || want !== "partial(sum)") throw new Unfusable(`'${node.fx}' (${op}) acts on summands before they are reduced, and is not linear`); // prettier-ignore
      if (op === "mul" || op === "div") {
        const first = tensors.length === 1 && typeof inputs[0] === "string";
        if (tensors.length === 1 && (first || op === "mul")) return emit(want, () => want);
        return emit(want, (_, i) => (i === 0 ? want : "replicated"));
      }
      if (tensors.length < inputs.length)
        throw new Unfusable(`'${node.fx}' adds a number to summands, once for each rank`);
      return emit(want, () => want);
    }
    if (want !== "local") return emit(want, () => want);
    const made = emit(want, (x) => (this.value(x, "local").mode === "replicated" ? "replicated" : "local"));
    const modes = tensors.map((x) => this.value(x, "local").mode);
    return { ...made, mode: modes.includes("local") ? "local" : "replicated" };
  }

  private fold(node: CoreNode, want: Wanted): Realized {
    const dim = node.dim!;
    const source = node.inputs[0] as string;
    const summand: Mode = `partial(${node.op})`;
    if (want === summand) {
      // Each rank's part of the dimension gives its summand; a sum of summands is one, too, and goes first.
      const ofSummands = node.op === "sum" ? this.tried(source, summand) : null;
      const { id } = ofSummands ?? this.value(source, sharded(dim));
      return this.emit(node, summand, node.op, [id], { dim });
    }
    const x = this.value(source, want);
    if (isSharded(x.mode) && dimOf(x.mode) === dim) throw new Unfusable(`'${node.fx}' reduces the dimension that is cut among the ranks, each its own part`); // prettier-ignore
    if (isPartial(x.mode) && node.op !== "sum") throw new Unfusable(`'${node.fx}' (${node.op}) acts on summands before they are reduced`); // prettier-ignore
    return this.emit(node, x.mode, node.op, [x.id], { dim });
  }

  private joined(node: CoreNode, want: Wanted): Realized {
    const parts = node.inputs as string[];
    const extra = { dim: node.dim! };
    const at = (mode: Mode): Realized => {
      if (isSharded(mode) && dimOf(mode) === node.dim) throw new Unfusable(`'${node.fx}' joins tensors along the dimension that is cut among the ranks`); // prettier-ignore
      return this.emit(node, mode, "concat", parts.map((x) => this.value(x, mode).id), extra); // prettier-ignore
    };
    if (want !== "any") return at(want);
    const modes = parts.map((x) => this.value(x, "any").mode);
    return at(
      modes.find((m) => m !== "replicated" && m !== "local") ?? (modes.includes("local") ? "local" : "replicated"),
    );
  }

  // -- views ---------------------------------------------------------------------------------------

  private view(node: CoreNode, want: Wanted): Realized {
    const x = node.inputs[0] as string;
    const from = this.at(x).shape;
    switch (node.op) {
      case "permute": {
        const order = node.order!;
        const source = want !== "any" && isSharded(want) ? sharded(order[dimOf(want)]!) : want;
        const { id, mode } = this.value(x, source);
        return this.emit(node, isSharded(mode) ? sharded(order.indexOf(dimOf(mode))) : mode, "permute", [id], {
          order,
        });
      }
      case "repeat": {
        // A rank's own indices stay beside each other, so what is cut stays cut.
        const { id, mode } = this.value(x, want);
        return this.emit(node, mode, "repeat", [id], { dim: node.dim!, times: node.times! });
      }
      case "slice": {
        const { id, mode } = this.value(x, want);
        const cut = isSharded(mode) ? dimOf(mode) : -1;
        const ranges = node.ranges!.map(([a, b], d) => {
          const isWhole = a === 0 && sameExtent(b, from[d]!);
          if (d === cut && !isWhole) throw new Unfusable(`'${node.fx}' takes a part of the dimension that is cut among the ranks`); // prettier-ignore
          return isWhole ? {} : { from: a, to: b };
        });
        return this.emit(node, mode, "slice", [id], { ranges });
      }
      default:
        return this.reshaped(node, x, from, want);
    }
  }

  private reshaped(node: CoreNode, x: string, from: readonly Extent[], want: Wanted): Realized {
    const to = node.shape;
    const before = (shape: readonly Extent[], d: number): Extent => productOf(shape.slice(0, d));
    /** Dimensions of a shape that begin where another's does, those that are longer than 1 first. */
    const alike = (shape: readonly Extent[], elements: Extent): number[] =>
      [...shape.keys()].filter((d) => sameExtent(before(shape, d), elements)).sort((p, q) => Number(shape[p] === 1) - Number(shape[q] === 1)); // prettier-ignore
    const emit = (id: GraphOperand, mode: Mode): Realized => this.emit(node, mode, "reshape", [id], { shape: this.whole(to, mode) }); // prettier-ignore
    if (want === "any" || !isSharded(want)) {
      const { id, mode } = this.value(x, want);
      if (!isSharded(mode)) return emit(id, mode);
      const [dim] = alike(to, before(from, dimOf(mode)));
      if (dim === undefined) throw new Unfusable(`'${node.fx}' joins the dimension that is cut among the ranks to one before it`); // prettier-ignore
      return emit(id, sharded(dim));
    }
    let reason = new Unfusable(`'${node.fx}' joins or splits the dimension that is cut among the ranks`);
    for (const d of alike(ownShape(from), before(to, dimOf(want))))
      try {
        return emit(this.value(x, sharded(d)).id, want);
      } catch (error) {
        if (!(error instanceof Unfusable)) throw error;
        reason = error;
      }
    throw reason;
  }
}

/** By core, of each value, how many nodes read it. */
const readers = new WeakMap<Core, ReadonlyMap<string, number>>();

function readersIn(core: Core): ReadonlyMap<string, number> {
  const known = readers.get(core);
  if (known !== undefined) return known;
  const found = new Map<string, number>();
  for (const { inputs } of core.nodes.values())
    for (const x of new Set(inputs)) if (typeof x === "string") found.set(x, (found.get(x) ?? 0) + 1);
  readers.set(core, found);
  return found;
}

/** Whether the language has it. */
function isSayable(e: Extent): boolean {
  return typeof e !== "object" || (e.op !== "min" && e.op !== "max" && isSayable(e.a) && isSayable(e.b));
}

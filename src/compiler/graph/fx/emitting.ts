/** Inputs and nodes of a graph that a region becomes: what each is called, of which shape and in which layout. */
import { isDType } from "../../types/dtype.js";
import { type Extent, extent } from "../../types/extent.js";
import type { GraphNode, GraphOperand, GraphTensor } from "../graph.js";
import { type Core, type CoreNode, VIEW_OPS } from "./core.js";
import { dimOf, isPartial, isSharded, layoutOf, type Mode, type Realized, Unfusable, type Wanted } from "./modes.js";
import { tidy } from "./sizes.js";

/** What a rank holds of a tensor, as graphs have it: of one without dimensions, a vector of one element. */
export const ownShape = (shape: readonly Extent[]): Extent[] => (shape.length === 0 ? [1] : [...shape]);

export class Emitting {
  protected readonly nodes = new Map<string, GraphNode>();
  protected readonly inputs = new Map<string, GraphTensor & { readonly value: string; readonly mode: Mode }>();
  protected readonly known = new Map<string, Realized>();
  /** Nodes that stand for others of the core, in another shape. */
  protected readonly others = new Map<string, CoreNode>();

  constructor(
    protected readonly core: Core,
    protected readonly ranks: number,
    protected readonly isInside: (node: CoreNode) => boolean,
    protected readonly replicated: ReadonlySet<string>,
  ) {}

  protected at(id: string): CoreNode {
    return this.others.get(id) ?? this.core.nodes.get(id)!;
  }

  /** The whole tensor's shape. */
  protected whole(shape: readonly Extent[], mode: Mode): Extent[] {
    const own = ownShape(shape);
    if (mode === "stacked") return [this.ranks, ...own];
    return isSharded(mode) ? own.with(dimOf(mode), tidy(extent("mul", this.ranks, own[dimOf(mode)]!))) : own;
  }

  protected emit(
    node: CoreNode,
    mode: Mode,
    op: string,
    inputs: readonly GraphOperand[],
    extra: Partial<GraphNode> = {},
  ): Realized {
    let id = node.id;
    for (let i = 2; this.nodes.has(id) || this.inputs.has(id); i++) id = `${node.id}__as${i}`;
    this.nodes.set(id, { id, op, inputs, ...extra });
    return { id, mode };
  }

  /** Whether it is an FX node's value, which its maker can give, and not a step on the way to one. */
  protected isValue(node: CoreNode): boolean {
    return [...this.core.values.values()].includes(node.id);
  }

  protected isMadeInside(node: CoreNode): boolean {
    if (!VIEW_OPS.has(node.op)) return this.isInside(node);
    return node.inputs.some((x) => typeof x === "string" && this.isMadeInside(this.at(x)));
  }

  protected leaf(node: CoreNode, want: Wanted): Realized {
    const same = this.replicated.has(node.id);
    const other = want === "any" ? "local" : want;
    // Where each rank's own will do, what all have is taken from nobody else.
    const mode: Mode = same && (want === "any" || want === "stacked") ? "replicated" : other;
    if (mode === "replicated" && !same) throw new Unfusable(`'${node.fx}' may differ from rank to rank, and one that all have is needed: if all have the same, say so with "replicated": true`); // prettier-ignore
    if (node.dtype === "")
      throw new Unfusable(this.core.unknown.get(node.fx) ?? `nothing says the dtype of '${node.fx}'`);
    if (!isDType(node.dtype)) throw new Unfusable(`collc has no tensors of ${node.dtype}, as '${node.fx}' is`);
    if (node.shape.includes(0)) throw new Unfusable(`'${node.fx}' has no elements`);
    const reason = this.core.unknown.get(node.fx);
    if (node.op === "placeholder" && reason !== undefined) throw new Unfusable(`of '${node.fx}': ${reason}`);
    let id = node.id;
    const shape = this.whole(node.shape, mode);
    for (let i = 2; ; i++) {
      const before = this.inputs.get(id);
      if (before === undefined && !this.nodes.has(id)) break;
      if (before?.value === node.id && before.mode === mode) return { id, mode };
      id = `${node.id}__in${i}`;
    }
    this.inputs.set(id, { id, dtype: node.dtype, shape, layout: layoutOf(mode), value: node.id, mode });
    return { id, mode };
  }

  protected number(node: CoreNode, want: Wanted): Realized {
    if (want !== "any" && isPartial(want)) throw new Unfusable(`'${node.fx}' is a number, which is no rank's own summand`); // prettier-ignore
    return { id: node.inputs[0]!, mode: want === "any" ? "replicated" : want };
  }

  /** Every rank counts from 0, so along a dimension that is cut there is no one count of the whole. */
  protected indices(node: CoreNode, want: Wanted): Realized {
    const mode = want === "any" ? "replicated" : want;
    if (isPartial(mode)) throw new Unfusable(`'${node.fx}' is the same on every rank, which is no rank's own summand`);
    if (isSharded(mode) && dimOf(mode) === node.along) throw new Unfusable(`'${node.fx}' counts from 0 on every rank, along the dimension that is cut among the ranks`); // prettier-ignore
    const shape = this.whole(node.shape, mode);
    return this.emit(node, mode, "iota", [], { shape, dim: node.along! });
  }
}

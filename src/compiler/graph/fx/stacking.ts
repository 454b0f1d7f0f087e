/**
 * What each rank computes by itself before a reduction over ranks, where that is not linear. Summands only go through what is linear; but
 * the ranks' own tensors are also the rows of one that is sharded among them, of which anything can be computed row by row, and the fold
 * over its rows is what the ranks reduce.
 */
import type { Extent } from "../../types/extent.js";
import { sameExtent } from "../../types/extent.js";
import { type GraphNode, GRAPH_OPS, type GraphOperand } from "../graph.js";
import { type CoreNode, VIEW_OPS } from "./core.js";
import { Emitting, ownShape } from "./emitting.js";
import { CONVERTS } from "./fx.js";
import { described, dimOf, isSharded, type Mode, type Realized, Unfusable, type Wanted } from "./modes.js";

export abstract class Stacking extends Emitting {
  /** A value in a layout. What is `replicated` serves as `stacked`, too. */
  protected abstract value(id: string, want: Wanted): Realized;
  /** The node's value in another layout than `stacked`. */
  protected abstract make(node: CoreNode, want: Wanted): Realized;

  /** What ranks reduce: their summands as they are, or else the fold over the rows that are their own tensors. */
  protected summands(id: string, reduce: string): GraphOperand {
    const mode: Mode = `partial(${reduce})`;
    try {
      return this.value(id, mode).id;
    } catch (error) {
      if (!(error instanceof Unfusable)) throw error;
    }
    const node = this.at(id);
    const rows = this.value(id, "stacked");
    if (rows.mode !== "stacked") throw new Unfusable(`'${node.fx}' is the same on every rank, which is no rank's own summand`); // prettier-ignore
    const folded = this.emit(node, mode, reduce, [rows.id], { dim: 0 });
    return this.emit(node, mode, "reshape", [folded.id], { shape: ownShape(node.shape) }).id;
  }

  protected stacked(node: CoreNode): Realized {
    const same = this.known.get(`${node.id} replicated`);
    if (same !== undefined) return same;
    if (VIEW_OPS.has(node.op)) {
      try {
        return this.stackedView(node);
      } catch (error) {
        // A view of what others make can be made by them.
        if (!(error instanceof Unfusable) || this.isMadeInside(node) || !this.isValue(node)) throw error;
        return this.leaf(node, "stacked");
      }
    }
    if (node.op === "number") return this.number(node, "replicated");
    if (!this.isInside(node)) return this.leaf(node, "stacked");
    if (node.op === "iota") return this.indices(node, "replicated");
    if (CONVERTS.has(node.op)) return this.rowsOf(node);
    if (node.op !== "matmul" && !Object.hasOwn(GRAPH_OPS, node.op)) return this.make(node, "local");
    const dim = node.dim === undefined ? {} : { dim: node.dim + 1 };
    const extra: Partial<GraphNode> = node.op === "cast" ? { dtype: node.dtype } : dim;
    return this.rowByRow(node, node.op, extra);
  }

  /** An operation on rows, each operand with as many dimensions as the result; of what all ranks have, the operation itself. */
  private rowByRow(node: CoreNode, op: string, extra: Partial<GraphNode>): Realized {
    const rows = node.inputs.map((x): Realized => (typeof x === "number" ? { id: x, mode: "replicated" } : this.value(x, "stacked"))); // prettier-ignore
    if (rows.every((r) => r.mode === "replicated")) return this.make(node, "replicated");
    if (op === "concat" && rows.some((r) => r.mode === "replicated")) throw new Unfusable(`'${node.fx}' joins what all ranks have to each rank's own tensor`); // prettier-ignore
    const count = ownShape(node.shape).length;
    const inputs = rows.map((row, i) => {
      const x = node.inputs[i]!;
      return typeof x === "number" || row.mode !== "stacked" ? row.id : this.withDims(row, this.at(x), count);
    });
    return this.emit(node, "stacked", op, inputs, extra);
  }

  /** Rows with dimensions of one element in front, as many as an operation's result has: dimensions are matched from the last one. */
  private withDims(row: Realized, node: CoreNode, count: number): GraphOperand {
    const own = ownShape(node.shape);
    if (own.length >= count) return row.id;
    const ones = Array.from({ length: count - own.length }, () => 1);
    return this.emit(node, "stacked", "reshape", [row.id], { shape: [this.ranks, ...ones, ...own] }).id;
  }

  /** What a conversion leaves on each rank, as rows. */
  private rowsOf(node: CoreNode): Realized {
    const made = this.value(node.id, "any");
    if (made.mode === "replicated") return made;
    if (!isSharded(made.mode)) throw new Unfusable(`'${node.fx}' comes out ${described(made.mode)}, and each rank's own is needed`); // prettier-ignore
    const dim = dimOf(made.mode);
    const own = ownShape(node.shape);
    const apart = this.emit(node, made.mode, "reshape", [made.id], { shape: [...own.slice(0, dim), this.ranks, ...own.slice(dim)] }); // prettier-ignore
    if (dim === 0) return { ...apart, mode: "stacked" };
    const order = [dim, ...Array.from({ length: own.length }, (_, d) => (d < dim ? d : d + 1))];
    return this.emit(node, "stacked", "permute", [apart.id], { order });
  }

  private stackedView(node: CoreNode): Realized {
    const x = node.inputs[0] as string;
    const source = this.value(x, "stacked");
    if (source.mode === "replicated") return this.make(node, "replicated");
    return this.emit(node, "stacked", node.op, [source.id], this.viewOf(node, this.at(x).shape));
  }

  /** How a view looks that leaves the dimension in front as it is. */
  private viewOf(node: CoreNode, from: readonly Extent[]): Partial<GraphNode> {
    const { op, order = [], ranges = [], shape } = node;
    if (op === "permute") return { order: [0, ...order.map((d) => d + 1)] };
    if (op === "repeat") return { dim: node.dim! + 1, times: node.times! };
    if (op === "reshape") return { shape: this.whole(shape, "stacked") };
    return { ranges: [{}, ...ranges.map(([a, b], d) => (a === 0 && sameExtent(b, from[d]!) ? {} : { from: a, to: b }))] }; // prettier-ignore
  }
}

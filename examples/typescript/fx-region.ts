/** Writes FX graphs, as a PyTorch pass would dump them: nodes in order, with the shapes that one rank sees. */
import type { FxGraph, FxNode } from "collc";

type Shape = readonly number[];

export class Region {
  private readonly nodes: FxNode<number>[] = [];
  private readonly counts = new Map<string, number>();

  constructor(
    private readonly name: string,
    private readonly ranks: number,
    private readonly dtype = "bfloat16",
  ) {}

  input(name: string, shape: Shape, replicated = false): string {
    this.nodes.push({ name, op: "placeholder", shape, dtype: this.dtype, ...(replicated ? { replicated } : {}) });
    return name;
  }

  call(name: string, target: string, args: FxNode["args"], shape: Shape): string {
    const count = (this.counts.get(name) ?? 0) + 1;
    this.counts.set(name, count);
    const unique = count === 1 ? name : `${name}_${count}`;
    this.nodes.push({ name: unique, op: "call_function", target, args: args!, shape, dtype: this.dtype });
    return unique;
  }

  private shapeOf(node: string): Shape {
    return this.nodes.find((n) => n.name === node)!.shape!;
  }

  mm(name: string, a: string, b: string): string {
    return this.call(name, "aten.mm.default", [ref(a), ref(b)], [this.shapeOf(a)[0]!, this.shapeOf(b)[1]!]);
  }
  add(name: string, a: string, b: string): string {
    return this.call(name, "aten.add.Tensor", [ref(a), ref(b)], this.shapeOf(a));
  }
  mul(name: string, a: string, b: string): string {
    return this.call(name, "aten.mul.Tensor", [ref(a), ref(b)], this.shapeOf(a));
  }
  unary(name: string, fn: string, a: string): string {
    return this.call(name, `aten.${fn}.default`, [ref(a)], this.shapeOf(a));
  }
  rmsNorm(name: string, a: string, weight: string): string {
    const shape = this.shapeOf(a);
    return this.call(name, "aten.rms_norm.default", [ref(a), [shape.at(-1)!], ref(weight), 1e-5], shape);
  }
  view(name: string, a: string, shape: Shape): string {
    return this.call(name, "aten.view.default", [ref(a), shape], shape);
  }
  transpose(name: string, a: string, p: number, q: number): string {
    const shape = this.shapeOf(a);
    return this.call(name, "aten.transpose.int", [ref(a), p, q], shape.with(p, shape[q]!).with(q, shape[p]!));
  }
  allGather(name: string, a: string): string {
    const [rows, ...rest] = this.shapeOf(a);
    const shape = [rows! * this.ranks, ...rest];
    return this.wait(
      this.call(name, "_c10d_functional.all_gather_into_tensor.default", [ref(a), this.ranks, "tp"], shape),
    );
  }
  reduceScatter(name: string, a: string): string {
    const [rows, ...rest] = this.shapeOf(a);
    const shape = [rows! / this.ranks, ...rest];
    return this.wait(
      this.call(name, "_c10d_functional.reduce_scatter_tensor.default", [ref(a), "sum", this.ranks, "tp"], shape),
    );
  }
  allReduce(name: string, a: string): string {
    return this.wait(this.call(name, "_c10d_functional.all_reduce.default", [ref(a), "sum", "tp"], this.shapeOf(a)));
  }
  private wait(a: string): string {
    return this.call(`${a}_wait`, "_c10d_functional.wait_tensor.default", [ref(a)], this.shapeOf(a));
  }

  graph(...outputs: readonly string[]): FxGraph {
    const output: FxNode = { name: "output", op: "output", args: [outputs.map(ref)] };
    return { format: "collc-fx-1", name: this.name, groups: { tp: this.ranks }, nodes: [...this.nodes, output] };
  }
}

const ref = (node: string): { node: string } => ({ node });

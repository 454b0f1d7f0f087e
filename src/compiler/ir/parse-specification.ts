/** Reads specifications in the IR's text form; the inverse of `print-specification.ts`. */
import type { OutputSpecification, SpecificationNode } from "../manifest.js";
import { specificationsOf } from "../specification-table.js";
import { dtype, type Reader, shape } from "./reader.js";

/** Reads the rows `part` and `specify` of one kernel. */
export class SpecificationReader {
  private readonly nodes: SpecificationNode[] = [];
  private readonly outputs: (number | null)[] = [];
  private readonly parts = new Map<string, number>();

  constructor(private readonly r: Reader) {}

  part(): void {
    const name = this.r.next();
    this.r.expect("=");
    this.parts.set(name, this.node());
  }

  specify(): void {
    this.outputs.push(this.r.accept("nothing") ? null : this.node());
  }

  /** What the rows that were read specify, one for each output. */
  specifications(): (OutputSpecification | null)[] {
    return specificationsOf({ nodes: this.nodes, outputs: this.outputs });
  }

  private node(): number {
    const { r } = this;
    const kind = r.next();
    if (kind.startsWith("#")) return this.parts.get(kind) ?? r.fail(`use of a part '${kind}' that is not defined`);
    r.expect("(");
    const node = this.fields(kind);
    r.expect(")");
    return this.nodes.push(node) - 1;
  }

  private fields(kind: string): SpecificationNode {
    const { r } = this;
    const comma = <X>(x: X): X => (r.expect(","), x);
    const list = <X>(item: () => X): X[] => (r.expect("["), r.list("]", item));
    const use = (): number => this.node();
    // Whether there is such a function, those say who evaluate it.
    const fn = (): never => comma(r.next()) as never;
    switch (kind) {
      case "elements":
        return { kind, variables: comma(list(() => r.next())), value: use() };
      case "input":
      case "scalar":
      case "variable":
      case "dim":
        return { kind, name: r.next() };
      case "constant":
        return { kind, value: Number(r.next()) };
      case "rank":
        return { kind };
      case "matmul":
        return { kind, a: comma(use()), b: use() };
      case "unary":
        return { kind, fn: fn(), a: use() };
      case "binary":
        return { kind, fn: fn(), a: comma(use()), b: use() };
      case "compare":
        return { kind, fn: fn(), a: comma(use()), b: use() };
      case "select":
        return { kind, condition: comma(use()), a: comma(use()), b: use() };
      case "index":
        return { kind, a: use() };
      case "cast":
      case "rounded":
        return { kind, dtype: comma(dtype(r)), a: use() };
      case "fold":
        return { kind, fn: fn(), dim: comma(r.integer()), a: use() };
      case "permute":
        return { kind, order: comma(list(() => r.integer())), a: use() };
      case "repeat":
        return { kind, dim: comma(r.integer()), times: comma(r.integer()), a: use() };
      case "iota":
        return { kind, shape: comma(shape(r)), dim: r.integer() };
      case "reshape":
        return { kind, shape: comma(shape(r)), a: use() };
      case "slice":
        return { kind, from: comma(shape(r)), shape: comma(shape(r)), a: use() };
      case "concat":
        return { kind, dim: comma(r.integer()), parts: list(use) };
      case "load": {
        const input = comma(r.next());
        const peer = comma(r.accept("own") ? null : use());
        return { kind, input, peer, indices: list(use) };
      }
      case "reduce":
        return { kind, fn: fn(), variable: comma(r.next()), from: comma(use()), to: comma(use()), body: use() };
      default:
        return r.fail(`no specification '${kind}'`);
    }
  }
}

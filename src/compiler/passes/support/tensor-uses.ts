/** Where the values of tensor expressions end up, to decide what is kept in memory. */
import type { Kernel, Op, Value } from "../../ir/module.js";
import { DTYPES } from "../../types/dtype.js";

/** Ops that take an element for an element, in one loop with whatever uses theirs. */
export const ELEMENTWISE: ReadonlySet<Op["name"]> = new Set<Op["name"]>([
  "unary",
  "binary",
  "compare",
  "select",
  "cast",
]);

export class TensorUses {
  private readonly users = new Map<Value, Op[]>();
  private readonly makers = new Map<Value, Op>();

  constructor(kernel: Kernel) {
    for (const op of kernel.body.ops) {
      for (const v of new Set(op.operands)) this.users.set(v, [...(this.users.get(v) ?? []), op]);
      for (const v of op.results) this.makers.set(v, op);
    }
  }

  /** Whether a value has an element for each row of what was folded along rows: where it is folded, it is as short as there are rows. */
  isOfRows(v: Value): boolean {
    const maker = this.makers.get(v);
    if (maker === undefined) return false;
    if (maker.name === "fold") return true;
    const isSame = ELEMENTWISE.has(maker.name) || maker.name === "convert" || maker.name === "reshape";
    return isSame && maker.operands.some((of) => this.isOfRows(of));
  }

  usersOf(v: Value): readonly Op[] {
    return this.users.get(v) ?? [];
  }

  /** The ops, each a loop of its own, into which elementwise operations carry the value. */
  rootsOf(v: Value): ReadonlySet<Op> {
    const roots = new Set<Op>();
    const seen = new Set<Value>([v]);
    for (const at of seen)
      for (const op of this.usersOf(at))
        if (ELEMENTWISE.has(op.name)) seen.add(op.results[0]!);
        else roots.add(op);
    return roots;
  }

  /** Whether all that comes of the value is stored, element by element, in types of more bytes. */
  isWidened(v: Value): boolean {
    const bytes = ({ type }: Value): number => (type.kind === "tensor" ? DTYPES[type.dtype].bytes : 0);
    const roots = [...this.rootsOf(v)];
    return roots.length > 0 && roots.every((op) => op.name === "output" && bytes(op.operands[0]!) > bytes(v));
  }

  /** The `output` op that is the value's only use; null if there are others, or none. */
  soleOutput(v: Value): Op | null {
    const [only, ...others] = this.usersOf(v);
    return only?.name === "output" && others.length === 0 ? only : null;
  }
}

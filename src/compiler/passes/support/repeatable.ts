/**
 * What each of several kernels may compute for itself: where a kernel is cut into steps, values of constants, lengths and ranks, and of inputs, which no launch
 * changes, are made anew in each. A value that is made of other memory is one of the moment at which it is read.
 */
import { bufferOf, isRemote, type Kernel, type Op, type Region, text, type Value } from "../../ir/module.js";
import { definitionOf } from "../../ir/ops.js";

/** Ops of the kernel's own list that only compute a value, the same wherever they stand in a launch. */
export function repeatableOps(kernel: Kernel): ReadonlySet<Op> {
  const found = new Set<Op>();
  const known = new Set<Value>();
  const isRepeatable = (op: Op): boolean => {
    const isRead = op.name === "load" && !isRemote(op) && bufferOf(kernel, text(op, "buffer")).role === "input";
    const isFold = op.regions.length > 0 && op.results.length > 0;
    const isValue = isRead || isFold || op.name === "yield" || definitionOf(op.name).effect === "pure";
    return isValue && op.operands.every((v) => known.has(v)) && op.regions.every(isAllRepeatable);
  };
  const isAllRepeatable = ({ arguments: variables, ops }: Region): boolean => {
    for (const v of variables) known.add(v);
    return ops.every((op) => {
      const is = isRepeatable(op);
      if (is) for (const v of op.results) known.add(v);
      return is;
    });
  };
  for (const op of kernel.body.ops)
    if (isRepeatable(op)) {
      found.add(op);
      for (const v of op.results) known.add(v);
    }
  return found;
}

/** An op that uses a value that none of these ops makes; null where each has what it uses. */
export function usesOther(ops: readonly Op[]): Op | null {
  const made = new Set<Value>();
  const firstIn = (list: readonly Op[]): Op | null => {
    for (const op of list) {
      if (op.operands.some((v) => !made.has(v))) return op;
      for (const region of op.regions) {
        for (const v of region.arguments) made.add(v);
        const inner = firstIn(region.ops);
        if (inner !== null) return inner;
      }
      for (const v of op.results) made.add(v);
    }
    return null;
  };
  return firstIn(ops);
}

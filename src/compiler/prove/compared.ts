/** Constants that elements of integer inputs are compared with: values at which a kernel that data steers may go another way. */
import { REDUCE } from "../ir/functions.js";
import { type Kernel, type Op, text, type Value } from "../ir/module.js";
import { walkKernel } from "../ir/visit.js";
import type { DType } from "../types/dtype.js";

/** Whole numbers of a dtype, as far as doubles count: the first, and the one behind the last. */
export function limitsOf(dtype: DType): readonly [number, number] {
  return [REDUCE.max.identity(dtype), REDUCE.min.identity(dtype) + 1];
}

/** Found once for each kernel: every sample asks. */
const known = new WeakMap<Kernel, ReadonlyMap<string, ReadonlySet<number>>>();

/**
 * By input, the elements that make two sides of a comparison equal, of which one is a constant. What is added to an element, or taken off, is
 * taken into account; of what else is made of it, as of a remainder, the constant itself is tried.
 */
export function comparedWith(kernel: Kernel): ReadonlyMap<string, ReadonlySet<number>> {
  let found = known.get(kernel);
  if (found === undefined) known.set(kernel, (found = find(kernel)));
  return found;
}

function find(kernel: Kernel): Map<string, Set<number>> {
  const makers = new Map<Value, Op>();
  const compared: Op[] = [];
  walkKernel(kernel, (op) => {
    for (const v of op.results) makers.set(v, op);
    if (op.name === "compare") compared.push(op);
  });
  const inputs = new Set(kernel.inputs.map((t) => t.name));
  const found = new Map<string, Set<number>>();
  const constantOf = (v: Value | undefined): number | null => {
    const op = v === undefined ? undefined : makers.get(v);
    if (op?.name === "cast") return constantOf(op.operands[0]);
    const value = op?.name === "const" ? op.attributes["value"] : null;
    return Number.isSafeInteger(value) ? (value as number) : null;
  };
  const note = (v: Value, constant: number, seen: Set<Value>): void => {
    const op = makers.get(v);
    if (op === undefined || seen.has(v)) return;
    seen.add(v);
    if (op.name === "load" && inputs.has(text(op, "buffer"))) {
      const name = text(op, "buffer");
      found.set(name, (found.get(name) ?? new Set<number>()).add(constant));
      return;
    }
    const fn = op.name === "binary" ? op.attributes["fn"] : null;
    const [a, b] = op.operands.map(constantOf);
    if (fn === "add" && a != null) return note(op.operands[1]!, constant - a, seen);
    if (fn === "add" && b != null) return note(op.operands[0]!, constant - b, seen);
    if (fn === "sub" && b != null) return note(op.operands[0]!, constant + b, seen);
    if (fn === "sub" && a != null) return note(op.operands[1]!, a - constant, seen);
    // Where an element lies has no part in what it is.
    if (op.name !== "load") for (const w of op.operands) note(w, constant, seen);
  };
  for (const { operands } of compared) {
    const [a, b] = operands as readonly [Value, Value];
    for (const [side, other] of [
      [a, b],
      [b, a],
    ] as const) {
      const constant = constantOf(other);
      if (constant !== null) note(side, constant, new Set());
    }
  }
  return found;
}

/**
 * Two loops over the same elements as one, where the second alone takes from scratch what the first keeps there, element by element: the
 * value stays in a register.
 */
import { Builder } from "../../ir/builder.js";
import { type Buffer, isRemote, type Kernel, memoryOperands, type Op, type Region, text, type Value } from "../../ir/module.js"; // prettier-ignore
import { definitionOf, type OpName } from "../../ir/ops.js";
import { copyOp, rewriteOps, Substitution, walk, walkKernel } from "../../ir/visit.js";
import type { Definitions } from "./analysis.js";

/**
 * The loop that stores each element of the buffer, and the next one, which alone loads it; null where it is not so.
 * @param folds ops with regions that the loops may have
 */
export function loopsAround(
  buffer: Buffer,
  kernel: Kernel,
  definitions: Definitions,
  folds: readonly OpName[],
): readonly [Op, Op] | null {
  const users = new Set<Op>();
  let isOther = false;
  walkKernel(kernel, (op, parents) => {
    if (!Object.values(op.attributes).includes(buffer.name)) return;
    const [loop] = parents;
    const isPlain = (op.name === "store" || op.name === "load") && parents.length === 1 && isElementwise(op, loop!);
    isOther ||= !isPlain;
    if (loop !== undefined) users.add(loop);
  });
  const [first, second, ...more] = [...users];
  if (isOther || first === undefined || second === undefined || more.length > 0) return null;
  const { ops } = kernel.body;
  const between = ops.slice(ops.indexOf(first) + 1, ops.indexOf(second));
  const [stored, loaded] = [accessesOf(first), accessesOf(second)];
  const isKept =
    stored.stores.filter((name) => name === buffer.name).length === 1 && !stored.loads.includes(buffer.name);
  const isRead = loaded.loads.includes(buffer.name) && !loaded.stores.includes(buffer.name);
  const clash = (a: readonly string[], b: readonly string[]): boolean => a.some((name) => name !== buffer.name && b.includes(name)); // prettier-ignore
  const isApart = !clash(loaded.stores, [...stored.loads, ...stored.stores]) && !clash(stored.stores, loaded.loads);
  const isOne =
    sameLoop(first, second, definitions) && between.every(({ name }) => definitionOf(name).effect === "pure");
  return isKept && isRead && isApart && isOne && [first, second].every((loop) => isSimple(loop, folds))
    ? [first, second]
    : null;
}

/** An access of this rank's own element at the loop's variables. */
function isElementwise(op: Op, loop: Op): boolean {
  const [body] = loop.regions;
  const { indices } = memoryOperands(op);
  return (
    !isRemote(op) && indices.length === body!.arguments.length && indices.every((v, d) => v === body!.arguments[d])
  );
}

function sameLoop(a: Op, b: Op, definitions: Definitions): boolean {
  const isSame = (x: Value, y: Value): boolean => {
    const [p, q] = [definitions.constant(x), definitions.constant(y)];
    return x === y || (p !== undefined && p === q);
  };
  return (
    a.name === "for" &&
    b.name === "for" &&
    a.attributes["map"] === "tiles" &&
    JSON.stringify(a.attributes) === JSON.stringify(b.attributes) &&
    a.operands.length === b.operands.length &&
    a.operands.every((v, i) => isSame(v, b.operands[i]!))
  );
}

function accessesOf(loop: Op): { readonly loads: string[]; readonly stores: string[] } {
  const found = { loads: [] as string[], stores: [] as string[] };
  walk(loop.regions[0]!, (op) => {
    if (op.name === "load") found.loads.push(text(op, "buffer"));
    if (op.name === "store") found.stores.push(text(op, "buffer"));
  });
  return found;
}

/** Loads, stores and arithmetic, under no condition and in no loop but folds. */
function isSimple(loop: Op, folds: readonly OpName[]): boolean {
  let isPlain = true;
  walk(loop.regions[0]!, ({ name }) => {
    isPlain &&= ["load", "store", "yield", ...folds].includes(name) || definitionOf(name).effect === "pure";
  });
  return isPlain;
}

/** The kernel with both loops as one, where the second was, and without the buffer. */
export function fused(kernel: Kernel, { name }: Buffer, first: Op, second: Op): Kernel {
  const build = new Builder({ start: 0, end: 0 });
  const isOf = (op: Op, access: "load" | "store"): boolean => op.name === access && op.attributes["buffer"] === name;
  const values = new Substitution();
  for (const op of kernel.body.ops) {
    build.span = op.span;
    if (op === first) continue;
    if (op !== second) {
      copyOp(op, build, values);
      continue;
    }
    const body = (args: readonly Value[]): void => {
      const inner = new Substitution(values);
      const enter = ({ arguments: own }: Region): void => own.forEach((v, d) => inner.set(v, args[d]!));
      let kept: Value | null = null;
      enter(first.regions[0]!);
      rewriteOps(first.regions[0]!.ops, build, inner, (o, _, at) => {
        if (isOf(o, "store")) kept = at.get(o.operands[0]!);
        return isOf(o, "store");
      });
      enter(second.regions[0]!);
      rewriteOps(second.regions[0]!.ops, build, inner, (o, _, at) => {
        if (isOf(o, "load")) at.set(o.results[0]!, kept!);
        return isOf(o, "load");
      });
    };
    const operands = second.operands.map((v) => values.get(v));
    build.op("for", operands, second.attributes, null, [build.region(operands.length / 2, body)]);
  }
  const buffers = kernel.buffers.filter((b) => b.name !== name);
  return { ...kernel, buffers, body: { arguments: [], ops: build.ops } };
}

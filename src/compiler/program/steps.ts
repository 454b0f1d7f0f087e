/**
 * A kernel in steps: what the pass engine-copies has marked becomes copies, what lies between becomes kernels of its own.
 *
 * On each rank the steps run one after the other on one stream, so all blocks of a kernel come before whatever the next step
 * does, as a barrier of the rank with itself across the grid says in the whole kernel. All other barriers stay, in the kernel before the copies or
 * behind them: a kernel of one barrier and nothing else is what tells peers that this rank's copies have arrived.
 */
import { isParameter, type Kernel, type Op, text } from "../ir/module.js";
import { definitionOf } from "../ir/ops.js";
import { walk } from "../ir/visit.js";
import type { CopyStep } from "../manifest.js";
import { Definitions } from "../passes/support/analysis.js";
import { copiesOfRanks } from "../passes/support/copies.js";

/** A step with the kernel itself instead of its number. */
export type KernelStep = { readonly kind: "launch"; readonly kernel: Kernel } | CopyStep;

/**
 * The steps of a kernel as derive-sync left it.
 * @returns null where nothing can be copied by engines, or where kernels would share memory of their own
 */
export function stepsOf(kernel: Kernel): readonly KernelStep[] | null {
  const definitions = new Definitions(kernel);
  const pure = kernel.body.ops.filter((op) => definitionOf(op.name).effect === "pure");
  const groups: { readonly isCopied: boolean; readonly ops: Op[] }[] = [];
  for (const op of kernel.body.ops) {
    if (definitionOf(op.name).effect === "pure") continue;
    const isCopied = isMarked(op);
    const last = groups.at(-1);
    if (last?.isCopied === isCopied) last.ops.push(op);
    else groups.push({ isCopied, ops: [op] });
  }
  const steps: KernelStep[] = [];
  const owners = new Map<string, number>();
  let hasWordsBefore = false;
  for (const { isCopied, ops } of groups) {
    if (isCopied) {
      const copies = copiesOfRanks(ops, kernel, definitions);
      if (copies === null) return null;
      steps.push({ kind: "copy", copies });
      continue;
    }
    const own = withoutEnds(ops);
    if (own.length === 0) continue;
    // Words between two ranks count on from one op to the next, on flags of one kernel.
    if (own.some(hasWords)) {
      if (hasWordsBefore) return null;
      hasWordsBefore = true;
    }
    const used = new Set<string>();
    for (const op of own) collectBuffers(op, used);
    const isOwn = (name: string): boolean => !isParameter(kernel.buffers.find((b) => b.name === name)!);
    for (const name of [...used].filter(isOwn)) {
      // Memory of a kernel is that kernel's alone.
      if (owners.has(name)) return null;
      owners.set(name, steps.length);
    }
    const buffers = kernel.buffers.filter((b) => isParameter(b) || used.has(b.name));
    const name = `${kernel.name}_${steps.filter(({ kind }) => kind === "launch").length}`;
    steps.push({
      kind: "launch",
      kernel: { ...kernel, name, buffers, body: { arguments: [], ops: [...pure, ...own] } },
    });
  }
  return steps.some(({ kind }) => kind === "copy") ? steps : null;
}

/** Whether all that an op does is for the copy engines. */
function isMarked(op: Op): boolean {
  let isAll = definitionOf(op.name).effect === "control";
  let isAny = false;
  walk({ arguments: [], ops: [op] }, (inner, parents) => {
    const { effect } = definitionOf(inner.name);
    const isInside = [inner, ...parents].some((o) => o.attributes["engine"] === true);
    isAny ||= isInside;
    if (effect === "sync" || ((effect === "read" || effect === "write") && !isInside)) isAll = false;
  });
  return isAll && isAny;
}

/** Whether an op tells one rank something, or waits for that. */
function hasWords(op: Op): boolean {
  return op.name === "notify" || op.name === "await" || op.regions.some((r) => r.ops.some(hasWords));
}

/** Without barriers of the rank with itself at either end: the stream is one. */
function withoutEnds(ops: readonly Op[]): readonly Op[] {
  const isOwnBarrier = (op: Op | undefined): boolean => op?.name === "barrier" && text(op, "ranks") === "self";
  let [from, to] = [0, ops.length];
  while (from < to && isOwnBarrier(ops[from])) from++;
  while (to > from && isOwnBarrier(ops[to - 1])) to--;
  return ops.slice(from, to);
}

function collectBuffers(op: Op, into: Set<string>): void {
  const { attributes = {}, optional = {} } = definitionOf(op.name);
  for (const [key, kind] of Object.entries({ ...attributes, ...optional }))
    if (kind === "buffer" && typeof op.attributes[key] === "string") into.add(text(op, key));
  for (const region of op.regions) for (const inner of region.ops) collectBuffers(inner, into);
}

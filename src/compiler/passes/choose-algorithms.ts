/**
 * choose-algorithms: says of each conversion that can be done in several ways which one is taken.
 *
 * A value that every rank gets from what all, or one, of them hold can be read by each whole (`one_shot`: w - 1 copies
 * come in), or each rank computes a w-th and gives it to all (`two_shot`: 2(w - 1)/w copies pass, and the ranks meet
 * once more). Which is faster depends on the bytes, which only a launch has: the option says which way this kernel takes, and
 * the program's plan which kernel a size takes (`program/plan.ts`). Two ranks read as much either way, but of a product: the rank that
 * computes a part can do so while its product goes on. One number a row, as folds leave, is little at every size. Those have no choice.
 *
 * Where ranks are of several domains of equally many, such a value can also go from domain to domain in parts (`hierarchical`): each rank folds
 * a part of what its domain has, or takes it from the one that has the value, adds what its counterparts have of that part, and gives it to its
 * domain. Between d domains of g ranks a rank then sends d - 1 messages of a g-th. Sums that are scattered and shards that are gathered have such a way, too.
 *
 * So it is with a product that is scattered: its elements can go to the ranks that add them up while it goes on (`two_shot`), or stay where they
 * are until these read them (`one_shot`), which packets can carry.
 *
 * What is computed can travel as it is (`narrow`), or peers read what it is computed from. Of `f32(all_reduce(bf16(g)))`, or of the sum of two tensors, these are twice the
 * bytes, but nobody waits for them to be computed: kernels that meet at barriers move the result, those that send packets the operands.
 */
import type { Kernel, Op, Value } from "../ir/module.js";
import type { Extent } from "../types/extent.js";
import { type Layout, printLayout } from "../types/layout.js";
import { groupOf } from "./support/element-builder.js";
import { changeBetween } from "./support/tensor-conversions.js";
import { ELEMENTWISE, TensorUses } from "./support/tensor-uses.js";
import { carriedFrom } from "./support/unmoved.js";
import type { PassOptions } from "./options.js";

type Choice = Pick<PassOptions, "algorithm" | "ranksPerDomain" | "protocol">;

export function chooseAlgorithms(kernel: Kernel, options: Choice): Kernel {
  const uses = new TensorUses(kernel);
  const computed = carriedFrom(kernel, (op) => ELEMENTWISE.has(op.name));
  const isNarrow = (op: Op): boolean =>
    op.name === "convert" &&
    options.protocol === "barrier" &&
    (computed.has(op.operands[0]!) || uses.isWidened(op.results[0]!));
  const ops = kernel.body.ops.map((op) => {
    const chosen = decided(op, kernel, options);
    return isNarrow(op) ? { ...chosen, attributes: { ...chosen.attributes, narrow: true } } : chosen;
  });
  return { ...kernel, body: { arguments: [], ops } };
}

/** Whether a conversion of the kernel can go from domain to domain in parts. */
export function canBeHierarchical(kernel: Kernel, ranksPerDomain: number): boolean {
  return kernel.body.ops.some((op) => isHierarchical(op, kernel, ranksPerDomain));
}

/** Whether it can be done so: among all ranks, which are of equal domains, where more than one number a row is summed, told or gathered. */
function isHierarchical(op: Op, kernel: Kernel, ranksPerDomain: number): boolean {
  const { mesh, world } = kernel;
  if (ranksPerDomain === 1 || ranksPerDomain >= world || world % ranksPerDomain !== 0) return false;
  if (op.name !== "convert" || isLittle(op)) return false;
  const { axis, from, into } = changeBetween(...layoutsOf(op), mesh);
  if (axis !== null) return false;
  if (into.kind === "sharded") return from.kind === "partial";
  return into.kind === "replicated" && ["partial", "on", "sharded"].includes(from.kind);
}

/** Whether it is one number a row, as folds leave. */
function isLittle(op: Op): boolean {
  const { shape } = op.results[0]!.type as { shape: readonly Extent[] };
  return shape.length > 1 && shape.at(-1) === 1;
}

function layoutsOf(op: Op): [Layout, Layout] {
  return [op.operands[0]!, op.results[0]!].map((v) => (v.type as { layout: Layout }).layout) as [Layout, Layout];
}

/** Conversions of the kernel whose way the sizes of a launch decide. */
export function openConversions(kernel: Kernel): readonly Op[] {
  return kernel.body.ops.filter((op) => waysOf(op, kernel) === "open");
}

/** `null` for what is no such conversion; `open` where the size decides; else why there is one way alone. */
function waysOf(op: Op, kernel: Kernel): "open" | { readonly why: string } | null {
  if (op.name !== "convert") return null;
  const [from, to] = [op.operands[0]!.type, op.results[0]!.type];
  if (from.kind !== "tensor" || to.kind !== "tensor") return null;
  const change = changeBetween(from.layout, to.layout, kernel.mesh);
  if (change.into.kind === "sharded")
    return change.from.kind === "partial" && isOfProduct(op.operands[0]!, kernel) ? "open" : null;
  if (change.into.kind !== "replicated" || (change.from.kind !== "partial" && change.from.kind !== "on")) return null;
  if (groupOf(kernel, change.axis).size <= 2 && !isOfProduct(op.operands[0]!, kernel))
    return { why: "each rank reads as much as it would receive in two steps" };
  if (isLittle(op)) return { why: "one number a row is little to read, and saves a meeting of the ranks" };
  return "open";
}

/** Whether a value is a product's, or computed of its elements one by one. */
function isOfProduct(v: Value, kernel: Kernel): boolean {
  return carriedFrom(kernel, (op) => op.name === "matmul").has(v);
}

function decided(op: Op, kernel: Kernel, { algorithm: chosen, ranksPerDomain }: Choice): Op {
  const ways = waysOf(op, kernel);
  const isInParts = chosen === "hierarchical" && isHierarchical(op, kernel, ranksPerDomain);
  if (ways === null && !isInParts) return op;
  const layouts = layoutsOf(op);
  const { size } = groupOf(kernel, changeBetween(...layouts, kernel.mesh).axis);
  const what = `${layouts.map(printLayout).join(" to ")} on ${size} ranks`;
  const planned = "the plan has it for sizes at which this kernel is launched";
  if (isInParts) return { ...op, attributes: { ...op.attributes, algorithm: chosen, ranksPerDomain, why: `${what}: ${planned}` } }; // prettier-ignore
  const [algorithm, why] = ways === "open" ? [chosen === "hierarchical" ? "two_shot" : chosen, planned] : ["one_shot", ways!.why]; // prettier-ignore
  return { ...op, attributes: { ...op.attributes, algorithm, why: `${what}: ${why}` } };
}

/**
 * raise-products: a fold that an author wrote out, `sum(k) a[i, k] * b[k, j]` over the elements of a tile loop, becomes the
 * op that a product of tensors is. The one place where a product is recognised: later passes ask for the op.
 */
import { Builder } from "../ir/builder.js";
import type { Kernel, Op, Value } from "../ir/module.js";
import { rewriteOps, Substitution, walkKernel } from "../ir/visit.js";
import { Definitions } from "./support/analysis.js";
import { contractsIn, viewContraction } from "./support/contraction.js";

export function raiseProducts(kernel: Kernel): Kernel {
  const definitions = new Definitions(kernel);
  const found = new Map<Op, Op>();
  walkKernel(kernel, (op) => {
    const fold = productOf(op, definitions);
    if (fold === null) return;
    const raised = raise(fold, definitions);
    // What units for matrices cannot take stays the fold that it was.
    if (!("reason" in viewContraction(op, raised, kernel, definitions, true))) found.set(fold, raised);
  });
  if (found.size === 0) return kernel;
  const build = new Builder({ start: 0, end: 0 });
  rewriteOps(kernel.body.ops, build, new Substitution(), (op, b, values) => {
    const raised = found.get(op);
    if (raised === undefined) return false;
    rewriteOps([raised], b, values);
    values.set(op.results[0]!, values.get(raised.results[0]!));
    return true;
  });
  return { ...kernel, body: { arguments: [], ops: build.ops } };
}

/** The only fold of products, as long as something that is known before, in the body of a tile loop over several variables. */
function productOf(loop: Op, definitions: Definitions): Op | null {
  if (loop.name !== "for" || loop.attributes["map"] !== "tiles" || contractsIn(loop).length > 0) return null;
  const { ops } = loop.regions[0]!;
  // As is a quotient of lengths, which nothing computes where no element asks for it: its divisor may be 0.
  const isInside = (v: Value): boolean => ops.some((op) => op.results.includes(v));
  const folds = ops.filter(
    (op) =>
      op.name === "reduce" &&
      op.attributes["fn"] === "sum" &&
      definitions.constant(op.operands[0]!) === 0 &&
      definitions.constant(op.operands[1]!) === undefined &&
      !isInside(op.operands[1]!) &&
      factorsOf(op, definitions) !== null,
  );
  return folds.length === 1 ? folds[0]! : null;
}

function factorsOf(fold: Op, definitions: Definitions): readonly Value[] | null {
  const product = definitions.binary(fold.regions[0]!.ops.at(-1)!.operands[0]!, "mul");
  return product?.operands ?? null;
}

/** The fold as a `contract` over the same loads. */
function raise(fold: Op, definitions: Definitions): Op {
  const [region] = fold.regions;
  const last = region!.ops.at(-1)!;
  const factors = factorsOf(fold, definitions)!;
  const isUsed = (v: Value): boolean => region!.ops.some((op) => op !== last && op.operands.includes(v));
  const kept = region!.ops.filter(
    (op) => op !== last && (!op.results.includes(last.operands[0]!) || isUsed(op.results[0]!)),
  );
  const ops = [...kept, { ...last, operands: factors }];
  return { ...fold, name: "contract", attributes: {}, regions: [{ ...region!, ops }] };
}

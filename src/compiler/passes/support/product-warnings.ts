/** What a compilation says of products of tensors that no unit for matrices takes. */
import { byPlace, type Diagnostic, diagnostic } from "../../diagnostics/create.js";
import type { Kernel } from "../../ir/module.js";
import { walkKernel } from "../../ir/visit.js";

/** A warning for each `reduce` that was a product. */
export function productWarnings(kernel: Kernel): Diagnostic[] {
  const found: Diagnostic[] = [];
  walkKernel(kernel, (op) => {
    const reason = op.attributes["product"];
    if (typeof reason === "string") found.push(diagnostic("scalar-product", op.span, { reason }));
  });
  return byPlace(found);
}

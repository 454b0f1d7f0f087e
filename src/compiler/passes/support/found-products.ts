/** The products of a kernel: how the operands of each lie in memory, which units multiply them, and which two share a loop. */
import type { Kernel, Op } from "../../ir/module.js";
import { walkKernel } from "../../ir/visit.js";
import { DTYPES } from "../../types/dtype.js";
import type { Definitions } from "./analysis.js";
import { type Contraction, contractsIn, type Refusal, viewContraction } from "./contraction.js";
import { viewText } from "./operand-text.js";

export interface FoundProducts {
  /** Loops with a product, or with two that go together. */
  readonly found: Map<Op, Contraction>;
  /** Products that stay folds, and why. */
  readonly refused: Map<Op, Refusal>;
  /** Whether roles of a block multiply what was found, or all of a block. */
  readonly byRoles: boolean;
}

/** @param has what the machine has for products: tiles of blocks, and those of roles of a block */
export function findProducts(
  kernel: Kernel,
  definitions: Definitions,
  has: { readonly tiles: boolean; readonly roles: boolean },
): FoundProducts {
  const hasRoles = has.roles;
  const found = new Map<Op, Contraction>();
  const refused = new Map<Op, Refusal>();
  walkKernel(kernel, (op, parents) => {
    if (op.name !== "contract") return;
    const loop = parents.at(-1)!;
    const [first, second] = contractsIn(loop);
    const pair = second === undefined || !hasRoles ? null : viewPair(loop, kernel, definitions);
    if (op === second && pair !== null) return;
    const view =
      op !== first
        ? { reason: "another product stands in the same loop, or a condition around it" }
        : !has.tiles
          ? { reason: "tiles are copied while others are multiplied, which GPUs do from sm_80 on" }
          : (pair ?? viewContraction(loop, op, kernel, definitions, hasRoles));
    if ("reason" in view) refused.set(op, view);
    else found.set(loop, view);
  });
  const byRoles = hasRoles && areForRoles([...found.values()]);
  // All of a block has one accumulator.
  for (const [loop, match] of byRoles ? [] : found) {
    if (match.twin === null) continue;
    refused.set(match.twin.contract, { reason: "another product stands in the same loop" });
    found.set(loop, { ...match, twin: null });
  }
  return { found, refused, byRoles };
}

/**
 * The two products of a loop that one tile has, with an accumulator for each: they multiply the same rows, 16 bits wide, by operands
 * that lie alike. Null where they do not.
 */
function viewPair(loop: Op, kernel: Kernel, definitions: Definitions): Contraction | null {
  const contracts = contractsIn(loop);
  if (contracts.length !== 2) return null;
  const views = contracts.map((op) => viewContraction(loop, op, kernel, definitions, true));
  const [one, other] = views as [Contraction, Contraction];
  if (views.some((view) => "reason" in view)) return null;
  const isPair =
    [one, other].every(({ scales }) => scales.a === null && scales.b === null) &&
    DTYPES[one.a.dtype].bytes === 2 &&
    one.row === other.row &&
    one.column === other.column &&
    one.b.dtype === other.b.dtype &&
    one.b.isDeep === other.b.isDeep &&
    definitions.key(one.depth) === definitions.key(other.depth) &&
    viewText(one.a, loop, one, definitions) === viewText(other.a, loop, other, definitions);
  return isPair ? { ...one, twin: { contract: other.contract, b: other.b } } : null;
}

/** Whether instructions for matrices in shared memory take the operands of all. */
function areForRoles(products: readonly Contraction[]): boolean {
  const isTaken = ({ a, b, twin }: Contraction): boolean =>
    a.dtype !== "f32" &&
    [a, b, ...(twin === null ? [] : [twin.b])].every(
      (view) => view.indices.length <= MOST_DIMENSIONS && view.rows < view.indices.length - 1,
    );
  return products.length > 0 && products.every(isTaken);
}

/** Dimensions that a tensor map describes. */
const MOST_DIMENSIONS = 5;

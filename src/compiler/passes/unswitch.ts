/**
 * unswitch: a loop over blocks, or over what one block takes in any order, whose body decides by a value from outside the loop becomes a decision between
 * two loops, so that each can be interleaved by itself.
 */
import { Builder } from "../ir/builder.js";
import type { Kernel, Op, Value } from "../ir/module.js";
import { definitionOf, type LoopMap } from "../ir/ops.js";
import { rewriteOps, Substitution } from "../ir/visit.js";

export function unswitch(kernel: Kernel): Kernel {
  const build = new Builder({ start: 0, end: 0 });
  rewriteOps(kernel.body.ops, build, new Substitution(), (op, b, values) => {
    const choice = invariantChoice(op);
    if (choice === null) return false;
    const loop = (branch: 0 | 1): void => {
      const bounds = op.operands.map((v) => values.get(v));
      const { map, ...extra } = op.attributes;
      const body = op.regions[0]!.ops.flatMap((o) => (o === choice ? choice.regions[branch]!.ops : [o]));
      const iteration = ([r]: readonly Value[]): void => {
        const inner = new Substitution(values);
        inner.set(op.regions[0]!.arguments[0]!, r!);
        rewriteOps(body, b, inner);
      };
      b.for(map as LoopMap, [[bounds[0]!, bounds[1]!]], iteration, extra);
    };
    b.if(
      values.get(choice.operands[0]!),
      () => loop(0),
      () => loop(1),
    );
    return true;
  });
  return { ...kernel, body: { arguments: [], ops: build.ops } };
}

/** The only `if` of such a loop, when its condition comes from outside. */
function invariantChoice(op: Op): Op | null {
  if (op.name !== "for" || !(op.attributes["map"] === "blocks" || op.attributes["unordered"] === true)) return null;
  const [body] = op.regions;
  // Where the block meets in an iteration, there is nothing to interleave.
  if (body!.ops.some((o) => definitionOf(o.name).effect === "sync")) return null;
  const choices = body!.ops.filter((o) => o.name === "if");
  if (choices.length !== 1) return null;
  const inside = new Set(body!.ops.flatMap((o) => o.results).concat(body!.arguments));
  return inside.has(choices[0]!.operands[0]!) ? null : choices[0]!;
}

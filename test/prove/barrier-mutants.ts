/** Mutants of barriers between ranks, before they become flags: dropped, narrowed, or between other pairs of ranks. */
import { type Kernel, type Op, text } from "../../src/compiler/ir/module.js";
import { RankPairs } from "../../src/compiler/ir/rank-pairs.js";
import { problemsOf } from "../../src/compiler/ir/verify.js";
import { DEFAULT_PASS_OPTIONS } from "../../src/compiler/passes/options.js";
import { PIPELINE } from "../../src/compiler/passes/pipeline.js";
import { runPasses } from "../../src/compiler/passes/runner.js";
import { PROOF_MAPPING } from "../../src/compiler/prove/index.js";
import { edited, type Mutant } from "./mutants.js";

const EXPANSION = PIPELINE.slice(PIPELINE.findIndex((p) => p.name === "expand-barriers"));

/** @param meeting the kernel with its barriers, as `interleave` leaves it */
export function barrierMutantsOf(meeting: Kernel): Mutant[] {
  const mutants: Mutant[] = [];
  const counts = new Map<string, number>();
  const { world } = meeting;
  const visit = (op: Op): void => {
    const n = (counts.get(op.name) ?? 0) + 1;
    counts.set(op.name, n);
    const add = (kind: Mutant["kind"], what: string, attributes: Op["attributes"] | null): void => {
      const mutant = edited(meeting, op, (o) =>
        attributes === null ? [] : [{ ...o, attributes: { ...o.attributes, ...attributes } }],
      );
      const isRefused = problemsOf(mutant).length > 0;
      const kernel = isRefused ? null : runPasses(mutant, EXPANSION, { ...DEFAULT_PASS_OPTIONS, ...PROOF_MAPPING });
      mutants.push({ name: `${what} ${op.name} #${n}`, kind, op, kernel });
    };
    if (["barrier", "notify", "await", "await_movers", "shard_sent"].includes(op.name)) add("drop", "drop", null);
    if (op.name === "barrier") {
      if (op.attributes["scope"] === "grid") add("narrow", "narrow", { scope: "block" });
      for (const [what, pairs] of others(RankPairs.parse(text(op, "ranks"), world)!))
        add("pairs", what, { ranks: pairs.print() });
    }
    for (const region of op.regions) region.ops.forEach(visit);
  };
  meeting.body.ops.forEach(visit);
  return mutants;
}

/** Relations that differ from one: a pair less, everybody tells the next one instead, and the other way round. */
function others(pairs: RankPairs): [what: string, pairs: RankPairs][] {
  const { world } = pairs;
  const between = pairs.list().filter(([from, to]) => from !== to);
  const isIn = (list: readonly (readonly [number, number])[], from: number, to: number): boolean =>
    list.some(([a, b]) => a === from && b === to);
  // A block that meets itself alone does more when it meets others as well.
  if (between.length === 0) return [];
  const candidates: [string, RankPairs][] = [
    ["first pair less in", RankPairs.where(world, (a, b) => pairs.has(a, b) && !isIn(between.slice(0, 1), a, b))],
    ["last pair less in", RankPairs.where(world, (a, b) => pairs.has(a, b) && !isIn(between.slice(-1), a, b))],
    ["next rank in", RankPairs.where(world, (a, b) => pairs.has(a, (b + world - 1) % world))],
    ["turned round", RankPairs.where(world, (a, b) => pairs.has(b, a))],
  ];
  return candidates.filter(([, p]) => p.print() !== "" && p.print() !== pairs.print());
}

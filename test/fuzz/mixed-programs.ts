/**
 * Bodies that mix tensor expressions and loops: loops index what expressions have named and what arrays hold, expressions
 * read what loops have stored. As for loops alone, the generator keeps what each rank holds of every array, element by
 * element, as an expression of the inputs; that becomes the `ensures` clause of an output.
 */
import type fc from "fast-check";
import { drawn, type Choices } from "./choices.js";
import type { Generated } from "./explicit-programs.js";
import { type Body, REPLICATED, type Shape, type Tensor, written } from "./mixed-arrays.js";
import { assign, clear, fill, type Target } from "./mixed-elements.js";
import { newInput, someLayout, tensor } from "./mixed-tensors.js";

/** Reading every pass's kernel again takes as long as all else, proving longer. */
const ALSO = ["texts", "texts", "texts", "texts", "kernels", "proof"] as const;

export interface MixedProgram extends Generated {
  /** Every output has a clause. */
  readonly isEnsured: boolean;
  /** A loop reads what an expression made, an expression what a loop stored. */
  readonly crossed: Readonly<Body["crossed"]>;
  /** What is looked at besides what the program computes. */
  readonly also: (typeof ALSO)[number];
}

/** Lengths that every number of ranks up to 4 divides. */
const SIZES = [
  { m: 12, n: 24, k: 12 },
  { m: 24, n: 12, k: 24 },
] as const;
const SHAPES: readonly Shape[] = [["n"], ["m", "n"], ["n", "m"], ["n - 3"]];
/** Longest text of a clause, and most elements of inputs that one element is made of: checking it takes as long. */
const LONGEST = 3000;
const MOST = 400;

export function mixedPrograms(): fc.Arbitrary<MixedProgram> {
  return drawn(writeProgram);
}

function writeProgram(c: Choices): MixedProgram {
  const also = c.pick(ALSO);
  const ranks = also === "proof" ? 2 : 1 + c.below(4);
  const dtype = c.pick(["f32", "i32", "bf16", "f16"] as const);
  const isInteger = dtype === "i32";
  // With clauses, values are wide: how often they are rounded on the way is not the clause's to say.
  const isEnsured = c.chance(0.75);
  const wide = isEnsured ? (isInteger ? "i32" : "f32") : "T";
  let count = 0;
  const x: Body = {
    c,
    ranks,
    isInteger,
    wide,
    crossed: { intoLoop: false, intoExpression: false },
    held: new Map(),
    fresh: (prefix) => `${prefix}${count++}`,
  };
  const targets = (n: number, prefix: string): Target[] =>
    Array.from({ length: n }, () => {
      const shape = c.pick(SHAPES);
      return { name: x.fresh(prefix), shape, layout: someLayout(x, shape), type: wide };
    });
  // Without a clause, one input and one output of one shape would be taken for the same tensor.
  const outputs = targets((isEnsured ? 1 : 2) + c.below(2), "y");
  const scratch = targets(1 + c.below(2), "s");
  const lines: string[] = [];
  const assigned = new Set<Target>();
  const store = (target: Target): readonly string[] => {
    if (!assigned.has(target) && c.chance(0.5)) {
      // What all ranks have may be assigned to what each has a part of, or one has.
      const isWhole = (target.layout.kind === "sharded" || target.layout.kind === "on") && c.chance(0.2);
      const value = tensor(x, isWhole ? REPLICATED : target.layout, target.shape, 1 + c.below(2));
      if (value.cost <= MOST) {
        assigned.add(target);
        return [assign(x, target, value)];
      }
    }
    return fill(x, target, MOST);
  };
  const all = [...scratch, ...outputs];
  for (let i = 2 + c.below(5); i > 0; i--) lines.push(...statement(x, all, () => store(c.pick(all))));
  for (const y of outputs) if (!x.held.has(y.name)) lines.push(...store(y));
  const clauses: string[] = [];
  if (isEnsured)
    for (const y of outputs) {
      if (clauseOf(x, y).length > LONGEST) lines.push(...clear(x, y));
      clauses.push(clauseOf(x, y));
    }
  const declared = ({ name, type, shape, layout }: Target): string =>
    `${name}: ${type}[${shape.join(", ")}] ${written(layout)}`;
  const used = scratch.filter((s) => lines.some((line) => new RegExp(`\\b${s.name}\\b`).test(line)));
  const lets = used.map((s) => `scratch ${s.name}: ${s.type}[${s.shape.join(", ")}]${s.layout.kind === "local" && c.chance(0.5) ? "" : ` ${written(s.layout)}`}`); // prettier-ignore
  const body = [...lets, ...lines].map((line) => `  ${line}`).join("\n");
  const inputs = (): string[] =>
    [...x.held.values()].filter((t) => t.role === "input").map((t) => declared({ ...t, name: t.text }));
  const head = (): string => `collective f(${inputs().join(", ")})\n  -> (${outputs.map(declared).join(", ")})`;
  const isIn = (text: string) => (d: string) => new RegExp(`\\b${d}\\b`).test(text);
  const names = Object.keys(SIZES[0]).filter(isIn(head() + body));
  // A dimension is one of the signature's, even if scratch alone has it.
  for (const d of names) if (!isIn(head())(d)) newInput(x, REPLICATED, [d]);
  // What does not divide is refused at a launch; clauses divide lengths themselves.
  const cuts = names.map((d) => `\n  where ${d} % world == 0 and ${d} >= 4`);
  const text = `${head()}${cuts.join("")}${clauses.map((e) => `\n  ${e}`).join("")} {\n${body}\n}\n`;
  const shapeOf = (lengths: Readonly<Record<string, number>>): Record<string, number> => Object.fromEntries(names.map((d) => [d, lengths[d]!])); // prettier-ignore
  return { text, ranks, dtype, shapes: SIZES.map(shapeOf), isEnsured, crossed: x.crossed, also };
}

/** A statement, or a few that belong together. */
function statement(x: Body, targets: readonly Target[], store: () => readonly string[]): readonly string[] {
  const { c } = x;
  switch (c.below(10)) {
    case 5:
      return ["barrier"];
    case 6:
      return ["signal (rank + 1) % world", "wait (rank - 1) % world"];
    case 0:
    case 1:
    case 2: {
      // Of a kind that is wanted somewhere, or of any.
      const like = c.pick(targets);
      const shape = c.chance(0.5) ? like.shape : c.pick(SHAPES);
      const layout = shape === like.shape && c.chance(0.5) ? like.layout : someLayout(x, shape);
      return named(x, tensor(x, layout, shape, 1 + c.below(2)));
    }
    case 3: {
      // What has been named keeps its value, whatever happens to the array.
      const open = [...x.held.values()].filter((t) => t.role === "target");
      return open.length === 0 ? store() : named(x, c.pick(open));
    }
    default:
      return store();
  }
}

function named(x: Body, value: Tensor): readonly string[] {
  if (value.cost > MOST) return [];
  const name = x.fresh("v");
  x.held.set(name, { ...value, text: name, role: "value", type: x.wide, by: "expression" });
  return [`let ${name} = ${value.text}`];
}

function clauseOf(x: Body, { name, shape }: Target): string {
  const variables = shape.map(() => x.fresh("e"));
  return `ensures ${name}[${variables.join(", ")}] == ${x.held.get(name)!.part("rank", variables)}`;
}

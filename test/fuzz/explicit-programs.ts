/**
 * Programs of explicit loops that are right by construction. Beside each statement, the generator keeps what every array
 * then holds, as an expression of the inputs; for the outputs that becomes the `ensures` clause. So whatever a compiled
 * program computes is compared with something that went through no derived order and no mapping.
 */
import type fc from "fast-check";
import type { DimValues, DType } from "../../src/compiler/index.js";
import { type Choices, drawn } from "./choices.js";
import { expression, type Value } from "./element-values.js";

export interface Generated {
  readonly text: string;
  readonly ranks: number;
  readonly dtype: DType;
  readonly shapes: readonly DimValues[];
}

/** What element i (of row q, where there are rows) of an array holds on rank r, as text. */
export type Meaning = (r: string, i: string, q: string) => string;

export interface Held {
  readonly name: string;
  /** One vector for each rank, `[world, n]`, or one alone. */
  readonly hasRows: boolean;
  readonly kind: "input" | "output" | "scratch";
}

/** What arrays hold at a time; those that are not there are undefined. */
export type Contents = ReadonlyMap<Held, Meaning>;

/** Statements, and what they make of the contents. */
interface Stage {
  readonly lines: readonly string[];
  readonly effect: (contents: Contents) => Contents;
}

/** What the generators of statements and of expressions share. */
export interface Context {
  readonly c: Choices;
  readonly isInteger: boolean;
  readonly ranks: number;
  /** Definitions above the collective. */
  readonly functions: string[];
  readonly fresh: (prefix: string) => string;
  /** The name of a number of the launch, in what elements are computed in. */
  readonly number: () => string;
}

/** Longest text of a meaning: arrays that feed on themselves grow without bound. */
const LONGEST = 2000;

export function explicitPrograms(): fc.Arbitrary<Generated> {
  return drawn(writeProgram);
}

function writeProgram(c: Choices): Generated {
  const ranks = 1 + c.below(4);
  const dtype = c.pick(["f32", "i32", "f16", "bf16"] as const);
  const isInteger = dtype === "i32";
  const wide = isInteger ? "i32" : "f32";
  let count = 0;
  const numbers = new Set<string>();
  const number = (): string => (numbers.add(`given: ${wide}`), "given");
  const context: Context = { c, isInteger, ranks, functions: [], fresh: (prefix) => `${prefix}${count++}`, number };
  const some = (n: number, kind: Held["kind"], letter: string): Held[] =>
    Array.from({ length: n }, (_, i) => ({ name: `${letter}${i}`, hasRows: kind !== "input" && c.chance(0.25), kind }));
  const inputs = some(1 + c.below(2), "input", "x");
  const scratch = some(c.below(4), "scratch", "s");
  const outputs = some(1 + c.below(2), "output", "y");
  // An input that is changed in place, where its elements are those that are computed; the other one is always readable.
  const changed = inputs.length > 1 && dtype === wide && c.chance(0.4) ? [inputs[0]!] : [];
  const targets = [...scratch, ...outputs, ...changed];
  let contents: Contents = new Map(inputs.map((x) => [x, (r, i) => `${x.name}@(${r})[${i}]`]));
  const lines: string[] = [];
  const add = (stage: Stage): void => {
    lines.push(...stage.lines);
    contents = stage.effect(contents);
  };
  for (let i = c.below(6); i > 0; i--) add(statement(context, contents, targets));
  for (const y of outputs) if (!contents.has(y)) add(fill(context, contents, y));
  for (const x of changed) add(fill(context, contents, x));
  const shape = (a: Held): string => (a.hasRows ? "[world, n]" : "[n]");
  const declared = (all: readonly Held[], type: string): string =>
    all.map((a) => `${a.name}: ${type}${shape(a)} local`).join(", ");
  const text = [
    ...context.functions,
    `collective f(${[declared(inputs, "T"), ...numbers].join(", ")}) -> (${declared([...outputs, ...changed], wide)})`,
    ...[...outputs, ...changed].map(
      (y) => `  ensures ${y.name}${y.hasRows ? "[q, i]" : "[i]"} == ${contents.get(y)!("rank", "i", "q")}`,
    ),
    "{",
    ...scratch.filter((s) => contents.has(s)).map((s) => `  scratch ${s.name}: ${wide}${shape(s)}`),
    ...lines.map((line) => `  ${line}`),
    "}\n",
  ].join("\n");
  return { text, ranks, dtype, shapes: [{ n: 1 + c.below(9) }, { n: 60 + c.below(80) }] };
}

// -- statements --------------------------------------------------------------------------------------

const nothing = (lines: readonly string[]): Stage => ({ lines, effect: (contents) => contents });

function statement(x: Context, contents: Contents, targets: readonly Held[]): Stage {
  const { c } = x;
  switch (c.below(12)) {
    case 4:
      return oneByOne(fill(x, contents, c.pick(targets)));
    case 5:
      return relay(x, contents, c.pick(targets));
    case 6:
      return nothing(["barrier"]);
    case 7:
      return nothing(["signal (rank + 1) % world", "wait (rank - 1) % world"]);
    case 8:
    case 9:
      return loop(x, contents, targets);
    default:
      return fill(x, contents, c.pick(targets));
  }
}

const WAIT = "if rank > 0 { wait rank - 1 }";
const SIGNAL = "if rank < world - 1 { signal rank + 1 }";

/** Each rank begins when the one before it has ended. */
function oneByOne({ lines, effect }: Stage): Stage {
  return { lines: [WAIT, ...lines, SIGNAL], effect };
}

/** Rank 0 computes, and each rank gets it from the one before it: it fetches or is sent it, whole or in pieces. */
function relay(x: Context, contents: Contents, target: Held): Stage {
  if (target.hasRows) return fill(x, contents, target);
  const { c } = x;
  const { lines: head, value } = expression(x, contents, target);
  const compute = [...head, `${target.name}[i] = ${value.body}`];
  const pieces = c.below(4);
  const k = x.fresh("k");
  const range = pieces === 0 ? "tiles(n)" : `tiles(chunk(n, ${k}, ${pieces}))`;
  const fetch = [
    WAIT,
    `for i in ${range} {`,
    "  if rank == 0 {",
    ...indented(indented(compute)),
    "  } else {",
    `    ${target.name}[i] = ${target.name}@(max(rank - 1, 0))[i]`,
    "  }",
    "}",
    SIGNAL,
  ];
  const send = [
    WAIT,
    "if rank == 0 {",
    `  for i in ${range} {`,
    ...indented(indented(compute)),
    "  }",
    "}",
    "if rank < world - 1 {",
    `  for i in ${range} { ${target.name}@(rank + 1)[i] = ${target.name}[i] }`,
    "  signal rank + 1",
    "}",
  ];
  const lines = c.chance(0.5) ? fetch : send;
  return {
    lines: pieces === 0 ? lines : [`for ${k} in 0..${pieces} {`, ...indented(lines), "}"],
    effect: (before) => {
      const computed = value.meaning(before);
      return new Map(before).set(target, (_, i, q) => computed("0", i, q));
    },
  };
}

/** Some stages several times over. They store to arrays that hold something before, and read what they stored. */
function loop(x: Context, contents: Contents, targets: readonly Held[]): Stage {
  const { c } = x;
  const open = targets.filter((t) => contents.has(t));
  if (open.length === 0) return fill(x, contents, c.pick(targets));
  const stages = Array.from({ length: 1 + c.below(2) }, () => fill(x, contents, c.pick(open)));
  const once = (before: Contents): Contents => stages.reduce((now, s) => s.effect(now), before);
  let turns = 1 + c.below(3);
  const after = (n: number): Contents => Array.from({ length: n }).reduce<Contents>(once, contents);
  while (turns > 1 && open.some((t) => lengthOf(after(turns).get(t)!) > LONGEST)) turns--;
  const total = turns;
  return {
    lines: [`for ${x.fresh("k")} in 0..${total} {`, ...indented(stages.flatMap((s) => s.lines)), "}"],
    effect: (before) => Array.from({ length: total }).reduce<Contents>(once, before),
  };
}

const indented = (lines: readonly string[]): string[] => lines.map((l) => `  ${l}`);
const lengthOf = (meaning: Meaning): number => meaning("rank", "i", "q").length;

/** Stores to the whole of an array, on all ranks or, in one that holds something, on some. */
function fill(x: Context, contents: Contents, target: Held): Stage {
  const whole = target.hasRows ? fillRows(x, contents, target) : fillVector(x, contents, target);
  const isShort = (stage: Stage): boolean => lengthOf(stage.effect(contents).get(target)!) <= LONGEST;
  if (isShort(whole)) return whole;
  const [loopHead, index] = target.hasRows
    ? ["for q, i in tiles(world, n) {", "[q, i]"]
    : ["for i in tiles(n) {", "[i]"];
  return {
    lines: [loopHead, `  ${target.name}${index} = 0`, "}"],
    effect: (before) => new Map(before).set(target, () => (x.isInteger ? "i32(0)" : "f32(0)")),
  };
}

/** A way from each rank to another that no two share, and the way back. */
interface Turn {
  readonly to: (r: string) => string;
  readonly back: (r: string) => string;
}

function turn({ c, ranks }: Context): Turn {
  const by = c.below(ranks);
  if (c.chance(0.3)) return { to: (r) => `(world - 1 - (${r}))`, back: (r) => `(world - 1 - (${r}))` };
  return { to: (r) => `((${r}) + ${by}) % world`, back: (r) => `((${r}) - ${by}) % world` };
}

/** The same for elements of a vector. */
function permutation({ c }: Context): Turn {
  const by = c.below(3);
  if (c.chance(0.2)) return { to: (i) => `n - 1 - (${i})`, back: (i) => `n - 1 - (${i})` };
  return by === 0 ? { to: (i) => i, back: (i) => i } : { to: (i) => `((${i}) + ${by}) % n`, back: (i) => `((${i}) - ${by}) % n` }; // prettier-ignore
}

function fillVector(x: Context, contents: Contents, target: Held): Stage {
  const { c } = x;
  const { lines: head, value } = expression(x, contents, target);
  const set = (meaning: (before: Contents) => Meaning) => (before: Contents) =>
    new Map(before).set(target, meaning(before));
  const stored = (place: string): string[] => [...head, `${target.name}${place} = ${value.body}`];
  switch (c.below(6)) {
    case 1: {
      // Pushed to another rank.
      const to = turn(x);
      return {
        lines: ["for i in tiles(n) {", ...indented(stored(`@(${to.to("rank")})[i]`)), "}"],
        effect: set((before) => (r, i, q) => value.meaning(before)(to.back(r), i, q)),
      };
    }
    case 2: {
      // In pieces, one rank's after the other's.
      const p = x.fresh("p");
      return {
        lines: [`for ${p} in ranks {`, `  for i in tiles(chunk(n, ${p})) {`, ...indented(indented(stored("[i]"))), "  }", "}"], // prettier-ignore
        effect: set((before) => value.meaning(before)),
      };
    }
    case 3: {
      // On some ranks, where there is something on the others.
      const old = contents.get(target);
      if (old === undefined) break;
      const only = c.below(x.ranks + 1);
      return {
        lines: [`if rank == ${only} {`, "  for i in tiles(n) {", ...indented(indented(stored("[i]"))), "  }", "}"],
        effect: set((before) => (r, i, q) => `where((${r}) == ${only}, ${value.meaning(before)(r, i, q)}, ${before.get(target)!(r, i, q)})`), // prettier-ignore
      };
    }
    case 4: {
      // Some elements, where there is something in the others.
      const old = contents.get(target);
      if (old === undefined) break;
      const condition = (i: string): string => `(${i}) % 3 == 1 or (${i}) > n / 2`;
      return {
        lines: ["for i in tiles(n) {", `  if ${condition("i")} {`, ...indented(indented(stored("[i]"))), "  }", "}"],
        effect: set((before) => (r, i, q) => `where(${condition(i)}, ${value.meaning(before)(r, i, q)}, ${before.get(target)!(r, i, q)})`), // prettier-ignore
      };
    }
    case 5:
      if (value.isSameEverywhere) {
        // Each rank makes a piece and gives it to all.
        const [p, v] = [x.fresh("p"), x.fresh("v")];
        return {
          lines: ["for i in tiles(chunk(n, rank)) {", ...indented([...head, `let ${v} = ${value.body}`, `for ${p} in ranks {`, `  ${target.name}@${p}[i] = ${v}`, "}"]), "}"], // prettier-ignore
          effect: set((before) => value.meaning(before)),
        };
      }
  }
  const order = permutation(x);
  return {
    lines: ["for i in tiles(n) {", ...indented(stored(`[${order.to("i")}]`)), "}"],
    effect: set((before) => (r, i, q) => value.meaning(before)(r, order.back(i), q)),
  };
}

/** Rows, one for each rank: from everybody, or computed alone. */
function fillRows(x: Context, contents: Contents, target: Held): Stage {
  const { lines: head, value }: { lines: readonly string[]; value: Value } = expression(x, contents, target);
  const p = x.fresh("p");
  if (x.c.chance(0.6))
    return {
      lines: ["for i in tiles(n) {", ...indented(head), `  for ${p} in ranks {`, `    ${target.name}@${p}[rank, i] = ${value.body}`, "  }", "}"], // prettier-ignore
      effect: (before) => new Map(before).set(target, (_r, i, q) => value.meaning(before)(q, i, q)),
    };
  return {
    lines: ["for q, i in tiles(world, n) {", ...indented(head), `  ${target.name}[q, i] = ${value.body}`, "}"],
    effect: (before) => new Map(before).set(target, value.meaning(before)),
  };
}

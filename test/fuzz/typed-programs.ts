/**
 * Programs whose names are in scope and whose types, ranks and layouts fit, with every construct of the grammar in some of them. A dial
 * puts noise into them: what a rule reads is then anything that the grammar allows there.
 */
import type fc from "fast-check";
import { type DimValues, type DType } from "../../src/compiler/index.js";
import { type Choices, drawn } from "./choices.js";
import { anyOf, doc } from "./grammar-texts.js";
import { at, condition, deciding, domain, element, index } from "./typed-elements.js";
import { block, computedIn, type Computed, type Func, type Held, localShape, newInput, type Scope, type Shape, someLayout, written } from "./typed-scope.js"; // prettier-ignore
import { tensor } from "./typed-tensors.js";

export interface TypedProgram {
  readonly text: string;
  readonly ranks: number;
  readonly dtype: DType;
  /** Lengths at which it runs, if nothing in it is noise. */
  readonly shapes: readonly DimValues[];
  /** How often a rule was left to chance. */
  readonly noise: number;
  /** What is looked at besides what it computes. */
  readonly also: (typeof ALSO)[number];
}

/** Reading every pass's kernel again takes as long as all else, proving longer. */
const ALSO = ["twice", "twice", "twice", "nothing", "nothing", "nothing", "kernels", "proof"] as const;

/** Lengths that every number of ranks, and each axis, divides. */
const SIZES = [
  { n: 12, m: 24, k: 12 },
  { n: 24, m: 12, k: 36 },
] as const;
const SHAPES: readonly Shape[] = [["n"], ["n"], ["m", "n"], ["n", "k"], ["2 * n"], ["n", "m", "2"], ["12", "n"], ["n + 3"], ["1"]]; // prettier-ignore
const DTYPES = ["f32", "bf16", "f16", "i32", "f8e4m3", "u32", "i8", "i64", "u8", "f8e5m2"] as const;

/** @param noise how often a rule is left to chance, 0 to 1; seven programs of ten have none */
export function typedPrograms(noise = 0.02): fc.Arbitrary<TypedProgram> {
  return drawn((c) => {
    let left = 0;
    const also = c.pick(ALSO);
    const dial = c.chance(0.3) ? noise : 0;
    const dtype = c.pick(DTYPES);
    const axes = c.chance(0.2) ? [{ name: "dp", length: 2 }, { name: "tp", length: 2 + c.below(2) }] : []; // prettier-ignore
    const ranks = axes.length > 0 ? 2 * axes[1]!.length : 1 + c.below(4);
    const top = definitions(c);
    const one = (name: string): string => collective(name, { ...top, c, ranks, axes, dtype, dial, count: () => void left++ }); // prettier-ignore
    const texts = [...top.texts, ...Array.from({ length: c.chance(0.1) ? 2 : 1 }, (_, i) => doc(c) + one(`f${i}`))];
    return { text: laidOut(c, texts.join("\n")), ranks, dtype, shapes: SIZES, noise: left, also };
  });
}

// -- what a file shares ------------------------------------------------------------------------------

interface Definitions {
  readonly texts: readonly string[];
  readonly functions: readonly Func[];
  readonly constants: readonly string[];
}

function definitions(c: Choices): Definitions {
  const texts: string[] = [];
  const functions: Func[] = [];
  const constants: string[] = [];
  if (c.chance(0.15)) {
    texts.push(`import ${c.pick(["next", "next, previous"])} from "common/neighbours.coll"`);
    functions.push({ name: "next", arity: 1, of: "index" });
  }
  if (c.chance(0.25)) {
    texts.push(doc(c) + `const PIECE = ${c.pick(["4", "2 * 3", "world", "64 >> 3", "log2(world) + 1", "7 % 4", "(1 << 2) ^ 1"])}`); // prettier-ignore
    constants.push("PIECE");
  }
  if (c.chance(0.15)) {
    texts.push(doc(c) + `fn scaled(v, by) = ${c.pick(["v * by + v", "max(v, by) - v * 2", "-v + by * (v - 1)"])}`);
    functions.push({ name: "scaled", arity: 2, of: "element" });
  }
  if (c.chance(0.15)) {
    // No number below 0: an element may be u8, and a number beside it is one of its dtype (number-out-of-range).
    texts.push(doc(c) + `fn large(v) = ${c.pick(["v > 2", "not v < 0 and v != 3", "v >= 3 or v <= 0"])}`);
    functions.push({ name: "large", arity: 1, of: "condition" });
  }
  if (c.chance(0.1)) {
    texts.push(doc(c) + `fn two() = 2`);
    functions.push({ name: "two", arity: 0, of: "index" });
  }
  return { texts, functions, constants };
}

interface Setting extends Definitions {
  readonly c: Choices;
  readonly ranks: number;
  readonly axes: Scope["axes"];
  readonly dtype: DType;
  readonly dial: number;
  readonly count: () => void;
}

// -- a collective ------------------------------------------------------------------------------------

function collective(name: string, { c, ranks, axes, dtype, dial, count, functions, constants }: Setting): string {
  let names = 0;
  const x: Scope = {
    c,
    ranks,
    axes,
    family: computedIn(dtype, "f32")!,
    held: [],
    named: [],
    functions,
    constants,
    scalars: [],
    target: null,
    isSteering: false,
    fresh: (prefix) => `${prefix}${names++}`,
    hole: (rule, typed) => {
      if (dial === 0 || !c.chance(dial)) return typed();
      count();
      return anyOf(c, rule, [...x.held.map((a) => a.name), ...x.named.map((v) => v.name), "rank", "world", "n"], 1 + c.below(9)); // prettier-ignore
    },
  };
  if (c.chance(0.2)) x.scalars.push({ name: "given", dtype: c.pick(["f32", "i32", "u32"] as const) });
  const clauses: string[] = [];
  const lines: string[] = [];
  for (let n = 1 + c.below(4); n > 0; n--) lines.push(...statement(x, clauses));
  for (const y of x.held.filter((a) => a.role === "output" && !a.isFull)) lines.push(...store(x, y, clauses));
  // One input and one output of one shape would be taken for the same tensor, but for those that are local.
  const made = (): Held[] => x.held.filter((a) => a.role === "output");
  while (made().length < (made().every((y) => y.layout[0] === "L") && c.chance(0.4) ? 1 : 2))
    lines.push(...store(x, target(x, "output"), clauses));
  const changed = c.chance(0.15) ? inPlace(x, lines) : [];
  const body = lines.map((line) => `  ${line}`).join("\n");
  const declared = (a: Held): string => `${a.name}: ${a.dtype}[${a.shape.join(", ")}] ${x.hole("layout", () => written(x, a.layout))}`; // prettier-ignore
  const outputs = [...x.held.filter((a) => a.role === "output"), ...changed].map(declared);
  const isNamed = (text: string) => (d: string) => new RegExp(`\\b${d}\\b`).test(text);
  const heads = (): string[] => [...x.held.filter((a) => a.role === "input").map(declared), ...x.scalars.map((s) => `${s.name}: ${s.dtype}`)]; // prettier-ignore
  // A dimension is one of the signature's, even if something else alone has it.
  for (const d of Object.keys(SIZES[0]).filter(isNamed(body)))
    if (!x.held.some((a) => (a.role === "input" || a.role === "output") && isNamed(a.shape.join(" "))(d)))
      newInput(x, "T", axes.length > 0 ? axes.map(() => "L") : ["L"], [d]);
  const inputs = heads();
  const signature = `collective ${name}(${inputs.join(", ")})\n  -> ${outputs.length === 1 ? outputs[0]! : `(${outputs.join(", ")})`}`; // prettier-ignore
  const wheres = requirements(x, dtype, Object.keys(SIZES[0]).filter(isNamed(signature)));
  const mesh = axes.length > 0 ? [`mesh(${axes.map((a) => a.name).join(", ")})`] : [];
  const all = [...mesh, ...wheres, ...clauses].map((line) => `\n  ${line}`).join("");
  return `${signature}${all} {\n${body}\n}\n`;
}

function requirements(x: Scope, dtype: DType, dims: readonly string[]): string[] {
  const { c, ranks } = x;
  const all: string[] = [];
  if (x.held.some((a) => a.dtype === "T" && a.role !== "scratch") && c.chance(0.3)) all.push(`T in (${[...new Set(["f32", "i32", dtype])].filter((d) => computedIn(d, "f32") === x.family).join(", ")})`); // prettier-ignore
  if (c.chance(0.2)) all.push(`world in (${[...new Set([1, 4, ranks])].join(", ")})`);
  for (const d of dims) all.push(`${c.pick([`${d} >= 12`, `${d} % world == 0 and ${d} > 3`, `12 <= ${d}`])}`);
  const input = x.held.find((a) => a.role === "input" && a.dtype === "T");
  if (input !== undefined && c.chance(0.15)) all.push(`${input.name} in ${c.pick(["0..4", "1..2 * 3"])}`);
  // Each has a `where`, or is joined to the one before.
  const wheres = all.reduce<string[]>((made, clause) => {
    const last = made.pop();
    if (last === undefined) return [`where ${clause}`];
    return c.chance(0.4) ? [...made, `${last} and ${clause}`] : [...made, last, `where ${clause}`];
  }, []);
  return wheres.map((clause) => x.hole("where", () => clause));
}

// -- statements at the top of a body -----------------------------------------------------------------

/** @param isTensor whether a tensor expression may have to store to it */
function target(x: Scope, role: "output" | "scratch", isTensor = true): Held {
  const { c } = x;
  const shape = c.pick(SHAPES);
  const wide = role === "scratch" && c.chance(0.3) ? "accumulator(T)" : x.family;
  const dtype = c.pick(["T", "T", wide, "bool", "i32"]);
  let layout = someLayout(x, shape);
  // An average of whole numbers is rounded, and no longer linear; conditions have no sum.
  if (computedIn(dtype, x.family) !== "f32") layout = layout.map((s) => (s === "Pavg" ? "Psum" : s));
  if (dtype === "bool") layout = layout.map((s) => (/^P(?!m)/.test(s) ? "R" : s));
  // Summands of several axes have one reduction.
  const partial = layout.find((s) => s.startsWith("P"));
  layout = layout.map((s) => (s.startsWith("P") ? partial! : s));
  // What is declared has no summands along one axis of several.
  if (layout.length > 1 && !layout.every((s) => s === layout[0]))
    layout = layout.map((s) => (/^[PO]/.test(s) ? "R" : s));
  // Loops store to it, which say nothing of what other ranks have: so do those that store sums in the making, which no tensor expression has the dtype of.
  if (!isTensor || dtype === "accumulator(T)")
    layout = layout.map((s) => (/^[RP]/.test(s) || layout.some((o) => /^[RPL]/.test(o)) ? "L" : s));
  const made: Held = { name: x.fresh(role === "output" ? "y" : "s"), dtype, layout, shape, role, isFull: false, isAssigned: false }; // prettier-ignore
  x.held.push(made);
  return made;
}

function statement(x: Scope, clauses: string[]): readonly string[] {
  const { c } = x;
  switch (c.below(8)) {
    case 0:
      return [x.hole("statement", () => "barrier")];
    case 1:
      return [`signal ${x.hole("expression", () => c.pick(["(rank + 1) % world", "rank"]))}`, "wait (rank - 1) % world"].map((line, _, all) => (all[0] === "signal rank" ? line.replace("(rank - 1) % world", "rank") : line)); // prettier-ignore
    case 2: {
      // Where nothing but tensors is spoken of, a let is one: a loop comes with it.
      const name = x.fresh("v");
      const made = c.chance(0.7) ? { kind: "index" as const, text: index(x, 2) } : { kind: "condition" as const, text: "rank % 2 == 0" }; // prettier-ignore
      x.named.push({ name, kind: made.kind });
      return [`let ${name} = ${made.text}`, ...looped(x, target(x, "output", false))];
    }
    case 3: {
      const shape = c.pick(SHAPES);
      const layout = someLayout(x, shape).map((s) => s.replace(/^P.*/, "Psum"));
      const name = x.fresh("t");
      const value = tensor(x, "T", layout, shape, 1 + c.below(3));
      x.held.push({ name, dtype: "T", layout, shape, role: "value", isFull: true, isAssigned: true });
      return [`let ${name} = ${value}`];
    }
    case 4:
    case 5: {
      const s = target(x, "scratch");
      const laid = s.layout[0] === "L" && c.chance(0.5) ? "" : ` ${written(x, s.layout)}`;
      return [`scratch ${s.name}: ${s.dtype}[${s.shape.join(", ")}]${laid}`, ...store(x, s, clauses)];
    }
    default:
      return store(x, target(x, "output"), clauses);
  }
}

/** Stores to all of an array, on every rank: by a tensor expression, or by loops. */
function store(x: Scope, y: Held, clauses: string[]): readonly string[] {
  const { c } = x;
  const wantsTensor = y.layout.some((s) => s === "R" || s.startsWith("P")) || c.chance(0.4);
  if (wantsTensor && y.dtype !== "accumulator(T)") {
    // What all ranks have may be assigned to what each has a part of.
    const isWhole = y.layout.every((s) => /^[SO]/.test(s)) && c.chance(0.2);
    const value = tensor(x, y.dtype, isWhole ? y.layout.map(() => "R") : y.layout, y.shape, 1 + c.below(3));
    y.isFull = y.isAssigned = true;
    const names = new Set(value.match(/\b[a-z]\d+\b/g));
    if (y.role === "output" && x.held.every((a) => a.role === "input" || !names.has(a.name)) && c.chance(0.3))
      clauses.push(`ensures ${y.name} == ${value}`);
    return [`${y.name} = ${value}`];
  }
  const lines = looped(x, y);
  clauses.push(...clauseOf(x, y, lines));
  return lines;
}

/** What a loop says of every element of an output, where it says it of inputs alone and nothing is rounded on the way. */
function clauseOf(x: Scope, y: Held, lines: readonly string[]): readonly string[] {
  const [, variables, place, value] = /^for ([\w, ]+) in tiles\([^\n]*\) \{\n {2}\w+(\[[^\]]*\]) = ([^\n]*)\n\}$/.exec(lines.join("\n")) ?? []; // prettier-ignore
  if (value === undefined || place !== `[${variables}]` || y.role !== "output" || y.dtype !== x.family) return [];
  const inputs = new Set(x.held.filter((a) => a.role === "input").map((a) => a.name));
  const isOfInputs = (value.match(/\b[xystv]\d+\b/g) ?? []).every((name) => inputs.has(name));
  if (!isOfInputs || /\b(T|index|[iufb]\w*\d)\(/.test(value) || x.c.chance(0.3)) return [];
  const renamed = (text: string): string => text.replace(/\be(?=\d+\b)/g, "a");
  return [`ensures ${y.name}${renamed(place)} == ${renamed(value)}`];
}

function looped(x: Scope, y: Held): readonly string[] {
  x.target = y;
  const lines = block(x, () => filled(x, y));
  x.target = null;
  y.isFull = true;
  return lines;
}

const indented = (lines: readonly string[]): string[] => lines.map((line) => `  ${line}`);

/** What an element of an array becomes. */
function value(x: Scope, y: Held, depth: number): string {
  const type = computedIn(y.dtype, x.family);
  return type === null ? condition(x, depth) : element(x, type, depth);
}

/** Loops that store to all of an array, on every rank, in one of the ways that leave nobody's element out. */
function filled(x: Scope, y: Held): readonly string[] {
  const { c } = x;
  const lengths = localShape(x, y);
  const variables = lengths.map(() => x.fresh("e"));
  const place = `[${variables.join(", ")}]`;
  const loop = (
    inner: () => readonly string[],
    first = c.pick([lengths[0]!, lengths[0]!, `0..${lengths[0]!}`]),
  ): string[] =>
    block(x, () => {
      variables.forEach((name, d) => x.named.push({ name, kind: "index", below: lengths[d]! }));
      const ranges = [first, ...lengths.slice(1)].map((one) => x.hole("range", () => one));
      return [`for ${variables.join(", ")} in tiles(${ranges.join(", ")}) {`, ...indented(inner()), "}"];
    });
  const set = (where = "", index = place): string => `${y.name}${where}${index} = ${value(x, y, 2)}`;
  const rounds = (): string => c.pick(["0..2", "1..log2(world) + 3", "0..3", "0..world"]);
  switch (c.below(9)) {
    case 1: {
      const p = x.fresh("p");
      const piece = c.pick(["chunk", /^[nmk]$/.test(lengths[0]!) ? "shard" : "chunk"]);
      return block(x, () => {
        x.named.push({ name: p, kind: "rank" });
        return [
          `for ${p} in ranks {`,
          ...indented(loop(() => inner(x, y, set), `${piece}(${lengths[0]!}, ${p})`)),
          "}",
        ];
      });
    }
    case 2: {
      // Each rank makes a piece and gives it to all.
      const [v, p] = [x.fresh("v"), x.fresh("p")];
      const others = c.chance(0.5);
      return loop(() => [`let ${v} = ${value(x, y, 2)}`, ...(others ? [`${y.name}${place} = ${v}`] : []), `for ${p} in ${others ? "peers" : "ranks"} {`, `  ${y.name}@${p}${place} = ${v}`, "}"], `chunk(${lengths[0]!}, rank)`); // prettier-ignore
    }
    case 3:
      return loop(() => [set(at(c.pick(["(rank + 1) % world", "world - 1 - rank", "rank"])))]);
    case 4: {
      const k = x.fresh("k");
      return block(x, () => {
        const range = rounds();
        x.named.push({ name: k, kind: "index" });
        return [`for ${k} in ${range} {`, ...indented(loop(() => inner(x, y, set))), "}"]; // prettier-ignore
      });
    }
    case 5: {
      // Some ranks so, the others otherwise.
      const branches = [`rank == ${c.below(x.ranks)}`, ...(c.chance(0.4) ? ["rank < world / 2"] : [])];
      const heads = branches.map((one, i) => `${i === 0 ? "" : "} else "}if ${one} {`);
      return [...heads, "} else {"].flatMap((head) => [head, ...indented(loop(() => inner(x, y, set)))]).concat("}");
    }
    case 6: {
      // By and by.
      const k = x.fresh("k");
      const zero = y.dtype === "bool" ? "1 > 2" : "0";
      return loop(() => [
        `${y.name}${place} = ${zero}`,
        ...block(x, () => {
          const over = c.chance(0.3) ? domain(x, k) : null;
          const isInOrder = over !== null && !/^(ranks|peers)/.test(over.text);
          const range = isInOrder ? over.text : rounds();
          x.named.push(isInOrder ? over.variable : { name: k, kind: "index" });
          const more = value(x, y, 1);
          return [`for ${k} in ${range} {`, `  ${y.name}${place} = ${y.dtype === "bool" ? `${y.name}${place} or (${more})` : `${y.name}${place} + ${more}`}`, "}"]; // prettier-ignore
        }),
      ]);
    }
    default:
      return loop(() => inner(x, y, set));
  }
}

/** What a loop does with an element: it stores to it once, whatever the conditions are. */
function inner(x: Scope, y: Held, set: () => string): readonly string[] {
  const { c } = x;
  return block(x, () => {
    const lines: string[] = [];
    for (let n = c.below(3); n > 0; n--) {
      const name = x.fresh("v");
      const kind = c.pick(["index", "condition", x.family, x.family] as const);
      const made = kind === "index" ? index(x, 2) : kind === "condition" ? deciding(x, 1) : element(x, kind, 2);
      // What a number of the launch is in is not looked for: it counts as such.
      const isGiven = /\bgiven\b/.test(made) || x.named.some((v) => v.isGiven === true && new RegExp(`\\b${v.name}\\b`).test(made)); // prettier-ignore
      lines.push(`let ${name} = ${made}`);
      x.named.push({ name, kind: kind as Computed | "index" | "condition", isGiven });
    }
    if (!c.chance(0.3)) return [...lines, x.hole("statement", set)];
    const one = (): string[] => indented(block(x, () => [set()]));
    const other = c.chance(0.4) ? [`} else if ${deciding(x, 1)} {`, ...one()] : [];
    return [...lines, `if ${deciding(x, 2)} {`, ...one(), ...other, "} else {", ...one(), "}"];
  });
}

/** An input that is an output, too: each element made of itself. */
function inPlace(x: Scope, lines: string[]): readonly Held[] {
  const able = x.held.filter((a) => a.role === "input" && a.layout[0] === "L" && a.dtype !== "bool");
  if (able.length === 0) return [];
  const y = x.c.pick(able);
  const i = y.shape.map(() => x.fresh("e"));
  const own = `${y.name}[${i.join(", ")}]`;
  lines.push(`for ${i.join(", ")} in tiles(${y.shape.join(", ")}) {`, `  ${own} = ${own} + ${own} * 2`, "}");
  return [y];
}

/** Line breaks are spaces, and comments stand anywhere; the one line that must end is that of a comment. */
function laidOut(c: Choices, text: string): string {
  const way = c.below(4);
  if (way === 0) return text;
  const lines = text.split("\n").map((line) => (way === 1 && c.chance(0.1) ? `${line} // ${c.pick(["so", "/", "x = 1"])}` : line)); // prettier-ignore
  if (way !== 2) return lines.join("\n");
  return lines.map((line) => (/\/\//.test(line) || c.chance(0.5) ? `${line}\n` : `${line} `)).join("");
}

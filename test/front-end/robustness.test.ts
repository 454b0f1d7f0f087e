/** No text makes the compiler throw: what is wrong with it is said in diagnostics, and quickly. */
import { describe, expect, test } from "vitest";
import { compile, type DType } from "../../src/compiler/index.js";
import { LIBRARY } from "../kernels/library.js";
import { COLLECTIVES } from "./collectives.js";
import { diagnose } from "./helpers.js";
import { EXAMPLES } from "./language.js";

/** Numbers in 0..1 that are the same in every run. */
function random(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
  };
}

const SOURCES = [
  ...LIBRARY.map((f) => f.text),
  ...Object.values(COLLECTIVES),
  ...EXAMPLES.filter((e) => e.error === null).map((e) => e.text),
];
const WORDS = [...new Set(SOURCES.flatMap((s) => s.match(/[A-Za-z_]\w*|\d+(\.\d+)?|[^\s\w]+|\n/g) ?? []))];
const CHARACTERS = [...new Set(SOURCES.join(""))].join("") + "\0\t\\\"'`#$&|;?!~é→\u{1f600}";
const DTYPES: readonly DType[] = ["f32", "bf16", "f8e4m3", "i32", "u8"];

const KINDS = [/^[a-z_]\w*$/, /^[A-Z]\w*$/, /^\d/, /^[-+*\/%^]$/, /^[<>=!]=?$/, /./];
const kindOf = (word: string): number => KINDS.findIndex((k) => k.test(word));
const LIKE = KINDS.map((_, kind) => WORDS.filter((w) => kindOf(w) === kind));

/** One to three small accidents. */
function mutated(text: string, next: () => number): string {
  const below = (n: number): number => Math.floor(next() * n);
  let out = text;
  for (let i = next() < 0.6 ? 1 : 2 + below(2); i > 0; i--) {
    const at = below(out.length);
    const tokens = [...out.matchAll(/[A-Za-z_]\w*|\d+(\.\d+)?|[^\s\w]/g)];
    const token = tokens[below(tokens.length)];
    const [from, to] = token === undefined ? [0, 0] : [token.index, token.index + token[0].length];
    switch (below(12)) {
      case 0:
        out = out.slice(0, at) + out.slice(at + 1 + below(4));
        break;
      case 1:
        out = out.slice(0, at) + CHARACTERS[below(CHARACTERS.length)]! + out.slice(at);
        break;
      case 2:
        out = out.slice(0, from) + WORDS[below(WORDS.length)]! + out.slice(to);
        break;
      case 4:
        out = out.slice(0, from) + out.slice(to);
        break;
      case 5: {
        const length = below(40);
        out = out.slice(0, at) + out.slice(at, at + length) + out.slice(at);
        break;
      }
      case 6:
        out = out.slice(0, from) + WORDS[below(WORDS.length)]! + " " + out.slice(from);
        break;
      default: {
        // A word for one of its kind, mostly from the same program: many of these are programs.
        const kind = kindOf(token?.[0] ?? "");
        const near = tokens.map((t) => t[0]).filter((w) => kindOf(w) === kind);
        const words = below(4) === 0 ? (LIKE[kind] ?? WORDS) : near;
        out = out.slice(0, from) + (words[below(words.length)] ?? "") + out.slice(to);
      }
    }
  }
  return out;
}

/** Null, or what was thrown and the text that did it. */
function crash(text: string, ranks: number, dtype: DType): string | null {
  try {
    compile(text, { file: "mutated.coll", ranks, dtype });
    return null;
  } catch (e) {
    return `${e instanceof Error ? `${e.name}: ${e.message.split("\n")[0]}` : String(e)}, ${ranks} ranks, ${dtype}\n${text}`;
  }
}

const COUNT = Number(process.env["FUZZ"] ?? 3000);

test("mutated programs give diagnostics or code, never an exception", { timeout: 60_000 }, () => {
  const next = random(Number(process.env["FUZZ_SEED"] ?? 1));
  const crashes: string[] = [];
  let compiled = 0;
  const end = Date.now() + (process.env["FUZZ"] === undefined ? 15_000 : 600_000);
  for (let i = 0; i < COUNT && crashes.length < 20 && Date.now() < end; i++) {
    const text = mutated(SOURCES[i % SOURCES.length]!, next);
    const ranks = 1 + Math.floor(next() * 4);
    const found = crash(text, ranks, DTYPES[Math.floor(next() * DTYPES.length)]!);
    if (found !== null) crashes.push(found);
    else compiled++;
  }
  expect(crashes.join("\n----\n")).toBe("");
  expect(compiled).toBeGreaterThan(300);
});

test("texts that are no programs", () => {
  for (const text of [
    "",
    "\n",
    "\0",
    "///",
    "// x",
    "collective",
    "}",
    "((((",
    "@",
    "…",
    "\ufeff",
    "collective f(",
    "\r\n\r\n",
  ])
    expect(crash(text, 2, "f32")).toBeNull();
});

const body = (statements: string): string =>
  `collective f(x: f32[n] local) -> y: f32[n] local {\n${statements}\n  for i in tiles(n) { y[i] = x[i] }\n}\n`;

describe("deep nesting is answered", () => {
  const deep: Record<string, string> = {
    parentheses: body(`let q = ${"(".repeat(200)}1${")".repeat(200)}`),
    "unclosed parentheses": body(`let q = ${"(".repeat(2000)}1`),
    minuses: body(`let q = ${"- ".repeat(2000)}1`),
    ifs: body(`${"if n > 1 {".repeat(200)} for i in tiles(n) { y[i] = 0 } ${"}".repeat(200)}`),
    "unclosed ifs": body("if n > 1 {".repeat(2000)),
    "else ifs": body(`if n == 0 { }${" else if n == 1 { }".repeat(2000)}`),
    "a long sum": body(`let q = ${"1 + ".repeat(5000)}1`),
    "many indices": body(`let q = ${"x[".repeat(2000)}0${"]".repeat(2000)}`),
    folds: body(`let q = ${Array.from({ length: 300 }, (_, k) => `sum(k${k} in 0..2)`).join(" ")} 1`),
    calls: body(`let q = ${"exp(".repeat(3000)}1.0${")".repeat(3000)}`),
  };
  for (const [name, text] of Object.entries(deep))
    test(name, { timeout: 5000 }, () => {
      expect(crash(text, 2, "f32")).toBeNull();
    });
});

test("200 nested loops are refused, 10 are compiled quickly", { timeout: 10_000 }, () => {
  const loops = (n: number): string =>
    `${Array.from({ length: n }, (_, k) => `for k${k} in 0..2 {`).join(" ")} let q = n ${"}".repeat(n)}`;
  expect(diagnose(body(loops(200))).map((d) => d.code)).toEqual(["too-deep"]);
  expect(crash(body(loops(10)), 2, "f32")).toBeNull();
});

describe("long files are answered quickly", () => {
  const statement = (i: number): string => `  for i in tiles(n) { let v${i} = x[i] * ${i}  y[i] = v${i} + 1 }`;

  test("10,000 lines that are right", { timeout: 20_000 }, () => {
    const text = body(Array.from({ length: 10_000 }, (_, i) => statement(i)).join("\n"));
    const start = performance.now();
    expect(diagnose(text)).toEqual([]);
    expect(performance.now() - start).toBeLessThan(6000);
  });

  test("10,000 lines of which every one is wrong", { timeout: 20_000 }, () => {
    const start = performance.now();
    expect(diagnose(body("  let = x[ + ;\n".repeat(10_000))).length).toBeGreaterThan(0);
    expect(diagnose(body(Array.from({ length: 10_000 }, (_, i) => `  let v${i} = x[w${i}]`).join("\n"))).length).toBe(
      10_000,
    );
    expect(performance.now() - start).toBeLessThan(12_000);
  });

  test("2,000 collectives", { timeout: 20_000 }, () => {
    const text = Array.from({ length: 2000 }, (_, i) => body("").replace("f(", `f${i}(`)).join("\n");
    const start = performance.now();
    expect(diagnose(text, { collective: "f1999" })).toEqual([]);
    expect(performance.now() - start).toBeLessThan(6000);
  });
});

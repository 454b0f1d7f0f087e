/** Texts that are long, deep or no programs at all are answered in diagnostics, and quickly. */
import { describe, expect, test } from "vitest";
import { compile, type DType } from "../../src/compiler/index.js";
import { diagnose } from "./helpers.js";

/** Null, or what was thrown and the text that did it. */
function crash(text: string, ranks: number, dtype: DType): string | null {
  try {
    compile(text, { file: "mutated.coll", ranks, dtype });
    return null;
  } catch (e) {
    return `${e instanceof Error ? `${e.name}: ${e.message.split("\n")[0]}` : String(e)}, ${ranks} ranks, ${dtype}\n${text}`;
  }
}

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

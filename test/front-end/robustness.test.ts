/** Texts that are long, deep or no programs at all are answered in diagnostics, and quickly. */
import { describe, expect, test } from "vitest";
import { compile, type DType, type ResolveImport } from "../../src/compiler/index.js";
import { usualSeconds } from "../processor.js";
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
    test(name, () => {
      expect(usualSeconds(() => expect(crash(text, 2, "f32")).toBeNull())).toBeLessThan(5);
    });
});

test("200 nested loops are refused, 10 are compiled quickly", () => {
  const loops = (n: number): string =>
    `${Array.from({ length: n }, (_, k) => `for k${k} in 0..1 {`).join(" ")} let q = n ${"}".repeat(n)}`;
  expect(diagnose(body(loops(200))).map((d) => d.code)).toEqual(["too-deep"]);
  expect(crash(body(loops(10)), 2, "f32")).toBeNull();
});

describe("functions and constants put in place", () => {
  const levels = (n: number, call: (before: string) => string): string =>
    ["fn f0(v) = v + 1", ...Array.from({ length: n }, (_, i) => `fn f${i + 1}(v) = ${call(`f${i}`)}`)].join("\n");
  const using = (definitions: string, value: string): string =>
    `${definitions}\ncollective f(x: f32[n] local) -> y: f32[n] local {\n  for i in tiles(n) { y[i] = ${value} }\n}\n`;
  const codes = (text: string): string[] =>
    compile(text, { ranks: 2 }).diagnostics.flatMap((d) => (d.severity === "error" ? [d.code] : []));

  test("200 levels of functions, and 200 calls one in the other, are compiled", () => {
    expect(
      codes(
        using(
          levels(200, (f) => `${f}(v * 0.5) + 1`),
          "f200(x[i])",
        ),
      ),
    ).toEqual([]);
    expect(codes(using("fn g(v) = v * 0.5 + 1", `${"g(".repeat(200)}x[i]${")".repeat(200)}`))).toEqual([]);
  });

  test("what doubles with each level is refused before it fills the memory", () => {
    for (const n of [12, 60])
      expect(
        codes(
          using(
            levels(n, (f) => `${f}(v) + ${f}(v + 1)`),
            `f${n}(x[i])`,
          ),
        ),
      ).toEqual(["too-large"]);
  });

  test("what is too deep only when it is put in place is refused, too", () => {
    const deep = levels(200, (f) => `${"(".repeat(16)}${f}(v)${" + 1)".repeat(16)}`);
    expect(codes(using(deep, "f200(x[i])"))).toEqual(["too-deep"]);
  });

  test("a constant that is used often is computed once", () => {
    const constants = [
      "const c0 = 1",
      ...Array.from({ length: 60 }, (_, i) => `const c${i + 1} = c${i} + c${i} - c${i}`),
    ];
    expect(codes(using(constants.join("\n"), "x[i] * c60"))).toEqual([]);
  });

  test("files that import each other in a long row", () => {
    const row = (n: number): string[] => {
      const files = new Map(
        Array.from({ length: n }, (_, i) => [
          `f${i}.coll`,
          i === n - 1 ? "const c = 1\n" : `import c from "f${i + 1}.coll"\n`,
        ]),
      );
      const resolve: ResolveImport = (name) => (files.has(name) ? { name, text: files.get(name)! } : null);
      const text = using('import c from "f0.coll"', "x[i] * c");
      return compile(text, { ranks: 2, resolve }).diagnostics.map((d) => d.code);
    };
    expect(row(150)).toEqual([]);
    expect(row(5000)).toContain("too-deep");
  });
});

describe("long chains of tensor values", () => {
  const chain = (first: number, count: number): string =>
    Array.from(
      { length: count },
      (_, i) => `  let a${first + i + 1} = a${first + i} * 0.5 + a${first + i} * 0.25`,
    ).join("\n");
  const chained = (lines: string, last: string): ReturnType<typeof compile> =>
    compile(
      `collective chained(x: T[n] partial(sum)) -> y: T[n] replicated {\n  let a0 = all_reduce(x)\n${lines}\n  y = ${last}\n}`,
      { ranks: 2 },
    );

  test("compile up to a length, and are refused beyond", () => {
    expect(chained(chain(0, 255), "a255")).toMatchObject({ diagnostics: [], cuda: expect.any(String) as string });
    for (const n of [256, 5000])
      expect(chained(chain(0, n), `a${n} * 2`).diagnostics.map((d) => d.code)).toEqual(["too-deep"]);
  });

  test("go on from what has been stored, as the message says", () => {
    const stored = `${chain(0, 200)}\n  scratch t: T[n] replicated\n  t = a200\n  let a201 = t + 1\n${chain(201, 200)}`;
    expect(chained(stored, "a401")).toMatchObject({ diagnostics: [], cuda: expect.any(String) as string });
  });
});

describe("long files are answered quickly", () => {
  const statement = (i: number): string => `  for i in tiles(n) { let v${i} = x[i] * ${i}  y[i] = v${i} + 1 }`;

  test("10,000 lines that are right", () => {
    const text = body(Array.from({ length: 10_000 }, (_, i) => statement(i)).join("\n"));
    const codes = (): string[] => diagnose(text).map((d) => d.code);
    expect(usualSeconds(() => expect(codes()).toEqual(["too-many-statements"]))).toBeLessThan(5);
  });

  test("10,000 lines of which every one is wrong", () => {
    const broken = body("  let = x[ + ;\n".repeat(10_000));
    expect(usualSeconds(() => expect(diagnose(broken).length).toBeGreaterThan(0))).toBeLessThan(5);
    const unknown = body(Array.from({ length: 10_000 }, (_, i) => `  let v${i} = x[w${i}]`).join("\n"));
    expect(usualSeconds(() => expect(diagnose(unknown).length).toBe(10_000))).toBeLessThan(5);
  });

  test("2,500 collectives, functions and constants, of which one is compiled", () => {
    const text = Array.from(
      { length: 2500 },
      (_, i) =>
        `const C${i} = ${i}\nfn g${i}(v) = v * C${i}\n${body("").replace("f(", `f${i}(`).replace("= x[i]", `= g${i}(x[i])`)}`,
    ).join("\n");
    const compiled = (): string[] => compile(text, { ranks: 2, collective: "f2499" }).diagnostics.map((d) => d.code);
    expect(usualSeconds(() => expect(compiled()).toEqual([]))).toBeLessThan(5);
  });

  test("1,000 statements in one collective, down to the kernel", () => {
    const text = body(Array.from({ length: 1000 }, (_, i) => statement(i)).join("\n"));
    const compiled = (): string | null => compile(text, { ranks: 2 }).cuda;
    expect(usualSeconds(() => expect(compiled()).toContain("__global__"))).toBeLessThan(15);
  });
});

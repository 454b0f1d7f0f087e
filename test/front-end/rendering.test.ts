/** How diagnostics look to a person and to a machine. */
import { expect, test } from "vitest";
import {
  diagnostic,
  type Palette,
  printDiagnostic,
  printDiagnostics,
  toJson,
} from "../../src/compiler/diagnostics/index.js";
import { SourceFile } from "../../src/compiler/index.js";
import { diagnose, expectGolden } from "./helpers.js";

const loops = (body: string): string =>
  `collective f(x: T[n] partial(sum), z: T[n] sharded(0)) -> y: T[n] replicated {\n${body}\n}\n`;
const tiles = (body: string): string => loops(`  for i in tiles(n) {\n    ${body}\n  }`);

/** One program a row; what is said about it is in `goldens/diagnostics.txt`. */
const PROGRAMS: readonly string[] = [
  "",
  "colective f(x: T[n] partial(sum)) -> y: T[n] replicated { y = all_reduce(x) }",
  "collective (x: T[n] partial(sum)) -> y: T[n] replicated { y = all_reduce(x) }",
  "collective f(x: T[n]) -> y: T[n] replicated { y = all_reduce(x) }",
  "collective f(x: T[n partial(sum)) -> y: T[n] replicated { y = all_reduce(x) }",
  "collective f(x: T[n] partial(sum) -> y: T[n] replicated { y = all_reduce(x) }",
  "collective f(x: T[n] partial(sum)) y: T[n] replicated { y = all_reduce(x) }",
  "collective f(x: T[n] partial(sun)) -> y: T[n] replicatd { y = all_reduce(x) }",
  tiles("y[i] = x[i + z[i]"),
  tiles("y[i] = x@(i + 1[i]"),
  tiles("y[i] += x[i]"),
  tiles("y[i] = exp(x[i], "),
  tiles("y[i] = x[i] x[i]"),
  tiles("y[i] = if i > 0 { 1 } else { 2 }"),
  tiles("y[i] = x[i] * $2; // both"),
  tiles("y[i] = x@p\n      [i]"),
  tiles("y[i] = sum(p in ranks x@p[i]"),
  loops("  for i in tiles(n) {\n    y[i] = x[i]"),
  loops("  let = 3\n  for p in { y[p] = 1 }\n  for ranks in tiles(n) { y[0] = (1 }\n  if i = 0 { barrier }"),
  loops("  y = x + z"),
  loops("  y = all_reduce(x) + z"),
  loops("  y = z"),
  loops("  y = x@z"),
  loops("  y = reduce_scater(x, dim: 0)"),
  tiles("let q = i\n    y[rnk] = x@5[i] + q + r\n    barrier"),
  tiles("y[0] = x[i] + z[i]"),
  loops(
    "  if rank == 0 {\n    barrier\n  }\n  for i in tiles(n) {\n    for j in tiles(n) {\n      y[j] = x[i] + z[0]\n    }\n  }",
  ),
  "collective f(a: T[m, k] sharded(1), b: T[k, n] replicated) -> c: T[m, n] replicated {\n  c = a @ b\n}",
  "collective f(a: T[m, k] sharded(0), b: T[k, n] sharded(1)) -> c: T[m, n] replicated {\n  c = a @ b\n}",
  "collective f(a: T[m, k] sharded(1), b: T[k, n] sharded(0)) -> c: T[m, n] sharded(0) {\n  c = a @ b\n}",
  "collective f(a: T[6, k] sharded(0)) -> c: T[6, k] replicated {\n\tc = all_gather(a)\n}",
];

test("every one of them reads well", () => {
  const text = PROGRAMS.map((program) => {
    const source = new SourceFile("f.coll", program);
    return `${"=".repeat(80)}\n${printDiagnostics(diagnose(program), source)}`;
  }).join("\n");
  expect(text).not.toMatch(/undefined|null|NaN|\{\w+\}/);
  expectGolden("diagnostics.txt", text);
});

test("colours come from the palette, and change nothing but colour", () => {
  const tag = (name: string) => (s: string) => `<${name}>${s}</${name}>`;
  const palette: Palette = { error: tag("e"), warning: tag("w"), note: tag("n"), faint: tag("f"), bold: tag("b") };
  const text = loops("  y = x + z");
  const source = new SourceFile("f.coll", text);
  const [d] = diagnose(text);
  const coloured = printDiagnostic(d!, source, palette);
  expect(coloured).toContain("<e>error[operand-layouts]</e><b>:");
  expect(coloured.replace(/<\/?[ewnfb]>/g, "")).toBe(printDiagnostic(d!, source));
});

test("a long line is shown around the mark", () => {
  const text = `${"x".repeat(5000)} here ${"y".repeat(5000)}`;
  const shown = printDiagnostic(
    diagnostic("unknown-name", { start: 5001, end: 5005 }, { name: "here" }),
    new SourceFile("long.coll", text),
  );
  const [, place, , line, marks] = shown.split("\n");
  expect(place).toContain("long.coll:1:5002");
  expect(line!.length).toBeLessThan(200);
  expect(line!.slice(marks!.indexOf("^"), marks!.lastIndexOf("^") + 1)).toBe("here");
});

test("tabs, carriage returns and a place behind the end", () => {
  const source = new SourceFile("t.coll", "\tlet a = b\r\n");
  const shown = printDiagnostic(diagnostic("unknown-name", { start: 9, end: 10 }, { name: "b" }), source);
  expect(shown.split("\n").slice(3, 5)).toEqual(["1 | \tlet a = b", "  | \t        ^"]);
  const behind = printDiagnostic(diagnostic("syntax", { start: 12, end: 13 }, { expected: "a", found: "b" }), source);
  expect(behind).toContain("t.coll:2:1");
});

test("as JSON", () => {
  const text = loops("  y = z +\n    z");
  const json = diagnose(text).map((d) => toJson(d, new SourceFile("dir/f.coll", text)));
  expect(json).toEqual([
    {
      code: "layout-mismatch",
      severity: "error",
      message: "'y' is declared replicated, but the expression is sharded(0)",
      file: "dir/f.coll",
      line: 2,
      column: 7,
      endLine: 3,
      endColumn: 6,
      help: "convert it: y = all_gather(z + z)",
    },
  ]);
});

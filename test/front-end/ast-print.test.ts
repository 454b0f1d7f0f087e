/** Printing a syntax tree gives text that parses back to the same tree. */
import { describe, expect, test } from "vitest";
import { parseProgram } from "../../src/compiler/front-end.js";
import { printProgram, SourceFile } from "../../src/compiler/index.js";
import { formatColl } from "../../src/formatter/index.js";
import { LIBRARY } from "../kernels/library.js";
import { expectGolden, withoutSpans } from "./helpers.js";
import { EXAMPLES } from "./language.js";

function parse(text: string): ReturnType<typeof parseProgram>["program"] {
  const { program, diagnostics } = parseProgram(new SourceFile("t.coll", text));
  expect(diagnostics.filter((d) => d.severity === "error")).toEqual([]);
  return program;
}

function expectRoundTrip(text: string): void {
  const tree = parse(text);
  const printed = printProgram(tree);
  const again = parse(printed);
  expect(withoutSpans(again)).toEqual(withoutSpans(tree));
  expect(printProgram(again)).toBe(printed);
}

describe("print, parse, print", () => {
  for (const { name, text } of LIBRARY) test(`kernels/${name}.coll`, () => expectRoundTrip(text));
  for (const e of EXAMPLES)
    if (e.error === null) test(`LANGUAGE.md, line ${e.line}: ${e.section}`, () => expectRoundTrip(e.text));
  test.each(["///Text", "///  Text", "////Text", "///\n///Text ", "///a\n\n///b", "///\rText", "/// a\rb\r"])(
    "a description %j, formatted, too",
    async (doc) => {
      const text = `${doc}\ncollective f(x: T[n] local) -> y: T[n] local { y = x }\n`;
      expectRoundTrip(text);
      expect(withoutSpans(parse(await formatColl(text)))).toEqual(withoutSpans(parse(text)));
    },
  );
});

/** `e` inside a program, printed. */
function printed(e: string): string {
  const program = parse(`collective f(x: f32[n] local) -> y: f32[n] local { for i in tiles(n) { y[i] = ${e} } }`);
  return /y\[i\] = (.*)/.exec(printProgram(program))![1]!;
}

test.each([
  "a + b + c",
  "a + (b + c)",
  "a - (b - c)",
  "(a + b) * c",
  "a * b + c",
  "a * (b / c)",
  "-a * b",
  "-(a * b)",
  "-(-a)",
  "not (a and b)",
  "not a < b",
  "not (a or b) and c",
  "(not a) == b",
  "a == b or c == d and e == f",
  "(a or b) and c",
  "(a < b) == c",
  "a ^ b + c",
  "a % b / c",
  "sum(p in ranks) x@p[i] * s",
  "(sum(p in ranks) x@p[i]) * s",
  "sum(p in ranks) x@p[i] * s + 1",
  "sum(p in ranks) (x@p[i] + 1)",
  "sum(p in peers) max(k in 0..n) x@p[k]",
  "-(sum(p in ranks) x@p[i])",
  "x@(p + 1)[i]",
  "x@0[i]",
  "x@p[i, j + 1]",
  "shard(n, rank).start + chunk(n, p).length",
  "where(i < n, exp(a), -b)",
  "f(a, dim: 0, to: 1)",
  "1.0 + 0.5 + 3",
  "a @ b @ c",
  "a @ (b @ c)",
  "f(a)[0..1, ..]",
  "(a + b)[.., i]",
  "-(-a)[..n]",
  "a[0.., ..][1, ..n]",
  "x@p[i][0..1]",
  "x@p[0..1]",
  "(2)[..]",
  "(sum(p in ranks) x@p[i])[..]",
  "-a[..] * (b * c)[..]",
])("%s keeps its parentheses, no more and no fewer", (e) => {
  // A minus sign directly behind another one is written in parentheses or not: the tree is what counts.
  expect(withoutSpans(parse(wrap(printed(e))))).toEqual(withoutSpans(parse(wrap(e))));
  if (!e.startsWith("-(-")) expect(printed(e)).toBe(e);
});

function wrap(e: string): string {
  return `collective f(x: f32[n] local) -> y: f32[n] local { for i in tiles(n) { y[i] = ${e} } }`;
}

test("the printed form of a program with every construct", () => {
  expectGolden("printed.coll", printProgram(parse(EVERYTHING)));
});

/** Written badly on purpose: the printer gives the canonical form. */
const EVERYTHING = `
/// Everything there is.
///
/// Even an empty line.
collective everything(x : T[n,m+1] partial(max), w: f32[2*n] on(1)) -> (y: T[n] local,
  z: U[m] sharded(0)) where T in (f16,bf16) ensures y==x ensures z == w where U in (f32) {
  scratch s : f32[world,n]
  let next=(rank+1)%world   // a comment
  for i,j in tiles(n, shard(m, rank)) { s@next[0,i]=x[i,j]  y[i] = 1e-3 }
  barrier
  for p in peers { for k in 1..4 { if rank==0 and not p>k { let q = 1.5 y[k]=q } else if p==1 { y[k]=2 } else { y@(p^1)[k] = 3 } } }
}`;

test("comments before an empty line are not about what comes next", () => {
  const text = "/// What the file is for.\n\n/// Twice v,\n/// no less.\nfn twice(v) = v * 2\n";
  expect(parse(text).functions[0]!.doc).toBe("Twice v,\nno less.");
});

test("conditions of every kind are joined with `and`, or have a `where` each", async () => {
  const signature = "collective f(a: T[n] local, c: i32[world] local) -> y: T[n] local";
  const joined = `${signature} where T in (f16, f32) and n >= 4 and c in 0..n / 2 + 1 and n % 64 == 0 and n < 99 and world in (2, 4) { y = a }\n`;
  const conditions = ["T in (f16, f32)", "n >= 4", "c in 0..n / 2 + 1", "n % 64 == 0 and n < 99", "world in (2, 4)"];
  const apart = `${signature} ${conditions.map((c) => `where ${c}`).join(" ")} { y = a }\n`;
  expect(withoutSpans(parse(joined))).toEqual(withoutSpans(parse(apart)));
  const formatted = await formatColl(joined);
  expect(withoutSpans(parse(formatted))).toEqual(withoutSpans(parse(apart)));
  expect(await formatColl(formatted)).toBe(formatted);
});

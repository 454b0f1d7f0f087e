/** Whole messages, as a person sees them: every program in `broken/`, rendered. */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { printDiagnostics } from "../../src/compiler/diagnostics/index.js";
import { checkCollective, parseProgram } from "../../src/compiler/front-end.js";
import { SourceFile } from "../../src/compiler/index.js";
import { expectDiagnostics, expectGolden } from "./helpers.js";

const FOLDER = join(import.meta.dirname, "broken");

describe("broken programs", () => {
  for (const name of readdirSync(FOLDER))
    test(name, () => {
      const file = new SourceFile(name, readFileSync(join(FOLDER, name), "utf8"));
      const { program, diagnostics } = parseProgram(file);
      const all = [...diagnostics];
      const isBroken = all.some((d) => d.severity === "error"); // then `compile` says no more, either
      for (const { name: chosen } of isBroken ? [] : program.collectives)
        all.push(...checkCollective(program, chosen.text, { world: 4, dtypes: {}, file }).diagnostics);
      expect(all.length).toBeGreaterThan(0);
      expectGolden(`messages/${name}.txt`, printDiagnostics(all, file));
    });
});

/** What stands for `…` in the middle of a tiles loop, and what must be said of it. */
const SYNTAX: readonly (readonly [string, string | RegExp])[] = [
  ["y[i] = x[i ⟦y⟧[i] = 0", "expected `]` to close the index of `x`, found `y`"],
  ["y[i] = x@p[i ⟦=⟧ 3", "expected `]` to close the index of `x`, found `=`"],
  ["y[i] = x@(p + 1)[i ⟦=⟧ 3", "expected `]` to close the index of `x`, found `=`"],
  ["y[i] = exp(x[i] ⟦}⟧", "expected `)` to close the arguments of `exp`, found `}`"],
  ["y[i] = (x[i] + 1 ⟦}⟧", "expected `)` to close the parentheses, found `}`"],
  ["y[i] = shard(n, 0⟦]⟧.start", "expected `)` to close the arguments of `shard`, found `]`"],
  ["y[i] = sum(p in ranks ⟦x⟧@p[i]", "expected `)` to close the head of the reduction `sum`, found `x`"],
  ["y[i] = x[i] + ⟦}⟧", "expected an expression, found `}`"],
  ["y[i] = x[⟦]⟧", "expected an index, found `]`"],
  ["y[i] = x@⟦[⟧i]", "expected a peer: a name, a number, or an expression in parentheses, found `[`"],
  ["y[i] ⟦+⟧= 1", /expected `=` and the value to store, found `\+`/],
  ["let ⟦3⟧ = 1", "expected a name, found `3`"],
  ["let v ⟦x⟧[i]", "expected `=` and a value, found `x`"],
  ["scratch s ⟦f32⟧[n]", "expected `:` and a type, such as f32[n], found `f32`"],
  ["for k ⟦0⟧..n { }", "expected `in` and what to loop over, found `0`"],
  ["for k in 0..n ⟦y⟧[k] = 1", "expected `{`, found `y`"],
  ["if i == 0 ⟦y⟧[i] = 1", "expected `{`, found `y`"],
  ["if i ⟦=⟧ 0 { }", /expected `{`, found `=`/],
  ["y[i] = shard(n⟦)⟧.start", "expected `,` and a rank: shard(n, r), found `)`"],
  ["y[i] = shard(n, 0) ⟦}⟧", "expected `.start`, `.end` or `.length`, found `}`"],
  ["⟦3⟧ = y[i]", /expected a statement or `}` to close the block, found `3`/],
];

describe("syntax errors say what would have fitted", () => {
  for (const [statement, message] of SYNTAX)
    test(statement, () => {
      const text = `collective f(x: T[n] local) -> y: T[n] local {\n  for i in tiles(n) {\n    ${statement}\n`;
      const closed = statement.includes("⟦}⟧") ? `${text.trimEnd()}\n}\n` : `${text}  }\n}\n`;
      expectDiagnostics(closed, [{ code: "syntax", message }]);
    });
});

test("one syntax error a place: those of later collectives are found, too", () => {
  const bad = (name: string): string =>
    `collective ${name}(x: T[n] local) -> y: T[n] local { for i in tiles(n) { y[i] = ⟦*⟧ } }\n`;
  expectDiagnostics(bad("f") + bad("g") + bad("h"), [{ code: "syntax" }, { code: "syntax" }, { code: "syntax" }]);
});

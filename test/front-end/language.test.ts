/** grammar/LANGUAGE.md says what is so: its examples compile, its failing examples fail, its tables are complete. */
import { writeFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { VOCABULARY } from "../../grammar/tokens.js";
import { CONVERSION_NAMES, UNARY_NAMES } from "../../src/compiler/check/functions.js";
import { CODES } from "../../src/compiler/diagnostics/index.js";
import { DTYPES } from "../../src/compiler/index.js";
import { compileAll } from "./helpers.js";
import { EXAMPLES, PATH, REFERENCE, tableUnder } from "./language.js";

describe("examples", () => {
  for (const { text, error, line, section } of EXAMPLES)
    test(`line ${line}, ${section}${error === null ? "" : `: ${error}`}`, () => {
      if (error !== null) {
        const said = compileAll(text, 4).flatMap((r) => r.diagnostics.map((d) => d.code));
        expect(said).toEqual([error]);
        return;
      }
      for (const ranks of [1, 2, 4])
        for (const { diagnostics, cuda } of compileAll(text, ranks)) {
          expect(diagnostics).toEqual([]);
          expect(cuda).toContain("__global__");
        }
    });
});

test("every construct has an example", () => {
  const text = EXAMPLES.map((e) => e.text).join("\n");
  const words = Object.values(VOCABULARY).flatMap((row) => (typeof row.pattern === "string" ? [row.pattern] : []));
  expect(words.filter((word) => !text.includes(word))).toEqual([]);
  expect(EXAMPLES.length).toBeGreaterThan(40);
});

test("the tables name every dtype, function and conversion", () => {
  const cells = (heading: string): string =>
    tableUnder(heading)
      .map((row) => row.join(" "))
      .join("\n");
  for (const [name, facts] of Object.entries(DTYPES)) {
    const row = tableUnder("Dtypes").find((r) => r[0]!.includes(`\`${name}\``));
    expect(row?.slice(1), name).toEqual([String(facts.bytes), facts.compute]);
  }
  for (const name of UNARY_NAMES) expect(cells("Functions")).toContain(`\`${name}\``);
  for (const name of CONVERSION_NAMES) expect(cells("Tensor expressions")).toContain(`${name}(t`);
});

test("the table of diagnostics is the table of the compiler", () => {
  const rows = Object.entries(CODES).map(([code, row]) => [`\`${code}\``, row.severity, row.explain]);
  if (process.env["UPDATE_GOLDENS"] === "1") {
    const head = REFERENCE.slice(0, REFERENCE.indexOf("\n| code "));
    const widths = [0, 1, 2].map((i) => Math.max(...rows.map((r) => r[i]!.length), 8));
    const line = (cells: readonly string[]): string => `| ${cells.map((c, i) => c.padEnd(widths[i]!)).join(" | ")} |`;
    const table = [line(["code", "severity", "meaning"]), line(widths.map((w) => "-".repeat(w))), ...rows.map(line)];
    writeFileSync(PATH, `${head}\n${table.join("\n")}\n`);
    return;
  }
  expect(tableUnder("Diagnostics")).toEqual(rows);
});

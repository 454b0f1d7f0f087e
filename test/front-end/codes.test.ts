/** Every diagnostic can be produced, at its place; `FAULTS` is complete, or this does not compile. */
import { describe, test } from "vitest";
import type { DiagnosticCode } from "../../src/compiler/diagnostics/index.js";
import { FAULTS } from "./faults.js";
import { MORE_FAULTS } from "./more-faults.js";
import { expectDiagnostics } from "./helpers.js";

describe("each code", () => {
  for (const [code, fault] of Object.entries(FAULTS)) {
    const { text, settings, ...expected } = typeof fault === "string" ? { text: fault } : fault;
    test(code, () => void expectDiagnostics(text, [{ code: code as DiagnosticCode, ...expected }], settings));
  }
});

test("a tiles loop of one iteration may store to one element", () => {
  const loop = (range: string): string =>
    `collective f(x: T[m] local) -> y: T[m] local { for i in tiles(${range}) { y[m - 1] = x[0] } }`;
  for (const range of ["1", "world / world", "m - 1..m"]) expectDiagnostics(loop(range), []);
});

describe("other ways to the same codes", () => {
  for (const [name, { text, settings, expected }] of Object.entries(MORE_FAULTS))
    test(name, () => void expectDiagnostics(text, expected, settings));
});

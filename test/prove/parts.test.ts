/** What acts on summands before they are reduced does the same to the whole, as it is proved, or is refused with what to do instead. */
import { expect, it } from "vitest";
import { compile, type DType, PROOF_MAPPING } from "../../src/compiler/index.js";
import { prove } from "../../src/compiler/prove/index.js";

const OPERATIONS = ["-x", "x * 2", "x / 2", "x + z", "x * m", "x / m", "where(m > 0, x, z)", "where(m > 0, x, 0)"];
const CASTS = ["i8", "u8", "i32", "u32", "i64", "bf16"] as const;

/** "proved", or the code of the error. */
function verdictOf(expression: string, dtype: DType, op: string, to: DType = dtype): string {
  const text = `collective f(x: ${dtype}[n] partial(${op}), z: ${dtype}[n] partial(${op}), m: ${dtype === "bool" ? "i32" : dtype}[n] replicated) -> y: ${to}[n] replicated {
  y = all_reduce(${expression})
}`;
  const { kernel, diagnostics } = compile(text, { ranks: 2, mapping: PROOF_MAPPING });
  const [error] = diagnostics.filter((d) => d.severity === "error");
  if (error !== undefined) expect(error.help, text).toContain("all_reduce(");
  return error?.code ?? prove({ kernel: kernel! }, { shapes: [{ n: 3 }] }).answer.status;
}

const SUMS: Partial<Record<string, string>> = { "x / 2": "not-linear", "x / m": "operand-layouts" };
const AVERAGES: Partial<Record<string, string>> = { ...SUMS, "-x": "not-linear", "x * 2": "not-linear", "x + z": "operand-layouts", "x * m": "operand-layouts" }; // prettier-ignore

it.each(OPERATIONS)("%s", (expression) => {
  for (const dtype of ["i8", "u8", "i32", "i64"] as const) {
    expect(verdictOf(expression, dtype, "sum"), `sum of ${dtype}`).toBe(SUMS[expression] ?? "proved");
    expect(verdictOf(expression, dtype, "avg"), `average of ${dtype}`).toBe(AVERAGES[expression] ?? "proved");
  }
  for (const op of ["sum", "avg"]) expect(verdictOf(expression, "f32", op), `${op} of f32`).toBe("proved");
});

it.each([
  ["i32", "sum", ["i8", "u8", "i32", "u32"]],
  ["i32", "prod", ["i8", "u8", "i32", "u32"]],
  ["u8", "sum", ["i8", "u8", "i32", "u32"]],
  ["i64", "sum", ["i8", "u8", "i32", "u32", "i64"]],
  ["i32", "avg", ["i32"]],
  ["i32", "max", ["i32", "i64", "bf16"]],
  ["u8", "min", ["u8", "i32", "u32", "i64", "bf16"]],
  ["f32", "sum", ["bf16"]],
  ["f32", "avg", ["bf16"]],
  ["f32", "max", ["bf16"]],
  ["bool", "max", ["i8", "u8", "i32", "u32", "i64", "bf16"]],
] as const)("casts of %s, partial(%s)", (dtype, op, allowed) => {
  const found = CASTS.filter((to) => {
    const text = verdictOf(`${to}(x)`, dtype, op, to);
    expect(["proved", "not-linear"], `${to}(x)`).toContain(text);
    return text === "proved";
  });
  expect(found).toEqual(allowed);
});

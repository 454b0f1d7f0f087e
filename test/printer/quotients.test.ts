/** Quotients of what may be negative are those of signed numbers, which round towards zero; others are printed in the shorter forms for numbers that are not. */
import { describe, expect, it } from "vitest";
import { compile } from "../../src/compiler/index.js";

const printed = (times: string): string =>
  compile(
    `collective f(x: T[n] local, s: T[m] local) -> y: T[n] local where n >= 1 and m >= 1 {
  for q in 0..${times} {
    for i in tiles(n) {
      y[i] = x[i] + s[q % m]
    }
  }
}`,
    { ranks: 2, dtype: "f32" },
  ).cuda!;

describe("quotients outside of loops over elements", () => {
  it.each([
    ["(n + 10) / m", /= quotient\(v\d+, d_m\);/],
    ["(n - 10) / m + 9", /= v\d+ \/ d_m;/],
    ["(n + 10) / 3", /= \(i64\)\(\(u64\)v\d+ \/ \(u64\)3ll\);/],
    ["(n - 10) / 3 + 9", /= v\d+ \/ 3ll;/],
  ])("%s", (times, text) => expect(printed(times)).toMatch(text));
});

/** Times as the report of a partition has them. */
import { expect, it } from "vitest";
import { us } from "../../src/compiler/graph/fx/partition.js";

it.each([
  [0, "0.00 µs"],
  [8.284e-6, "8.28 µs"],
  [54.26e-6, "54.3 µs"],
  [1482.4e-6, "1482 µs"],
  [37.14e-3, "37.1 ms"],
  [1.2344, "1234 ms"],
  [76.04, "76.0 s"],
])("%d s are %s", (seconds, text) => {
  expect(us(seconds)).toBe(text);
});

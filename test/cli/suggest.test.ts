/** What a message suggests in place of a name that is unknown. */
import { expect, it } from "vitest";
import { suggestion } from "../../src/cli/suggest.js";

it("says what there is, be it nothing, one or several", () => {
  expect(suggestion("rows", [], "dimensions")).toBe("there are no dimensions");
  expect(suggestion("rows", ["n"], "dimensions")).toBe("there is only 'n'");
  expect(suggestion("rows", ["k", "n"], "dimensions")).toBe("dimensions: k, n");
});

it("asks whether a name was meant that is near, whatever its case", () => {
  expect(suggestion("rwos", ["rows"], "dimensions")).toBe("did you mean 'rows'?");
  expect(suggestion("N", ["k", "n"], "dimensions")).toBe("did you mean 'n'?");
});

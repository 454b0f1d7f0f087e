/** The page on the passes tells of every pass, in the order in which they run. */
import { readFileSync } from "node:fs";
import { expect, it } from "vitest";
import { PIPELINE } from "../../src/compiler/index.js";

it("src/compiler/passes/README.md lists the pipeline", () => {
  const page = readFileSync(new URL("../../src/compiler/passes/README.md", import.meta.url), "utf8");
  const rows = [...page.matchAll(/^\| `([a-z-]+)`\s*\| (\w+) → (\w+)\s*\|/gm)].map(([, name, from, to]) => ({
    name,
    from,
    to,
  }));
  expect(rows).toEqual(PIPELINE.map(({ name, from, to }) => ({ name, from, to })));
});

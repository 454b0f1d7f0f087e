/** docs/AHEAD.md is what `collc build` does. The fake compiler makes its cubins: their sizes are not what the page is about. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { hasFakes, useFakeCompiler } from "../aot/support.js";
import { stepsOf, walk } from "./steps.js";

const PAGE = readFileSync(join(import.meta.dirname, "../../docs/AHEAD.md"), "utf8");

describe.runIf(hasFakes)("the page on builds ahead of time", () => {
  useFakeCompiler();
  const steps = stepsOf(PAGE);

  test("builds, builds again, is refused, verifies what is there, and compiles C", () => {
    expect(steps.filter((s) => s.kind === "file").map((s) => s.name)).toEqual(["mine.coll", "list.c"]);
    expect(steps.filter((s) => s.kind === "command")).toHaveLength(10);
  });

  walk(steps);
});

/** The README's tour is what collc does: its files are written, its commands run, and what they print is compared. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { stepsOf, walk } from "./steps.js";

const README = readFileSync(join(import.meta.dirname, "../../README.md"), "utf8");
const SECTION = "## Two minutes";

describe("the README's two minutes", () => {
  const start = README.indexOf(SECTION);
  const steps = stepsOf(README.slice(start, README.indexOf("\n## ", start + SECTION.length)));

  test("writes a collective, breaks it, and mends it", () => {
    expect(steps[0]).toMatchObject({ kind: "file", name: "mine.coll" });
    const commands = steps.flatMap((s) => (s.kind === "command" ? [s.line.split(" ").slice(0, 2).join(" ")] : []));
    expect(new Set(commands)).toEqual(new Set(["collc check", "collc run", "collc explain", "sed -i"]));
  });

  walk(steps);
});

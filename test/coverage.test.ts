/** `COVERAGE.md` names tests; they are there. */
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";

const folder = import.meta.dirname;
const rows = readFileSync(join(folder, "COVERAGE.md"), "utf8")
  .split("\n")
  .filter((line) => line.startsWith("| ") && !line.startsWith("| ---"))
  .map((line) => line.split(" | ").map((cell) => cell.replace(/^\| | *\|$/g, "").trim()));

it("COVERAGE.md has a test or a reason in every row, and every test it names exists", () => {
  expect(rows.length).toBeGreaterThan(90);
  const problems: string[] = [];
  for (const [what, by = ""] of rows) {
    if (what === "case" || what === "bug" || what === "fault") continue;
    const isReason =
      /^(does not apply|not covered|a measurement|the same|every launch|our kernels|the operations)/.test(by);
    if (!isReason && !/`[\w/.-]+\.(ts|mjs|coll)`/.test(by)) problems.push(`${what}: neither a test nor a reason`);
    let file: string | null = null;
    for (const [, path, name] of by.matchAll(/`([\w/.-]+\.(?:ts|mjs|coll))`|"([^"]+)"/g)) {
      if (path !== undefined) {
        file = join(folder, path);
        if (!existsSync(file)) problems.push(`${what}: there is no ${path}`);
      } else if (file !== null && existsSync(file) && !readFileSync(file, "utf8").includes(name!))
        problems.push(`${what}: ${file} has no "${name}"`);
    }
  }
  expect(problems).toEqual([]);
});

/** The README's tour is what collc does: its files are written, its commands run, and what they print is compared. */
import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Io } from "../../src/cli/io.js";
import { main } from "../../src/cli/main.js";

const README = readFileSync(join(import.meta.dirname, "../../README.md"), "utf8");
const SECTION = "## Two minutes";

type Step =
  | { readonly kind: "file"; readonly name: string; readonly text: string }
  | { readonly kind: "command"; readonly line: string; readonly printed: string };

/** Files and commands of the tour, in their order. */
function stepsOf(readme: string): Step[] {
  const start = readme.indexOf(SECTION);
  const section = readme.slice(start, readme.indexOf("\n## ", start + SECTION.length));
  return [...section.matchAll(/^```(\w+) ?(\S*)\n([^]*?)^```$/gm)].flatMap(([, language, name, text]): Step[] => {
    if (language === "coll" && name !== "") return [{ kind: "file", name: name!, text: text! }];
    if (language !== "console") return [];
    return text!
      .split(/^\$ /m)
      .slice(1)
      .map((part) => {
        const [line, ...printed] = part.split("\n");
        return { kind: "command", line: line!, printed: printed.join("\n") };
      });
  });
}

/** What a person sees in a terminal without colours. */
async function shown(line: string): Promise<string> {
  const [program, ...argv] = line.split(" ");
  if (program !== "collc") return execFileSync("sh", ["-c", line], { encoding: "utf8" });
  let out = "";
  const stream: Io["out"] = { write: (text) => void (out += text), isTTY: false, columns: 100 };
  await main(argv, { out: stream, err: stream, env: {}, readStdin: () => Buffer.from("") });
  return out;
}

/** `…` on a line of its own stands for any lines, inside a line for any text. */
function patternOf(printed: string): RegExp {
  const quoted = printed.replace(/[\\^$.*+?()[\]{}|]/g, "\\$&");
  return new RegExp(`^${quoted.replace(/^…\n/gm, "[^]*").replace(/…/g, "[^\\n]*")}$`);
}

describe("the README's two minutes", () => {
  const steps = stepsOf(README);
  const home = process.cwd();
  let folder: string;

  beforeAll(() => {
    folder = realpathSync(mkdtempSync(join(tmpdir(), "collc-test-readme-")));
    process.chdir(folder);
  });
  afterAll(() => {
    process.chdir(home);
    rmSync(folder, { recursive: true });
  });

  test("writes a collective, breaks it, and mends it", () => {
    expect(steps[0]).toMatchObject({ kind: "file", name: "mine.coll" });
    const commands = steps.flatMap((s) => (s.kind === "command" ? [s.line.split(" ").slice(0, 2).join(" ")] : []));
    expect(new Set(commands)).toEqual(new Set(["collc check", "collc run", "collc explain", "sed -i"]));
  });

  for (const [i, step] of steps.entries())
    test(`${i + 1}. ${step.kind === "file" ? step.name : step.line}`, async () => {
      if (step.kind === "file") return writeFileSync(step.name, step.text);
      const out = await shown(step.line);
      // The whole text first, so that a difference can be read.
      if (!patternOf(step.printed).test(out)) expect(out).toBe(step.printed);
    });
});

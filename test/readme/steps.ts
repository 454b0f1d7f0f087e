/** Texts whose files are written, whose commands are run, and whose outcomes are compared with what they show. */
import { execFileSync } from "node:child_process";
import { mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { Io } from "../../src/cli/io.js";
import { main } from "../../src/cli/main.js";

export type Step =
  | { readonly kind: "file"; readonly name: string; readonly text: string }
  | { readonly kind: "command"; readonly line: string; readonly printed: string };

/** Files and commands of a text, in their order. */
export function stepsOf(text: string): Step[] {
  return [...text.matchAll(/^```(\w+) ?(\S*)\n([^]*?)^```$/gm)].flatMap(([, language, name, block]): Step[] => {
    if (language !== "console") return name === "" ? [] : [{ kind: "file", name: name!, text: block! }];
    return block!
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

/** A test for each step, in a folder of their own. */
export function walk(steps: readonly Step[]): void {
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

  for (const [i, step] of steps.entries())
    test(`${i + 1}. ${step.kind === "file" ? step.name : step.line}`, async () => {
      if (step.kind === "file") return writeFileSync(step.name, step.text);
      const out = await shown(step.line);
      // The whole text first, so that a difference can be read.
      if (!patternOf(step.printed).test(out)) expect(out).toBe(step.printed);
    });
}

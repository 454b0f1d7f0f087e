/** Input and output of the command line at their limits. */
import { spawnSync } from "node:child_process";
import { describe, expect, it } from "vitest";
import { collc, entry, file, isBuilt, kernel, temporaryFolder } from "../cli/support.js";
import { paletteOf, processIo } from "../../src/cli/io.js";

const folder = temporaryFolder();
const oneShot = kernel("all_reduce/one_shot");
const run = (args: readonly string[], redirect = ""): { code: number | null; out: string; err: string } => {
  const command = `"$0" "$@" ${redirect}`;
  const { status, stdout, stderr } = spawnSync("sh", ["-c", command, process.execPath, entry, ...args], {
    encoding: "utf8",
    timeout: 500_000,
  });
  return { code: status, out: stdout, err: stderr };
};

describe.runIf(isBuilt)("a full disk", () => {
  it.each([
    ["emit", [kernel("all_reduce/ring"), "--stage", "cuda"]],
    ["check", [oneShot, "--ranks", "2"]],
    ["doctor", []],
    ["--help", []],
    ["--version", []],
  ])("is no success of %s", (name, args) => {
    const { code, err } = run([name, ...args], "> /dev/full");
    expect(code).toBe(3);
    expect(err).toMatch(/standard output cannot be written: .*ENOSPC/);
  });
});

describe("errors as JSON", () => {
  const errorOf = (out: string): Record<string, unknown> =>
    (JSON.parse(out) as { error: Record<string, unknown> }).error;

  it("of the command line", async () => {
    const { code, out } = await collc(["run", oneShot, "--json", "--no-such-option"]);
    expect(code).toBe(2);
    expect(errorOf(out)).toMatchObject({ exitCode: 2, message: expect.stringMatching(/unknown option/) as string });
  });

  it("of a dimension", async () => {
    const { code, out } = await collc(["run", oneShot, "--json", "--backend", "cpu", "--dim", "k=4"]);
    expect(code).toBe(2);
    expect(errorOf(out)).toMatchObject({ exitCode: 2, message: "one_shot has no dimension 'k'" });
  });

  it("of a wrong program, with its diagnostics", async () => {
    for (const [text, code] of [
      ["collective", "syntax"],
      ["collective c(x: T[n] local) -> y: T[n] local {\n  y = z\n}\n", "unknown-name"],
    ]) {
      const path = file(folder, `${code}.coll`, text!);
      const outcome = await collc(["run", path, "--json", "--backend", "cpu"]);
      expect(outcome.code).toBe(1);
      const error = errorOf(outcome.out);
      expect(error["exitCode"]).toBe(1);
      const diagnostics = error["diagnostics"] as { code: string; severity: string }[];
      expect(diagnostics.length).toBeGreaterThan(0);
      expect(diagnostics[0]!.severity).toBe("error");
    }
  });
});

it("the help names exit code 70", async () => {
  expect((await collc(["--help"])).out).toMatch(/70 +a bug in collc/);
});

it("a dumb terminal has no colours", () => {
  const terminal = { ...processIo().out, isTTY: true };
  expect(paletteOf(terminal, {}).isColorSupported).toBe(true);
  expect(paletteOf(terminal, { TERM: "dumb" }).isColorSupported).toBe(false);
});

describe.runIf(isBuilt)("more ranks than 64", () => {
  it("run on the command line", () => {
    const { code, out, err } = run([
      "run",
      oneShot,
      "--ranks",
      "100",
      "--backend",
      "cpu",
      "--dim",
      "n=200",
      "--iters",
      "1",
    ]);
    expect(err).toBe("");
    expect(out).toMatch(/✓ correct/);
    expect(code).toBe(0);
  });
});

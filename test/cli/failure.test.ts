import { existsSync, readFileSync, rmSync } from "node:fs";
import { CommanderError } from "commander";
import { describe, expect, it } from "vitest";
import { errorOf, thrown } from "../../src/cli/check-protocol.js";
import { bugExitCode, describeFailure, Exit, reportFailure } from "../../src/cli/failure.js";
import type { Io } from "../../src/cli/io.js";
import { InternalCompilerError } from "../../src/compiler/index.js";
import { MachineError, RuntimeError, UsageError } from "../../src/runtime/errors.js";

function report(error: unknown): { code: number; err: string } {
  let err = "";
  const io: Io = {
    out: { write: () => {}, isTTY: false, columns: 80 },
    err: { write: (text) => (err += text), isTTY: false, columns: 80 },
    env: {},
    readStdin: () => Buffer.alloc(0),
  };
  return { code: reportFailure(io, error), err };
}

describe("from errors to exit codes", () => {
  it.each([
    [new RuntimeError("it failed", "try again"), 1],
    [new UsageError("wrong option", "use another"), 2],
    [new MachineError("no GPU", "buy one"), 3],
  ])("%s", (error, code) => {
    expect(report(error)).toEqual({ code, err: `error: ${error.message}\nhelp: ${error.help}\n` });
  });

  it("a full disk is the machine's", () => {
    expect(
      report(Object.assign(new Error("ENOSPC: no space left on device, write"), { code: "ENOSPC" })),
    ).toMatchObject({ code: 3 });
  });

  it("a driver's failure is the run's, and points to the emulation", () => {
    const error = Object.assign(new Error("cuStreamSynchronize failed: CUDA_ERROR_ILLEGAL_ADDRESS (700)"), {
      library: "cuda",
      call: "cuStreamSynchronize",
      code: 700,
      codeName: "CUDA_ERROR_ILLEGAL_ADDRESS",
    });
    const { code, err } = report(error);
    expect(code).toBe(1);
    expect(err).toContain("--backend cpu");
  });

  it("help and version are no errors; commander's complaints are the command line's", () => {
    expect(report(new CommanderError(0, "commander.helpDisplayed", "")).code).toBe(0);
    expect(report(new CommanderError(1, "commander.unknownOption", "")).code).toBe(2);
    expect(report(new Exit(1))).toEqual({ code: 1, err: "" });
  });

  const bug = new InternalCompilerError("an op without a span", "kernel broken {}");
  it.each([
    ["", bug],
    [" in another thread", errorOf(structuredClone(thrown(bug)))],
  ])("a bug of the compiler%s is ours: exit 70, a file with the module, no stack on the terminal", (_, error) => {
    const { code, err } = report(error);
    expect(code).toBe(bugExitCode);
    expect(err).toContain("this is a bug in collc, not in your program: an op without a span");
    const path = /report it with (\S+),/.exec(err)![1]!;
    expect(readFileSync(path, "utf8")).toContain("kernel broken {}");
    rmSync(path);
    expect(err).not.toMatch(/^\s+at /m);
  });

  it("what cannot go from thread to thread takes no error with it", () => {
    const error = Object.assign(new TypeError("x is not a function"), { code: "ENOSPC", callback: () => {} });
    expect(describeFailure(errorOf(structuredClone(thrown(error))))).toEqual(describeFailure(error));
  });

  it("so is anything unforeseen", () => {
    const { message, help, exitCode } = describeFailure(new TypeError("x is not a function"));
    expect(exitCode).toBe(bugExitCode);
    expect(message).toContain("x is not a function");
    const path = /with (\S+),/.exec(help!)![1]!;
    expect(existsSync(path)).toBe(true);
    rmSync(path);
  });
});

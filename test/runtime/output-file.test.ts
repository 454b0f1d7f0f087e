/** Places that a command line names to write to: what is none is refused, and what is there is not replaced by a file. */
import { execFileSync } from "node:child_process";
import {
  chmodSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { MachineError, UsageError } from "../../src/runtime/errors.js";
import { refuseFolder, refuseTarget, writeOutput } from "../../src/runtime/output-file.js";
import { temporaryFolder } from "../cli/support.js";

const folder = temporaryFolder();
const taken = join(folder, "taken");
writeFileSync(taken, "");

describe("before the work", () => {
  test("a file where a folder should be, at any depth", () => {
    const refusal = new UsageError(`${taken} is a file, not a folder`, "name another folder");
    expect(() => refuseFolder(taken)).toThrow(refusal);
    expect(() => refuseFolder(join(taken, "a/b"))).toThrow(refusal);
    expect(() => refuseTarget(join(taken, "a.svg"), "b.svg")).toThrow(`${taken} is a file, not a folder`);
  });

  test("a folder where a file should be", () => {
    expect(() => refuseTarget(folder, "b.svg")).toThrow(`${folder} is a folder, not a file`);
  });

  test("folders that are missing will be made", () => {
    expect(() => refuseTarget(join(folder, "none/yet/a.svg"), "b.svg")).not.toThrow();
    expect(() => refuseFolder(join(folder, "none/yet"))).not.toThrow();
  });
});

describe("what is written", () => {
  test("with the folders above it", async () => {
    const path = join(folder, "made/for/it.json");
    await writeOutput(path, "{}");
    expect(readFileSync(path, "utf8")).toBe("{}");
    expect(readdirSync(join(folder, "made/for"))).toEqual(["it.json"]);
  });

  test("through a link, which stays one, with the file's permissions", async () => {
    const [target, link] = [join(folder, "target"), join(folder, "link")];
    writeFileSync(target, "before");
    chmodSync(target, 0o600);
    symlinkSync(target, link);
    await writeOutput(link, "after");
    expect(lstatSync(link).isSymbolicLink()).toBe(true);
    expect(readFileSync(target, "utf8")).toBe("after");
    expect(statSync(target).mode & 0o777).toBe(0o600);
  });

  test("into a pipe, which stays one", async () => {
    const pipe = join(folder, "pipe");
    execFileSync("mkfifo", [pipe]);
    const read = readFile(pipe, "utf8");
    await writeOutput(pipe, "through");
    expect(await read).toBe("through");
    expect(lstatSync(pipe).isFIFO()).toBe(true);
  });

  test("not where the system refuses, and says so", async () => {
    const busy = join(folder, "busy");
    mkdirSync(busy);
    await expect(writeOutput(busy, "")).rejects.toThrow(MachineError);
    await expect(writeOutput("/proc/collc/of/none", "")).rejects.toThrow(
      /^\/proc\/collc\/of\/none cannot be written: ENOENT/,
    );
    await expect(writeOutput("/dev/full", "text")).rejects.toThrow("/dev/full cannot be written: the disk is full");
  });
});

import { spawn } from "node:child_process";
import { existsSync, mkdirSync, readdirSync, readFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { collcProcess, entry, file, isBuilt, kernel, oneShot, temporaryFolder } from "./support.js";

describe.runIf(isBuilt)("collc as a process", () => {
  const folder = temporaryFolder();

  it("runs the main job", async () => {
    const { code, out, err } = await collcProcess([
      "run",
      kernel("all_reduce/one_shot"),
      "--ranks",
      "4",
      "--backend",
      "cpu",
    ]);
    expect(err).toBe("");
    expect(code).toBe(0);
    expect(out).toContain("✓ correct");
    expect(out).not.toContain("\x1b["); // no colours in a pipe
  });

  it("exits with 1 for a wrong program and 2 for a wrong command line, without a stack", async () => {
    const wrong = await collcProcess(["run", file(folder, "wrong.coll", "collective"), "--backend", "cpu"]);
    expect(wrong.code).toBe(1);
    const usage = await collcProcess(["run", "--no-such-option"]);
    expect(usage.code).toBe(2);
    for (const { err } of [wrong, usage]) expect(err).not.toMatch(/^\s+at .*\.js/m);
  });

  it("says of a folder's programs what is found as soon as it is", async () => {
    const programs = join(folder, "programs");
    mkdirSync(programs);
    file(programs, "a.coll", oneShot);
    // Minutes of schedules.
    const long = `collective long(x: T[n] local) -> y: T[n] local {
  scratch s: T[n]
  for i in tiles(n) { s[i] = x[i] }
  for k in 0..max(5, 20000 - n) { for i in tiles(n) { s[i] = s[i] + x[i] } }
  for i in tiles(n) { y[i] = s[i] }
}`;
    file(programs, "b.coll", long);
    let seen = "";
    await collcProcess(["check", programs, "--ranks", "2", "--schedules", "1000"], {
      onStart: (child) => {
        child.stdout!.on("data", (text) => {
          seen += String(text);
          if (seen.includes("survives")) child.kill("SIGKILL");
        });
      },
    });
    expect(seen).toContain("a.coll: nothing wrong for 2 ranks");
    expect(seen).not.toContain("b.coll");
  });

  it("ends at once on Ctrl-C in the middle of a run, and leaves nothing", async () => {
    const before = new Set(readdirSync(tmpdir()));
    let pid = 0;
    const { code, signal } = await collcProcess(
      [
        "run",
        kernel("matmul/reduce_scatter"),
        "--backend",
        "cpu",
        "--dim",
        "m=1024",
        "n=1024",
        "k=1024",
        "--iters",
        "1000",
      ],
      {
        onStart: (child) => {
          pid = child.pid!;
          setTimeout(() => child.kill("SIGINT"), 1500);
        },
      },
    );
    expect(signal === "SIGINT" || code === 130).toBe(true);
    expect(existsSync(`/proc/${pid}`)).toBe(false);
    const left = readdirSync(tmpdir()).filter((name) => !before.has(name) && name.includes(String(pid)));
    expect(left).toEqual([]);
  });

  it("does not mind a reader that leaves early", async () => {
    const outcome = await new Promise<{ status: number | null; err: string }>((resolve) => {
      const child = spawn(
        "sh",
        [
          "-c",
          `"${process.execPath}" "${entry}" emit "${kernel("all_reduce/ring")}" --stage device | head -n 1 >/dev/null`,
        ],
        { stdio: ["ignore", "ignore", "pipe"] },
      );
      let err = "";
      child.stderr.setEncoding("utf8").on("data", (text: string) => (err += text));
      child.on("close", (status) => resolve({ status, err }));
    });
    expect(outcome).toEqual({ status: 0, err: "" });
  });

  it("reads a program from a pipe", async () => {
    const path = file(folder, "one_shot.coll", oneShot);
    const { code, out } = await collcProcess(["check", path]);
    expect(code).toBe(0);
    expect(out).toContain(readFileSync(path, "utf8") === oneShot ? "nothing wrong" : "");
  });
});

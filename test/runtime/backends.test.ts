/**
 * The nvshmem and nccl backends, whole, on the fake driver and libraries: the same cases, in the same processes, as the
 * GPU suite runs. What only a GPU computes is skipped there, and nothing else may be.
 */
import { execFile } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { promisify } from "node:util";
import { describe, expect, it } from "vitest";
import { packageRoot } from "../../src/runtime/native.js";
import { isAll } from "../scope.js";

interface Row {
  readonly suite: string;
  readonly world: number;
  readonly name: string;
  readonly ok: boolean | null;
  readonly detail: string;
}

const built = path.join(packageRoot(), "build/Release");
const fakes = {
  LD_LIBRARY_PATH: path.join(built, "fake-cuda"),
  COLLC_NVSHMEM: path.join(built, "fake-nvshmem"),
  COLLC_NCCL: path.join(built, "fake-nccl"),
  COLLC_NVML: path.join(built, "fake-nvml"),
  COLLC_NVRTC: path.join(built, "fake-nvrtc/libnvrtc.so.99"),
  COLLC_CACHE_MAX_MB: "0",
  FAKE_NVSHMEM_HEAP_MB: "160",
};

/** Runs the suite. Rows that failed come with the log in the message. */
async function run(args: readonly string[], env: Readonly<Record<string, string>> = {}): Promise<Row[]> {
  const out = mkdtempSync(path.join(tmpdir(), "collc-backends-"));
  try {
    const suite = path.join(packageRoot(), "test/gpu/backends.mjs");
    const failure = await promisify(execFile)(process.execPath, [suite, ...args, "--out", out], {
      env: { ...process.env, ...fakes, ...env },
    }).then(
      () => "",
      (error: Error) => error.message,
    );
    const { rows } = JSON.parse(readFileSync(path.join(out, "backends.json"), "utf8")) as { rows: Row[] };
    const failed = rows.filter((row) => row.ok === false);
    expect(failed, readFileSync(path.join(out, "backends.log"), "utf8").slice(-3000)).toEqual([]);
    expect(failure).toBe("");
    return rows;
  } finally {
    rmSync(out, { recursive: true, force: true });
  }
}

/** Cases that did not run for another reason than that the fakes compute nothing. */
const leftOut = (rows: readonly Row[]): string[] =>
  rows.filter((row) => row.ok === null && !/fake/.test(row.detail)).map((row) => `${row.name}: ${row.detail}`);

describe.runIf(isAll)("backends on the fake libraries", () => {
  it("nvshmem: memory, calls, teams, subgroups, faults, and groups on it", async () => {
    const rows = await run(["--worlds", "3", "--only", "nvshmem"]);
    expect(leftOut(rows)).toEqual([]);
    expect(rows.filter((row) => row.ok === true && row.suite === "nvshmem").length).toBeGreaterThanOrEqual(14);
    expect(rows.filter((row) => row.ok === true && row.suite === "group on nvshmem").length).toBeGreaterThanOrEqual(8);
    expect(rows.filter((row) => row.ok === true && row.suite === "far group on nvshmem").length).toBe(7);
  });

  it("nccl: windows, collectives, lists, and groups on it", async () => {
    const rows = await run(["--worlds", "3", "--only", "nccl"]);
    expect(leftOut(rows)).toEqual([]);
    expect(rows.filter((row) => row.ok === true && row.suite === "nccl").length).toBeGreaterThanOrEqual(12);
    expect(rows.filter((row) => row.ok === true && row.suite === "nccl lists").length).toBe(3);
    for (const suite of ["nccl on cuda", "nccl on nccl"])
      expect(rows.filter((row) => row.ok === true && row.suite === suite).length).toBe(6);
  });

  it("cuda: groups; nvshmem with one rank", async () => {
    const rows = await run(["--worlds", "2", "--only", "group on cuda"]);
    expect(leftOut(rows)).toEqual([]);
    expect(rows.filter((row) => row.ok === true && row.name.startsWith("kernel all_reduce")).length).toBe(2);
    const alone = leftOut(await run(["--worlds", "1", "--only", "nvshmem: nvshmem"]));
    expect(alone.filter((line) => !line.includes("one rank"))).toEqual([]);
  });

  it("collc run on each backend", async () => {
    const rows = await run(["--worlds", "2", "--only", "collc run all_reduce/two_shot"]);
    expect(rows.filter((row) => row.ok === true).length).toBe(3);
  });

  it("an NVSHMEM whose teams take all ranks, and which reaches no peer", async () => {
    const env = { COLLC_NVSHMEM: path.join(built, "fake-nvshmem-old"), FAKE_NVSHMEM_NO_PTR: "1" };
    const rows = await run(["--worlds", "3", "--only", "nvshmem: nvshmem"], env);
    expect(leftOut(rows)).toEqual([]);
    expect(rows.find((row) => /addresses reach it/.test(row.name))?.detail).toBe("1 of 3 reachable");
  });

  it("an NCCL that makes no windows", async () => {
    const rows = await run(["--worlds", "2", "--only", "nccl: nccl: "], { FAKE_NCCL_NO_WINDOWS: "1" });
    expect(leftOut(rows)).toEqual([]);
  });
});

import { chmodSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { timeTorch, torchPeers, torchVersion, withTorch } from "../../src/bench/torch-peer.js";
import { temporaryFolder } from "./support.js";

const folder = temporaryFolder();

/** Something that is started as python3 is. */
function python(name: string, body: string): string {
  const path = join(folder, name);
  writeFileSync(path, `#!/bin/sh\n${body}\n`);
  chmodSync(path, 0o755);
  return path;
}

const options = {
  ranks: 4,
  dtype: "bf16",
  timing: { inner: 10, outer: 15 },
  plan: [
    { suite: "all_reduce", cases: [{ size: 1024, dims: { n: 512 } }] },
    { suite: "broadcast", cases: [{ size: 1024, dims: { n: 512 } }] },
  ],
  timeoutMs: 500_000,
  onProgress: () => {},
} as const;

describe("PyTorch as a peer", () => {
  it("starts the script under torchrun and puts its cells beside the others", async () => {
    const asked = join(folder, "asked.txt");
    const line = (peer: string, rest: string): string =>
      `echo '{"op": "all_reduce", "case": "1024", "peer": "${peer}", ${rest}}'`;
    const fake = python(
      "good",
      [
        `echo "$@" > ${asked}`,
        "echo 'a warning of some library'",
        line("torch one_shot", '"us": {"median": 7.1, "min": 7, "max": 8}'),
        line("torch two_shot", '"problem": "wrong result"'),
      ].join("\n"),
    );
    const told: string[] = [];
    const { rows: cells, failure } = await timeTorch({
      ...options,
      python: fake,
      onProgress: (what) => told.push(what),
    });
    expect(failure).toBeNull();
    expect(told).toHaveLength(2);
    expect(readFileSync(asked, "utf8")).toMatch(
      /torch\.distributed\.run --standalone --nproc-per-node 4 \S+torch_collectives\.py --cases all_reduce:1024 --dtype bf16 --inner 10 --outer 15/,
    );
    const row = { label: "1 KiB", size: 1024, dims: { n: 512 }, kernels: {}, peers: { nccl: { problem: "none" } } };
    const [merged] = withTorch("all_reduce", [row], cells);
    expect(merged!.peers).toEqual({
      nccl: { problem: "none" },
      "torch one_shot": { us: { median: 7.1, min: 7, max: 8 }, maxError: null },
      "torch two_shot": { problem: "wrong result" },
    });
    expect(withTorch("broadcast", [row], cells)).toEqual([row]);
    expect(torchPeers("all_reduce", cells, "2.11").map((p) => p.name)).toEqual(["torch one_shot", "torch two_shot"]);
  });

  it("asks for products by their shapes, and takes a rank's product by itself apart", async () => {
    const asked = join(folder, "shapes.txt");
    const line = (rest: string): string => `echo '{"op": "all_gather_matmul", "case": "8x16x32", ${rest}}'`;
    const us = '{"median": 7.1, "min": 7, "max": 8}';
    const fake = python(
      "products",
      [`echo "$@" > ${asked}`, line(`"alone": ${us}`), line(`"peer": "cuBLAS + NCCL", "us": ${us}`)].join("\n"),
    );
    const one = { size: 4096, dims: { m: 8, n: 16, k: 32 } };
    const plan = [
      { suite: "matmul_reduce_scatter", cases: [one] },
      { suite: "all_gather_matmul", cases: [one] },
    ] as const;
    const { rows: torch } = await timeTorch({ ...options, plan, python: fake });
    expect(readFileSync(asked, "utf8")).toMatch(
      /\S+torch_matmul\.py --cases matmul_reduce_scatter:8x16x32,all_gather_matmul:8x16x32 --dtype bf16 --inner 10/,
    );
    const row = { label: "8×16×32", ...one, kernels: {}, peers: {} };
    const time = { median: 7.1, min: 7, max: 8 };
    expect(withTorch("all_gather_matmul", [row], torch)).toEqual([
      { ...row, peers: { "cuBLAS + NCCL": { us: time, maxError: null } }, alone: time },
    ]);
    expect(torchPeers("all_gather_matmul", torch, "2.11")).toEqual([{ name: "cuBLAS + NCCL", version: "2.11" }]);
    await expect(timeTorch({ ...options, plan, dtype: "f32" })).rejects.toThrow(/bf16, f16, not f32/);
  });

  it("says what the script said last when it fails", async () => {
    const line = `echo '{"op": "all_reduce", "case": "1024", "peer": "torch one_shot", "us": {"median": 7, "min": 7, "max": 8}}'`;
    const fake = python("bad", `${line}\necho 'RuntimeError: no NVLink' >&2; exit 3`);
    const { rows, failure } = await timeTorch({ ...options, python: fake });
    expect(failure!.message).toMatch(/code 3 after all_reduce, 1024: torch one_shot: RuntimeError: no NVLink/);
    expect(Object.keys(rows.get("all_reduce")!.get("1024")!.peers)).toEqual(["torch one_shot"]);
  });

  it("ends a script that hangs, and all that it started", async () => {
    const pid = join(folder, "pid.txt");
    const fake = python("hung", `sleep 600 & echo $! > ${pid}; wait`);
    const { failure } = await timeTorch({ ...options, timeoutMs: 1500, python: fake });
    expect(failure!.message).toMatch(/SIGKILL, after 1.5 s without a word/);
    const child = Number(readFileSync(pid, "utf8"));
    await expect.poll(() => isRunning(child)).toBe(false);
  });

  it("teaches what to do without PyTorch, and refuses dtypes that its kernels do not have", async () => {
    await expect(torchVersion(python("none", "echo 'No module named torch' >&2; exit 1"))).rejects.toMatchObject({
      exitCode: 3,
      help: expect.stringContaining("pip install torch") as string,
    });
    await expect(timeTorch({ ...options, dtype: "i8" })).rejects.toThrow(/bf16, f16, f32, not i8/);
  });
});

/** Not one that has ended and that nobody has collected yet. */
function isRunning(pid: number): boolean {
  try {
    return !/^State:\s+Z/m.test(readFileSync(`/proc/${pid}/status`, "utf8"));
  } catch {
    return false;
  }
}

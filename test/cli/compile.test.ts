import { execFileSync, spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readFileSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { headerOf } from "../../src/cli/header.js";
import { compile, parseKernel, parseProgram, PIPELINE, SourceFile } from "../../src/compiler/index.js";
import { importsFromDisk, libraryFromDisk } from "../../src/runtime/imports.js";
import { findNvrtc } from "../../src/runtime/nvrtc.js";
import { collc, entry, file, isBuilt, kernel, temporaryFolder } from "./support.js";

const folder = temporaryFolder();
const nvrtc = (await findNvrtc()).found;
if (nvrtc === null) process.stderr.write("NVRTC is not here: the tests of `collc build` are skipped\n");

describe("collc emit", () => {
  it("prints the program as Coll that parses", async () => {
    const { code, out } = await collc(["emit", kernel("matmul/reduce_scatter"), "--stage", "ast"]);
    expect(code).toBe(0);
    expect(parseProgram(new SourceFile("again", out)).diagnostics).toEqual([]);
  });

  it.each(["tensor", "rank", "device"])("prints the %s stage as text that parses back", async (stage) => {
    const { code, out } = await collc(["emit", kernel("matmul/reduce_scatter"), "--stage", stage]);
    expect(code).toBe(0);
    expect(parseKernel(out).level).toBe(stage);
    expect(out).toContain("loc(");
    const bare = await collc(["emit", kernel("matmul/reduce_scatter"), "--stage", stage, "--no-locations"]);
    expect(bare.out).not.toContain("loc(");
  });

  it("takes knobs of the mapping, and says which there are not", async () => {
    const emit = (mapping: string): ReturnType<typeof collc> =>
      collc(["emit", kernel("all_reduce/one_shot"), "--mapping", mapping]);
    expect((await emit('{"transfers":"staged","protocol":"packet"}')).out).toContain("load_packets<InvertedPacket>");
    const wrong = await emit('{"protocol":"pigeon"}');
    expect(wrong).toMatchObject({ code: 2, err: expect.stringContaining("one of barrier, packet") });
    expect(await emit("packets")).toMatchObject({ code: 2, err: expect.stringContaining("JSON object") });
  });

  it("prints CUDA text for the ranks and dtype asked for", async () => {
    const { code, out } = await collc(["emit", kernel("all_reduce/one_shot"), "--ranks", "3", "--dtype", "f16"]);
    expect(code).toBe(0);
    expect(out).toContain("coll_one_shot_w3_f16");
    expect(out).not.toMatch(/^#include/m);
  });

  it("prints the kernel after any pass", async () => {
    const { out: list } = await collc(["emit", "--list-passes"]);
    expect(list.trim().split("\n")).toHaveLength(PIPELINE.length);
    for (const pass of ["lower", "derive-sync", "vectorize"]) {
      const { code, out } = await collc(["emit", kernel("all_reduce/two_shot"), "--after", pass]);
      expect(code).toBe(0);
      expect(parseKernel(out).world).toBe(4);
    }
  });

  it("stops after a number of passes", async () => {
    const { code, out } = await collc([
      "emit",
      kernel("all_reduce/two_shot"),
      "--stage",
      "device",
      "--pass-limit",
      "0",
    ]);
    expect(code).toBe(0);
    expect(parseKernel(out).level).not.toBe("device");
    expect((await collc(["emit", kernel("all_reduce/two_shot"), "--pass-limit", "2"])).code).toBe(2);
  });
});

const cudaHeaders = ["/usr/local/cuda/include", "/usr/local/cuda-13.0/include", "/usr/local/cuda-12.8/include"].find(
  (path) => existsSync(join(path, "cuda.h")),
);

describe("the C header", () => {
  const strange = `collective odd(int: T[n, for_] partial(sum), float: f32, unsigned: u32) -> out: T[n, for_] sharded(0) {
  for i, j in tiles(shard(n, rank), for_) {
    out[i - shard(n, rank).start, j] = (sum(p in ranks) int@p[i, j]) * float + f32(unsigned)
  }
}
`;
  it.skipIf(cudaHeaders === undefined)("compiles as C and as C++ without a warning", () => {
    const sources = [
      ...["all_reduce", "all_reduce/ring", "all_reduce/one_shot", "matmul/reduce_scatter", "all_to_all/push"].map(
        (name) => readFileSync(kernel(name), "utf8"),
      ),
      strange,
    ];
    for (const source of sources) {
      const { manifest, diagnostics } = compile(source, {
        ranks: 4,
        dtype: "bf16",
        resolve: importsFromDisk,
        library: libraryFromDisk,
      });
      expect(diagnostics.filter((d) => d.severity === "error")).toEqual([]);
      const path = file(
        folder,
        "kernel.h",
        headerOf(
          manifest!,
          manifest!.kernels.map((_, i) => `kernel_${i}.cubin`),
        ),
      );
      for (const [compiler, language] of [
        ["gcc", "c"],
        ["g++", "c++"],
      ] as const) {
        const ran = spawnSync(
          compiler,
          ["-Wall", "-Wextra", "-Wpedantic", "-Werror", "-fsyntax-only", `-I${cudaHeaders}`, "-x", language, path],
          { encoding: "utf8" },
        );
        expect(ran.stderr).toBe("");
        expect(ran.status).toBe(0);
      }
    }
  });

  it.skipIf(cudaHeaders === undefined)("computes the grid and the sizes that the runtime does", () => {
    const { manifest } = compile(readFileSync(kernel("all_reduce/ring"), "utf8"), {
      ranks: 4,
      dtype: "bf16",
      resolve: importsFromDisk,
    });
    const { symbol } = manifest!.kernels[0]!;
    file(folder, "ring.h", headerOf(manifest!, ["ring.cubin"]));
    const program = `#include <stdio.h>
CUresult cuFuncSetAttribute(CUfunction f, CUfunction_attribute a, int v) { (void)f; (void)a; (void)v; return CUDA_SUCCESS; }
int main(void) { printf("%u %lld", ${symbol}_grid(100000), (long long)${symbol}_bytes_inbox(100000)); return 0; }`;
    const path = file(folder, "grid.c", `#include "ring.h"\n${program}`);
    const binary = join(folder, "grid");
    // The launch itself is not linked: inline and unused.
    execFileSync("gcc", ["-O1", `-I${cudaHeaders}`, path, "-o", binary, "-Wl,--unresolved-symbols=ignore-all"]);
    const [grid, inbox] = execFileSync(binary, { encoding: "utf8" }).split(" ").map(Number);
    expect(inbox).toBe(100000 * 4);
    expect(grid).toBeGreaterThanOrEqual(1);
    expect(grid).toBeLessThanOrEqual(manifest!.kernels[0]!.grid.maxBlocks);
  });
});

describe.runIf(nvrtc !== null || process.env["CI"] === "true")("collc build", () => {
  const out = join(folder, "deep", "out");
  const build = (...argv: string[]): ReturnType<typeof collc> => collc(["build", ...argv, "-o", out]);

  it("writes everything, with the cubin's hash", async () => {
    const { code, err } = await build(
      kernel("all_reduce/one_shot"),
      kernel("all_gather/push"),
      kernel("all_to_all/push"),
      "--ranks",
      "2",
    );
    expect(err).toBe("");
    expect(code).toBe(0);
    const names = readdirSync(out);
    expect(names).toHaveLength(3 * 4 + 1);
    const manifest = JSON.parse(readFileSync(join(out, "manifest.json"), "utf8")) as {
      programs: { kernels: unknown[]; header: string }[];
    };
    expect(manifest.programs).toHaveLength(3);
    for (const { header } of manifest.programs) expect(names).toContain(header);
    for (const entry of manifest.programs.flatMap((program) => program.kernels) as {
      files: Record<string, string>;
      cubinSha256: string;
      parameters: { meaning: string }[];
      symmetricBuffers: string[];
    }[]) {
      const cubin = readFileSync(join(out, entry.files["cubin"]!));
      expect(createHash("sha256").update(cubin).digest("hex")).toBe(entry.cubinSha256);
      expect(cubin.subarray(0, 4).toString("latin1")).toBe("\x7fELF");
      expect(entry.parameters.every((p) => p.meaning.length > 5)).toBe(true);
      expect(entry.symmetricBuffers.length).toBeGreaterThan(0);
      for (const name of Object.values(entry.files)) expect(names).toContain(name);
    }
  });

  it("replaces files in a folder that is there, and keeps others", async () => {
    writeFileSync(join(out, "mine.txt"), "mine");
    expect((await build(kernel("all_reduce/one_shot"), "--ranks", "2")).code).toBe(0);
    expect(readdirSync(out)).toContain("mine.txt");
    expect(readdirSync(out).filter((name) => name.startsWith("."))).toEqual([]);
  });

  it("leaves nothing behind when a later program is wrong", async () => {
    const bad = file(folder, "bad.coll", "collective f(");
    const { code } = await collc(["build", kernel("all_reduce/one_shot"), bad, "-o", join(folder, "never", "there")]);
    expect(code).toBe(1);
    expect(existsSync(join(folder, "never"))).toBe(false);
  });

  it("says that a file stands where the folder should", async () => {
    const path = file(folder, "taken", "");
    const { code, err } = await collc(["build", kernel("all_reduce/one_shot"), "-o", path]);
    expect(code).toBe(2);
    expect(err).toContain("is a file, not a folder");
  });

  it.skipIf(process.getuid?.() === 0)("says that a folder cannot be written", async () => {
    const locked = join(folder, "locked");
    mkdirSync(locked, { mode: 0o500 });
    const { code } = await collc(["build", kernel("all_reduce/one_shot"), "-o", join(locked, "out")]);
    expect(code).toBe(3);
  });

  // A file system of 8 KiB in a name space of its own; where that is not allowed, the test has nothing to stand on.
  const small = join(folder, "small");
  const inSmall = (command: string): ReturnType<typeof spawnSync> => {
    mkdirSync(small, { recursive: true });
    return spawnSync("unshare", ["-rm", "sh", "-c", `mount -t tmpfs -o size=8k none "${small}" && ${command}`], {
      encoding: "utf8",
    });
  };
  it.skipIf(!isBuilt || inSmall("true").status !== 0)("a full disk: exit 3, one message, nothing left", () => {
    const ran = inSmall(
      `"${process.execPath}" "${entry}" build "${kernel("all_reduce/ring")}" -o "${small}/a/out"; code=$?; ls -A "${small}"; exit $code`,
    );
    expect(ran.stderr).toMatch(/cannot be written: the disk is full[\s\S]*help:/);
    expect(ran.stdout).toBe("");
    expect(ran.status).toBe(3);
  });

  it("says that NVRTC does not know an architecture", async () => {
    const { code, err } = await collc(["emit", kernel("all_reduce/one_shot"), "--stage", "ptx", "--arch", "sm_130"]);
    expect(code).toBe(3);
    expect(err).toMatch(/NVRTC \d+\.\d+ does not compile for sm_130/);
    expect(err).not.toContain("bug in collc");
  });

  it("prints PTX", async () => {
    const { code, out: ptx } = await collc([
      "emit",
      kernel("all_reduce/one_shot"),
      "--stage",
      "ptx",
      "--arch",
      "sm_80",
    ]);
    expect(code).toBe(0);
    expect(ptx).toContain(".target sm_80");
  });
});

import { spawnSync } from "node:child_process";
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { parseKernel, parseProgram, PIPELINE, SourceFile } from "../../src/compiler/index.js";
import { findNvrtc } from "../../src/runtime/nvrtc.js";
import { collc, entry, isBuilt, kernel, temporaryFolder } from "./support.js";

const folder = temporaryFolder();
const nvrtc = (await findNvrtc()).found;
if (nvrtc === null) process.stderr.write("NVRTC is not here: the tests that need it are skipped\n");

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

describe.runIf(nvrtc !== null || process.env["CI"] === "true")("with NVRTC", () => {
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

  it.each([
    ["copy engines", ["broadcast", "--variant", "broadcast/flat+copies"]],
    ["messages", ["all_reduce/ring", "--reach", "2x2"]],
  ])("prints the PTX of each kernel between %s", async (_, [name, ...argv]) => {
    const text = async (stage: string): Promise<string> =>
      (await collc(["emit", kernel(name!), ...argv, "--arch", "sm_80", "--stage", stage])).out;
    const [cuda, ptx] = [await text("cuda"), await text("ptx")];
    const named = [...cuda.matchAll(/^(coll_\w+)\(/gm)].map(([, entry]) => entry);
    expect(named.length).toBeGreaterThan(1);
    expect([...ptx.matchAll(/\.visible \.entry (\w+)\(/g)].map(([, entry]) => entry)).toEqual(named);
  });

  it.each([
    ["after a pass", ["--after", "derive-sync"]],
    ["after so many passes", ["--pass-limit", "8", "--stage", "device"]],
  ])("prints one of several kernels %s", async (_, argv) => {
    const { out, err } = await collc(["emit", kernel("all_reduce"), "--variant", "all_reduce/ring+packets", ...argv]);
    expect([out, err]).toEqual([expect.stringMatching(/^kernel all_reduce_ring_packets level=rank /), ""]);
    const wrong = await collc(["emit", kernel("all_reduce"), "--variant", "all_reduce/rin", ...argv]);
    expect(wrong.err).toMatch(/has no variant 'all_reduce\/rin'\nhelp: it has .*all_reduce\/ring\+packets/);
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

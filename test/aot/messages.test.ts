/** Artefacts whose ranks share no addresses: what `collc.c` sends and receives is what the compiler's steps say, in a C program. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, describe, expect, test } from "vitest";
import { choiceOf, type DimValues, DTYPES, elementsOf, runsOf } from "../../src/compiler/index.js";
import type { ArtefactManifest, ArtefactTarget } from "../../src/cli/aot/manifest.js";
import { manifestProblems } from "../../src/cli/aot/manifest-problems.js";
import { collc, kernel, temporaryFolder } from "../cli/support.js";
import { compileC, fakeDriver, hasFakes, linesOf, useFakeCompiler } from "./support.js";

const folder = temporaryFolder();
const out = join(folder, "out");
const program = join(folder, "messages");
// The last is a broadcast where collc launches it.
const PROGRAMS = ["all_reduce/hierarchical", "all_reduce/two_shot", "all_reduce/hierarchical_in_chunks", "all_reduce", "broadcast/flat"]; // prettier-ignore
const N = 5000;

/** Where each memory begins in the workspace, which is its beginning: one after the other, at multiples of 128. */
function offsetsOf({ memory = [] }: ArtefactTarget, dims: DimValues): Map<string, number> {
  let at = 0;
  return new Map(
    memory.map(({ name, shape, dtype }) => {
      const own = [name, at] as const;
      at += Math.ceil((elementsOf(shape, dims) * DTYPES[dtype].bytes) / 128) * 128;
      return own;
    }),
  );
}

/** What a rank gives to the carrier in a launch, a line each. */
function expected(target: ArtefactTarget, rank: number, dims: DimValues): string[] {
  const offsets = offsetsOf(target, { n: N });
  const dtypeOf = (name: string): keyof typeof DTYPES => target.memory!.find((m) => m.name === name)!.dtype;
  const lines = choiceOf({ ...target, dims: ["n"] } as never, dims).steps.flatMap((step) => {
    if (step.kind !== "message") return [];
    const said = (side: "sends" | "receives"): string[] =>
      runsOf(step.ranks[rank]![side], dims).map(({ peer, memory, offset, length }) => {
        const { bytes } = DTYPES[dtypeOf(memory)];
        return `rank ${rank} ${side} ${peer} ${offsets.get(memory)! + offset * bytes} ${length * bytes} bytes`;
      });
    return ["group", ...said("sends"), ...said("receives"), "end"];
  });
  return lines.toSorted();
}

describe.runIf(hasFakes)("programs that send messages, ahead of time", () => {
  let manifest: ArtefactManifest;

  beforeAll(async () => {
    useFakeCompiler();
    const files = PROGRAMS.map((name) => kernel(name));
    const built = await collc(["build", ...files, "--ranks", "4", "--reach", "2x2", "--dtype", "f32", "-o", out]);
    expect(built).toMatchObject({ code: 0, err: "" });
    manifest = JSON.parse(readFileSync(join(out, "manifest.json"), "utf8")) as ArtefactManifest;
    expect(manifestProblems(manifest)).toEqual([]);
    compileC(out, [join(import.meta.dirname, "messages.c")], program);
  });

  test.each(PROGRAMS)("%s gives its carrier what the steps say", (path) => {
    const { targets, ranksPerDomain, name } = manifest.programs.find((p) => p.path === path)!;
    expect([ranksPerDomain, name]).toEqual([2, expect.stringContaining("_w4_d2_")]);
    const lines = linesOf(program, [fakeDriver, out, path, `${N}`], { FAKE_CUDA_ATTRIBUTES: "16=132" });
    const of = (what: string): string[] => lines.filter((line) => line.startsWith(`${what}: `));
    expect(lines[0]).toBe("has messages: 1");
    expect(of("without a neighbour").every((line) => /: 1 rank [0-3]'s workspace is not at/.test(line))).toBe(true);
    expect(of("nothing carries")[0]).toMatch(/: 9 .*nothing carries them: call collc_carry/);
    expect(of("no communicator")[0]).toMatch(/: 1 the carrier has no communicator: make one of the program's 4 ranks/);
    expect(of("too long")[0]).toMatch(/: 6 .*no room for n=10000/);
    expect(of("refused")[0]).toMatch(/: 9 messages of coll_\w+: remote error \(6\)/);
    expect(of("no library")[0]).toMatch(/: 9 there is no NCCL here/);
    expect([of("carry"), of("launch"), of("shorter")]).toEqual([Array(4).fill("carry: 0"), Array(4).fill("launch: 0"), Array(4).fill("shorter: 0")]); // prettier-ignore
    for (let rank = 0; rank < 4; rank++) {
      const begin = nth(lines, "carry: 0", rank);
      const end = lines.indexOf("launch: 0", begin);
      const last = lines.indexOf("shorter: 0", end);
      expect(lines.slice(begin + 1, end).toSorted()).toEqual(expected(targets[0]!, rank, { n: N }));
      expect(lines.slice(end + 1, last).toSorted()).toEqual(expected(targets[0]!, rank, { n: 1 }));
    }
  });
});

/** Where a line stands for the k-th time, from 0 on. */
function nth(lines: readonly string[], line: string, k: number): number {
  return lines.flatMap((l, i) => (l === line ? [i] : []))[k]!;
}

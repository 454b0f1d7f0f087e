/**
 * Artefacts that have copy engines copy, in a C program and in Python: the calls that the runtime makes of the same program, in the same order,
 * what they leave in memory, and what becomes of their streams.
 */
import { readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, describe, expect, test, vi } from "vitest";
import { compile, type DimValues, DTYPES, elementsOf } from "../../src/compiler/index.js";
import type { ArtefactManifest, ArtefactProgram } from "../../src/cli/aot/manifest.js";
import { manifestProblems } from "../../src/cli/aot/manifest-problems.js";
import type { SharedMemory } from "../../src/runtime/message-steps.js";
import { importsFromDisk } from "../../src/runtime/imports.js";
import { packageRoot } from "../../src/runtime/native.js";
import { collc, kernel, temporaryFolder } from "../cli/support.js";
import { closeAll, connectRanks, onAll, useFakeMachine } from "../runtime/device-groups.js";
import { compileC, fakeDriver, hasFakes, linesOf, useFakeCompiler } from "./support.js";

const folder = temporaryFolder();
const program = join(folder, "copies");
const trace = join(folder, "trace");
const dumped = join(folder, "dump");

interface Case {
  readonly path: string;
  readonly copies: "engine" | "beside";
  readonly ranks: number;
  readonly dims: DimValues;
}
/** More peers than lanes, rows with pitches, and a product that is fed. */
const CASES: readonly Case[] = [
  { path: "all_gather/push", copies: "engine", ranks: 6, dims: { n: 60 } },
  { path: "all_to_all/push", copies: "engine", ranks: 3, dims: { m: 6, n: 9 } },
  { path: "matmul/all_gather", copies: "beside", ranks: 3, dims: { m: 9, k: 136, n: 3 } },
];
const outOf = ({ copies }: Case): string => join(folder, copies);

/** Both hosts of artefacts: `run` gives what one prints. */
const HOSTS: readonly [
  string,
  (of: Case, args: readonly string[], env: Readonly<Record<string, string>>) => string[],
][] = [
  // prettier-ignore
  ["C", (of, args, env) => linesOf(`${program}-${of.copies}`, args, env)],
  [
    "Python",
    (_, args, env) =>
      linesOf("python3", [join(packageRoot(), "test/python/copies.py"), ...args], {
        ...{ PYTHONPATH: join(packageRoot(), "python"), PYTHONDONTWRITEBYTECODE: "1", PYTHONWARNINGS: "error", ...env },
      }),
  ],
];

describe.runIf(hasFakes)("programs whose copies engines carry out, ahead of time", () => {
  const manifests = new Map<string, ArtefactManifest>();

  beforeAll(async () => {
    useFakeMachine();
    useFakeCompiler();
    for (const of of CASES) {
      const args = ["--ranks", `${of.ranks}`, "--dtype", "bf16", "--mapping", JSON.stringify({ copies: of.copies })];
      expect(await collc(["build", kernel(of.path), ...args, "-o", outOf(of)])).toMatchObject({ code: 0, err: "" });
      manifests.set(of.copies, JSON.parse(readFileSync(join(outOf(of), "manifest.json"), "utf8")) as ArtefactManifest);
    }
    for (const [copies, manifest] of manifests) {
      expect(manifestProblems(manifest)).toEqual([]);
      compileC(join(folder, copies), [join(import.meta.dirname, "copies.c")], `${program}-${copies}`);
    }
  });

  const built = ({ path, copies }: Case): ArtefactProgram => manifests.get(copies)!.programs.find((p) => p.path === path)!; // prettier-ignore

  const bytesOf = (of: Case, tensor: string): number => {
    const { localShape, dtype } = [...built(of).inputs, ...built(of).outputs].find(({ name }) => name === tensor)!;
    return elementsOf(localShape, of.dims) * DTYPES[dtype].bytes;
  };

  /** Where each memory lies in a workspace: they are its beginning, at multiples of 128 bytes. */
  function memoryOf(of: Case): Map<string, { readonly at: number; readonly bytes: number }> {
    let end = 0;
    const { memory = [] } = built(of).targets[0]!;
    return new Map(
      memory.map(({ name, shape, dtype }) => {
        const [at, bytes] = [end, elementsOf(shape, of.dims) * DTYPES[dtype].bytes];
        end += Math.ceil(bytes / 128) * 128;
        return [name.split("/").at(-1)!, { at, bytes }];
      }),
    );
  }

  /** What a host prints, and the calls that it has made, by rank. */
  function ran(run: (typeof HOSTS)[number][1], of: Case, mode: string, env: Readonly<Record<string, string>> = {}) {
    rmSync(trace, { force: true });
    const word = memoryOf(of).get("sent")?.at ?? -1;
    const args = [fakeDriver, outOf(of), of.path, `${of.ranks}`, mode, dumped, `${word}`, ...built(of).dims.map((name) => `${of.dims[name]!}`)]; // prettier-ignore
    const lines = run(of, args, { FAKE_CUDA_ATTRIBUTES: "16=132", FAKE_CUDA_TRACE: trace, ...env });
    const places = lines.flatMap((line): Place[] => {
      const [what, name, rank, at] = line.split(" ");
      if (what !== "at") return [];
      if (name !== "workspace") return [{ name: `${name!} of ${rank!}`, at: BigInt(at!), bytes: bytesOf(of, name!) }];
      return [...memoryOf(of)].map(([memory, m]) => ({ name: `${memory} of ${rank!}`, at: BigInt(at!) + BigInt(m.at), bytes: m.bytes })); // prettier-ignore
    });
    const said = (what: string): string[] => lines.filter((line) => line.startsWith(`${what}: `)).map((line) => line.slice(what.length + 2)); // prettier-ignore
    return { lines, said, calls: (): string[][] => named(readFileSync(trace, "utf8"), places) };
  }

  describe.each(HOSTS)("in %s", (host, run) => {
    test.each(CASES)("$path on $ranks ranks: the runtime's calls, and what they leave", async (of) => {
      const { said, calls } = ran(run, of, "launch");
      expect(said("load")).toEqual(["0"]);
      expect(said("launch")).toEqual(Array(of.ranks).fill("0"));
      const made = calls();
      const wanted = await runtimeCalls(of);
      expect(made).toEqual(wanted);
      for (const own of wanted) expect(own.filter((call) => /^(copy|rows) /.test(call)).length).toBeGreaterThan(1);
      expect(contentsOf(of, 0)).toEqual(rightContents(of, 7));
      // The streams that it has made are gone, and where all copies are one after the other there were none but one.
      const [before, loaded, after] = ["before", "loaded", "after"].map((when) => said(when)[0]!.split(/\D+/).map(Number)); // prettier-ignore
      expect(after).toEqual(before);
      const lanes = of.copies === "beside" ? [1, 2] : of.ranks === 6 ? [4, 5] : [3, 4];
      expect([loaded![0]! - before![0]!, loaded![1]! - before![1]!]).toEqual(lanes.map((n) => n * of.ranks));
    });

    // A process of Python takes as long to begin as all of C's together.
    const few = host === "C" ? [CASES[0]!, CASES[2]!] : [CASES[2]!];

    test.each(host === "C" ? CASES : [CASES[0]!, CASES[2]!])(
      "$path on $ranks ranks is captured with its copies, and replayed",
      (of) => {
        const { said, calls, lines } = ran(run, of, "capture");
        expect(said("capture")).toEqual(Array(of.ranks).fill("0"));
        // Every lane has come back to the stream, or the capture would not have ended.
        expect(said("captured")).toEqual(Array(of.ranks).fill("0 0"));
        expect(said("replay")).toEqual(Array(2 * of.ranks).fill("0"));
        expect(contentsOf(of, 0)).not.toEqual(rightContents(of, 7));
        for (const round of [1, 2]) expect(contentsOf(of, round)).toEqual(rightContents(of, 8));
        // The lanes are the capture's: meanwhile another stream copies by itself.
        expect(said("meanwhile")).toEqual(["0"]);
        const [own, other] = calls();
        expect(own!.some((call) => call.startsWith("wait"))).toBe(true);
        expect(new Set(other!.map((call) => call.split(" ")[1]))).toEqual(new Set(["own"]));
        expect(other!.map((call) => call.split(" ")[0])).not.toContain("record");
        expect(other!.filter(isCopy).map(withoutStream).toSorted()).toEqual(own!.filter(isCopy).map(withoutStream).toSorted()); // prettier-ignore
        expect(said("after")).toEqual(said("before"));
        if (host !== "C") return;
        const copied = of.copies === "beside" ? ["a"] : ["x", "y"];
        expect(said("same")).toEqual(["0"]);
        for (const { name } of [...built(of).inputs, ...built(of).outputs])
        expect(said(`moved ${name}`)).toEqual([copied.includes(name) ? expect.stringMatching(/^1 .* copies tensors, whose addresses are those of the capture/) : "0"]); // prettier-ignore
        expect(said("shorter")).toEqual([expect.stringMatching(/^1 .* has copies, whose lengths are those of the capture/)]); // prettier-ignore
        expect(lines.at(-1)).toMatch(/^after: /);
      },
    );

    test("rows that lie further apart than the driver takes are copied one by one", () => {
      const of = CASES[1]!;
      const { calls } = ran(run, of, "launch", { FAKE_CUDA_ATTRIBUTES: "16=132,11=17" });
      expect(
        calls()
          .flat()
          .filter((call) => call.startsWith("rows")),
      ).toEqual([]);
      expect(calls()[0]!.filter((call) => call.startsWith("copy"))).toHaveLength(6);
      expect(contentsOf(of, 0)).toEqual(rightContents(of, 7));
    });

    test("a copy that the driver refuses leaves no lane that the stream does not wait for", () => {
      const { said, calls } = ran(run, CASES[0]!, "launch", { FAKE_CUDA_FAIL: "cuMemcpyDtoDAsync:3" });
      expect(said("launch")).toEqual([expect.stringMatching(/^5 cuMemcpyDtoDAsync: CUDA_ERROR_UNKNOWN/), ...Array<string>(5).fill("0")]); // prettier-ignore
      const [first] = calls();
      const lanes = first!.flatMap((call) => /^wait (lane\d+) /.exec(call)?.[1] ?? []);
      expect(lanes.length).toBeGreaterThan(1);
      for (const lane of lanes) {
        const [, end] = new RegExp(`^record ${lane} (event\\d+)$`, "m").exec(first!.join("\n"))!;
        expect(first).toContain(`wait own ${end!}`);
      }
    });

    test.each(few)("$path: a driver that refuses a stream or an event leaves nothing", (of) => {
      const [streams, events] = of.copies === "beside" ? [1, 2] : [4, 5];
      const last = { cuStreamCreate: of.ranks + streams!, cuEventCreate: events! };
      for (const [call, nth] of Object.entries(last)) {
        const { said } = ran(run, of, "launch", { FAKE_CUDA_FAIL: `${call}:${nth}` });
        expect(said("load")).toEqual([expect.stringMatching(new RegExp(`^5 ${call}: CUDA_ERROR_UNKNOWN`))]);
        expect([said("loaded"), said("after")]).toEqual([said("before"), said("before")]);
      }
    });
  });

  test("builds have copies where the plan takes them, unless the mapping says who copies", async () => {
    const steps = async (name: string, ...args: string[]): Promise<string[]> => {
      const out = join(folder, name);
      expect(await collc(["build", kernel("all_gather"), "--ranks", "2", "--dtype", "bf16", "--no-tuned", ...args, "-o", out])).toMatchObject({ code: 0 }); // prettier-ignore
      const { programs } = JSON.parse(readFileSync(join(out, "manifest.json"), "utf8")) as ArtefactManifest;
      return programs[0]!.targets[0]!.plan.choices.at(-1)!.steps.map(({ kind }) => kind);
    };
    expect(await steps("planned")).toEqual(["launch", "copy", "launch"]);
    expect(await steps("by-blocks", "--mapping", '{"copies":"blocks"}')).toEqual(["launch"]);
    expect((await collc(["build", "--verify", join(folder, "planned")])).code).toBe(0);
  });

  test("a manifest whose copies are of what there is not is none", () => {
    const of = CASES[0]!;
    const found = (edit: (copies: Edited, program: Edited) => void): unknown => {
      const manifest = JSON.parse(JSON.stringify(manifests.get(of.copies)!)) as { programs: Edited[] };
      const own = manifest.programs.find((p) => p["path"] === of.path)!;
      const step = own["targets"][0].plan.choices[0].steps[1];
      edit(step, own);
      return manifestProblems(manifest).map(({ pointer, message }) => `${pointer.split("/steps/1/")[1]!} ${message}`);
    };
    expect(found(() => {})).toEqual([]);
    expect(found(({ copies }) => copies.pop())).toEqual(["copies are those of 5 ranks, and the program is for 6"]);
    expect(found(({ copies }) => (copies[0][0].to.tensor = "z"))).toEqual(["copies/0/0/to/tensor is 'z', which is no input or output"]); // prettier-ignore
    expect(found(({ copies }) => (copies[0][0].from.isMemory = true))).toEqual(["copies/0/0/from/tensor is 'x', which is no memory of the target"]); // prettier-ignore
    expect(found(({ copies }) => (copies[0][0].from.rank = 6))).toContain("copies/0/0/from/rank is 6, and ranks are numbered from 0 to 5"); // prettier-ignore
    expect(found(({ copies }) => (copies[0][0].rows = "k"))).toEqual(["copies/0/0 has the length 'k', which is no dimension of the program"]); // prettier-ignore
    expect(found((_, own) => (own["symmetric"] = []))).toContain("copies/0/1/to/tensor is 'y' of rank 1, and it is not symmetric"); // prettier-ignore
    expect(found(({ copies }) => delete copies[1][0].to.pitch)).toEqual(["copies/1/0/to lacks 'pitch'"]);
  });

  /** What the runtime calls of the same program, rank by rank. */
  async function runtimeCalls({ path, copies, ranks, dims }: Case): Promise<string[][]> {
    const groups = await connectRanks(ranks);
    const text = readFileSync(kernel(path), "utf8");
    const compiled = compile(text, { file: path, ranks, dtype: "bf16", resolve: importsFromDisk, mapping: { copies } });
    const places: Place[] = [];
    const prepared = await onAll(groups, async (group, rank) => {
      const loaded = await group.load(compiled);
      const { inputs, outputs, symmetric } = compiled.manifest!;
      const tensors: Record<string, Awaited<ReturnType<typeof group.symmetric>>> = {};
      for (const { name, dtype, localShape } of [...inputs, ...outputs]) {
        const shape = localShape.map((e) => elementsOf([e], dims));
        tensors[name] = symmetric.includes(name) ? await group.symmetric(dtype, shape) : group.local(dtype, shape);
      }
      const run = await loaded.prepare(tensors, dims);
      const memory = Reflect.get(loaded, "memory") as SharedMemory;
      const add = (name: string, { pointer, peers }: Reached, bytes: number): void => {
        for (const [p, at] of peers.entries()) places.push({ name: `${name} of ${p}`, at: p === rank ? pointer : at, bytes }); // prettier-ignore
        if (peers.length === 0) places.push({ name: `${name} of ${rank}`, at: pointer, bytes });
      };
      for (const [name, tensor] of Object.entries(tensors)) {
        const { pointer, peerPointers } = tensor as unknown as { pointer: bigint; peerPointers: readonly bigint[] };
        add(
          name,
          { pointer, peers: tensor.symmetric ? peerPointers : [] },
          bytesOf({ path, copies, ranks, dims }, name),
        );
      }
      for (const { name } of compiled.manifest!.memory ?? []) {
        const { pointer, peers, bytes } = memory.of(name) as ReturnType<typeof memory.of> & { bytes: number };
        add(name.split("/").at(-1)!, { pointer, peers: peers.some((at) => at !== 0n) ? peers : [] }, bytes);
      }
      return run;
    });
    const calls = groups.map((group, rank) => {
      writeFileSync(trace, "");
      vi.stubEnv("FAKE_CUDA_TRACE", trace);
      prepared[rank]!.launch(group.defaultStream);
      vi.stubEnv("FAKE_CUDA_TRACE", "");
      const [own] = named(readFileSync(trace, "utf8"), places);
      // The last says which stream a group's kernels were on.
      expect(own!.at(-1)).toMatch(/^record own /);
      return own!.slice(0, -1);
    });
    prepared.forEach((run) => run.release());
    await closeAll(groups);
    return calls;
  }

  /** What a round has left in outputs, or in the memory that engines copy to, of all ranks. */
  function contentsOf(of: Case, round: number): number[][] {
    const data = readFileSync(`${dumped}.${round}`);
    const { inputs, outputs } = built(of);
    return Array.from({ length: of.ranks }, (_, r) => {
      let at = (r * data.length) / of.ranks;
      for (const { name } of inputs) at += bytesOf(of, name);
      const bytes = bytesOf(of, outputs[0]!.name);
      const words = (from: number, count: number): number[] => Array.from({ length: count }, (_, i) => data.readUInt16LE(from + 2 * i)); // prettier-ignore
      if (of.copies === "engine") return words(at, bytes / 2);
      const [gathered, arrived] = ["gathered", "arrived"].map((name) => memoryOf(of).get(name)!);
      at += bytes;
      return [...words(at + gathered!.at, gathered!.bytes / 2), ...words(at + arrived!.at, arrived!.bytes / 2)];
    });
  }
});

// eslint-disable-next-line @typescript-eslint/no-explicit-any -- JSON that is made wrong
type Edited = Record<string, any>;

/** Memory that has a name in the trace. */
interface Place {
  readonly name: string;
  readonly at: bigint;
  readonly bytes: number;
}
interface Reached {
  readonly pointer: bigint;
  readonly peers: readonly bigint[];
}

const isCopy = (call: string): boolean => /^(copy|rows) /.test(call);
const withoutStream = (call: string): string => call.replace(/ (own|lane\d+) /, " ");

/** The driver's trace, launch by launch: streams and events by when they first appear, addresses by what lies there. */
function named(text: string, places: readonly Place[]): string[][] {
  const launches: string[][] = [];
  let own = "";
  let seen = { lane: [] as string[], event: [] as string[] };
  const known = (kind: "lane" | "event", id: string): string => {
    if (kind === "lane" && id === own) return "own";
    if (!seen[kind].includes(id)) seen[kind].push(id);
    return `${kind}${seen[kind].indexOf(id)}`;
  };
  const address = (word: string): string => {
    const place = places.find(({ at, bytes }) => BigInt(word) >= at && BigInt(word) < at + BigInt(bytes));
    return place === undefined ? `nowhere ${word}` : `${place.name}+${BigInt(word) - place.at}`;
  };
  for (const line of text.trimEnd().split("\n")) {
    const [what, ...words] = line.split(" ") as [string, string, string, string, string, string, string, string];
    if (what === "launch" && words[0] !== own) {
      launches.push([]);
      own = words[0];
      seen = { lane: [], event: [] };
    }
    const calls = launches.at(-1)!;
    if (what === "launch") calls.push("launch own");
    if (what === "record") calls.push(`record ${known("lane", words[1])} ${known("event", words[0])}`);
    if (what === "wait") calls.push(`wait ${known("lane", words[0])} ${known("event", words[1])}`);
    const [stream, to, x, y, ...rest] = words;
    if (what === "copy") calls.push(`copy ${known("lane", stream)} ${address(to)} ${address(x)} ${y}`);
    if (what === "rows")
      calls.push(`rows ${known("lane", stream)} ${address(to)} ${x} ${address(y)} ${rest.join(" ")}`);
  }
  return launches;
}

/** What all ranks must hold after a launch that is the `count`-th. */
function rightContents({ path, ranks, dims }: Case, count: number): number[][] {
  const { m = 0, n = 0, k = 0 } = dims;
  return Array.from({ length: ranks }, (_, r) => {
    if (path === "all_gather/push")
      return Array.from({ length: n }, (_, i) => 1000 * Math.floor(i / (n / ranks)) + (i % (n / ranks)));
    if (path === "all_to_all/push")
      return Array.from({ length: (m * n) / ranks }, (_, at) => {
        const [i, j] = [Math.floor(at / (n / ranks)), at % (n / ranks)];
        return 1000 * Math.floor(i / (m / ranks)) + (i % (m / ranks)) * n + (r * n) / ranks + j;
      });
    const rows = Array.from({ length: m * k }, (_, i) => 1000 * Math.floor((i * ranks) / (m * k)) + (i % ((m * k) / ranks))); // prettier-ignore
    // Two words of each rank, of two halves; none from the rank itself.
    const words = Array.from({ length: 4 * ranks }, (_, i) => (Math.floor(i / 4) === r || i % 2 === 1 ? 0 : count));
    return [...rows, ...words];
  });
}

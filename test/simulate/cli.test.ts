/** `collc simulate`, and explain on machines of many hosts: tables, JSON, pictures, and what is wrong with a command line. */
import { spawnSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { clusterFromJson, clusterNamed, clusterSchema } from "../../src/compiler/index.js";
import { packageRoot } from "../../src/runtime/native.js";
import { collc, temporaryFolder } from "../cli/support.js";
import { isAll } from "../scope.js";

const folder = temporaryFolder();
const TWO_SHOT = join(packageRoot(), "kernels/all_reduce/two_shot.coll");
const RAILS = join(packageRoot(), "kernels/all_reduce/rails.coll");

function file(name: string, value: unknown): string {
  const path = join(folder, name);
  writeFileSync(path, typeof value === "string" ? value : JSON.stringify(value));
  return path;
}

const CLUSTER = { format: "collc-cluster-1", name: "mine", machine: "h200x4", ranksPerDomain: 4, domains: 16, nics: 2, nicRate: 25e9 }; // prettier-ignore

describe("collc simulate", () => {
  test("times of two programs, which is ahead, and what links carry", async () => {
    const { code, out, err } = await collc(["simulate", RAILS, TWO_SHOT, "--ranks", "8,32", "--size", "4Ki,64Mi", "--links", "--all"]); // prettier-ignore
    expect([code, err]).toEqual([0, ""]);
    for (const part of ["8 ranks, 1 domain", "32 ranks, 4 domains", "4.00 KiB", "64.0 MiB", "NIC out", "leaf up"])
      expect(out).toContain(part);
    expect(out).toMatch(/32 ranks: all_reduce\/rails 4\.00 KiB to 64\.0 MiB/);
    expect(out).toMatch(/[▁▂▃▄▅▆▇█]{2} [\d.]+ GB\/s/);
    expect(out).toContain("derived and verified at");
  });

  test("the same as JSON", async () => {
    const { code, out } = await collc(["simulate", RAILS, "--ranks", "16", "--size", "1Mi", "--json"]);
    expect(code).toBe(0);
    const { machine, sizes, programs } = JSON.parse(out);
    expect([machine.name, sizes, programs.length]).toEqual(["dgx-h100", [2 ** 20], 1]);
    const [run] = programs[0].sizes;
    expect(run.seconds).toBeGreaterThan(5e-6);
    expect(run.seconds).toBeLessThan(1e-3);
    expect(run.links.map((l: { kind: string }) => l.kind)).toContain("NIC in");
  });

  test("a program of one conversion is each of the library's ways", async () => {
    const { code, out } = await collc(["simulate", join(packageRoot(), "kernels/all_gather.coll"), "--ranks", "8", "--size", "1Mi"]); // prettier-ignore
    expect(code).toBe(0);
    for (const way of ["bruck", "pull", "push", "ring"]) expect(out).toContain(`all_gather/${way}`);
  });

  test("a program that does not go with a number of ranks is left out with the reason", async () => {
    const doubling = join(packageRoot(), "kernels/all_reduce/recursive_doubling.coll");
    const { code, out } = await collc(["simulate", TWO_SHOT, doubling, "--ranks", "24", "--size", "1Mi"]);
    expect(code).toBe(0);
    expect(out).toMatch(/recursive_doubling +– .*24 ranks/);
  });

  test("without numbers of ranks a machine smaller than the usual ones is simulated whole", async () => {
    const { code, out } = await collc(["simulate", TWO_SHOT, "-m", "h200x4", "--size", "1Mi"]);
    expect(code).toBe(0);
    expect(out).toContain("4 ranks, 1 domain");
  });

  test("what cannot be the fastest is left out with the least it takes, and is simulated with --all", async () => {
    const ring = join(packageRoot(), "kernels/all_reduce/ring.coll");
    const argv = ["simulate", ring, RAILS, "--ranks", "64", "--size", "1Ki"];
    const { out } = await collc(argv);
    expect(out).toMatch(/all_reduce\/ring +≥ \d+ µs/);
    expect(out).toContain("collc simulate --all");
    const times = async (
      ...more: string[]
    ): Promise<{ sizes: { seconds: number }[]; leftOut: { atLeast: number }[] }[]> =>
      JSON.parse((await collc([...argv, "--json", ...more])).out).programs;
    const [[few], [all]] = [await times(), await times("--all")];
    expect([few!.sizes.length, all!.leftOut.length]).toEqual([0, 0]);
    expect(all!.sizes[0]!.seconds).toBeGreaterThanOrEqual(few!.leftOut[0]!.atLeast);
  });

  test("ranks of which no two are alike are too many to be followed, which is found before they are counted", async () => {
    const relay = join(packageRoot(), "kernels/broadcast/relay.coll");
    const { code, err } = await collc(["simulate", relay, "--ranks", "4096", "--size", "1Ki"]);
    expect(code).toBe(2);
    expect(err).toMatch(/no two of 4096 ranks do the same.*17 million[^]*choose fewer ranks/);
  });

  test("a number of ranks at which nothing can be simulated has no fastest program, and says what to do", async () => {
    const rings = join(packageRoot(), "examples/scale/rings.coll");
    const { code, out } = await collc(["simulate", rings, RAILS, "--ranks", "12,8", "--size", "1Ki", "--links"]);
    expect(code).toBe(0);
    expect(out).toMatch(/scale\/rings +– .*12 ranks.*; choose a multiple of 8/);
    expect(out).toMatch(/Fastest\n +8 ranks: [^\n]+\n\nLinks at 1\.00 KiB/);
  });

  test("one rank, and chunks that were chosen", async () => {
    const { code, out } = await collc(["simulate", TWO_SHOT, "--ranks", "1", "--size", "1Mi", "--chunks", "2"]);
    expect(code).toBe(0);
    expect(out).toContain("verified at 1 rank. Tensors go in 2 chunks.");
  });

  test("times between hosts are said not to be those of today's messages", async () => {
    const run = async (ranks: string): Promise<string> => (await collc(["simulate", TWO_SHOT, "-n", ranks, "-s", "1Mi"])).out; // prettier-ignore
    expect(await run("16")).toContain("what collc runs there today is messages between kernels");
    expect(await run("8")).not.toContain("what collc runs there today");
  });

  test("a program from standard input, which can be read but once", async () => {
    const stdin = readFileSync(TWO_SHOT, "utf8");
    for (const argv of [
      ["simulate", "-", "-n", "8,16", "-s", "1Mi"],
      ["explain", "-", "--ranks", "8,16"],
    ]) {
      const { code, out } = await collc(argv, { stdin });
      expect(code).toBe(0);
      expect(out).toMatch(/8 ranks[^]*<stdin>[^]*16 ranks[^]*<stdin>/);
    }
  });

  test("one collective of several, by its name", async () => {
    const text = readFileSync(TWO_SHOT, "utf8");
    const again = text.slice(text.indexOf("collective ")).replace("two_shot", "again");
    const both = file("both.coll", `${text}\n${again}`);
    const wrong = await collc(["simulate", both, "-n", "8"]);
    expect(wrong.code).toBe(2);
    expect(wrong.err).toContain("2 collectives: two_shot, again");
    expect(wrong.err).toContain("name the one you mean: --collective two_shot");
    const explained = await collc(["explain", both, "-n", "8,16"]);
    expect(explained.err).toContain("name the one you mean: FILE two_shot");
    const { code } = await collc(["simulate", both, "-n", "8", "-s", "1Mi", "--collective", "again"]);
    expect(code).toBe(0);
  });

  test("a picture", async () => {
    const path = join(folder, "plot.svg");
    expect((await collc(["simulate", TWO_SHOT, "--ranks", "8", "--size", "1Ki..1Mi", "--svg", path])).code).toBe(0);
    expect(readFileSync(path, "utf8")).toMatch(/^<svg[^]*all_reduce\/two_shot[^]*<\/svg>/);
  });

  test("a machine from a file: a slower network takes longer", async () => {
    const at = async (machine: string): Promise<number> => {
      const { code, out, err } = await collc(["simulate", TWO_SHOT, "-m", machine, "-n", "16", "-s", "64Mi", "--json"]);
      expect([code, err]).toEqual([0, ""]);
      return JSON.parse(out).programs[0].sizes[0].seconds;
    };
    const mine = await at(file("mine.json", CLUSTER));
    const slow = await at(file("slow.json", { ...CLUSTER, nicRate: { value: 12.5e9, source: "a guess" } }));
    expect(slow / mine).toBeGreaterThan(1.8);
  });

  test.each([
    [{ ...CLUSTER, nicRates: 1 }, "did you mean 'nicRate'"],
    [{ ...CLUSTER, nicRate: -1 }, "/nicRate"],
    [{ ...CLUSTER, nics: 3 }, "3 NICs cannot be shared evenly by 4 ranks"],
    [{ ...CLUSTER, machine: "h100" }, "/machine"],
    [{ name: "mine" }, "must have required property"],
    ["{", "is no JSON"],
  ])("a wrong machine: %j", async (value, message) => {
    const { code, err } = await collc(["simulate", TWO_SHOT, "-m", file("wrong.json", value)]);
    expect(code).toBe(2);
    expect(err).toContain(message);
  });

  test.each([
    [["-m", "dgx-h10"], "did you mean 'dgx-h100'"],
    [["-n", "8192"], "from 1 to 4096"],
    [["-n", "64..8"], "has no number in it"],
    [["-m", "h200x4", "-n", "8"], "h200x4 has 4 ranks at most, not 8"],
    [["-s", "big"], "is no size"],
    [["-s", "1Mi..1Ki"], "is no range"],
    [["--chunks", "0"], "from 1 to 1024"],
    [["-m", "/"], "/ cannot be read"],
    [["--svg", join(TWO_SHOT, "x.svg")], "is a file, not a folder"],
    [["--svg", folder], "is a folder, not a file"],
    [["--collective", "g"], "has no collective 'g'"],
  ])("a wrong command line: %j", async (argv, message) => {
    const { code, err } = await collc(["simulate", TWO_SHOT, ...argv]);
    expect(code).toBe(2);
    expect(err).toContain(message);
  });

  test("a wrong program", async () => {
    const { code, err } = await collc(["simulate", "-"], { stdin: "collective f(x: T[n] local) -> y: T[n] local { y[0] = z }" }); // prettier-ignore
    expect(code).toBe(1);
    expect(err).toContain("'z'");
  });

  test("nothing that could be simulated says why", async () => {
    const { code, err } = await collc(["simulate", join(packageRoot(), "kernels/all_to_all/dispatch.coll"), "-n", "8"]);
    expect(code).toBe(2);
    expect(err).toContain("depends on its data");
  });
});

describe("collc explain on many hosts", () => {
  test("--machine of a cluster and a range of ranks is simulated", async () => {
    const { code, out } = await collc(["explain", TWO_SHOT, "--machine", "dgx-h100", "--ranks", "8..32", "--json"]);
    expect(code).toBe(0);
    expect(JSON.parse(out).programs.map((p: { ranks: number }) => p.ranks)).toEqual([8, 16, 32]);
  });

  test.each([
    [["--dim", "n=8"], "--dim changes nothing"],
    [["--mesh", "2x8"], "--mesh changes nothing"],
    [["--reach", "2x8"], "--reach changes nothing"],
    [["--sms", "8"], "--sms changes nothing"],
  ])("what simulation has no use for is refused: %j", async (argv, message) => {
    const { code, err } = await collc(["explain", TWO_SHOT, "--machine", "dgx-h100", "--ranks", "16", ...argv]);
    expect(code).toBe(2);
    expect(err).toContain(message);
  });

  test("one number of ranks on a machine of one host is as ever", async () => {
    const { code, out } = await collc(["explain", TWO_SHOT, "--machine", "h200x4", "--ranks", "4", "--json"]);
    expect(code).toBe(0);
    expect(JSON.parse(out)).toMatchObject({ machine: "h200x4", ranks: 4 });
  });
});

describe("docs/SCALE.md", () => {
  // Times of more ranks, and those beside published figures, take minutes; those of as few as here, half of what all in this file takes.
  test.each(isAll ? ["calibration", "times", "crossovers", "curves"] : ["calibration", "crossovers", "curves"])(
    "%s are what the code gives",
    (part) => {
      const script = join(packageRoot(), "bench/scale.mjs");
      const { status, stderr } = spawnSync(process.execPath, [script, "--check", part], { encoding: "utf8" });
      expect([status, status === 0 ? "" : stderr]).toEqual([0, ""]);
    },
  );
});

describe("descriptions of clusters", () => {
  test("the published schema is the one that is checked", () => {
    const published = JSON.parse(readFileSync(join(packageRoot(), "schemas/cluster.schema.json"), "utf8"));
    expect(published, "npm run schemas").toEqual(clusterSchema());
  });

  test("what is left out is as in dgx-h100; what is given has the file as its source", () => {
    const cluster = clusterFromJson(JSON.stringify(CLUSTER), "mine.json");
    expect(cluster.nicRate).toEqual({ value: 25e9, source: "mine.json" });
    expect(cluster.latency).toEqual(clusterNamed("dgx-h100")!.latency);
    expect([cluster.machine.name, cluster.ranksPerDomain, cluster.nics]).toEqual(["h200x4", 4, 2]);
  });
});

/** What commands say and do where ranks are of several hosts, by option or as the environment pretends. */
import { afterEach, describe, expect, it, vi } from "vitest";
import { collc, kernel } from "../cli/support.js";
import { processorSeconds, slowness } from "../processor.js";

const VARIABLE = "COLLC_PRETEND_UNREACHABLE";

afterEach(() => void vi.unstubAllEnvs());

describe("collc run", () => {
  const args = ["run", kernel("all_gather/push"), "--backend", "cpu", "--ranks", "4", "--dim", "n=64", "--iters", "1"];

  it("says that ranks are of several hosts", async () => {
    const apart = await collc([...args, "--reach", "2x2"]);
    expect(apart.out).toMatch(/4 · 2 to a host, messages between hosts · cpu/);
    expect(apart).toMatchObject({ code: 0, err: "" });
    expect((await collc(args)).out).toMatch(/ {4}4 · cpu/);
    const json = async (): Promise<unknown> => (JSON.parse((await collc([...args, "--json"])).out) as { ranksPerDomain: unknown }).ranksPerDomain; // prettier-ignore
    expect(await json()).toBeNull();
    vi.stubEnv(VARIABLE, "4x1");
    expect(await json()).toBe(1);
  });
});

it.each(["option", "environment"])("hosts are so many ranks where nobody says how many: by %s", async (by) => {
  if (by === "environment") vi.stubEnv(VARIABLE, "3x2");
  const reach = by === "option" ? ["--reach", "3x2"] : [];
  const [ring, one] = [kernel("all_gather/ring"), ["--dim", "n=60", ...reach]];
  expect((await collc(["run", ring, "--backend", "cpu", "--iters", "1", ...one])).out).toMatch(/6 · 2 to a host/);
  const fewer = await collc(["run", ring, "--backend", "cpu", "--iters", "1", "--ranks", "5", "--dim", "n=60", ...reach]); // prettier-ignore
  expect(fewer.out).toMatch(/5 · 2 to a host/);
  expect((await collc(["explain", ring, ...one])).out).toMatch(/^6 ranks/m);
  expect((await collc(["emit", ring, "--stage", "rank", ...reach])).out).toMatch(/world=6/);
});

describe("collc check", () => {
  it("proves the program that hosts run", async () => {
    const hosts = await collc(["check", kernel("permute/table"), "--reach", "2x2", "--no-prove"]);
    expect(hosts.code).toBe(1);
    expect(hosts.err).toContain("out-of-reach");
    expect((await collc(["check", kernel("permute/table"), "--ranks", "4", "--no-prove"])).code).toBe(0);
    const proved = await collc(["check", kernel("permute/send"), "--reach", "2x2", "--schedules", "2"]);
    expect(proved).toMatchObject({ code: 0, err: "" });
    expect(proved.out).toContain("4 ranks");
  });

  it("refuses more ranks than messages are listed for at once, and not for a line of the program", async () => {
    const args = ["check", kernel("all_gather/hierarchical"), "--mesh", "33x8", "--no-prove", "--reach"];
    const startedAt = processorSeconds();
    const { code, err } = await collc([...args, "33x8"]);
    // It took 16 s when lists were tried first.
    expect((processorSeconds() - startedAt) / slowness()).toBeLessThan(6);
    expect(err).toContain("there are 264 ranks, and messages are listed rank by rank for 256 at most");
    expect(err).toMatch(/collective hierarchical\(.*\n.* {11}\^{12}\n/);
    expect(err).toContain(
      "help: take 256 ranks or fewer, such as --reach 32x8; or --reach 1x264 where all of them share",
    );
    expect(code).toBe(1);
  });

  it("speaks of no loops where none were written, and what it says helps", async () => {
    const head = `collective attention(p: T[h, s, s] sharded(0), v: T[h, s, d] sharded(0)) -> y: T[s, h * d] sharded(0)
      where h % world == 0 and s % world == 0`;
    const check = (body: string) =>
      collc(["check", "-", "--reach", "2x2", "--no-prove"], { stdin: `${head} { ${body} }` });
    const exchange = "all_to_all(permute(p @ v, 1, 0, 2), dim: 0)";
    const { err } = await check(`y = reshape(${exchange}, s, h * d)`);
    expect(err).toContain(
      "what ranks exchange here cannot go to ranks of other domains: which rank it goes to changes",
    );
    expect(err).toContain("= help: keep what comes from other ranks in a scratch array with a layout");
    expect(err).not.toMatch(/tiles|'value'/);
    const kept = await check(`scratch t: T[s, h, d] sharded(0) t = ${exchange} y = reshape(t, s, h * d)`);
    expect(kept).toMatchObject({ code: 0, err: "" });
  });

  it("says how a program becomes one for hosts", async () => {
    const check = (text: string) => collc(["check", "-", "--reach", "2x2", "--no-prove"], { stdin: text });
    const scan = (sum: string): string =>
      `collective scan(x: f32[n] local) -> y: f32[n] local { for i in tiles(n) { y[i] = ${sum} } }`;
    const some = await check(scan("sum(q in 0..rank) x@q[i]"));
    expect(some.err).toContain("the loop over the ranks that it goes to does not run equally often on all ranks");
    expect(some.err).toContain("each rank would send up to n * 3 messages of 4 bytes");
    expect(some.err).toContain("= help: go through all ranks, and let a condition say which are meant");
    expect((await check(scan("sum(q in ranks) where(q < rank, x@q[i], 0)"))).code).toBe(0);
    const ring = (words: string): string => `
collective ring(x: f32[n] local) -> y: f32[n] local {
  scratch s: f32[2, n]
  for step in 0..2 {
    for i in tiles(n) { s@((rank + 1) % world)[step, i] = x[i] }
    ${words}
    for i in tiles(n) { y[i] = s[step, i] }
  }
}`;
    const written = await check(ring("signal (rank + 1) % world\n    wait (rank - 1) % world"));
    expect(written.err).toContain("signals and waits stand on both sides of its messages");
    expect(written.err).toContain("= help: leave out signals and waits that are written");
    expect((await check(ring(""))).code).toBe(0);
  });

  it("adds no mesh of other numbers of ranks than the hosts have", async () => {
    const args = ["check", kernel("all_reduce/hierarchical"), "--no-prove"];
    expect(await collc([...args, "--reach", "2x2"])).toMatchObject({ code: 0, err: "" });
    vi.stubEnv(VARIABLE, "2x2");
    expect(await collc(args)).toMatchObject({ code: 0, err: "" });
  });
});

describe("collc bench", () => {
  const args = ["bench", "all_gather", "--sizes", "1Ki", "--no-save", "--backend", "cpu", "--ranks", "4"];

  it("measures hosts that are pretended, and says so", async () => {
    const table = await collc([...args, "--reach", "2x2"]);
    expect(table).toMatchObject({ code: 0, err: "" });
    expect(table.out).toMatch(/all_gather {2}bf16, 4 ranks, emulated on .*, pretended to be hosts: 2x2/);
    vi.stubEnv(VARIABLE, "4x1");
    expect(JSON.parse((await collc([...args, "--json"])).out)).toMatchObject({ suite: "all_gather", reach: "4x1" });
    expect(JSON.parse((await collc([...args, "--json", "--reach", "1x4"])).out)).not.toHaveProperty("reach");
  });

  it("refuses products, which share addresses", async () => {
    const products = await collc(["bench", "matmul", "--backend", "cpu", "--ranks", "4", "--reach", "2x2"]);
    expect(products.code).toBe(2);
    expect(products.err).toContain("matmul_reduce_scatter is measured among ranks that share addresses");
  });
});

it("collc tune measures no messages in place of a machine", async () => {
  vi.stubEnv(VARIABLE, "2x2");
  const { code, err } = await collc(["tune", "all_gather", "--out", "/dev/null", "--backend", "cpu", "--ranks", "4"]);
  expect(code).toBe(2);
  expect(err).toContain(`tune measures ranks that share addresses, and ${VARIABLE} is 2x2`);
});

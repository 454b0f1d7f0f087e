import { execFileSync } from "node:child_process";
import { mkdirSync, readFileSync, readdirSync, truncateSync, utimesSync, writeFileSync } from "node:fs";
import { hostname } from "node:os";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { sweepAbandoned, writeFileAtomic } from "../../src/runtime/atomic-file.js";
import { type CachedKernel, JitCache, cacheDirectory, jitCacheKey } from "../../src/runtime/jit-cache.js";
import { rejection, useSandbox } from "./helpers.js";

const sandbox = useSandbox();
const parts = { cudaText: "k", arch: "sm_90a", nvrtcVersion: "13.0", options: ["-a", "-b"], collcVersion: "0.1.0" };
const kernel = (text: string): CachedKernel => ({ bytes: Buffer.from(text.repeat(100)), meta: { symbol: text } });

function makeCache(directory = join(sandbox.directory, "cache"), maxBytes?: number) {
  const warnings: string[] = [];
  let builds = 0;
  const cache = new JitCache({ directory, maxBytes, onWarning: (message) => warnings.push(message) });
  const get = (key: string, text: string) =>
    cache.getOrBuild(key, () => {
      builds++;
      return kernel(text);
    });
  return { cache, directory, warnings, get, builds: () => builds };
}

describe("the kernel cache", () => {
  test("builds once, then reads, also in another instance", async () => {
    const first = makeCache();
    expect(await first.get("k1", "a")).toMatchObject({ from: "built", meta: { symbol: "a" } });
    const hit = await makeCache().get("k1", "b");
    expect(hit).toMatchObject({ from: "disk", meta: { symbol: "a" } });
    expect(Buffer.from(hit.bytes).toString()).toBe("a".repeat(100));
    expect(readdirSync(first.directory)).toEqual(["k1.kernel"]);
  });

  test("calls with one key at a time share a build; a failed build is tried again", async () => {
    const { cache, get, builds } = makeCache();
    const results = await Promise.all([get("k", "a"), get("k", "a"), get("k", "a")]);
    expect(results.map(({ from }) => from).sort()).toEqual(["built", "shared", "shared"]);
    expect(builds()).toBe(1);
    const failing = cache.getOrBuild("bad", () => Promise.reject(new Error("no such op")));
    expect((await rejection(failing)).message).toBe("no such op");
    expect((await get("bad", "x")).from).toBe("built");
  });

  test("the key depends on every part, and parts do not run into each other", () => {
    const keys = [
      parts,
      { ...parts, cudaText: "l" },
      { ...parts, arch: "sm_80" },
      { ...parts, nvrtcVersion: "12.9" },
      { ...parts, options: ["-a"] },
      { ...parts, options: ["-a-b"] },
      { ...parts, options: ["-b", "-a"] },
      { ...parts, collcVersion: "0.1.1" },
    ].map(jitCacheKey);
    expect(new Set(keys).size).toBe(keys.length);
    expect(jitCacheKey({ ...parts })).toBe(keys[0]);
  });

  test.each([
    ["truncated", (path: string) => truncateSync(path, 60)],
    ["cut by one byte", (path: string) => truncateSync(path, readFileSync(path).length - 1)],
    ["empty", (path: string) => truncateSync(path, 0)],
    ["changed in the payload", (path: string) => flip(path, -5)],
    ["changed in the meta", (path: string) => writeFileSync(path, readFileSync(path, "utf8").replace(':"a"', ':"b"'))],
    ["something else", (path: string) => writeFileSync(path, "{}\nhello")],
  ])("an entry that is %s is dropped, rebuilt and warned about", async (_, damage) => {
    const { directory, get } = makeCache();
    await get("k", "a");
    damage(join(directory, "k.kernel"));
    const again = makeCache();
    const result = await again.get("k", "a");
    expect(result).toMatchObject({ from: "built", meta: { symbol: "a" } });
    expect(again.warnings).toEqual([expect.stringContaining("k.kernel is damaged; it is dropped")]);
    const third = makeCache();
    expect((await third.get("k", "z")).from).toBe("disk");
    expect(third.warnings).toEqual([]);
  });

  test("a folder that cannot be written costs one warning", async () => {
    const file = join(sandbox.directory, "file");
    writeFileSync(file, "");
    const { get, warnings } = makeCache(join(file, "cache"));
    expect((await get("a", "a")).from).toBe("built");
    expect((await get("b", "b")).meta).toEqual({ symbol: "b" });
    expect(warnings).toEqual([expect.stringMatching(/cannot be used \(.*(ENOTDIR|EEXIST)/)]);
    expect((await new JitCache({ directory: null }).getOrBuild("a", () => kernel("a"))).from).toBe("built");
  });

  test("a full disk costs one warning and leaves nothing half-written", async (context) => {
    const directory = join(sandbox.directory, "small");
    mkdirSync(directory);
    try {
      execFileSync("mount", ["-t", "tmpfs", "-o", "size=64k", "none", directory], { stdio: "ignore" });
    } catch {
      return context.skip("no permission to mount a small disk: ENOSPC is not tested");
    }
    try {
      const { cache, warnings, get } = makeCache(directory);
      const big = Buffer.alloc(200_000, 1);
      const result = await cache.getOrBuild("big", () => ({ bytes: big, meta: {} }));
      expect(result.from).toBe("built");
      expect(Buffer.from(result.bytes).equals(big)).toBe(true);
      await cache.getOrBuild("big2", () => ({ bytes: big, meta: {} }));
      expect(warnings).toEqual([expect.stringContaining("the disk is full")]);
      expect(readdirSync(directory)).toEqual([]);
      expect((await get("small", "s")).from).toBe("built");
      expect(readdirSync(directory)).toEqual(["small.kernel"]);
    } finally {
      execFileSync("umount", [directory]);
    }
  });

  test("the least recently used entries go when the cap is reached", async () => {
    const { directory, get } = makeCache(undefined, 1000);
    for (const [i, key] of ["a", "b", "c"].entries()) {
      await get(key, key);
      utimesSync(join(directory, `${key}.kernel`), 1000 + i, 1000 + i);
    }
    await get("a", "a"); // used again
    await get("d", "d");
    await get("e", "e");
    const left = readdirSync(directory);
    expect(left).toContain("e.kernel");
    expect(left).not.toContain("b.kernel");
    expect(left.reduce((sum, name) => sum + readFileSync(join(directory, name)).length, 0)).toBeLessThanOrEqual(1000);
  });

  test("processes that fill one entry at once all succeed with the same bytes; a killed one leaves nothing", async () => {
    const directory = join(sandbox.directory, "cache");
    const script = sandbox.script(
      "fill.mjs",
      `import { JitCache } from "@jit-cache";
       import { createHash } from "node:crypto";
       const cache = new JitCache({ directory: process.argv[2], onWarning: (m) => console.log("warning " + m) });
       const start = Number(process.argv[3]);
       while (Date.now() < start);
       for (let i = 0; i < 30; i++) {
         const { bytes, from } = await cache.getOrBuild("k" + i, () => ({ bytes: Buffer.alloc(300000, process.pid), meta: {} }));
         console.log(i, createHash("sha256").update(bytes).digest("hex"), from);
       }`,
    );
    const start = String(Date.now() + 600);
    const children = [1, 2, 3, 4].map(() => sandbox.node(script, [directory, start]));
    const doomed = sandbox.node(script, [directory, start]);
    await doomed.says(/^1 /m);
    doomed.process.kill("SIGKILL");
    for (const child of children) expect(await child.ended, child.output()).toEqual({ code: 0, signal: null });
    const hashes = children.map((child) => child.output().replace(/ (built|shared|disk)$/gm, ""));
    expect(hashes[0]).not.toContain("warning");
    for (const each of hashes) expect(each).toBe(hashes[0]);
    await makeCache(directory).get("one more", "x"); // sweeps what the killed one had set aside
    expect(readdirSync(directory).filter((name) => !name.endsWith(".kernel"))).toEqual([]);
  });
});

describe("atomic files", () => {
  test("what dead processes set aside is swept, the living's is not", async () => {
    const dead = Number(execFileSync("sh", ["-c", "echo $$"]).toString());
    const host = hostname().replace(/[^A-Za-z0-9-]/g, "-");
    const names = [`${host}~${dead}`, `${host}~${process.pid}`, `elsewhere~${dead}`].map(
      (id) => `.collc-tmp~${id}~ab~x`,
    );
    for (const name of names) writeFileSync(join(sandbox.directory, name), "half");
    mkdirSync(join(sandbox.directory, `.collc-tmp~${host}~${dead}~cd~folder`));
    expect(await sweepAbandoned(sandbox.directory)).toBe(2);
    const old = join(sandbox.directory, names[2]!);
    utimesSync(old, 1, 1);
    expect(await sweepAbandoned(sandbox.directory)).toBe(1);
    expect(readdirSync(sandbox.directory)).toContain(names[1]);
    expect(await sweepAbandoned(join(sandbox.directory, "none"))).toBe(0);
  });

  test("a write that fails leaves the old file and nothing else", async () => {
    const folder = join(sandbox.directory, "f");
    await writeFileAtomic(join(folder, "a"), "one");
    await writeFileAtomic(join(folder, "a"), "two", { mode: 0o600 });
    expect(await writeFileAtomic(join(folder, "a"), "three", { existing: "keep" })).toBe(false);
    mkdirSync(join(folder, "taken"));
    await rejection(writeFileAtomic(join(folder, "taken"), "x"));
    expect(readFileSync(join(folder, "a"), "utf8")).toBe("two");
    expect(readdirSync(folder).sort()).toEqual(["a", "taken"]);
  });
});

test("the cache folder follows the environment", () => {
  expect(cacheDirectory({ COLLC_CACHE_DIR: "/c", XDG_CACHE_HOME: "/x" })).toBe("/c");
  expect(cacheDirectory({ XDG_CACHE_HOME: "/x", HOME: "/h" })).toBe("/x/collc");
  expect(cacheDirectory({ HOME: "/h" })).toBe("/h/.cache/collc");
});

function flip(path: string, at: number): void {
  const data = readFileSync(path);
  data[data.length + at]! ^= 1;
  writeFileSync(path, data);
}

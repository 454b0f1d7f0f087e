/** Ends of runs: a launcher that is gone before its ranks look, and a rank that stands still while others close. */
import { fork, spawnSync } from "node:child_process";
import { once } from "node:events";
import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { describe, expect, test } from "vitest";
import { packageRoot } from "../../src/runtime/native.js";
import { until, useSandbox } from "../runtime/helpers.js";
import { isAll } from "../scope.js";

const sandbox = useSandbox();

/** Counts tenths of a second in which a process has run: one that a busy machine holds up counts none meanwhile. */
const ticking = "let ticks = 0; setInterval(() => ticks++, 100);";

describe("a launcher", () => {
  test("that died before its rank could look leaves no rank and no folder", async () => {
    const dead = Number(spawnSync("sh", ["-c", "echo $$"], { encoding: "utf8" }).stdout);
    const script = sandbox.script(
      "rank",
      `import { watchLauncher } from "@watch-launcher";
       watchLauncher();
       setTimeout(() => console.log("it goes on"), 5000);`,
    );
    const runDirectory = join(sandbox.directory, "collc-1-abcdef");
    // Its parent is this test: alive, as the process that adopts an orphan is.
    const rank = fork(script, [], {
      detached: true,
      stdio: ["ignore", "pipe", "pipe", "ipc"],
      env: { ...process.env, RANK: "0", COLLC_RUN_DIR: runDirectory, COLLC_LAUNCHER: String(dead) },
    });
    let said = "";
    for (const stream of [rank.stdout!, rank.stderr!]) stream.on("data", (text) => (said += String(text)));
    const [, signal] = (await once(rank, "exit")) as [number | null, string | null];
    expect(signal).toBe("SIGKILL");
    expect(said).toContain("its launcher is gone");
    expect(existsSync(runDirectory)).toBe(false);
  });

  test("that is killed at once, at any moment, leaves nothing", async () => {
    const script = sandbox.script(
      "launch",
      `import { launchRanks } from "@launcher";
       await launchRanks({ ranks: 2, args: [process.argv[2]] });`,
    );
    const rank = sandbox.script(
      "member",
      `import { joinGroup } from "@bootstrap";
       const group = await joinGroup();
       setTimeout(() => {}, 60_000);`,
    );
    const before = new Set(readdirSync(sandbox.directory));
    for (const ms of [0, 40, 80, 120, 160, 250, 400]) {
      const child = sandbox.node(script, [rank]);
      await new Promise((resolve) => setTimeout(resolve, ms));
      process.kill(child.pid, "SIGKILL");
      await child.ended;
    }
    // Ranks that had just been started look after themselves within moments.
    const left = (): string[] =>
      readdirSync(sandbox.directory).filter((name) => !before.has(name) && /^collc-\d+-/.test(name));
    await until(() => left().length === 0, 10_000).catch(() => {});
    expect(left()).toEqual([]);
  });
});

test("a rank that stands still while others close costs one time-out", async () => {
  const script = sandbox.script(
    "close",
    `import { joinGroup } from "@bootstrap";
     const [rank, file] = [Number(process.argv[2]), process.argv[3]];
     const group = await joinGroup({ rank, world: 2, storeFile: file });
     await group.exchange.barrier("together");
     if (rank === 1) process.kill(process.pid, "SIGSTOP");
     ${ticking}
     await group.close(2000);
     console.log(ticks);
     process.exit(0);`,
  );
  const file = join(sandbox.directory, "store");
  const [zero, one] = [0, 1].map((rank) => sandbox.node(script, [String(rank), file]));
  expect(await zero!.ended, zero!.output()).toEqual({ code: 0, signal: null });
  process.kill(one!.pid, "SIGKILL");
  await one!.ended;
  // 20 with the bound, many times that without it.
  expect(Number(zero!.output())).toBeLessThan(60);
});

// Memory, signals, the provider and the store of a group and its subgroup are each given back with the others: 160 ticks without the bound, 40 with it.
test.each(isAll ? ["cuda", "nccl"] : ["nccl"])(
  "a device group on %s closes within one time-out beside a rank that stands still",
  async (backend) => {
    const root = packageRoot();
    const release = join(root, "build/Release");
    const index = JSON.stringify(pathToFileURL(join(root, "dist/src/index.js")).href);
    const script = sandbox.script(
      "close-group.mjs",
      `import { existsSync, writeFileSync } from "node:fs";
     import { connect } from ${index};
     // Both have started before either waits for the other.
     writeFileSync("${sandbox.directory}/up" + process.env.RANK, "");
     while (![0, 1].every((rank) => existsSync("${sandbox.directory}/up" + rank))) await new Promise((done) => setTimeout(done, 20));
     const group = await connect({ backend: "${backend}", timeoutMs: 4000 });
     const sub = await group.subgroup([0, 1]);
     await group.symmetric("f32", [64]);
     await sub.symmetric("f32", [64]);
     await group.barrier();
     if (group.rank === 1) process.kill(process.pid, "SIGSTOP");
     ${ticking}
     await group.close();
     console.log("closed after", ticks);
     process.exit(0);`,
    );
    const env = {
      LD_LIBRARY_PATH: join(release, "fake-cuda"),
      COLLC_NCCL: join(release, "fake-nccl/libnccl.so.2"),
      COLLC_CACHE_MAX_MB: "0",
      WORLD_SIZE: "2",
      COLLC_STORE_FILE: join(sandbox.directory, "store"),
    };
    const [zero, one] = [0, 1].map((rank) => sandbox.node(script, [], { ...env, RANK: String(rank) }));
    expect(await zero!.ended, zero!.output()).toEqual({ code: 0, signal: null });
    process.kill(one!.pid, "SIGKILL");
    await one!.ended;
    sandbox.forgetRunDirectories();
    expect(Number(/closed after (\d+)/.exec(zero!.output())?.[1])).toBeLessThan(100);
  },
);

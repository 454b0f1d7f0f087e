import { existsSync, readFileSync, readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { MachineError, UsageError } from "../../src/runtime/errors.js";
import { type LaunchOptions, type LaunchResult, launchRanks } from "../../src/runtime/launcher.js";
import { type Child, processesWith, rejection, until, useSandbox } from "./helpers.js";

const sandbox = useSandbox();

interface Launched extends LaunchResult {
  lines: string[];
  messages: [number, unknown][];
  ms: number;
}

/** Launches ranks that run `body` after joining; `group`, `rank`, `sleep`, `spawn` are at hand. */
async function launch(ranks: number, body: string, options: Partial<LaunchOptions> = {}): Promise<Launched> {
  const lines: string[] = [];
  const messages: [number, unknown][] = [];
  const start = performance.now();
  const result = await launchRanks({
    ranks,
    args: [rankScript(body)],
    onOutput: (rank, stream, line) => lines.push(`${rank} ${stream} ${line}`),
    onMessage: (rank, message) => messages.push([rank, message]),
    ...options,
  });
  return { ...result, lines, messages, ms: performance.now() - start };
}

function rankScript(body: string): string {
  return sandbox.script(
    "rank.mjs",
    `import { joinGroup } from "@bootstrap";
     import { watchLauncher } from "@watch-launcher";
     import { spawn } from "node:child_process";
     import { setTimeout as sleep } from "node:timers/promises";
     watchLauncher();
     const rank = Number(process.env.RANK);
     const group = await joinGroup();
     ${body}`,
  );
}

/** A launcher in a process of its own, whose ranks each have a grandchild and wait for ever. */
async function startLauncher(body = "await sleep(1e6);", graceMs = 1500): Promise<Child> {
  rankScript(`spawn("sleep", ["1000"], { stdio: "ignore" }); console.error("up"); ${body}`);
  const script = sandbox.script(
    "launcher.mjs",
    `import { launchRanks } from "@launcher";
     const { exitCode, failure } = await launchRanks({ ranks: 3, graceMs: ${graceMs}, args: [${JSON.stringify(join(sandbox.directory, "rank.mjs"))}] });
     console.log(failure?.message);
     process.exitCode = exitCode;`,
  );
  const child = sandbox.node(script);
  await child.says(/(up[^]*){3}/);
  expect(readdirSync(join(sandbox.directory, "tmp"))).toEqual([expect.stringMatching(/^collc-\d+-\w{6}$/)]);
  expect(processesWith(sandbox.mark)).toHaveLength(1 + 3 + 3);
  return child;
}

describe("a run that goes well", () => {
  test("ranks meet, share a private folder, send messages, print", async () => {
    const { exitCode, failure, lines, messages } = await launch(
      3,
      `const ranks = await group.exchange.allGather("ranks", rank);
       process.send({ ranks, world: group.world, localRank: group.localRank, hosts: group.hosts.length,
         launcher: group.launcher, directory: group.runDirectory });
       console.log("out " + rank);
       process.stderr.write("no newline " + rank);
       await group.close();`,
      { env: { OMPI_COMM_WORLD_RANK: "7", OMPI_COMM_WORLD_SIZE: "9" } },
    );
    expect({ exitCode, failure }).toEqual({ exitCode: 0, failure: null });
    expect(messages).toHaveLength(3);
    for (const [rank, message] of messages) {
      expect(message).toMatchObject({ ranks: [0, 1, 2], world: 3, localRank: rank, hosts: 1, launcher: "collc" });
    }
    expect(lines.sort()).toEqual([0, 1, 2].flatMap((r) => [`${r} stderr no newline ${r}`, `${r} stdout out ${r}`]));
  });

  test("the private folder has mode 0700; ranks that exit without close, and their grandchildren, are fine", async () => {
    const modes: number[] = [];
    const { failure } = await launch(
      2,
      `spawn("sleep", ["1000"], { stdio: "inherit" }).unref();
       process.send(group.runDirectory);
       await sleep(50 + 200 * rank);
       process.exit(0);`,
      { onMessage: (_, path) => modes.push(statSync(path as string).mode & 0o777) },
    );
    expect(failure).toBeNull();
    expect(modes).toEqual([0o700, 0o700]);
  });
});

describe("a rank that fails takes the others down", () => {
  test.each([
    ["exits with 3", "process.exit(3)", 3, /rank 1 failed: it exited with code 3/],
    ["throws", 'throw new Error("no more paper")', 1, /rank 1 failed: it exited with code 1: no more paper$/],
    ["prints and exits", 'console.error("bad luck"); process.exit(9)', 1, /with code 9: /],
    ["is killed", 'process.kill(process.pid, "SIGKILL")', 1, /rank 1 failed: it was killed by SIGKILL/],
    ["gives up", 'group.abort(new Error("no GPU")); await sleep(1e6)', 1, /rank 1 left the run .*: no GPU/],
    ["ends early", "await group.close(); process.exit(0)", 1, /rank 1 has left the run, and barrier "end" needs it/],
  ])("%s", async (_, end, code, message) => {
    const { exitCode, failure, ms } = await launch(
      3,
      `spawn("sleep", ["1000"], { stdio: "ignore" });
       if (rank === 1) { await sleep(50); ${end}; }
       await group.exchange.barrier("end");`,
    );
    expect(failure?.message).toMatch(message);
    expect(exitCode).toBe(code);
    // Nobody waits for the children that sleep.
    expect(ms).toBeLessThan(100_000);
  });

  test("before it has joined: the others do not wait for it", async () => {
    const script = sandbox.script(
      "early.mjs",
      `import { joinGroup } from "@bootstrap";
       if (process.env.RANK === "2") { console.error("cannot start"); process.exit(2); }
       await joinGroup();`,
    );
    const { exitCode, failure } = await launch(3, "", { args: [script] });
    expect(failure).toMatchObject({ rank: 2, exitCode: 2 });
    expect(failure?.message).toBe("rank 2 failed: it exited with code 2: cannot start");
    expect(exitCode).toBe(2);
  });

  test("others that ignore SIGTERM or block their event loop are killed", async () => {
    const { failure, ms } = await launch(
      3,
      `process.on("SIGTERM", () => {});
       if (rank === 0) { await sleep(100); process.exit(5); }
       if (rank === 1) for (;;);
       await sleep(1e6);`,
      { graceMs: 300 },
    );
    expect(failure?.rank).toBe(0);
    // Nor for those that would not end by themselves.
    expect(ms).toBeLessThan(100_000);
  });

  test("a rank that never comes, and a run that takes too long", async () => {
    const script = sandbox.script(
      "late.mjs",
      `import { joinGroup } from "@bootstrap";
       if (process.env.RANK === "1") await new Promise((done) => setTimeout(done, 1e6));
       await joinGroup({ timeoutMs: 300 });`,
    );
    const { failure } = await launch(2, "", { args: [script] });
    expect(failure?.message).toContain(
      'all_gather "hosts" was not complete within 300 ms: missing rank 1 (has not joined the run)',
    );
    const slow = await launch(2, "await sleep(1e6)", { timeoutMs: 700 });
    expect(slow.failure?.message).toBe("the run was not done within 700 ms; still running: rank 0, 1");
  });

  test("what cannot be started", async () => {
    expect(await rejection(launch(0, ""))).toBeInstanceOf(UsageError);
    const error = await rejection(launch(2, "", { command: "/none/node" }));
    expect(error).toBeInstanceOf(MachineError);
    expect(error.message).toMatch(/rank 0 did not start: .*ENOENT/);
  });
});

describe("the launcher ends, and nothing is left", () => {
  test.each([
    ["SIGINT", 130],
    ["SIGTERM", 143],
    ["SIGHUP", 129],
  ] as const)("%s", async (signal, code) => {
    const launcher = await startLauncher();
    launcher.process.kill(signal);
    expect(await launcher.ended).toEqual({ code, signal: null });
    expect(processesWith(sandbox.mark)).toEqual([]);
  });

  test("a second Ctrl-C does not wait for ranks that do not listen", async () => {
    const launcher = await startLauncher('process.on("SIGTERM", () => {}); for (;;);', 300_000);
    const start = performance.now();
    launcher.process.kill("SIGINT");
    setTimeout(() => launcher.process.kill("SIGINT"), 200);
    expect((await launcher.ended).code).toBe(130);
    expect(performance.now() - start).toBeLessThan(150_000);
  });

  test("SIGKILL: the ranks notice, whatever they do", async () => {
    for (const body of [
      "await sleep(1e6);",
      "for (;;);",
      "for (;;) { console.log('x'.repeat(1000)); await sleep(1); }",
    ]) {
      const launcher = await startLauncher(body);
      launcher.process.kill("SIGKILL");
      await until(
        () => processesWith(sandbox.mark).length === 0,
        5000,
        () => `left: ${processesWith(sandbox.mark).join()}`,
      );
      await until(() => readdirSync(join(sandbox.directory, "tmp")).length === 0, 1000);
    }
  });

  test("an error in the launcher's own code", async () => {
    const launcher = await startLauncher("process.send('hello'); await sleep(1e6);");
    expect(launcher.process.kill("SIGINT")).toBe(true);
    await launcher.ended;
    const path = join(sandbox.directory, "launcher.mjs");
    const source = readFileSync(path, "utf8").replace(
      "ranks: 3,",
      "ranks: 3, onMessage() { throw new Error('oops') },",
    );
    const failing = sandbox.node(sandbox.script("failing.mjs", source));
    expect((await failing.ended).code).toBe(1);
    expect(failing.output()).toContain("oops");
  });
});

describe("without collc run", () => {
  const member = (body: string): string =>
    sandbox.script(
      "member.mjs",
      `import { joinGroup } from "@bootstrap";
       import { setTimeout as sleep } from "node:timers/promises";
       const group = await joinGroup();
       const { rank, world } = group;
       ${body}`,
    );
  let port = 21000 + (process.pid % 4000);
  const torchrun = (rank: number, world = 3, more = {}): Record<string, string> => ({
    RANK: String(rank),
    WORLD_SIZE: String(world),
    LOCAL_RANK: String(rank),
    LOCAL_WORLD_SIZE: String(world),
    MASTER_ADDR: "127.0.0.1",
    MASTER_PORT: String(port),
    ...more,
  });

  test("torchrun and mpirun: rank 0 hosts the store, the slowest starter is waited for, all end cleanly", async () => {
    const script = member(`
      console.log(JSON.stringify(await group.exchange.allGather("v", rank * 10)), group.launcher, group.runDirectory);
      if (rank === 1) await sleep(200);
      await group.close();`);
    const ompi = (rank: number) => ({
      OMPI_COMM_WORLD_RANK: String(rank),
      OMPI_COMM_WORLD_SIZE: "2",
      OMPI_COMM_WORLD_LOCAL_RANK: String(rank),
      OMPI_COMM_WORLD_LOCAL_SIZE: "2",
      PMIX_NAMESPACE: `job-${process.pid}`,
    });
    const first = sandbox.node(script, [], torchrun(1));
    const others = [2, 0].map((rank) => sandbox.node(script, [], torchrun(rank)));
    const mpi = [1, 0].map((rank) => sandbox.node(script, [], ompi(rank)));
    for (const child of [first, ...others]) {
      expect(await child.ended, child.output()).toEqual({ code: 0, signal: null });
      // Without a secret, rank 0 says who could join.
      const warning = child === others[1] ? "collc: warning: COLLC_STORE_SECRET is not set.*\\n" : "";
      expect(child.output()).toMatch(new RegExp(`^${warning}\\[0,10,20\\] torchrun \\/\\S+collc-\\d+-\\w{6}\\n$`));
    }
    for (const child of mpi) {
      expect(await child.ended, child.output()).toEqual({ code: 0, signal: null });
      expect(child.output()).toMatch(/^\[0,10\] openmpi/m);
    }
    expect(existsSync(others[0]!.output().split(" ")[2]!.trim())).toBe(false);
  });

  test("a rank that dies takes the others down, with its name and words; so does rank 0, killed", async () => {
    port++;
    const script = member(`if (rank === 1) { await sleep(100); throw new Error("out of memory"); } await sleep(1e6);`);
    const children = [0, 1, 2].map((rank) => sandbox.node(script, [], torchrun(rank)));
    const ends = await Promise.all(children.map(({ ended }) => ended));
    expect(ends.map(({ code }) => code)).toEqual([76, 1, 76]);
    expect(children[2]!.output()).toContain(
      "collc: rank 2 stops: rank 1 was lost (its connection closed); its last message: out of memory",
    );

    port++;
    const killed = member(
      `console.log("up"); if (rank === 0) { await sleep(300); process.kill(process.pid, "SIGKILL"); } await sleep(1e6);`,
    );
    const pair = [0, 1].map((rank) => sandbox.node(killed, [], torchrun(rank, 2)));
    expect((await pair[1]!.ended).code).toBe(76);
    expect(pair[1]!.output()).toMatch(
      /rank 1 stops: the store of the run at \S+ went away: its connection ended, as its process died or the network between \(rank 0 hosts it\)/,
    );
    // Nobody is left who could remove the folder of a rank 0 that was killed outright: see sweepRunDirectories.
    await pair[0]!.ended;
    sandbox.forgetRunDirectories();
  });

  test("a rank that never comes is named; a wrong secret is refused and told", async () => {
    port++;
    const script = sandbox.script(
      "short.mjs",
      `import { joinGroup } from "@bootstrap";
       console.log("up");
       try { const group = await joinGroup({ timeoutMs: Number(process.env.PATIENCE) }); } catch (error) { console.log(error.message, "|", error.help); process.exit(4); }`,
    );
    const pair = [0, 1].map((rank) => sandbox.node(script, [], torchrun(rank, 3, { PATIENCE: "1000" })));
    for (const child of pair) expect((await child.ended).code, child.output()).toBeGreaterThan(0);
    expect(pair.map((child) => child.output()).join()).toMatch(
      /was not complete within 1000 ms: missing .*rank 2 \(has not joined the run\)/,
    );

    port++;
    // The stranger is there first, so that rank 0 need not be patient.
    const stranger = sandbox.node(script, [], torchrun(1, 2, { COLLC_STORE_SECRET: "wrong", PATIENCE: "120000" }));
    await stranger.says(/up/);
    const host = sandbox.node(script, [], torchrun(0, 2, { COLLC_STORE_SECRET: "right", PATIENCE: "3000" }));
    for (const child of [host, stranger]) expect((await child.ended).code).toBe(4);
    expect(stranger.output()).toContain(
      "refused rank 1: the secret is wrong | every rank needs the run's COLLC_STORE_SECRET",
    );
    expect(host.output()).toMatch(/collc: the store refused 127.0.0.1:\d+: the secret is wrong/);
  });

  test("no launcher: a group of one", async () => {
    const script = member(
      `console.log(rank, world, group.localRank, await group.exchange.allGather("x", "y"), group.launcher); await group.close();`,
    );
    const child = sandbox.node(script);
    expect((await child.ended).code).toBe(0);
    expect(child.output()).toBe("0 1 0 [ 'y' ] none\n");
  });
});

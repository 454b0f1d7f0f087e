/** Ranks on other hosts: hosts of a file, and a launcher over an ssh that starts a shell on this machine in a session of its own. */
import { execFileSync } from "node:child_process";
import { chmodSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { UsageError } from "../../src/runtime/errors.js";
import { launchRanks, type LaunchResult } from "../../src/runtime/launcher.js";
import { parseHosts, reachOfHosts, remoteProcess, storePlace } from "../../src/runtime/remote-hosts.js";
import { processesWith, until, useSandbox } from "./helpers.js";

describe("a file of hosts", () => {
  test("has a host a line, with its ranks behind it", () => {
    expect(parseHosts("# rack 7\nnode1 8\n\n  me@node2 slots=4 # half of it\n[fe80::1]\r\n", "hosts")).toEqual([
      { name: "node1", ranks: 8 },
      { name: "me@node2", ranks: 4 },
      { name: "[fe80::1]", ranks: 1 },
    ]);
  });

  test.each([
    ["node1 eight", /line 1 of hosts is no host: "node1 eight"/],
    ["node1\nnode2 0", /line 2/],
    ["-oProxyCommand=reboot 2", /line 1/],
    ["-v@node1 2", /line 1/],
    ["node1;reboot 2", /line 1/],
    ["[::1]:8", /line 1/],
    ["a 2\na 2", /hosts has a twice/],
    ["# nobody", /hosts names no host/],
  ])("%j is none", (text, message) => {
    expect(() => parseHosts(text, "hosts")).toThrow(UsageError);
    expect(() => parseHosts(text, "hosts")).toThrow(message);
  });

  test("a colon before the number is answered by how it is written", () => {
    expect(() => parseHosts("node1:8", "hosts")).toThrow(expect.objectContaining({ help: "write: node1 8" }));
    expect(parseHosts("fe80::1%eth0 2\nme@[::1]", "hosts").map(({ name }) => name)).toEqual([
      "fe80::1%eth0",
      "me@[::1]",
    ]);
  });

  test("ssh gets addresses without brackets, and blanks for a command are none", () => {
    const of = (name: string, env = {}): readonly string[] => {
      const { command, args } = remoteProcess({ name, ranks: 1 }, ["node"], {}, [], env);
      return [command, args.at(-2)!];
    };
    expect(of("[::1]")).toEqual(["ssh", "::1"]);
    expect(of("me@[fe80::1]", { COLLC_SSH: "  " })).toEqual(["ssh", "me@fe80::1"]);
    expect(of("node1", { COLLC_SSH: " rsh  -x " })).toEqual(["rsh", "node1"]);
  });

  test("hosts get what is set here for collc and its libraries, and nothing that is this host's own", () => {
    const env = {
      ...{
        NCCL_SOCKET_IFNAME: "ib0,'eth'1",
        NVSHMEM_REMOTE_TRANSPORT: "none",
        NCCL_NVLS_ENABLE: "0",
        COLLC_TIMEOUT_MS: "7",
      },
      ...{ COLLC_SSH: "ssh", COLLC_STORE_SECRET: "s", CUDA_VISIBLE_DEVICES: "1", XNCCL_A: "x", "NCCL_A;reboot": "x" },
    };
    const command = remoteProcess({ name: "a", ranks: 1 }, ["env"], { RANK: "0" }, [], env).args.at(-1)!;
    const printed = execFileSync("sh", ["-c", command], { input: "secret\n", encoding: "utf8", env: {} });
    const names = printed.split("\n").flatMap((line) => /^\w+(?==)/.exec(line)?.[0] ?? []);
    expect(printed).toContain("NCCL_SOCKET_IFNAME=ib0,'eth'1\n");
    expect(names.filter((name) => !/^(PWD|OLDPWD|SHLVL|_)$/.test(name)).sort()).toEqual(
      ["COLLC_ENDS_WITH_INPUT", "COLLC_STORE_SECRET", "COLLC_TIMEOUT_MS", "NCCL_NVLS_ENABLE", "NCCL_SOCKET_IFNAME", "NVSHMEM_REMOTE_TRANSPORT", "RANK"], // prettier-ignore
    );
  });

  test("says which ranks share addresses, where hosts have equally many and the last no more", () => {
    expect(reachOfHosts(parseHosts("a 4\nb 4\nc 2", "hosts"))).toBe("3x4");
    expect(() => reachOfHosts(parseHosts("a 2\nb 4", "hosts"))).toThrow(/b has 4 ranks and a 2/);
    expect(() => reachOfHosts(parseHosts("a 4\nb 2\nc 4", "hosts"))).toThrow(/b has 2 ranks and a 4/);
  });

  test("keeps the store on the loopback only where nobody else needs it", async () => {
    const placeOf = (text: string, env = {}): ReturnType<typeof storePlace> =>
      storePlace(parseHosts(text, "hosts"), env);
    expect(await placeOf("localhost 2")).toEqual({ listen: ["127.0.0.1"], address: "127.0.0.1" });
    expect((await placeOf("me@localhost\n[::1]")).listen).toEqual(["127.0.0.1"]);
    expect((await placeOf("a\nlocalhost")).listen).toEqual(["::", "0.0.0.0"]);
    expect(await placeOf("a", { MASTER_ADDR: "10.0.0.7" })).toEqual({
      listen: ["10.0.0.7"],
      address: "10.0.0.7",
    });
  });
});

describe("ranks over ssh", () => {
  const sandbox = useSandbox();
  const hosts = [
    { name: "a", ranks: 2 },
    { name: "b", ranks: 2 },
  ];

  // Like ssh: it hands its input on, does not take what it started with it when it dies, and ends with 255 where that was killed.
  beforeEach(() => {
    const ssh = join(sandbox.directory, "ssh");
    writeFileSync(
      ssh,
      `#!/bin/sh
case "$2" in
  dark) echo "ssh: connect to host dark port 22: Connection refused" >&2; exit 255 ;;
  hang) exec cat > /dev/null ;;
  bare) set -- "$1" "$2" "$(echo "$3" | sed s,rank.mjs,gone.mjs,g)" ;;
  shellless) set -- "$1" "$2" "exec /nowhere/sh" ;;
  cut) # a connection that ends while the ranks there go on
    exec 3<&0
    setsid sh -c "$3" <&3 3<&- &
    exec 3<&-
    trap 'exit 255' TERM
    wait $!
    exit $? ;;
esac
echo "$3" >> ${join(sandbox.directory, "commands")}
setsid sh -c "$3"
code=$?
if [ $code -gt 128 ] && [ $code -lt 200 ]; then exit 255; fi
exit $code
`,
    );
    chmodSync(ssh, 0o755);
    vi.stubEnv("COLLC_SSH", `${ssh} -q`);
    vi.stubEnv("MASTER_ADDR", "127.0.0.1");
  });
  afterEach(() => vi.unstubAllEnvs());

  const script = (body: string, before = ""): string =>
    sandbox.script(
      "rank.mjs",
      `import { joinGroup } from "@bootstrap";
       import { watchLauncher } from "@watch-launcher";
       import { setTimeout as sleep } from "node:timers/promises";
       watchLauncher();
       const rank = Number(process.env.RANK);
       ${before}
       const group = await joinGroup();
       ${body}`,
    );

  async function launch(body: string, { on = hosts, before = "" } = {}): Promise<LaunchResult & { lines: string[] }> {
    const lines: string[] = [];
    const path = script(body, before);
    const result = await launchRanks({
      ...{ ranks: 4, hosts: on, args: [path], files: [path] },
      onOutput: (rank, stream, line) => lines.push(`${rank} ${stream} ${line}`),
    });
    return { ...result, lines: lines.sort() };
  }

  test("meet in the launcher's store, and the secret is on no command line", async () => {
    const { exitCode, failure, lines } = await launch(
      `const { env } = process;
       const all = await group.exchange.allGather("ranks", [rank, group.localRank]);
       console.log(JSON.stringify([all, env.COLLC_HOST, env.LOCAL_WORLD_SIZE, group.launcher]));
       console.log("secret " + env.COLLC_STORE_SECRET);
       await group.close();`,
    );
    expect({ exitCode, failure }).toEqual({ exitCode: 0, failure: null });
    const all = [0, 1, 2, 3].map((rank) => [rank, rank % 2]);
    const own = (rank: number): string => JSON.stringify([all, rank < 2 ? "a" : "b", "2", "collc"]);
    expect(lines.filter((l) => l.includes("["))).toEqual([0, 1, 2, 3].map((rank) => `${rank} stdout ${own(rank)}`));
    const secrets = new Set(lines.flatMap((l) => /secret (\w+)/.exec(l)?.[1] ?? []));
    expect([...secrets]).toEqual([expect.stringMatching(/^[0-9a-f]{64}$/)]);
    expect(readFileSync(join(sandbox.directory, "commands"), "utf8")).not.toContain([...secrets][0]);
  });

  test("a host that cannot be reached is named, and the others end", async () => {
    const on = [hosts[0]!, { name: "dark", ranks: 2 }];
    const { exitCode, failure } = await launch("await sleep(1e6);", { on });
    expect(failure?.message).toBe("host dark cannot be reached\nssh: connect to host dark port 22: Connection refused");
    expect(exitCode).toBe(3);
  });

  test("so is one that has not what it is to start", async () => {
    const on = [hosts[0]!, { name: "bare", ranks: 2 }];
    const { exitCode, failure } = await launch("await sleep(1e6);", { on });
    expect(failure).toMatchObject({
      message: `host bare lacks ${join(sandbox.directory, "rank.mjs")}`,
      help: expect.stringMatching(/^each host needs .*collc and the program at this host's paths/),
    });
    expect(exitCode).toBe(3);
  });

  test("and one that has no shell", async () => {
    const on = [hosts[0]!, { name: "shellless", ranks: 2 }];
    const { exitCode, failure } = await launch("await sleep(1e6);", { on });
    expect(failure?.message).toMatch(/^host shellless lacks a program of this one's paths\n.*\/nowhere\/sh/);
    expect(exitCode).toBe(3);
  });

  test("a host that takes the connection and never answers is named, not the one that waited for it", async () => {
    vi.stubEnv("COLLC_TIMEOUT_MS", "3000");
    const on = [
      { name: "a", ranks: 1 },
      { name: "hang", ranks: 3 },
    ];
    const { exitCode, failure } = await launch("await sleep(1e6);", { on });
    expect(failure?.message).toMatch(/^host hang did not start ranks 1 to 3 \(nothing heard in \d+ s\)$/);
    expect(failure?.help).toMatch(/^each host needs ssh/);
    expect(exitCode).toBe(3);
  });

  test("a connection that ends is the loss of its host, with ranks whose connections still stand", async () => {
    const on = [hosts[0]!, { name: "cut", ranks: 2 }];
    const { exitCode, failure } = await launch(
      `const ssh = await group.exchange.allGather("connections", process.ppid);
       if (rank === 0) process.kill(ssh[2], "SIGTERM");
       await sleep(1e6);`,
      { on },
    );
    expect(failure?.message).toMatch(
      /^host cut was lost, with ranks 2 and 3: rank 2 failed: the connection to it ended/,
    );
    expect(exitCode).toBe(1);
  });

  test("an ssh that is not there: what to install or set", async () => {
    vi.stubEnv("COLLC_SSH", join(sandbox.directory, "nowhere"));
    await expect(launch("")).rejects.toMatchObject({ exitCode: 3, help: "install ssh, or set COLLC_SSH" });
  });

  test("a rank that does not find the way back says what to set", async () => {
    const text = `import { openTransport } from "@store-client";
      await openTransport({ host: "127.0.0.1", ports: [9], secret: "s", runId: "r", rank: 1, world: 2, timeoutMs: 300 })
        .catch((error) => console.log(error.help));`;
    const child = sandbox.node(sandbox.script("lost.mjs", text), [], { COLLC_HOST: "b" });
    await child.says(/collc run --hosts listens there; set MASTER_ADDR to an address of this host/);
    await child.ended;
  });

  test("a host that dies is named with its ranks, and the others end", async () => {
    const { exitCode, failure } = await launch(
      `const pids = await group.exchange.allGather("pids", process.pid);
       if (rank === 2) for (const pid of [pids[3], pids[2]]) process.kill(pid, "SIGKILL");
       await sleep(1e6);`,
    );
    expect(failure?.message).toMatch(/^host b was lost, with ranks 2 and 3: rank [23] /);
    expect(exitCode).toBe(1);
    // Nobody was left on that host to remove its folder.
    sandbox.forgetRunDirectories();
  });

  test("a rank that fails is named with its host", async () => {
    const { exitCode, failure } = await launch(
      `await group.exchange.barrier("up");
       if (rank === 2) throw new Error("no more paper");
       await sleep(1e6);`,
    );
    expect(failure?.message).toBe("host b: rank 2 failed: it exited with code 1: no more paper");
    expect(exitCode).toBe(1);
  });

  test.each([
    ["has joined", "", "await sleep(1e6);"],
    ["has not joined", "console.error('up'); await sleep(1e6);", ""],
    ["blocks its event loop", "", "for (;;);"],
  ])("a rank that %s ends when its launcher is killed", async (_, before, body) => {
    const rank = script(`console.error("up"); ${body}`, before);
    const launcher = sandbox.node(
      sandbox.script(
        "launcher.mjs",
        `import { launchRanks } from "@launcher";
         await launchRanks({ ranks: 4, hosts: ${JSON.stringify(hosts)}, args: [${JSON.stringify(rank)}] });`,
      ),
      [],
      { COLLC_SSH: process.env["COLLC_SSH"], MASTER_ADDR: "127.0.0.1" },
    );
    await launcher.says(/(up[^]*){4}/);
    process.kill(launcher.pid, "SIGKILL");
    await until(() => processesWith(sandbox.mark).length === 0, 10_000);
    // Nobody was left to remove a rank's folder that blocked.
    if (body.startsWith("for")) sandbox.forgetRunDirectories();
  });
});

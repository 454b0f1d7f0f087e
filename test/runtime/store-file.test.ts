/** Ranks that find each other through a file. */
import { existsSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { type BootstrapGroup, joinGroup } from "../../src/runtime/bootstrap.js";
import { type Child, rejection, until, useSandbox } from "./helpers.js";

const sandbox = useSandbox();

/** Starts ranks that have nothing but their number and a file. */
function start(
  world: number,
  body: string,
  ranks = Array.from({ length: world }, (_, rank) => rank),
  patienceMs = 120_000,
): Child[] {
  const script = sandbox.script(
    "member.mjs",
    `import { joinGroup } from "@bootstrap";
     import { setTimeout as sleep } from "node:timers/promises";
     let group;
     try { group = await joinGroup({ timeoutMs: ${patienceMs} }); }
     catch (error) { console.log(error.message); process.exit(4); }
     const { rank } = group;
     ${body}`,
  );
  return ranks.map((rank) =>
    sandbox.node(script, [], {
      RANK: `${rank}`,
      WORLD_SIZE: `${world}`,
      COLLC_STORE_FILE: join(sandbox.directory, "store"),
    }),
  );
}
const file = () => join(sandbox.directory, "store");
const ends = (children: Child[]) => Promise.all(children.map(({ ended }) => ended));

test("ranks meet, whoever comes first; the file is private and goes away", async () => {
  const body = `console.log(JSON.stringify(await group.exchange.allGather("v", rank * 10)));
    if (rank === 0) await sleep(150);
    await group.close();`;
  const early = start(3, body, [1, 2]);
  await new Promise((done) => setTimeout(done, 200));
  const all = [...early, ...start(3, body, [0])];
  await all[2]!.says(/\[0,10,20\]/);
  expect(statSync(file()).mode & 0o777).toBe(0o600);
  for (const end of await ends(all)) expect(end).toEqual({ code: 0, signal: null });
  for (const child of all) expect(child.output()).toBe("[0,10,20]\n");
  expect(existsSync(file())).toBe(false);
});

test("a file that a killed run left is passed over until the next rank 0 writes its own", async () => {
  const [dead] = start(2, "", [0]);
  await until(() => existsSync(file()), 10_000);
  dead!.process.kill("SIGKILL");
  await dead!.ended;
  sandbox.forgetRunDirectories();
  const stale = readFileSync(file(), "utf8");
  const [second] = start(2, "await group.close();", [1]);
  await new Promise((done) => setTimeout(done, 500));
  const [first] = start(2, "await group.close();", [0]);
  for (const end of await ends([first!, second!])) expect(end.code).toBe(0);
  // Nobody answers behind a stale file, and no rank 0 comes.
  writeFileSync(file(), stale);
  const [alone] = start(2, "", [1], 500);
  expect((await alone!.ended).code).toBe(4);
  expect(alone!.output()).toMatch(/rank 1 found no store through \S+ within 500 ms: nobody answers at 127.0.0.1:\d+/);
});

test("no rank 0, and a file that is something else", async () => {
  const join2 = (path: string) => joinGroup({ rank: 1, world: 2, storeFile: path, timeoutMs: 200, onLost: () => {} });
  const missing = await rejection(join2(join(sandbox.directory, "none")));
  expect(missing).toMatchObject({ code: "timeout" });
  expect(missing.message).toContain("the file is not there");
  const other = join(sandbox.directory, "notes.txt");
  writeFileSync(other, "{}");
  expect((await rejection(join2(other))).message).toContain("is no store's file");
  expect(readFileSync(other, "utf8")).toBe("{}");
});

test("a rank that dies is noticed as elsewhere", async () => {
  const children = start(
    3,
    `if (rank === 2) { await sleep(50); process.kill(process.pid, "SIGKILL"); } await sleep(1e6);`,
  );
  const [a, b] = await ends(children);
  expect([a!.code, b!.code]).toEqual([76, 76]);
  expect(children[1]!.output()).toContain("rank 1 stops: rank 2 was lost");
  expect(existsSync(file())).toBe(false);
});

test("a store that its host has closed stops nobody who is leaving, and everybody else", async () => {
  const lost: string[][] = [[], [], []];
  const joined = (rank: number): Promise<BootstrapGroup> => {
    const onLost = ({ message }: Error): void => void lost[rank]!.push(message);
    return joinGroup({ rank, world: 3, storeFile: file(), timeoutMs: 10_000, onLost });
  };
  const [host, leaving, staying] = await Promise.all([joined(0), joined(1), joined(2)]);
  leaving.beginToLeave();
  await host.close(50);
  await until(() => lost[2]!.length > 0, 10_000);
  expect(lost).toEqual([[], [], [expect.stringContaining("was closed by its host (rank 0 hosts it)")]]);
  await Promise.all([leaving.close(), staying.close()]);
});

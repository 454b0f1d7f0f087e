import { type AddressInfo, connect, createServer } from "node:net";
import { once } from "node:events";
import { afterEach, describe, expect, test } from "vitest";
import { Exchange } from "../../src/runtime/exchange.js";
import { type Store, type StoreServer, connectStore, hostStore, memoryStores } from "../../src/runtime/store.js";
import { encodeFrame } from "../../src/runtime/store-wire.js";
import { rejection, until, useSandbox } from "./helpers.js";

const sandbox = useSandbox();
const secret = "s3cret";
const runId = "test";
const open: { close(): Promise<void> }[] = [];
afterEach(async () => {
  for (const each of open.splice(0).reverse()) await each.close();
});

async function host(world: number, refusals: string[] = []): Promise<StoreServer> {
  const server = await hostStore({ world, secret, runId, onRefused: (message) => refusals.push(message) });
  open.push(server);
  return server;
}

async function join(server: StoreServer, rank: number, change: object = {}): Promise<Store> {
  const { world } = server.core;
  const options = { host: "127.0.0.1", ports: [server.port], secret, runId, rank, world, timeoutMs: 120_000 };
  const store = await connectStore({ ...options, ...change });
  open.push(store);
  return store;
}

async function tcpStores(world: number): Promise<Store[]> {
  const server = await host(world);
  return Promise.all(Array.from({ length: world }, (_, rank) => join(server, rank)));
}

describe.each([
  ["over TCP", tcpStores],
  ["in memory", (world: number) => Promise.resolve(memoryStores(world))],
])("a store %s", (_, make) => {
  test("set, get, add, delete, compareSet", async () => {
    const [a, b] = (await make(2)) as [Store, Store];
    const waiting = b.get("later");
    await a.set("later", Uint8Array.of(0, 255, 10));
    expect([...(await waiting)]).toEqual([0, 255, 10]);
    expect(await a.tryGet("none")).toBeNull();
    const sums = await Promise.all([a.add("n", 1), b.add("n", 2), a.add("n", 3), b.add("n", -1)]);
    expect(Math.max(...sums)).toBeGreaterThanOrEqual(5);
    expect((await b.get("n")).toString()).toBe("5");
    expect(await a.delete("n")).toBe(true);
    expect(await a.delete("n")).toBe(false);
    expect(await a.compareSet("c", null, "1")).toEqual({ swapped: true, value: Buffer.from("1") });
    expect(await b.compareSet("c", null, "2")).toEqual({ swapped: false, value: Buffer.from("1") });
    expect(await b.compareSet("c", "1", "3")).toEqual({ swapped: true, value: Buffer.from("3") });
    expect(await a.compareSet("gone", "x", "y")).toEqual({ swapped: false, value: null });
    await a.set("empty", "");
    expect((await b.get("empty")).length).toBe(0);
    await a.set("text", "abc");
    expect((await rejection(a.add("text", 1))).message).toContain('"text" is no counter');
  });

  test("a large value survives, a too large one is refused here", async () => {
    const [a, b] = (await make(2)) as [Store, Store];
    const large = Buffer.alloc(2 ** 20, 7);
    await a.set("large", large);
    expect((await b.get("large")).equals(large)).toBe(true);
    expect((await rejection(a.set("huge", Buffer.alloc(2 ** 20 + 1)))).message).toContain("at most 1048576 bytes");
    expect((await rejection(a.set("k".repeat(2000), ""))).message).toContain("at most 1024 characters");
  });

  test("barriers and gatherings can be repeated under one name", async () => {
    const stores = await make(4);
    const order: number[] = [];
    await Promise.all(
      stores.map(async (store) => {
        for (let round = 0; round < 20; round++) {
          await store.barrier("b");
          order.push(round);
          const all = await store.gather("g", `${store.rank}/${round}`);
          expect(all.map(String)).toEqual([0, 1, 2, 3].map((rank) => `${rank}/${round}`));
        }
      }),
    );
    expect(order).toEqual([...order].sort((x, y) => x - y));
  });

  test("waits are bounded and name who is missing", async () => {
    const [a, b] = (await make(3)) as [Store, Store];
    const get = await rejection(a.get("x", { timeoutMs: 50, from: 2 }));
    expect(get).toMatchObject({ code: "timeout", message: expect.stringContaining('"x" was not set within 50 ms') });
    expect(get.message).toContain("missing rank 2");
    // Neither blames the other, whoever's time is over first.
    const late = await Promise.all([
      rejection(a.barrier("start", { timeoutMs: 60 })),
      rejection(b.barrier("start", { timeoutMs: 60 })),
    ]);
    for (const { message } of late)
      expect(message).toMatch(/barrier "start" was not complete within 60 ms: missing rank 2 [^,]*(\([^)]*\))?$/);
  });

  test("exchange: names repeat, ranks out of step learn it at once", async () => {
    const stores = await make(3);
    const groups = stores.map((store) => new Exchange(store, "g"));
    for (let round = 0; round < 3; round++) {
      const all = await Promise.all(groups.map((group, rank) => group.allGather("v", { rank, round })));
      for (const values of all) expect(values).toEqual([0, 1, 2].map((rank) => ({ rank, round })));
    }
    const roots = await Promise.all(groups.map((g, rank) => g.broadcast("b", 1, rank === 1 ? "hello" : undefined)));
    expect(roots).toEqual(["hello", "hello", "hello"]);
    const pairs = [0, 2].map((rank) => new Exchange(stores[rank]!, "pair", { ranks: [2, 0] }));
    expect(await Promise.all(pairs.map((group, i) => group.allGather("v", i)))).toEqual([
      [1, 0],
      [1, 0],
    ]);
    expect(() => new Exchange(stores[1]!, "pair", { ranks: [2, 0] })).toThrow('rank 1 is not in group "pair"');
    const errors = await Promise.all([rejection(groups[0]!.barrier("a")), rejection(groups[1]!.allGather("v", 1))]);
    for (const error of errors) {
      expect(error).toMatchObject({ code: "mismatch" });
      expect(error.message).toContain('rank 0 is in barrier "a", rank 1 in all_gather "v"');
    }
  });

  test("a rank that is lost ends the waits for it, with its last message", async () => {
    const [a, b, c] = (await make(3)) as [Store, Store, Store];
    const lost: string[] = [];
    a.onMemberLost(({ rank, fault }) => lost.push(`${rank}: ${fault}`));
    const waits = [a.barrier("end"), c.get("from b", { from: 1 })].map(rejection);
    c.abandon("unrelated");
    b.abandon("out of paper");
    const [barrier] = await Promise.all(waits);
    expect(barrier).toMatchObject({ code: "rank-lost" });
    expect(barrier!.message).toMatch(
      /rank [12] was lost .*; its last message: (out of paper|unrelated), and barrier "end"/,
    );
    await until(() => lost.length === 2, 1000);
    expect(lost.sort()).toEqual(["1: out of paper", "2: unrelated"]);
    expect((await rejection(a.barrier("again"))).message).toMatch(/rank [12] was lost/);
  });

  test("a rank that left cleanly is not lost, but nobody waits for it", async () => {
    const [a, b] = (await make(2)) as [Store, Store];
    a.onMemberLost(() => expect.fail("nobody was lost"));
    await b.close();
    expect((await rejection(a.barrier("x"))).message).toContain("rank 1 has left the run");
  });
});

describe("strangers", () => {
  test("a wrong secret is refused on both sides and sees nothing", async () => {
    const refusals: string[] = [];
    const server = await host(2, refusals);
    const error = await rejection(join(server, 1, { secret: "guess" }));
    expect(error).toMatchObject({ code: "refused" });
    expect(error.message).toMatch(/the store at 127.0.0.1:\d+ refused rank 1: the secret is wrong/);
    expect(error.help).toContain("COLLC_STORE_SECRET");
    expect(refusals).toEqual([expect.stringMatching(/the store refused 127.0.0.1:\d+: the secret is wrong/)]);
    expect(server.members()[1]!.state).toBe("absent");
  });

  test("a rank that is let in waits for word of it, since it cannot come twice", async () => {
    const server = await host(2);
    const timeoutMs = 2000;
    // The store's greeting passes at once, its welcome when the rank's time to find a store is over.
    const between = createServer((socket) => {
      const behind = connect({ host: "127.0.0.1", port: server.port });
      const delays = [0, timeoutMs + 500];
      socket.on("data", (data) => void behind.write(data));
      behind.on("data", (data) => void setTimeout(() => socket.write(data), delays.shift() ?? 0));
      for (const [one, other] of [[socket, behind], [behind, socket]] as const) one.on("error", () => {}).on("close", () => other.destroy()); // prettier-ignore
    });
    between.listen(0, "127.0.0.1");
    await once(between, "listening");
    const store = await join(server, 1, { ports: [(between.address() as AddressInfo).port], timeoutMs });
    expect(server.members()[1]!.state).toBe("joined");
    await store.close();
    await new Promise((done) => between.close(done));
  });

  test("a rank twice, a rank too many, another world", async () => {
    const server = await host(2);
    await join(server, 1);
    expect((await rejection(join(server, 1))).message).toContain("rank 1 has joined already, from ");
    expect((await rejection(join(server, 2))).message).toContain("there is no rank 2 among 2");
    expect((await rejection(join(server, 0, { world: 3 }))).message).toContain(
      "this run has 2 ranks, rank 0 came with 3",
    );
  });

  test("a store that does not know the secret is refused by the rank", async () => {
    const server = await hostStore({ world: 2, secret: "other", runId });
    open.push(server);
    expect((await rejection(join(server, 0))).message).toContain("the secret is wrong");
  });

  test.each([
    ["HTTP", Buffer.from("GET / HTTP/1.1\r\n\r\n")],
    ["a huge frame", Buffer.from([0xff, 0xff, 0xff, 0xff, 1])],
    ["no JSON", Buffer.from([0, 0, 0, 8, 0, 0, 0, 4, 1, 2, 3, 4])],
    ["a header longer than its frame", Buffer.from([0, 0, 0, 8, 0, 0, 1, 4, 1, 2, 3, 4])],
    ["a request before the proof", encodeFrame({ id: 1, op: "get", key: "k", timeoutMs: 1, from: null })],
    ["a join without proof", encodeFrame({ rank: 0, world: 2, nonce: "n", proof: "" })],
  ])("garbage (%s) costs its own connection only", async (_, bytes) => {
    const refusals: string[] = [];
    const server = await host(2, refusals);
    const a = await join(server, 0);
    await a.set("k", "treasure");
    const seen: Buffer[] = [];
    await new Promise<void>((done) => {
      const socket = connect(server.port, "127.0.0.1", () => socket.write(bytes));
      socket
        .on("data", (data) => seen.push(data))
        .on("error", () => {})
        .on("close", () => done());
    });
    expect(Buffer.concat(seen).toString("latin1")).not.toContain("treasure");
    expect(refusals).toHaveLength(1);
    const b = await join(server, 1);
    expect((await b.get("k")).toString()).toBe("treasure");
  });

  test("a port range: other runs and deaf listeners are passed over", async () => {
    const other = await hostStore({ world: 2, secret, runId: "another run" });
    open.push(other);
    const server = await host(2);
    const store = await join(server, 0, { ports: [1, other.port, server.port] });
    expect(store.address).toBe(`127.0.0.1:${server.port}`);
    const error = await rejection(join(server, 1, { ports: [1, other.port], timeoutMs: 2000 }));
    expect(error).toMatchObject({ code: "timeout" });
    expect(error.message).toContain(`1: ECONNREFUSED; ${other.port}: the store of another run`);
  });

  test("hosting takes the first free port, and says when there is none", async () => {
    const server = await host(1);
    const taken = { world: 1, secret, runId, ports: [server.port] };
    expect((await rejection(hostStore(taken))).message).toContain(`port ${server.port}: EADDRINUSE`);
    const next = await hostStore({ ...taken, ports: [server.port, 0] });
    await next.close();
  });
});

test("a store that is closed or killed ends all calls at once", async () => {
  const server = await host(2);
  const a = await join(server, 0);
  const lost: string[] = [];
  a.onStoreLost((error) => lost.push(error.message));
  const waiting = rejection(a.get("never"));
  await server.close();
  expect(await waiting).toMatchObject({ code: "store-lost", message: expect.stringContaining("was closed") });
  await until(() => lost.length === 1, 1000);
  expect((await rejection(a.set("x", ""))).message).toContain("was closed by its host");

  const script = sandbox.script(
    "host.mjs",
    `import { hostStore } from "@store";
     const server = await hostStore({ world: 2, secret: ${JSON.stringify(secret)}, runId: ${JSON.stringify(runId)} });
     console.log("port " + server.port);`,
  );
  const child = sandbox.node(script);
  const port = Number((await child.says(/port (\d+)/))[1]);
  const options = { host: "127.0.0.1", ports: [port], secret, runId, world: 2, timeoutMs: 120_000 };
  const b = await connectStore({ ...options, rank: 0 });
  open.push(b);
  const calls = [b.get("never"), b.barrier("x"), b.gather("y", "")].map(rejection);
  child.process.kill("SIGKILL");
  for (const error of await Promise.all(calls)) {
    expect(error).toMatchObject({
      code: "store-lost",
      message: expect.stringContaining("went away: its connection ended, as its process died or the network between"),
    });
  }
});

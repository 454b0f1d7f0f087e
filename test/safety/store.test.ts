/** Strangers at the store: they keep nobody out, and what they say does nothing to a terminal. */
import { spawnSync } from "node:child_process";
import { chmodSync, chownSync, copyFileSync, symlinkSync, writeFileSync } from "node:fs";
import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { join } from "node:path";
import { afterEach, describe, expect, it } from "vitest";
import { native } from "../../src/runtime/native.js";
import { openStore } from "../../src/runtime/open-store.js";
import { UsageError } from "../../src/runtime/errors.js";
import { detectLauncher } from "../../src/runtime/env.js";
import { connectStoreByFile, hostStoreInFile } from "../../src/runtime/store-file.js";
import { printable } from "../../src/runtime/store-wire.js";
import { type StoreServer, connectStore, hostStore } from "../../src/runtime/store.js";
import { packageRoot } from "../../src/runtime/native.js";
import { rejection, useSandbox } from "../runtime/helpers.js";

const sandbox = useSandbox();
const isRoot = process.getuid?.() === 0;
const secret = "s".repeat(64);
const closing: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0)) await close();
});

async function host(world: number): Promise<{ server: StoreServer; refusals: string[] }> {
  const refusals: string[] = [];
  const server = await hostStore({ world, secret, runId: "r", onRefused: (message) => refusals.push(message) });
  closing.push(() => server.close());
  return { server, refusals };
}

async function stranger(port: number): Promise<Socket> {
  const socket = connect({ host: "127.0.0.1", port });
  socket.on("error", () => {});
  closing.push(() => socket.destroy());
  socket.resume();
  await once(socket, "connect");
  return socket;
}

describe("the store", () => {
  it("lets a member in though 300 idle strangers are there", async () => {
    const { server, refusals } = await host(2);
    for (let i = 0; i < 300; i++) await stranger(server.port);
    const options = {
      host: "127.0.0.1",
      ports: [server.port],
      secret,
      runId: "r",
      rank: 1,
      world: 2,
      timeoutMs: 120_000,
    };
    const store = await connectStore(options);
    closing.unshift(() => store.close());
    await store.set("key", "value");
    expect((await store.get("key")).toString()).toBe("value");
    // Members stay, whoever comes.
    for (let i = 0; i < 200; i++) await stranger(server.port);
    expect((await store.get("key")).toString()).toBe("value");
    expect(server.members()[1]!.state).toBe("joined");
    expect(refusals.length).toBeLessThanOrEqual(5);
  });

  it("prints what strangers say escaped, and a few lines of it", async () => {
    const { server, refusals } = await host(1);
    for (let i = 0; i < 20; i++) {
      const socket = await stranger(server.port);
      const text = Buffer.from(`\x1b[2J\x1b]0;owned\x07\r\n\u202eevil ${"x".repeat(200)}`);
      const frame = Buffer.alloc(8 + text.length);
      frame.writeUInt32BE(4 + text.length, 0);
      frame.writeUInt32BE(text.length, 4);
      text.copy(frame, 8);
      socket.write(frame);
      await once(socket, "close");
    }
    expect(refusals).toHaveLength(5);
    for (const line of refusals) expect(line).not.toMatch(/[\p{Cc}\p{Cf}]/u);
    expect(refusals.at(-1)).toMatch(/nothing is said$/);
  });

  it("makes one printable line of any text", () => {
    expect(printable("a\x1b[31mb\nc\u202ed")).toBe("a\\u{1b}[31mb\\u{a}c\\u{202e}d");
    expect(printable("y".repeat(1000))).toHaveLength(301);
  });

  it("is said to be open where a launcher gives no secret, and nothing is said with one", async () => {
    const said: string[] = [];
    const env = { RANK: "0", WORLD_SIZE: "2", LOCAL_RANK: "0", LOCAL_WORLD_SIZE: "2", MASTER_ADDR: "127.0.0.1" };
    for (const [secretOf, expected] of [
      [{}, 1],
      [{ COLLC_STORE_SECRET: secret }, 0],
    ] as const) {
      said.length = 0;
      const all = { ...env, ...secretOf, MASTER_PORT: String(20_000 + (process.pid % 20_000)) };
      const opened = await openStore(detectLauncher(all)!, all, 1000, undefined, (message) => said.push(message));
      await opened.server!.close();
      expect(said).toHaveLength(expected);
      if (expected > 0) expect(said[0]).toMatch(/warning: COLLC_STORE_SECRET is not set.*torchrun.*openssl rand/);
    }
  });
});

describe("a store's file", () => {
  const file = () => ({ path: join(sandbox.directory, "store"), rank: 1, world: 2, timeoutMs: 500, hostIdentity: "h" });

  it.each([
    ["that others can write to", (path: string) => chmodSync(path, 0o666), /others can write/],
    ["that is a link", (path: string) => symlinkSync(path, `${path}-link`), /is a link/],
    ["of somebody else", isRoot ? (path: string) => chownSync(path, 12345, 12345) : null, /belongs to user 12345/],
  ])("%s is refused", async (_what, change, message) => {
    if (change === null) return;
    const { server, remove } = await hostStoreInFile(file());
    closing.push(() => server.close(), remove);
    change(file().path);
    const link = `${file().path}-link`;
    const path = message.source.includes("link") ? link : file().path;
    const error = await rejection(connectStoreByFile({ ...file(), path }));
    expect(error).toBeInstanceOf(UsageError);
    expect(error.message).toMatch(message);
    spawnSync("rm", ["-f", link, file().path]);
  });

  it("that is a FIFO is not waited for", async () => {
    spawnSync("mkfifo", [file().path]);
    expect((await rejection(connectStoreByFile(file()))).message).toMatch(/is not a file/);
  });
});

describe("descriptors between processes", () => {
  it.runIf(isRoot)("are taken from this user's processes only, whatever secret they know", async () => {
    // The stranger has to reach the socket: a folder that everybody may enter, as a mistake would make it.
    chmodSync(sandbox.directory, 0o777);
    const path = join(sandbox.directory, "socket");
    const key = new Uint8Array(32).fill(9);
    // A copy, since they may be kept out of this clone.
    const addon = join(sandbox.directory, "collc.node");
    copyFileSync(join(packageRoot(), "build/Release/collc.node"), addon);
    const script = join(sandbox.directory, "send.cjs");
    writeFileSync(
      script,
      `const addon = require(${JSON.stringify(addon)});
       const channel = addon.fdChannelOpen(process.argv[2], Buffer.alloc(32, 9));
       addon.fdChannelSend(channel, ${JSON.stringify(path)}, 1, 0, 0, 3000).then(
         () => { addon.fdChannelClose(channel); console.log("sent"); },
         (error) => { console.log(error.message); process.exit(1); });`,
    );
    const channel = native().fdChannelOpen(path, key);
    chmodSync(path, 0o777);
    // Root drops to nobody's number; a receiver that is root would take root's own.
    const send = (uid: number) =>
      spawnSync(process.execPath, [script, `${path}-${uid}`], { uid, gid: uid, encoding: "utf8", cwd: "/" });
    const theirs = send(54321);
    expect(theirs.stdout).toBe("sent\n");
    expect(await native().fdChannelReceive(channel, 200)).toBeNull();
    expect(send(0).stdout).toBe("sent\n");
    const received = await native().fdChannelReceive(channel, 2000);
    expect(received?.sender).toBe(1);
    native().fdClose(received!.fd);
    native().fdChannelClose(channel);
  });
});

import { spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import {
  closeSync,
  existsSync,
  mkdtempSync,
  openSync,
  readFileSync,
  readSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, afterEach, beforeEach, describe, expect, it, vi } from "vitest";

import { FdExchange } from "../../src/runtime/cuda/fd-exchange.js";
import { isNativeError, native, packageRoot, type FdChannelHandle } from "../../src/runtime/native.js";
import { fakeDriver, localExchanges, openDescriptors, openFakeCuda } from "./support.js";

const folder = mkdtempSync(path.join(tmpdir(), "collc-fd-test-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const secret = randomBytes(32);
let count = 0;
const socket = () => path.join(folder, `s${count++}`);
const fileWith = (text: string) => {
  const file = path.join(folder, `f${count++}`);
  writeFileSync(file, text);
  return openSync(file, "r");
};

/** Runs fd-child.mjs; resolves with what it printed. */
function child(job: string, own: string, peer: string, key = secret): Promise<string> {
  const script = fileURLToPath(new URL("fd-child.mjs", import.meta.url));
  const addon = path.join(packageRoot(), "build/Release/collc.node");
  const process_ = spawn(process.execPath, [script, addon, job, own, peer, key.toString("hex")], {
    stdio: ["ignore", "pipe", "inherit"],
    env: { ...process.env, FAKE_DRIVER: fakeDriver },
  });
  let output = "";
  process_.stdout.on("data", (data: Buffer) => (output += data.toString()));
  return new Promise((resolve, reject) => {
    process_.on("error", reject);
    process_.on("exit", (code) => (code === 0 ? resolve(output) : reject(new Error(`child exited with ${code}`))));
  });
}

// Descriptors count only what a test leaves behind.
let before = 0;
beforeEach(() => {
  native();
  before = openDescriptors();
});
afterEach(() => expect(openDescriptors()).toBe(before));

describe("descriptor channel", () => {
  it("passes a descriptor within a process", async () => {
    const [pathA, pathB] = [socket(), socket()];
    const [a, b] = [native().fdChannelOpen(pathA, secret), native().fdChannelOpen(pathB, secret)];
    const fd = fileWith("hello");
    const sent = native().fdChannelSend(a, pathB, 5, 9, fd, 1000);
    closeSync(fd); // at once: the channel has its own
    const received = await native().fdChannelReceive(b, 1000);
    await sent;
    expect(received).toMatchObject({ sender: 5, sequence: 9 });
    expect(readFileSync(received!.fd, "utf8")).toBe("hello");
    native().fdClose(received!.fd);
    expect(() => native().fdClose(received!.fd)).toThrow("EBADF");
    expect([native().fdChannelClose(a), native().fdChannelClose(b)]).toEqual([0, 0]);
    expect(existsSync(pathA) || existsSync(pathB)).toBe(false);
    expect(() => native().fdChannelClose(a)).toThrow("is not open");
  });

  it("passes a descriptor to another process, waiting until that is there", async () => {
    const [own, peer] = [socket(), socket()];
    const channel = native().fdChannelOpen(own, secret);
    const fd = fileWith("between processes");
    const sent = native().fdChannelSend(channel, peer, 2, 0, fd, 10_000);
    expect(await child("read", peer, own)).toBe("from 2: between processes");
    await sent;
    closeSync(fd);
    native().fdChannelClose(channel);
  });

  it("shares (fake) GPU memory between processes", async () => {
    openFakeCuda();
    const [own, peer] = [socket(), socket()];
    const channel = native().fdChannelOpen(own, secret);
    const bytes = native().memoryGranularity(0);
    const physical = native().physicalCreate(0, bytes);
    const pointer = native().memoryMap(physical, bytes, bytes, [0]);
    native().copyToDevice(0, pointer, Uint32Array.of(1, 2, 3, 4));
    const fd = native().physicalExport(physical);
    const sent = native().fdChannelSend(channel, peer, 0, 0, fd, 10_000);
    native().fdClose(fd);
    expect(await child("memory", peer, own)).toBe("done");
    await sent;
    const seen = new Uint32Array(8);
    native().copyFromDevice(0, seen, pointer);
    expect([...seen]).toEqual([1, 2, 3, 4, 2, 4, 6, 8]);
    native().memoryUnmap(pointer);
    native().physicalRelease(physical);
    native().fdChannelClose(channel);
  });

  it("drops what does not know the secret, and closes what came with it", async () => {
    const own = socket();
    const channel = native().fdChannelOpen(own, secret);
    await child("send", socket(), own, randomBytes(32));
    expect(await native().fdChannelReceive(channel, 50)).toBeNull();
    await child("send", socket(), own);
    const received = await native().fdChannelReceive(channel, 5000);
    expect(received?.sender).toBe(3);
    native().fdClose(received!.fd);
    expect(native().fdChannelClose(channel)).toBe(1);
  });

  it("times out: receiving gives null, sending says to whom", async () => {
    const channel = native().fdChannelOpen(socket(), secret);
    const start = performance.now();
    expect(await native().fdChannelReceive(channel, 60)).toBeNull();
    expect(performance.now() - start).toBeGreaterThan(50);
    const peer = socket();
    const error: unknown = await native()
      .fdChannelSend(channel, peer, 0, 0, 0, 60)
      .catch((e: unknown) => e);
    expect(isNativeError(error) && error.codeName).toBe("ETIMEDOUT");
    expect(String(error)).toContain(peer);
    native().fdChannelClose(channel);
  });

  it("wakes waiting calls when it closes", async () => {
    const channel = native().fdChannelOpen(socket(), secret);
    const receiving = native().fdChannelReceive(channel, 60_000);
    const sending = native().fdChannelSend(channel, socket(), 0, 0, 0, 60_000);
    native().fdChannelClose(channel);
    const outcomes = await Promise.allSettled([receiving, sending]);
    for (const outcome of outcomes) {
      expect(outcome.status === "rejected" && String(outcome.reason)).toContain("was closed");
    }
  });

  it("refuses bad paths, secrets and descriptors", async () => {
    expect(() => native().fdChannelOpen(`/tmp/${"x".repeat(110)}`, secret)).toThrow("ENAMETOOLONG");
    expect(() => native().fdChannelOpen("/nowhere/at/all", secret)).toThrow("ENOENT");
    expect(() => native().fdChannelOpen(socket(), secret.subarray(1))).toThrow("32 bytes");
    const taken = socket();
    const channel = native().fdChannelOpen(taken, secret);
    expect(() => native().fdChannelOpen(taken, secret)).toThrow("EADDRINUSE");
    await expect(native().fdChannelSend(channel, taken, 0, 0, 9999, 1)).rejects.toThrow("EBADF");
    expect(() => native().fdClose(1)).toThrow(RangeError);
    native().fdChannelClose(channel);
  });
});

describe("FdExchange", () => {
  const connect = (world: number, timeoutMs = 120_000) => {
    const exchanges = localExchanges(world);
    return Promise.all(exchanges.map((exchange, rank) => FdExchange.connect({ exchange, rank, world, timeoutMs })));
  };

  it("gathers a descriptor of every rank, round after round, with ranks ahead of each other", async () => {
    const world = 4;
    const ranks = await connect(world);
    await Promise.all(
      ranks.map(async (rank, r) => {
        for (let round = 0; round < 5; round++) {
          const fd = fileWith(`rank ${r} round ${round}`);
          const all = await rank.allGather(fd);
          closeSync(fd);
          all.forEach((received, peer) => {
            if (peer === r) return expect(received).toBe(-1);
            // By position: all copies of a descriptor share one offset.
            const text = Buffer.alloc(14);
            readSync(received, text, 0, 14, 0);
            expect(text.toString()).toBe(`rank ${peer} round ${round}`);
            native().fdClose(received);
          });
        }
      }),
    );
    for (const rank of ranks) rank.close();
  });

  it("broadcasts a descriptor of any rank, between gatherings, with ranks ahead of each other", async () => {
    const ranks = await connect(3);
    await Promise.all(
      ranks.map(async (rank, r) => {
        for (const root of [2, 0, 1, 1]) {
          const fd = fileWith(`from ${root}`);
          const received = await rank.broadcast(root, r === root ? fd : -1);
          closeSync(fd);
          if (r === root) expect(received).toBe(-1);
          else {
            const text = Buffer.alloc(6);
            readSync(received, text, 0, 6, 0);
            expect(text.toString()).toBe(`from ${root}`);
            native().fdClose(received);
          }
          for (const other of await rank.allGather(0)) if (other >= 0) native().fdClose(other);
        }
      }),
    );
    await expect(ranks[0]!.broadcast(3)).rejects.toThrow("no rank 3");
    for (const rank of ranks) rank.close();
    const [alone, silent] = await connect(2, 100);
    await expect(alone!.broadcast(1)).rejects.toThrow("no file descriptor from rank 1 within 100 ms");
    for (const rank of [alone!, silent!]) rank.close();
  });

  it("names the rank that sends nothing, and leaks nothing", async () => {
    const ranks = await connect(3, 150);
    const fd = fileWith("x");
    const outcomes = await Promise.allSettled([ranks[0]!.allGather(fd), ranks[1]!.allGather(fd)]);
    for (const outcome of outcomes) {
      expect(outcome.status === "rejected" && String(outcome.reason)).toContain("no file descriptor from rank 2");
    }
    closeSync(fd);
    for (const rank of ranks) rank.close();
    await expect(ranks[0]!.allGather(0)).rejects.toThrow("closed");
  });

  it("drops descriptors of rounds that are over, and of nobody it knows", async () => {
    const original = native().fdChannelSend;
    const sent: { channel: FdChannelHandle; peer: string; sequence: number }[] = [];
    const send = vi.spyOn(native(), "fdChannelSend").mockImplementation((channel, peer, sender, sequence, fd, ms) => {
      sent.push({ channel, peer, sequence });
      return original(channel, peer, sender, sequence, fd, ms);
    });
    const ranks = await connect(2);
    const round = async () => {
      const all = await Promise.all(ranks.map((rank) => rank.allGather(0)));
      for (const fd of all.flat()) if (fd >= 0) native().fdClose(fd);
    };
    await round();
    const { channel, peer } = sent[0]!;
    await original(channel, peer, 0, 0, 0, 1000); // round 0 again
    await original(channel, peer, 7, 1, 0, 1000); // rank 7 of 2
    await original(channel, peer, 1, 1, 0, 1000); // itself
    await round();
    send.mockRestore();
    for (const rank of ranks) rank.close();
  });

  it("keeps its sockets in a private folder and removes it", async () => {
    const folderOf = new Set<string>();
    const exchanges = localExchanges(2).map((exchange) => ({
      ...exchange,
      allGather: async <T>(name: string, value: T): Promise<T[]> => {
        if (name.includes("paths")) folderOf.add(path.dirname(String(value)));
        return (await exchange.allGather(name, value as never)) as T[];
      },
    }));
    const ranks = await Promise.all(
      exchanges.map((exchange, rank) => FdExchange.connect({ exchange, rank, world: 2, timeoutMs: 120_000 })),
    );
    expect(folderOf.size).toBe(2);
    for (const folder of folderOf) expect(statSync(folder).mode & 0o777).toBe(0o700);
    // As when the process ends: closing is what the one listener for all of them does.
    const [listener] = process.listeners("exit").slice(-1);
    (listener as (code: number) => void)(0);
    for (const folder of folderOf) expect(existsSync(folder)).toBe(false);
    expect(process.listeners("exit")).not.toContain(listener);
    for (const rank of ranks) rank.close();
  });
});

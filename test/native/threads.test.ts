/** The addon in worker threads, and memory, communicators and time-outs at their ends. */
import { spawn } from "node:child_process";
import path from "node:path";
import { describe, expect, it } from "vitest";

import { native } from "../../src/runtime/native.js";
import { isAll } from "../scope.js";
import { buildFolder, live, openFakeCuda } from "./support.js";

/** Where the addon in use is, with the fakes beside it. */
const built = (file: string): string => path.join(buildFolder, file);

/** Under sanitizers, which run as part of all tests, too: see `sanitized.long.test.ts`. */
const TIMES = isAll || process.env["COLLC_ADDON"] !== undefined ? "60" : "15";

interface End {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly out: string;
}

function child(script: string, args: readonly string[]): Promise<End> {
  return new Promise((resolve) => {
    const started = spawn(process.execPath, [script, ...args], { stdio: ["ignore", "pipe", "pipe"] });
    let out = "";
    for (const stream of [started.stdout, started.stderr]) {
      stream.setEncoding("utf8").on("data", (text: string) => (out += text));
    }
    started.on("close", (code, signal) => resolve({ code, signal, out }));
  });
}

describe("worker threads", () => {
  it.each([
    "error-under-compile",
    "exit-under-compile",
    "terminate-while-throwing",
    "terminate-while-settling",
    "free-elsewhere",
  ])("%s ends no process", async (job) => {
    const end = await child(path.join(import.meta.dirname, "thread-child.mjs"), [built("collc.node"), job, TIMES]);
    expect(end).toEqual({ code: 0, signal: null, out: "held\n" });
  });
});

describe("time-outs", () => {
  it("refuses NaN, and takes Infinity for what it says", async () => {
    openFakeCuda();
    const stream = native().streamCreate(0);
    expect(() => native().streamSynchronizeBlocking(stream, Number.NaN)).toThrow(/timeoutMs must be a number, not NaN/);
    await expect(native().streamSynchronize(stream, Number.NaN)).rejects.toThrow(/not NaN/);
    expect(await native().streamSynchronize(stream, Number.POSITIVE_INFINITY)).toBe(true);
    native().streamDestroy(stream);
    const socket = path.join("/tmp", `collc-threads-${process.pid}.sock`);
    const channel = native().fdChannelOpen(socket, new Uint8Array(32));
    await expect(native().fdChannelReceive(channel, Number.NaN)).rejects.toThrow(/not NaN/);
    await expect(native().fdChannelSend(channel, socket, 0, 0, 0, Number.NaN)).rejects.toThrow(/not NaN/);
    const waiting = native().fdChannelReceive(channel, Number.POSITIVE_INFINITY);
    await native().fdChannelSend(channel, socket, 7, 0, 0, Number.POSITIVE_INFINITY);
    const received = await waiting;
    expect(received?.sender).toBe(7);
    native().fdClose(received!.fd);
    native().fdChannelClose(channel);
  });
});

describe("host memory", () => {
  it("stays while a buffer that it was transferred to lives, and goes with it", async () => {
    const code = `
      const addon = require(${JSON.stringify(built("collc.node"))});
      addon.openCuda([${JSON.stringify(built("fake-cuda/libcuda.so.1"))}]);
      const live = () => addon.deviceAttribute(0, 9009);
      const allocation = addon.hostAlloc(0, 1 << 20);
      new Uint8Array(allocation.buffer).fill(42);
      let other = allocation.buffer.transfer();
      addon.hostFree(allocation.handle);
      if (live() !== 1 || new Uint8Array(other).some((byte) => byte !== 42)) throw new Error("freed under a reader");
      other = null;
      const wait = (left) => {
        gc();
        if (live() === 0) console.log("held");
        else if (left > 0) setTimeout(wait, 20, left - 1);
        else console.log("never freed");
      };
      setTimeout(wait, 20, 200);`;
    const end = await child("--harmony-rab-gsab-transfer", ["--expose-gc", "-e", code]);
    expect(end).toEqual({ code: 0, signal: null, out: "held\n" });
  });

  it("is freed at once where nobody else has it", () => {
    openFakeCuda();
    const before = live().host;
    const allocation = native().hostAlloc(0, 4096);
    expect(live().host).toBe(before + 1);
    native().hostFree(allocation.handle);
    expect(live().host).toBe(before);
    expect(allocation.buffer.byteLength).toBe(0);
    expect(() => native().hostFree(allocation.handle)).toThrow(/not open/);
  });
});

describe("NCCL's windows", () => {
  it("cannot be used after their communicator", async () => {
    openFakeCuda();
    native().openNccl([built("fake-nccl/libnccl.so.2")], "off");
    const comm = await native().ncclCommInit(0, 1, 0, native().ncclUniqueId());
    const pointer = native().ncclMemAlloc(0, 1 << 21);
    const windows = [await native().ncclWindowRegister(comm, pointer, 1 << 21)];
    expect(native().ncclPeerPointer(windows[0]!, 0, 0)).not.toBe(0n);
    await native().ncclCommDestroy(comm);
    expect(() => native().ncclPeerPointer(windows[0]!, 0, 0)).toThrow(/communicator was destroyed/);
    await expect(native().ncclWindowDeregister(windows[0]!)).rejects.toThrow(/communicator was destroyed/);
    native().ncclMemFree(0, pointer);
  });
});

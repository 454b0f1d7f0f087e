/** What the native tests share: libraries of this machine, the fake driver, ranks without a store. */
import { execFileSync } from "node:child_process";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import path from "node:path";
import { vi } from "vitest";

import { openCuda } from "../../src/runtime/cuda/device.js";
import type { ExchangeChannel } from "../../src/runtime/cuda/fd-exchange.js";
import type { Json } from "../../src/runtime/exchange.js";
import { findNvrtc } from "../../src/runtime/nvrtc.js";
import { native, packageRoot } from "../../src/runtime/native.js";

/** Where the addon is that these tests load, with the fakes beside it: another one when sanitizers are at work. */
export const buildFolder =
  process.env["COLLC_ADDON"] === undefined
    ? path.join(packageRoot(), "build/Release")
    : path.dirname(process.env["COLLC_ADDON"]);

export const fakeDriver = path.join(buildFolder, "fake-cuda/libcuda.so.1");

/** Opens the fake driver; every test file runs in a process of its own. */
export function openFakeCuda(): void {
  openCuda([fakeDriver]);
}

/** Makes every device's own copy stream, which is not a leak, before anything is counted. */
export function openAllDevices(): void {
  for (let device = 0; device < native().deviceCount(); device++) native().memorySet(device, 0n, 0, 0);
}

/** What the fake driver counts; `test/native/fake-cuda/driver.h` has the same order. */
const kinds = [
  "allocations",
  "physical",
  "reservations",
  "mappings",
  "streams",
  "events",
  "graphs",
  "execs",
  "modules",
  "host",
  "launches",
] as const;

/** Live objects of the fake driver, and launches so far. */
export function live(): Record<(typeof kinds)[number], number> {
  return Object.fromEntries(kinds.map((kind, i) => [kind, native().deviceAttribute(0, 9000 + i)])) as never;
}

/** Makes driver calls fail: `cuMemMap:2` is the second from now on. */
export async function failing<T>(spec: string, action: () => T | Promise<T>): Promise<T> {
  vi.stubEnv("FAKE_CUDA_FAIL", spec);
  try {
    return await action();
  } finally {
    vi.unstubAllEnvs();
    native().deviceCount(); // the driver sees that the order is over
  }
}

/** A cubin for the fake driver: names and sizes of parameters. */
export function fakeCubin(...functions: readonly string[]): Uint8Array {
  const header = Buffer.alloc(64);
  header.writeUInt32BE(0x7f454c46, 0);
  return new Uint8Array(Buffer.concat([header, Buffer.from(["FAKE", ...functions, ""].join("\n") + "\0")]));
}

/** Exchanges of `world` ranks in this process. */
export function localExchanges(world: number): ExchangeChannel[] {
  const rounds = new Map<string, { values: Json[]; count: number; resolve: () => void; done: Promise<void> }>();
  return Array.from({ length: world }, (_, rank) => {
    let step = 0;
    const allGather = async <T extends Json>(name: string, value: T): Promise<T[]> => {
      const key = `${step++} ${name}`;
      let round = rounds.get(key);
      if (round === undefined) {
        let resolve = (): void => undefined;
        const done = new Promise<void>((r) => (resolve = r));
        rounds.set(key, (round = { values: [], count: 0, resolve, done }));
      }
      round.values[rank] = value;
      if (++round.count === world) round.resolve();
      await round.done;
      return round.values as T[];
    };
    return { allGather, barrier: async (name) => void (await allGather(name, null)) };
  });
}

/** Open descriptors of this process. */
export function openDescriptors(): number {
  return readdirSync("/proc/self/fd").length;
}

/** Folders where Python keeps packages, PYTHONPATH included. */
function pythonFolders(): string[] {
  try {
    const list = execFileSync("python3", ["-c", "import sys;print('\\n'.join(sys.path))"], { encoding: "utf8" });
    return [...list.split("\n").filter(Boolean), ...(process.env["PYTHONPATH"] ?? "").split(":").filter(Boolean)];
  } catch {
    return [];
  }
}

export function pythonHeader(relative: string): string | null {
  return (
    pythonFolders()
      .map((folder) => path.join(folder, relative))
      .find((file) => existsSync(file)) ?? null
  );
}

export function cudaHeader(): string | null {
  const homes = ["/usr/local/cuda", "/usr/local/cuda-13.0", "/usr/local/cuda-12.9"];
  return homes.map((home) => `${home}/include/cuda.h`).find((file) => existsSync(file)) ?? null;
}

/** NVRTC and its builtins, or null. */
export async function nvrtcLibrary(): Promise<{ library: string; builtins: string } | null> {
  const { found } = await findNvrtc();
  return found === null || found.builtins === null ? null : { library: found.path, builtins: found.builtins };
}

/** Lines of a JSON-lines file. */
export function jsonLines(file: string): unknown[] {
  return readFileSync(file, "utf8")
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line) as unknown);
}

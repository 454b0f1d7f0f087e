/** Signals reach Node, and do there what they do without collc: during and after calls of libraries that take them. */
import { spawn } from "node:child_process";
import path from "node:path";
import { afterAll, describe, expect, it } from "vitest";

import { buildFolder, fakeDriver, nvrtcLibrary } from "./support.js";

const script = path.join(import.meta.dirname, "signal-child.mjs");
/** Where the addon in use is, with the fakes beside it. */
const built = (file: string): string => path.join(buildFolder, file);
const real = await nvrtcLibrary();

const running = new Set<number>();
afterAll(() => running.forEach((pid) => process.kill(pid, "SIGKILL")));

interface End {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly out: string;
}

/** Starts a child, sends `signal` once it is ready, and waits for its end; no end for minutes is the fault looked for. */
function signalled(args: readonly string[], signal: NodeJS.Signals): Promise<End> {
  return new Promise((resolve) => {
    const child = spawn(process.execPath, [script, built("collc.node"), ...args], {
      env: { ...process.env, FAKE_DRIVER: fakeDriver },
      stdio: ["ignore", "pipe", "inherit"],
    });
    running.add(child.pid!);
    let out = "";
    let killer: NodeJS.Timeout | undefined;
    child.stdout.setEncoding("utf8").on("data", (text: string) => {
      out += text;
      if (killer !== undefined || !out.includes("ready\n")) return;
      child.kill(signal);
      killer = setTimeout(() => child.kill("SIGKILL"), 300_000);
    });
    child.on("close", (code, how) => {
      clearTimeout(killer);
      running.delete(child.pid!);
      resolve({ code, signal: how, out });
    });
  });
}

const fakeNvrtc = [built("fake-nvrtc/libnvrtc.so.99"), built("fake-nvrtc/libnvrtc-builtins.so.99.0")];

describe.each([
  ["NVRTC", "nvrtc", real === null ? null : [real.library, real.builtins]],
  ["a fake NVRTC", "nvrtc", fakeNvrtc],
  ["a fake NCCL", "nccl", [built("fake-nccl/libnccl.so.2")]],
  ["a fake NVSHMEM", "nvshmem", [built("fake-nvshmem/libnvshmem_host.so.3")]],
])("%s", (_name, job, library) => {
  const times = job === "nvrtc" ? ["during", "after"] : ["after"];

  it.skipIf(library === null)("leaves signals to Node, which dies of them", async () => {
    for (const when of times) {
      for (const signal of ["SIGINT", "SIGTERM"] as const) {
        const end = await signalled([job, when, "none", ...library!], signal);
        expect({ when, ...end }).toEqual({ when, code: null, signal, out: "ready\n" });
      }
    }
  });

  it.skipIf(library === null)("leaves listeners where they are", async () => {
    for (const when of times) {
      for (const signal of ["SIGINT", "SIGUSR2"] as const) {
        const end = await signalled([job, when, "listen", ...library!], signal);
        expect({ when, ...end }).toEqual({ when, code: 9, signal: null, out: `ready\nheard ${signal}\n` });
      }
    }
  });

  if (job === "nvrtc") {
    it.skipIf(library === null)("hears of listeners that come meanwhile", async () => {
      const end = await signalled([job, "during", "late", ...library!], "SIGINT");
      expect(end).toEqual({ code: 9, signal: null, out: "ready\nheard SIGINT\n" });
    });
  }
});

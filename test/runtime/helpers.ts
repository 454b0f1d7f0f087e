/** What the runtime's tests share: real child processes on today's source, and proof that nothing is left behind. */
import { type ChildProcess, spawn } from "node:child_process";
import { createHash, randomBytes } from "node:crypto";
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  renameSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import ts from "typescript";
import { afterEach, beforeEach, expect } from "vitest";

const root = resolve(import.meta.dirname, "../..");
/** Of `src/runtime`, but for the first. */
const modules = [
  "../errors",
  "at-exit",
  "atomic-file",
  "bootstrap",
  "env",
  "errors",
  "exchange",
  "hosts",
  "jit-cache",
  "launcher",
  "nvrtc",
  "open-store",
  "python",
  "remote-hosts",
  "store",
  "store-address",
  "store-client",
  "store-core",
  "store-file",
  "store-host",
  "store-server",
  "store-wire",
  "trust",
  "watch-launcher",
];

/** Transpiles the runtime's sources for plain Node children; one folder a content, so test files may race. */
export function transpiledRuntime(): (module: string) => string {
  const sources = modules.map((name) => readFileSync(join(root, "src/runtime", `${name}.ts`), "utf8"));
  const hash = createHash("sha256").update(sources.join("\0")).digest("hex").slice(0, 16);
  const base = join(root, ".out/test-runtime");
  const folder = join(base, hash);
  if (!existsSync(folder)) {
    mkdirSync(base, { recursive: true });
    const aside = mkdtempSync(join(base, "new-"));
    mkdirSync(join(aside, "runtime"));
    const compilerOptions = { target: ts.ScriptTarget.ES2022, module: ts.ModuleKind.ESNext };
    sources.forEach((source, i) => {
      const { outputText } = ts.transpileModule(source, { compilerOptions });
      writeFileSync(join(aside, "runtime", `${modules[i]}.js`), outputText);
    });
    try {
      renameSync(aside, folder);
    } catch {
      rmSync(aside, { recursive: true }); // another test file was faster
    }
    for (const name of readdirSync(base))
      if (name !== hash && !name.startsWith("new-")) rmSync(join(base, name), { recursive: true, force: true });
  }
  return (module) => pathToFileURL(join(folder, "runtime", `${module}.js`)).href;
}

/** A test's own folder, which is TMPDIR for all it starts, and a mark that its processes carry. */
export interface Sandbox {
  readonly directory: string;
  readonly mark: string;
  /** Writes a module; `@name` in quotes stands for a module of the runtime. @returns its path. */
  script(name: string, source: string): string;
  /** For the one case where a run's folder stays until the next run sweeps it. */
  forgetRunDirectories(): void;
  /** Starts Node on a script. */
  node(script: string, args?: readonly string[], env?: Record<string, string | undefined>): Child;
}

/** A started process and what it has printed. */
export interface Child {
  readonly process: ChildProcess;
  readonly pid: number;
  readonly ended: Promise<{ code: number | null; signal: NodeJS.Signals | null }>;
  output(): string;
  /** Waits until the output matches. */
  says(pattern: RegExp, timeoutMs?: number): Promise<RegExpMatchArray>;
}

/** Sets up a sandbox for each test and asserts afterwards that no process and no file is left. */
export function useSandbox(): Sandbox {
  const runtime = transpiledRuntime();
  let directory = "";
  let mark = "";
  const oldTmp = process.env["TMPDIR"];
  beforeEach(() => {
    delete process.env["TMPDIR"];
    directory = mkdtempSync(join(tmpdir(), "collc-test-"));
    mark = `mark-${randomBytes(8).toString("hex")}`;
    mkdirSync(join(directory, "tmp"));
    process.env["TMPDIR"] = join(directory, "tmp");
    process.env["COLLC_TEST_MARK"] = mark;
  });
  afterEach(async () => {
    delete process.env["COLLC_TEST_MARK"];
    if (oldTmp === undefined) delete process.env["TMPDIR"];
    else process.env["TMPDIR"] = oldTmp;
    await until(() => processesWith(mark).length === 0, 3000).catch(() => {});
    const processes = processesWith(mark);
    const files = readdirSync(join(directory, "tmp"));
    for (const pid of processes) process.kill(pid, "SIGKILL");
    rmSync(directory, { recursive: true, force: true });
    expect({ processes, files }).toEqual({ processes: [], files: [] });
  });
  return {
    get directory() {
      return directory;
    },
    get mark() {
      return mark;
    },
    script(name, source) {
      const path = join(directory, name);
      writeFileSync(
        path,
        source.replace(/"@([\w-]+)"/g, (_, module: string) => JSON.stringify(runtime(module))),
      );
      return path;
    },
    forgetRunDirectories() {
      for (const name of readdirSync(join(directory, "tmp"))) rmSync(join(directory, "tmp", name), { recursive: true });
    },
    node(script, args = [], env = {}) {
      const child = spawn(process.execPath, [script, ...args], {
        env: { ...process.env, ...env } as Record<string, string>,
        stdio: ["ignore", "pipe", "pipe"],
      });
      let text = "";
      for (const stream of [child.stdout, child.stderr])
        stream.setEncoding("utf8").on("data", (part) => (text += part));
      const ended = new Promise<{ code: number | null; signal: NodeJS.Signals | null }>((done) => {
        child.once("close", (code, signal) => done({ code, signal }));
      });
      return {
        process: child,
        pid: child.pid!,
        ended,
        output: () => text,
        async says(pattern, timeoutMs = 8000) {
          await until(
            () => pattern.test(text),
            timeoutMs,
            () => `no ${pattern} in: ${text}`,
          );
          return pattern.exec(text)!;
        },
      };
    },
  };
}

/** Polls. */
export async function until(
  isDone: () => boolean,
  timeoutMs: number,
  message = () => "it did not come",
): Promise<void> {
  // A machine that many share takes longer; what never comes is told all the same.
  const deadline = performance.now() + Math.max(timeoutMs, 120_000);
  while (!isDone()) {
    if (performance.now() > deadline) throw new Error(message());
    await new Promise((done) => setTimeout(done, 20));
  }
}

/** Ids of the processes that carry a mark in their environment, this one excepted. */
export function processesWith(mark: string): number[] {
  return readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name) && Number(name) !== process.pid)
    .filter((pid) => {
      try {
        return readFileSync(`/proc/${pid}/environ`, "latin1").includes(mark);
      } catch {
        return false;
      }
    })
    .map(Number);
}

/** The message of a rejection; fails when there is none. */
export async function rejection(promise: Promise<unknown>): Promise<Error & { code?: string; help?: string }> {
  return promise.then(
    () => {
      throw new Error("it should have failed");
    },
    (error: unknown) => error as Error,
  );
}

/** Runs `collc` inside the test process, or as a process of its own. */
import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { chmodSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, onTestFinished } from "vitest";
import type { Io } from "../../src/cli/io.js";
import { main } from "../../src/cli/main.js";
import { packageRoot } from "../../src/runtime/native.js";

export interface Outcome {
  readonly code: number | null;
  readonly out: string;
  readonly err: string;
  readonly signal?: NodeJS.Signals | null;
}

/** One command line, in this process, without a terminal and without the variables of a launcher. */
export async function collc(
  argv: readonly string[],
  options: { env?: Record<string, string>; stdin?: string | Uint8Array } = {},
): Promise<Outcome> {
  let out = "";
  let err = "";
  let stdin = Buffer.from(options.stdin ?? "");
  const stream = (write: (text: string) => void): Io["out"] => ({ write, isTTY: false, columns: 100 });
  const io: Io = {
    out: stream((text) => (out += text)),
    err: stream((text) => (err += text)),
    env: options.env ?? {},
    // What was read is gone.
    readStdin: () => {
      const all = stdin;
      stdin = Buffer.from("");
      return all;
    },
  };
  const code = await main(argv, io);
  return { code, out, err };
}

/** The built command. Tests that need it are skipped without it, except on build machines. */
export const entry = join(packageRoot(), "dist/src/cli/main.js");
export const isBuilt = existsSync(entry) || process.env["CI"] === "true";

/**
 * Copies the built command, its packages, kernels and libraries to `folder`, which other users may enter: this clone may lie where
 * they may not, as in a home or under `mktemp -d`. Gives the copy's command.
 */
export function copyForOthers(folder: string): string {
  const root = packageRoot();
  const { packages } = JSON.parse(readFileSync(join(root, "package-lock.json"), "utf8")) as {
    packages: Record<string, { dev?: boolean }>;
  };
  const wanted = Object.keys(packages).filter(
    (path) => !packages[path]!.dev && /^node_modules\/(@[^/]+\/)?[^/]+$/.test(path),
  );
  const files = [
    "package.json",
    "dist/src",
    "dist/grammar",
    "aot",
    "kernels",
    "build/Release/collc.node",
    "build/Release/fake-nvrtc",
  ];
  mkdirSync(folder, { recursive: true });
  // As cpSync would in three times the time.
  execFileSync("cp", ["-rL", "--parents", ...[...files, ...wanted].filter((path) => existsSync(join(root, path))), folder], { cwd: root }); // prettier-ignore
  chmodSync(folder, 0o755);
  return join(folder, "dist/src/cli/main.js");
}

/** One command line as a process. `onStart` may signal it. */
export function collcProcess(
  argv: readonly string[],
  options: { env?: NodeJS.ProcessEnv; onStart?: (child: ChildProcess) => void } = {},
): Promise<Outcome> {
  return new Promise((resolve) => {
    const child = spawn(process.execPath, [entry, ...argv], {
      env: { ...process.env, ...options.env },
      stdio: ["ignore", "pipe", "pipe"],
    });
    let out = "";
    let err = "";
    child.stdout.setEncoding("utf8").on("data", (text: string) => (out += text));
    child.stderr.setEncoding("utf8").on("data", (text: string) => (err += text));
    child.on("close", (code, signal) => resolve({ code, out, err, signal }));
    options.onStart?.(child);
  });
}

/** A folder that goes away with the test, or, asked for outside of one, with the test file. */
export function temporaryFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), "collc-test-cli-"));
  const remove = (): void => rmSync(folder, { recursive: true, force: true });
  try {
    onTestFinished(remove);
  } catch {
    afterAll(remove); // it is asked for outside of a test
  }
  return folder;
}

/** Writes a file into a folder and gives its path. */
export function file(folder: string, name: string, content: string | Uint8Array): string {
  const path = join(folder, name);
  writeFileSync(path, content);
  return path;
}

/** A correct all-reduce. */
export const oneShot = `collective one_shot(x: T[n] partial(sum)) -> y: T[n] replicated {
  for i in tiles(n) {
    y[i] = sum(p in ranks) x@p[i]
  }
}
`;
/** Its rank forgets the others: what it computes is not what its signature says. */
export const forgetful = `collective forgetful(x: T[n] partial(sum)) -> y: T[n] replicated {
  for i in tiles(n) {
    y[i] = x[i]
  }
}
`;
export const kernel = (name: string): string => join(packageRoot(), "kernels", `${name}.coll`);

/** What others may have written is not read, and their code is not loaded. */
import { execFile, execFileSync, spawnSync } from "node:child_process";
import { chmodSync, chownSync, mkdirSync, readdirSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeEach, describe, expect, it } from "vitest";
import { describeFailure } from "../../src/cli/failure.js";
import { MachineError } from "../../src/runtime/errors.js";
import { JitCache, cacheDirectory } from "../../src/runtime/jit-cache.js";
import { findNvrtc, pinnedNvrtc, setupDirectory, setupNvrtc } from "../../src/runtime/nvrtc.js";
import { distrust, readOwnFile } from "../../src/runtime/trust.js";
import { copyForOthers } from "../cli/support.js";
import { rejection, useSandbox } from "../runtime/helpers.js";

const sandbox = useSandbox();
// The sandbox itself is for nobody else, which would hide what the tests are about.
beforeEach(() => chmodSync(sandbox.directory, 0o755));
const isRoot = process.getuid?.() === 0;
/** Some other user's number; only root can give files away. */
const stranger = 12345;

const folder = (name: string, mode = 0o755): string => {
  const path = join(sandbox.directory, name);
  mkdirSync(path, { recursive: true });
  chmodSync(path, mode);
  return path;
};
const kernel = { bytes: Buffer.from("k".repeat(100)), meta: {} };

async function cached(directory: string): Promise<{ from: string; warnings: string[] }> {
  const warnings: string[] = [];
  const cache = new JitCache({ directory, onWarning: (message) => warnings.push(message) });
  const { from } = await cache.getOrBuild("key", () => kernel);
  return { from, warnings };
}

describe("distrust", () => {
  it("trusts what is this user's alone, and what is not there yet", () => {
    expect(distrust(folder("mine"))).toBeNull();
    expect(distrust(join(folder("mine"), "not/there"))).toBeNull();
  });

  it("names who could have written, in the path or above it", () => {
    const open = folder("open", 0o777);
    expect(distrust(open)).toBe(`others can write to ${open} (mode 777)`);
    const inner = folder("open/inner");
    expect(distrust(inner)).toBe(`others can write to ${open} (mode 777)`);
    const group = folder("group", 0o775);
    expect(distrust(group)).toMatch(/others can write to .*group \(mode 775\)/);
  });

  it("trusts a folder of one's own in a sticky one, as in /tmp", () => {
    folder("sticky", 0o1777);
    expect(distrust(folder("sticky/mine"))).toBeNull();
    expect(distrust(join(sandbox.directory, "sticky"))).toMatch(/others can write/);
  });

  it("does not mind modes where nobody else gets in", () => {
    folder("closed", 0o700);
    expect(distrust(folder("closed/loose", 0o777))).toBeNull();
  });

  it("follows links", () => {
    folder("open", 0o777);
    const target = folder("open/target");
    const link = join(folder("mine"), "link");
    symlinkSync(target, link);
    expect(distrust(link)).toMatch(/others can write to .*open/);
  });

  it.runIf(isRoot)("refuses what belongs to somebody else", () => {
    const theirs = folder("theirs", 0o700);
    chownSync(theirs, stranger, stranger);
    expect(distrust(theirs)).toBe(`${theirs} belongs to user ${stranger}, not to you (0)`);
  });
});

describe("the kernel cache", () => {
  it("is not used where others can write, and says what to do", async () => {
    const { warnings } = await cached(folder("cache", 0o777));
    expect(warnings).toHaveLength(1);
    expect(warnings[0]).toMatch(/not used.*others can write to .*cache \(mode 777\); chmod -R go-w .*COLLC_CACHE_DIR/);
    expect(readdirSync(join(sandbox.directory, "cache"))).toEqual([]);
    // Nor is what lies there read.
    const entries = folder("entries");
    expect(await cached(entries)).toEqual({ from: "built", warnings: [] });
    expect(await cached(entries)).toEqual({ from: "disk", warnings: [] });
    chmodSync(entries, 0o777);
    expect((await cached(entries)).from).toBe("built");
  });

  it("does not wait for FIFOs, devices, and links to them", async () => {
    const entries = folder("entries");
    const path = join(entries, "key.kernel");
    execFileSync("mkfifo", [path]);
    const fifo = await cached(entries);
    expect(fifo.from).toBe("built");
    expect(fifo.warnings.join()).toMatch(/not a file/);
    const linked = folder("linked");
    symlinkSync("/dev/zero", join(linked, "key.kernel"));
    expect((await cached(linked)).from).toBe("built");
  });

  it.runIf(isRoot)("does not read an entry of somebody else", async () => {
    const entries = folder("entries");
    await cached(entries);
    chownSync(join(entries, "key.kernel"), stranger, stranger);
    const { from, warnings } = await cached(entries);
    expect(from).toBe("built");
    expect(warnings.join()).toMatch(/belongs to user 12345/);
  });

  it("has a place without a home", () => {
    expect(cacheDirectory({ HOME: "/" })).toMatch(/collc-cache-\d+$/);
  });
});

describe("NVRTC in collc's own folder", () => {
  function fakeLibrary(): { env: Record<string, string>; library: string } {
    const env = {
      PATH: "/nowhere",
      COLLC_CACHE_DIR: join(sandbox.directory, "cache"),
      COLLC_PYTHON: "/nowhere/python3",
    };
    const lib = join(setupDirectory(env), "13.0.88/nvidia/cu13/lib");
    mkdirSync(lib, { recursive: true });
    for (const name of ["libnvrtc.so.13", "libnvrtc-builtins.so.13.0"])
      writeFileSync(join(lib, name), Buffer.from("\x7fELF rest", "latin1"));
    return { env, library: join(lib, "libnvrtc.so.13") };
  }
  const find = async (env: Record<string, string>) =>
    findNvrtc({ env, toolkitBase: join(sandbox.directory, "no-toolkit") });

  it("is loaded when it is this user's, and not when others could have put it there", async () => {
    const { env, library } = fakeLibrary();
    expect((await find(env)).found?.path).toBe(library);
    chmodSync(library, 0o777);
    const { found, attempts } = await find(env);
    expect(found?.source).not.toBe("collc setup");
    expect(attempts.find(({ path }) => path === library)?.outcome).toMatch(
      /not loaded: others can write to .*libnvrtc.so.13 .*; chmod -R go-w/,
    );
  });

  it("is no FIFO that is waited for", async () => {
    const { env, library } = fakeLibrary();
    execFileSync("rm", [library]);
    execFileSync("mkfifo", [library]);
    expect((await find(env)).attempts.find(({ path }) => path === library)?.outcome).toBe("not a shared library");
  });

  it("is not fetched into a folder of others", async () => {
    const env = { PATH: process.env["PATH"]!, COLLC_CACHE_DIR: folder("cache", 0o777) };
    const error = await rejection(setupNvrtc({ env }));
    expect(error).toBeInstanceOf(MachineError);
    expect(error.message).toMatch(/nothing is fetched into .*: others can write/);
  });
});

describe("collc setup nvrtc", () => {
  /** A Python that writes down how it was called, and fails to fetch. */
  function spy(): { env: Record<string, string>; calls: () => string } {
    const log = join(sandbox.directory, "calls");
    const python = join(sandbox.directory, "python3");
    const answer = `{"executable": "${python}", "version": "3.9.1", "packageDirectories": []}`;
    writeFileSync(
      python,
      `#!/bin/sh
echo "$*" >> "${log}"
for word in "$@"; do case "$word" in */requirements.txt) cat "$word" >> "${log}" ;; esac; done
case "$1 $*" in "-c "*) echo '${answer}' ;; *--version*) exit 0 ;; *) exit 1 ;; esac\n`,
    );
    chmodSync(python, 0o755);
    const env = { PATH: process.env["PATH"]!, COLLC_CACHE_DIR: join(sandbox.directory, "cache"), COLLC_PYTHON: python };
    return { env, calls: () => execFileSync("cat", [log], { encoding: "utf8" }) };
  }

  it("runs pip isolated from the current folder, for one version with its hash", async () => {
    const { env, calls } = spy();
    await rejection(setupNvrtc({ env }));
    const lines = calls().split("\n");
    const pips = lines.filter((line) => line.includes("-m pip"));
    expect(pips.length).toBeGreaterThan(1);
    for (const line of pips) expect(line).toMatch(/^-I -m pip /);
    if (process.arch === "x64") {
      expect(pips.at(-1)).toContain("--require-hashes");
      expect(lines).toContain(`${pinnedNvrtc.requirement} --hash=sha256:${pinnedNvrtc.sha256["x64"]}`);
    }
  });

  it("does not run a pip.py of the current folder", () => {
    const place = folder("place");
    const marker = join(place, "ran");
    writeFileSync(join(place, "pip.py"), `open(${JSON.stringify(marker)}, "w")\n`);
    const { status } = spawnSync("python3", ["-I", "-m", "pip", "--version"], { cwd: place });
    expect(status === null).toBe(false);
    expect(readdirSync(place)).toEqual(["pip.py"]);
  });
});

describe("bug reports", () => {
  it("have names that nobody can foresee, and never go into a file that is there", () => {
    const paths = [1, 2].map(() => /with (\/\S+), which/.exec(describeFailure(new Error("x")).help ?? "")?.[1] ?? "");
    expect(paths[0]).toMatch(/collc-bug-.*-[0-9a-f]{16}\.txt$/);
    expect(paths[0]).not.toBe(paths[1]);
    for (const path of paths) {
      expect(statSync(path).mode & 0o777).toBe(0o600);
      execFileSync("rm", [path]);
    }
  });
});

describe("a file of one's own", () => {
  it("is an ordinary one, and no link", () => {
    const path = join(folder("mine"), "file");
    writeFileSync(path, "text");
    expect(readOwnFile(path, "").toString()).toBe("text");
    symlinkSync(path, `${path}-link`);
    expect(() => readOwnFile(`${path}-link`, "")).toThrow(/ELOOP/);
    expect(() => readOwnFile(folder("mine"), "")).toThrow(/not a file/);
    chmodSync(path, 0o666);
    expect(() => readOwnFile(path, "what to do")).toThrow(/others can write/);
  });
});

describe.runIf(isRoot)("a user without a name", () => {
  it("can use collc, doctor too", async () => {
    const built = copyForOthers(folder("collc"));
    const out = await new Promise<{ code: number | null; text: string }>((resolve) => {
      const child = execFile(
        process.execPath,
        [built, "doctor"],
        { uid: 54321, gid: 54321, env: { PATH: process.env["PATH"] }, cwd: "/" },
        (_error, stdout, stderr) => resolve({ code: child.exitCode, text: stdout + stderr }),
      );
    });
    expect(out.text).not.toMatch(/bug in collc|ENOENT/);
    expect(out.text).toMatch(/collc-cache-54321/);
  });
});

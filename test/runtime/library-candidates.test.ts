/** Where NVSHMEM and NCCL are looked for, and in which order. */
import { chmodSync, mkdirSync, writeFileSync } from "node:fs";
import path from "node:path";
import { describe, expect, it } from "vitest";
import { ncclCandidates } from "../../src/runtime/nccl/index.js";
import { nvshmemCandidates } from "../../src/runtime/nvshmem/index.js";
import { rejection, useSandbox } from "./helpers.js";

const sandbox = useSandbox();

function file(...parts: readonly string[]): string {
  const at = path.join(sandbox.directory, ...parts);
  mkdirSync(path.dirname(at), { recursive: true });
  writeFileSync(at, "");
  return at;
}
const library = "libnvshmem_host.so.3";

describe("NVSHMEM", () => {
  it("is what COLLC_NVSHMEM names, a file or its folder, or nothing", async () => {
    const named = file("mine", library);
    for (const value of [named, path.dirname(named)])
      expect(await nvshmemCandidates({ COLLC_NVSHMEM: value })).toEqual([{ path: named, origin: "COLLC_NVSHMEM" }]);
    const error = await rejection(nvshmemCandidates({ COLLC_NVSHMEM: "/nowhere" }));
    expect(error.message).toBe("COLLC_NVSHMEM=/nowhere: there is no /nowhere");
  });

  it("is in NVSHMEM_HOME, then the toolkit, then Python's packages, then with the loader", async () => {
    const home = file("home", "lib", library);
    const toolkit = file("cuda", "lib64", library);
    const site = path.join(sandbox.directory, "site-packages");
    const wheel = file("site-packages", "nvidia/nvshmem/lib", library);
    const python = file("bin", "python3");
    const answer = JSON.stringify({ executable: python, version: "3.12.0", packageDirectories: [site] });
    writeFileSync(python, `#!/bin/sh\necho '${answer}'\n`);
    chmodSync(python, 0o755);
    const found = await nvshmemCandidates({
      NVSHMEM_HOME: path.join(sandbox.directory, "home"),
      CUDA_HOME: path.join(sandbox.directory, "cuda"),
      COLLC_PYTHON: python,
      PATH: process.env["PATH"],
    });
    // What is installed on this machine comes after Python's.
    expect(found.slice(0, 3)).toEqual([
      { path: home, origin: "NVSHMEM_HOME" },
      { path: toolkit, origin: "CUDA_HOME" },
      { path: wheel, origin: "python" },
    ]);
    expect(found.at(-1)).toEqual({ path: library, origin: "loader" });
  });
});

it("NCCL falls back on the loader", async () => {
  const found = await ncclCandidates({ COLLC_PYTHON: "/nowhere/python3", PATH: "/nowhere" });
  expect(found.at(-1)).toEqual({ path: "libnccl.so.2", origin: "loader" });
});

import { execFileSync } from "node:child_process";
import { copyFileSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterAll, describe, expect, it } from "vitest";

import { openCuda } from "../../src/runtime/cuda/device.js";
import { MachineError } from "../../src/runtime/errors.js";
import { addonCandidates, isNativeError, loadAddon, native, packageRoot } from "../../src/runtime/native.js";
import { openNccl, versionText } from "../../src/runtime/nccl/index.js";

const folder = mkdtempSync(path.join(tmpdir(), "collc-addon-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const addon = path.join(packageRoot(), "build/Release/collc.node");

const caught = (action: () => unknown): unknown => {
  try {
    action();
  } catch (error) {
    return error;
  }
  throw new Error("nothing was thrown");
};

describe("loading", () => {
  it("finds the addon from the package's root", () => {
    expect(addonCandidates({})).toEqual([addon]);
    expect(addonCandidates({ COLLC_ADDON: "/elsewhere/collc.node" })).toEqual(["/elsewhere/collc.node"]);
    expect(Object.keys(native()).length).toBeGreaterThan(70);
  });

  it("says every path it tried and how to build", () => {
    const broken = path.join(folder, "broken.node");
    writeFileSync(broken, "not a library");
    const error = caught(() => loadAddon([path.join(folder, "absent.node"), broken])) as MachineError;
    expect(error).toBeInstanceOf(MachineError);
    expect(error.message).toContain("absent.node: not there");
    expect(error.message).toMatch(/broken\.node: .*(too short|invalid ELF)/);
    expect(error.help).toContain("npm run build:native");
  });

  it("goes on to the next candidate", () => {
    const copy = path.join(folder, "copy.node");
    copyFileSync(addon, copy);
    expect(loadAddon([path.join(folder, "absent.node"), copy]).openCuda).toBeTypeOf("function");
  });
});

describe("without a GPU", () => {
  it("says which drivers were tried", () => {
    const error = caught(() => openCuda(["/nowhere/libcuda.so.1", "libnot-cuda.so"])) as MachineError;
    expect(error).toBeInstanceOf(MachineError);
    expect(error.message).toMatch(/libcuda\.so\.1: cannot open shared object file/);
    expect(error.message).toContain("libnot-cuda.so");
    expect(error.help).toContain("--backend cpu");
  });

  it("refuses a library that is no driver", () => {
    const error = caught(() => openCuda(["libc.so.6"])) as MachineError;
    expect(error.message).toContain("lacks cuInit");
    expect(error.help).toContain("update the NVIDIA driver");
  });

  it("refuses calls before the driver is open", () => {
    const error = caught(() => native().deviceCount());
    expect(isNativeError(error) && [error.library, error.codeName]).toEqual(["collc", "NOT_OPEN"]);
  });

  it("tells wrong argument types from values", () => {
    expect(() => native().streamDestroy("1" as never)).toThrow(TypeError);
    expect(() => native().streamDestroy(-1 as never)).toThrow(RangeError);
    expect(() => native().memoryFree(1 as never)).toThrow(TypeError);
    expect(() => native().memoryFree(-1n)).toThrow(RangeError);
    expect(() => native().streamDestroy(7 as never)).toThrow("stream 7 is not open");
  });
});

describe("NCCL", () => {
  it("says where it looked", async () => {
    await expect(openNccl({ env: { COLLC_NCCL: "/nowhere" } })).rejects.toThrow(MachineError);
    const broken = path.join(folder, "libnccl.so.2");
    writeFileSync(broken, "no");
    await expect(openNccl({ env: { COLLC_NCCL: folder } })).rejects.toThrow(/libnccl\.so\.2/);
  });

  it("writes versions as people do", () => {
    expect(versionText(23007)).toBe("2.30.7");
    expect(versionText(2708)).toBe("2.7.8");
  });
});

/** "2.17" before "2.31". */
const newer = (a: string, b: string) => a.localeCompare(b, "en", { numeric: true }) > 0;

describe("the binary", () => {
  const dump = execFileSync("objdump", ["-T", addon], { encoding: "utf8" });

  it("asks for no glibc newer than 2.31", () => {
    const versions = [...new Set([...dump.matchAll(/GLIBC_([\d.]+)/g)].map((match) => match[1]!))];
    expect(versions.length).toBeGreaterThan(1);
    expect(versions.filter((version) => newer(version, "2.31"))).toEqual([]);
  });

  it("exports only what Node looks up, so that node's own C++ library replaces nothing in it", () => {
    const exported = [...dump.matchAll(/^\S+ [gwu]\S*\s.*\.(?:text|data|bss|rodata)\S*\s.* (\S+)$/gm)].map(
      (match) => match[1],
    );
    expect(exported.sort()).toEqual(["napi_register_module_v1", "node_api_module_get_api_version_v1"]);
  });

  it("brings its own C++ library and needs nothing of CUDA", () => {
    const needed = execFileSync("objdump", ["-p", addon], { encoding: "utf8" }).match(/NEEDED\s+\S+/g) ?? [];
    expect(needed.join(" ")).not.toMatch(/stdc\+\+|cuda|nvrtc|nccl/);
    expect(dump).not.toContain("GLIBCXX");
  });
});

import { describe, expect, it } from "vitest";

import { native } from "../../src/runtime/native.js";
import { nvrtcLibrary } from "./support.js";

const found = await nvrtcLibrary();
if (found === null) console.warn("NVRTC tests are skipped: there is no libnvrtc; `collc setup nvrtc` fetches it");

describe("NVRTC", () => {
  it("is there on build machines", () => {
    if (process.env["CI"] === "true") expect(found).not.toBeNull();
  });

  it("says what could not be opened", () => {
    expect(() => native().openNvrtc("/nowhere/libnvrtc.so.13")).toThrow(/NVRTC could not be opened.*nowhere/);
    expect(() => native().openNvrtc("/nowhere/a.so", "/nowhere/builtins.so")).toThrow(/builtins could not be opened/);
    expect(() => native().nvrtcVersion()).toThrow("NVRTC is not open");
  });

  const kernel = `extern "C" __global__ void scale(float* x, float by, long long n) {
    long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x;
    if (i < n) x[i] *= by;
  }`;

  it.skipIf(found === null)("compiles to cubin and PTX", async () => {
    const { major } = native().openNvrtc(found!.library, found!.builtins);
    expect(major).toBeGreaterThanOrEqual(12);
    expect(native().nvrtcSupportedArchs()).toContain(90);
    // Several at once: each has its own thread.
    const results = await Promise.all(
      ["sm_80", "sm_90a"].map((arch) => native().nvrtcCompile(kernel, "scale.cu", [`-arch=${arch}`])),
    );
    results.forEach((result, i) => {
      expect(result.ok, result.log).toBe(true);
      expect([...result.cubin!.subarray(0, 4)]).toEqual([0x7f, 0x45, 0x4c, 0x46]);
      expect(result.ptx).toContain(`.target sm_${["80", "90a"][i]}`);
      expect(result.ptx!.endsWith("\0")).toBe(false);
    });
    const virtual = await native().nvrtcCompile(kernel, "scale.cu", ["-arch=compute_90"]);
    expect(virtual.ok).toBe(true);
    expect(virtual.cubin).toBeUndefined();
    expect(virtual.ptx).toContain(".entry scale");
  });

  it.skipIf(found === null)("gives the log of what does not compile", async () => {
    native().openNvrtc(found!.library, found!.builtins);
    const wrong = await native().nvrtcCompile("__global__ void k() { undefined_name = 1; }", "wrong.cu", [
      "-arch=sm_80",
    ]);
    expect(wrong).toMatchObject({ ok: false, codeName: "NVRTC_ERROR_COMPILATION" });
    expect(wrong.log).toMatch(/wrong\.cu\(1\): error: identifier "undefined_name" is undefined/);
    expect(wrong.cubin).toBeUndefined();
    const option = await native().nvrtcCompile(kernel, "k.cu", ["--no-such-option"]);
    expect(option).toMatchObject({ ok: false, codeName: "NVRTC_ERROR_INVALID_OPTION" });
    expect(() => native().openNvrtc("/another/libnvrtc.so")).toThrow(/already open/);
  });
});

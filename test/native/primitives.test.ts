/** The kernels behind signals, compiled for real. */
import { expect, it } from "vitest";
import { primitivesText } from "../../src/runtime/cuda/primitives.js";
import { compileCuda } from "../../src/runtime/program.js";
import { nvrtcLibrary } from "./support.js";

it.skipIf((await nvrtcLibrary()) === null && process.env["CI"] === undefined)(
  "compile for every architecture, without a warning and without spills",
  async () => {
    for (const arch of ["sm_80", "sm_90a", "sm_100a"]) {
      const { cubin, ptx, log } = await compileCuda(primitivesText(), arch);
      expect(cubin.length).toBeGreaterThan(1000);
      expect(log).not.toMatch(/warning|[1-9]\d* bytes spill/);
      // Signals cross GPUs, so they are released and acquired at system scope.
      expect(ptx).toContain("red.release.sys.global.add.u32");
      expect(ptx).toContain("ld.acquire.sys.global.u32");
      expect(ptx).toContain("ld.acquire.sys.global.u64");
      expect(ptx).toContain("st.release.sys.global.u32");
    }
  },
);

/** What is printed of programs that follow the grammar and the rules, NVRTC compiles. */
import { expect, test } from "vitest";
import { compileCuda, openNvrtc } from "../../src/runtime/program.js";
import { explore } from "./explore.js";
import { compileEach } from "./properties.js";
import { typedPrograms } from "./typed-programs.js";

const missing = await openNvrtc().then(
  () => null,
  (e: Error) => e.message,
);

test.skipIf(missing !== null)(
  "programs that follow the grammar and the rules print CUDA that compiles",
  { timeout: 3_600_000 },
  () =>
    // prettier-ignore
    explore({
    share: 0.15,
    runs: 40,
    least: 3,
    inputs: typedPrograms(0),
    // NVRTC takes 9 s for 77 KB of text (2026-11), which the largest programs come to; collc's own part has its bound in texts.test.ts.
    most: 20,
    show: (p) => `${p.ranks} ranks, ${p.dtype}\n${p.text}`,
    check: async ({ text, ranks, dtype }) => {
      for (const { kernels } of compileEach(text, ranks, dtype))
        // One of several: a compilation takes as long as a hundred programs without.
        for (const { cuda } of kernels.slice(-1)) {
          const { cubin } = await compileCuda(cuda, "sm_90a");
          expect([...cubin.subarray(0, 4)]).toEqual([0x7f, 0x45, 0x4c, 0x46]);
        }
    },
  }),
);

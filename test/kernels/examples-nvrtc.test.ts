/**
 * Examples of grammar/LANGUAGE.md, each kernel of them, through NVRTC: those of what no kernel of the library uses, and with
 * COLLC_TESTS=all every one.
 */
import { expect, it } from "vitest";
import { openNvrtc } from "../../src/runtime/program.js";
import { compileAll } from "../front-end/helpers.js";
import { EXAMPLES } from "../front-end/language.js";
import { isAll } from "../scope.js";
import { compiledCuda } from "./compiled-cuda.js";

const missing = await openNvrtc().then(
  () => null,
  (e: Error) => e.message,
);
const ARCH = "sm_90a";

/** Numbers of the launch, inputs that are changed in place, conversions over an axis, powers and indices. */
const SPECIAL = /: (f32|u32|i32)[,)]|\b(\w+): T\[.*->.*\b\2: T\[|over: |\b(iota|pow)\(/s;
const shown = EXAMPLES.filter((e) => e.error === null && (isAll || SPECIAL.test(e.text)));

for (const { text, line, section } of shown)
  it.skipIf(missing !== null)(`line ${line}, ${section}`, async () => {
    for (const program of compileAll(text, 4))
      for (const { cuda, manifest } of program.variants.length > 0
        ? program.variants.map((v) => v.compiled)
        : [program]) {
        const { cubin } = await compiledCuda(cuda!, ARCH);
        expect([...cubin.subarray(0, 4)], manifest!.kernels[0]!.symbol).toEqual([0x7f, 0x45, 0x4c, 0x46]);
      }
  });

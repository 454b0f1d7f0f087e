/** Every shipped kernel checks clean, for every world and dtype it may be built for. */
import { describe, expect, test } from "vitest";
import { checkCollective, parseProgram } from "../../src/compiler/front-end.js";
import { DTYPE_NAMES, SourceFile } from "../../src/compiler/index.js";
import { importsFromDisk } from "../../src/runtime/imports.js";
import { allows, LIBRARY } from "../kernels/library.js";

describe("kernels check clean", () => {
  for (const { name: path, path: full, text } of LIBRARY)
    test(path, () => {
      const file = new SourceFile(full, text);
      const { program, diagnostics } = parseProgram(file);
      expect(diagnostics).toEqual([]);
      for (const world of [1, 2, 3, 4, 8])
        for (const dtype of DTYPE_NAMES)
          for (const { name } of program.collectives) {
            if (!allows({ name: path, path: full, text }, world, dtype)) continue;
            const options = { world, dtypes: { T: dtype }, file, resolve: importsFromDisk };
            const result = checkCollective(program, name.text, options);
            expect(result.diagnostics).toEqual([]);
            expect(result.checked?.dtypes).toMatchObject({ T: dtype });
          }
    });
});

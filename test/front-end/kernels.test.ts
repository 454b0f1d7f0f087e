/** Every shipped kernel checks clean, for every world and dtype it may be built for. */
import { describe, expect, test } from "vitest";
import { checkCollective, parseProgram } from "../../src/compiler/front-end.js";
import { DTYPE_NAMES, SourceFile } from "../../src/compiler/index.js";
import { LIBRARY } from "../kernels/library.js";

describe("kernels check clean", () => {
  for (const { name: path, text } of LIBRARY)
    test(path, () => {
      const file = new SourceFile(path, text);
      const { program, diagnostics } = parseProgram(file);
      expect(diagnostics).toEqual([]);
      for (const world of [1, 2, 3, 4, 8])
        for (const dtype of DTYPE_NAMES)
          for (const { name } of program.collectives) {
            const result = checkCollective(program, name.text, { world, dtypes: { T: dtype }, file });
            expect(result.diagnostics).toEqual([]);
            expect(result.checked?.dtypes).toEqual({ T: dtype });
          }
    });
});

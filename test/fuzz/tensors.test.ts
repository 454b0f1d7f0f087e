/** Programs of tensor expressions: what they compute, on 1 to 4 emulated ranks, is what their text says. */
import { test } from "vitest";
import { explore } from "./explore.js";
import { meshPrograms } from "./mesh-programs.js";
import { expectComputes } from "./properties.js";
import { tensorPrograms } from "./tensor-programs.js";

test("tensor expressions compute what they say", { timeout: 3_600_000 }, () =>
  explore({
    share: 0.25,
    runs: 500,
    least: 20,
    inputs: tensorPrograms(),
    show: (p) => `${p.ranks} ranks, ${p.dtype}\n${p.text}`,
    check: expectComputes,
  }),
);

test("tensor expressions over the axes of a mesh compute what they say", { timeout: 3_600_000 }, () =>
  explore({
    share: 0.15,
    runs: 300,
    least: 10,
    inputs: meshPrograms(),
    show: (p) => `${p.ranks} ranks, ${p.dtype}\n${p.text}`,
    check: expectComputes,
  }),
);

/** Programs of explicit loops: what they compute, on 1 to 4 emulated ranks, is what they say they compute. */
import { test } from "vitest";
import { explicitPrograms } from "./explicit-programs.js";
import { explore } from "./explore.js";
import { expectComputes } from "./properties.js";

test("explicit programs compute their ensures clauses", { timeout: 3_600_000 }, () =>
  explore({
    share: 0.3,
    runs: 600,
    least: 40,
    inputs: explicitPrograms(),
    show: (p) => `${p.ranks} ranks, ${p.dtype}\n${p.text}`,
    check: expectComputes,
  }),
);

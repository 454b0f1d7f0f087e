/**
 * Inputs of all kinds, one after the other, in the proportions of `kinds.ts`. It goes on after a finding, and lists all at the end.
 *
 * `FUZZ_INPUTS` says how many (1000), `FUZZ_SEED` which, `FUZZ_LOG` where a line is added for each finding and each thousand inputs:
 *
 *   FUZZ_INPUTS=1000000 FUZZ_LOG=fuzz.jsonl COLLC_TESTS=all npx vitest run test/fuzz/many.long.test.ts
 */
import { appendFileSync } from "node:fs";
import fc from "fast-check";
import { expect, test } from "vitest";
import { processorSeconds } from "../processor.js";
import { SEED } from "./explore.js";
import { KINDS } from "./kinds.js";
import { guard } from "./watchdog.js";

const INPUTS = Number(process.env["FUZZ_INPUTS"] ?? 1000);
const LOG = process.env["FUZZ_LOG"];
const SECONDS_PER_INPUT = 20;

const note = (what: object): void => {
  if (LOG !== undefined) appendFileSync(LOG, JSON.stringify(what) + "\n");
};

test(`${INPUTS} inputs of all kinds, seed ${SEED}`, { timeout: 24 * 3_600_000 }, async () => {
  const counts = new Map<string, { inputs: number; seconds: number }>();
  const findings = new Map<string, string>();
  const only = process.env["FUZZ_KIND"];
  const kinds = KINDS.filter((k) => only === undefined || k.name === only);
  const total = kinds.reduce((sum, k) => sum + k.weight, 0);
  for (let round = 0; round * total < INPUTS; round++) {
    const seed = (SEED + round) % 2 ** 31;
    for (const { name, weight, inputs, show, check } of kinds) {
      const count = counts.get(name) ?? { inputs: 0, seconds: 0 };
      counts.set(name, count);
      const start = processorSeconds();
      for (const input of fc.sample(inputs, { seed, numRuns: weight })) {
        const before = processorSeconds();
        count.inputs++;
        try {
          await guard(show(input), () => check(input));
          const took = processorSeconds() - before;
          if (took > SECONDS_PER_INPUT) throw new Error(`took ${took.toFixed(1)} s`);
        } catch (error) {
          const said = error instanceof Error ? (error.stack ?? error.message) : String(error);
          const place = /\(?(\S+\/(?:src|grammar)\/\S+?):\d+\)?$/m.exec(said)?.[1] ?? said.split("\n")[0]!;
          const key = `${name}: ${place}`;
          if (!findings.has(key)) {
            findings.set(key, `${said}\n${show(input)}`);
            note({ finding: key, seed, said, input: show(input) });
          } else note({ again: key, seed });
        }
      }
      count.seconds += processorSeconds() - start;
    }
    note({ seed: SEED, round, counts: Object.fromEntries(counts) });
  }
  for (const [name, { inputs, seconds }] of counts) console.log(`${name}: ${inputs} inputs, ${seconds.toFixed(1)} s`);
  expect([...findings].map(([key, said]) => `${key}\n${said}`).join("\n\n")).toBe("");
});

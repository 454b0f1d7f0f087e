/** Several accesses to one element: messages leave what the last of them stored, and bring what was there before, or the program is refused. */
import { describe, expect, it } from "vitest";
import { compile } from "../../src/compiler/index.js";
import { outputs } from "./programs.js";

const RANKS = 4;
const NEXT = "(rank + 1) % world";

const program = (body: string): string => `collective made(x: f32[n] local) -> y: f32[n] local {
  scratch a: f32[n]
  scratch c: f32[world, n]
  for i in tiles(n) { y[i] = x[i] a[i] = x[i] for p in ranks { c[p, i] = x[i] } }
  ${body}
  for i in tiles(n) { y[i] = y[i] + a[i] + sum(p in ranks) c[p, i] * f32(p + 1) }
}`;

const compiled = (body: string, ranksPerDomain: number) =>
  compile(program(body), { ranks: RANKS, dtype: "f32", reach: { ranksPerDomain } });

describe("are refused", () => {
  const ITERATIONS =
    /^this store of '\w+' cannot go to ranks of other domains: iterations of a loop may store to one element/;
  const PLACES = /: one loop stores to 'y' in two places, and messages do not say which of them is last/;
  const SENDERS =
    /: ranks may store to one element of 'y' in iterations of one loop, and messages do not say which is last/;
  const TO_AND_FRO = /: 'y' goes to and fro in one loop/;
  const LOADED_LATER = /: 'y' is stored to on peers in the same loop, before it is loaded or in other iterations/;
  it.each<[string, string, RegExp]>([
    [
      "in turns inside tiles, under a condition",
      `for i in tiles(n) { for t in 0..4 { if t % 2 == 0 { y@(${NEXT})[i] = x[i] + f32(t) } } }`,
      ITERATIONS,
    ],
    [
      "in turns around tiles, under a condition of each rank",
      `for t in 0..n / 2 { for i in tiles(n) { if (t + rank) % 2 == 0 { for p in ranks { y@p[i] = x[i] + f32(t) } } } }`,
      ITERATIONS,
    ],
    [
      "in turns that share a row",
      `for i in tiles(n) { for t in 0..6 { c@(${NEXT})[t / 2, i] = x[i] + f32(t) } }`,
      ITERATIONS,
    ],
    [
      "in turns whose tiles meet",
      `for t in 0..n / 8 { for i in tiles(n / 2) { y@(${NEXT})[i + t] = x[i] + f32(t) } }`,
      ITERATIONS,
    ],
    [
      "by two stores",
      `for i in tiles(n) { for t in 0..2 { y@(${NEXT})[i] = x[i] + f32(t) if t == 0 { y@(${NEXT})[i] = x[i] + 100 } } }`,
      PLACES,
    ],
    [
      "by a store of each rank's own and one from another",
      `for t in 0..n / 2 { for i in tiles(n) { y@(${NEXT})[i] = x[i] } for i in tiles(n) { y[i] = x[i] + 1 } }`,
      PLACES,
    ],
    ["by ranks in turns", `for p in ranks { for i in tiles(n) { y@((rank + p) % world)[i] = x[i] } }`, SENDERS],
    [
      "that ranks load again in later turns",
      `for p in ranks { for i in tiles(n) { if rank == (p + 1) % world { y@p[i] = y[i] + 1 } } }`,
      TO_AND_FRO,
    ],
    [
      "that are loaded after it in the same iteration",
      `for i in tiles(n) { y@(${NEXT})[i] = x[i] a[i] = y@(${NEXT})[i] }`,
      LOADED_LATER,
    ],
    [
      "that are loaded in a turn of the same iteration",
      `for i in tiles(chunk(n, rank)) { for p in ranks { y@p[i] = y@p[i] * 2 } }`,
      LOADED_LATER,
    ],
    [
      "that other tiles load in later turns",
      `for p in ranks { for i in tiles(n) { a[i] = y@p[i] } for i in tiles(n) { y@p[i] = x[i] } }`,
      LOADED_LATER,
    ],
  ])("%s", (_, body, reason) => {
    expect(compiled(body, RANKS).kernel).not.toBeNull();
    for (const ranksPerDomain of [1, 2]) {
      const { kernel, diagnostics } = compiled(body, ranksPerDomain);
      expect(kernel).toBeNull();
      const found = diagnostics.filter(({ code }) => code === "out-of-reach");
      expect(found.map(({ message }) => message)).toContainEqual(expect.stringMatching(reason));
    }
  });
});

describe("leave the last", () => {
  it.each<[string, string]>([
    ["of turns that all store", `for i in tiles(n) { for t in 0..3 { y@(${NEXT})[i] = x[i] + f32(t) } }`],
    [
      "of turns around tiles that all store",
      `for t in 0..n / 2 { for i in tiles(n) { y@(${NEXT})[i] = x[i] + f32(t) } }`,
    ],
    [
      "of turns that each go to another rank",
      `for i in tiles(n) { for t in 0..2 * world { c@((rank + t) % world)[rank, i] = x[i] + f32(t) } }`,
    ],
    [
      "of turns that store in rows of their own",
      `for i in tiles(n) { for t in 0..3 { if t != rank { c@(${NEXT})[2 - t, i] = x[i] + f32(t) } } }`,
    ],
    [
      "of ranks that store in rows of their own in turns",
      `for p in ranks { for i in tiles(n) { c@((rank + p) % world)[rank, i] = x[i] + f32(p) } }`,
    ],
    [
      "of two stores to places that never meet",
      `for i in tiles(n) { for t in 0..2 { c@(${NEXT})[0, i] = x[i] + f32(t) c@(${NEXT})[1, i] = x[i] - f32(t) } }`,
    ],
    [
      "of a sum in place, which loads of all ranks before it stores there",
      `for i in tiles(chunk(n, rank)) { let s = sum(p in ranks) y@p[i] for p in ranks { y@p[i] = s } }`,
    ],
    [
      "of what each rank changes in the next",
      `for i in tiles(n) { let v = y@(${NEXT})[i] y@(${NEXT})[i] = v * 2 + x[i] }`,
    ],
    ["where a loop around has no turn", `for j, i in tiles(n / 8, n) { y@(${NEXT})[i] = x[i] + 1 }`],
    ["where a loop inside has no turn", `for i in tiles(n) { for t in 0..n / 8 { y@(${NEXT})[i] = x[i] + f32(t) } }`],
  ])("%s", async (_, body) => {
    const whole = compiled(body, RANKS);
    for (const ranksPerDomain of [1, 2]) {
      const apart = compiled(body, ranksPerDomain);
      expect(apart.diagnostics.filter(({ severity }) => severity === "error")).toEqual([]);
      expect(apart.manifest!.plan.choices[0]!.steps.map(({ kind }) => kind)).toContain("message");
      for (const n of [1, 7, 70])
        expect(await outputs(apart, RANKS, { n })).toEqual(await outputs(whole, RANKS, { n }));
    }
  });
});

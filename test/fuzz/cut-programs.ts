/**
 * Programs that copy a vector piece by piece, cut where lengths and constants say, some through scratch, over chunks, or from
 * other ranks. Most are right; some leave elements out, take them from elsewhere, or leave a buffer, at some lengths or all.
 */
import type fc from "fast-check";
import { type Choices, drawn } from "./choices.js";

export interface CutProgram {
  readonly text: string;
  readonly ranks: number;
}

export function cutPrograms(): fc.Arbitrary<CutProgram> {
  return drawn((c) => {
    const ranks = 1 + c.below(3);
    const cuts = ["0", ...Array.from({ length: c.below(3) }, () => place(c)), "n"];
    const peer = c.pick(["rank", "0", "((rank + 1) % world)"]);
    const box = c.below(3) === 0;
    const lines = cuts.slice(1).map((to, i) => {
      const [from, value] = [cuts[i]!, `x@${peer}[${shifted(c)}]`];
      if (box) return `  for i in tiles(${from} .. ${to}) { box[i] = ${value} }`;
      return `  for i in tiles(${from} .. ${to}) { y[i] = ${value} * 2 }`;
    });
    if (box)
      lines.push(`  for i in tiles(${c.pick(["n", "n", `0 .. ${place(c)}`])}) { y[i] = box[${shifted(c)}] * 2 }`);
    const text = [
      `collective cut(x: T[n] local) -> y: T[n] local ensures y[i] == x@${peer}[i] * 2 {`,
      ...(box ? ["  scratch box: T[n]"] : []),
      ...lines,
      "}",
    ].join("\n");
    return { text, ranks };
  });
}

/** A place between 0 and n, most of the time. */
function place(c: Choices): string {
  const k = 1 + c.below(200);
  return c.pick([
    `n / ${k}`,
    `min(n, ${k})`,
    `max(n - ${k}, 0)`,
    `n / ${k} * ${k}`,
    `n - n / ${k}`,
    `n % ${k}`,
    "chunk(n, 0).end",
    `min((n + ${k}) / 2, n)`,
  ]);
}

function shifted(c: Choices): string {
  return c.below(12) === 0
    ? c.pick(["max(i - n / 150, 0)", "i + n / 300 - n / 290", "i - i / 200", "min(i, 250)"])
    : "i";
}

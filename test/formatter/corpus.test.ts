/** Whatever the tree holds of Coll comes out of the formatter with the same meaning, the same comments, once for all. */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { collLexer } from "../../grammar/tokens.js";
import { parseProgram, SourceFile } from "../../src/compiler/index.js";
import { formatColl, printWidthFor } from "../../src/formatter/index.js";
import { withoutSpans } from "../front-end/helpers.js";
import { EXAMPLES } from "../front-end/language.js";
import { turned } from "../scope.js";

const root = join(import.meta.dirname, "../..");
const kernels = readdirSync(join(root, "kernels"), { recursive: true, encoding: "utf8" })
  .filter((name) => name.endsWith(".coll"))
  .sort();

const treeOf = (text: string): unknown => withoutSpans(parseProgram(new SourceFile("t.coll", text)).program);
const commentsOf = (text: string): string[] => [...text.matchAll(/\/\/.*/g)].map((m) => m[0].trimEnd());
const isReadable = (text: string): boolean =>
  !parseProgram(new SourceFile("t.coll", text)).diagnostics.some((d) =>
    ["syntax", "unknown-character"].includes(d.code),
  );

async function expectFaithful(text: string, printWidth: number): Promise<string> {
  const once = await formatColl(text, { printWidth });
  expect(treeOf(once)).toEqual(treeOf(text));
  expect(commentsOf(once)).toEqual(commentsOf(text));
  expect(await formatColl(once, { printWidth })).toBe(once);
  expect(once).not.toMatch(/[ \t]\n|\n\n\n|\t/);
  return once;
}

describe("the library", () => {
  test.each(kernels)("kernels/%s is formatted", async (name) => {
    const path = join(root, "kernels", name);
    const text = readFileSync(path, "utf8");
    expect(await formatColl(text, { printWidth: await printWidthFor(path) })).toBe(text);
  });
});

describe("the reference", () => {
  test.each(EXAMPLES.map((e) => [e.line, e] as const))("LANGUAGE.md:%i", async (_line, { text }) => {
    for (const width of [120, 100, 40, 1]) await expectFaithful(text, width);
  });

  test("its examples are in the formatter's style", async () => {
    for (const { text } of EXAMPLES) expect(await formatColl(text, { printWidth: 120 })).toBe(text);
  });
});

/** Numbers from 0 to 1, the same in every run. */
function generator(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state * 1664525 + 1013904223) >>> 0;
    return state / 2 ** 32;
  };
}

/** Puts comments between tokens, wherever the program stays one. */
function withComments(text: string, random: () => number, share: number): string {
  let out = text;
  const tokens = collLexer.tokenize(text).tokens;
  const starts = tokens.map((t) => t.startOffset).reverse();
  let count = 0;
  for (const start of [text.length, ...starts]) {
    if (random() > share) continue;
    const slashes = random() < 0.2 ? "///" : "//";
    const lead = ["", " ", "\n", "\n\n\n"][Math.floor(random() * 4)]!;
    const more = random() < 0.3 ? `\n\n//two${count}` : "";
    const made = `${out.slice(0, start)}${lead}${slashes} c${count++}${more}${random() < 0.3 ? "\n\n" : "\n"}${out.slice(start)}`;
    if (isReadable(made)) out = made;
  }
  return out;
}

describe("comments anywhere", () => {
  const sources = [
    ...EXAMPLES.map((e) => e.text),
    ...kernels.map((name) => readFileSync(join(root, "kernels", name), "utf8")),
  ];

  test.each(turned([1, 2, 3], 1))(
    "survive, in order, and formatting twice is formatting once (seed %i)",
    async (seed) => {
      const random = generator(seed);
      for (const text of sources) {
        const commented = withComments(text, random, [0.1, 0.4, 1][seed - 1]!);
        await expectFaithful(commented, [100, 60, 30][seed - 1]!);
      }
    },
  );

  test("where spaces and line breaks were makes no difference", async () => {
    for (const text of sources) {
      if (commentsOf(text).length > 0) continue;
      const oneLine = text.replace(/\s+/g, " ");
      const isOne = EXAMPLES.some((e) => e.text === text) && !text.includes("\n\n");
      if (isOne) expect(await formatColl(oneLine)).toBe(await formatColl(text));
      await expectFaithful(text.replace(/\n/g, "\n\n\n"), 100);
    }
  });
});

/** The library's ways in the memory of what they convert: which may be, and that those which are, are right. */
import { readdirSync, readFileSync } from "node:fs";
import path from "node:path";
import { describe, expect, it } from "vitest";
import { checkCollective, parseProgram } from "../../src/compiler/front-end.js";
import { compile, type CompileResult, SourceFile } from "../../src/compiler/index.js";
import { lowerCollective } from "../../src/compiler/lower/lower-collective.js";
import { mayBeInPlace } from "../../src/compiler/program/in-place.js";
import { prove, PROOF_MAPPING } from "../../src/compiler/prove/index.js";
import { CpuGroup } from "../../src/runtime/cpu/index.js";
import { importsFromDisk, libraryFromDisk } from "../../src/runtime/imports.js";
import { packageRoot } from "../../src/runtime/native.js";
import { checkOutputs, makeInputs } from "../../src/runtime/reference/index.js";
import { turned } from "../scope.js";

const textOf = (way: string): string => readFileSync(path.join(packageRoot(), `kernels/${way}.coll`), "utf8");

function isLeft(way: string, ranks: number): boolean {
  const source = new SourceFile(path.join(packageRoot(), `kernels/${way}.coll`), textOf(way));
  const options = {
    world: ranks,
    dtypes: { T: "f32" },
    file: source,
    path: source.name,
    resolve: importsFromDisk,
  } as const;
  const { checked, diagnostics } = checkCollective(parseProgram(source).program, undefined, options);
  if (checked === null) throw new Error(diagnostics.map((d) => d.message).join("\n"));
  return mayBeInPlace(lowerCollective(checked));
}

/** What the way would be in place: the same text, with one name for both tensors. */
function inPlace(way: string, ranks: number): CompileResult {
  return compile(textOf(way).replace(/\by\b/g, "x"), {
    ...{ file: path.join(packageRoot(), `kernels/${way}.coll`), ranks, dtype: "f32", resolve: importsFromDisk },
    mapping: PROOF_MAPPING,
  });
}

/** Of 2, 3 and 4 ranks, those with which a way may be in place; what others are is what a proof says of them. */
const WAYS: Readonly<Record<string, readonly number[]>> = {
  "all_reduce/gathered": [2, 3, 4],
  // Others read what the owner has summed up already.
  "all_reduce/one_shot": [],
  "all_reduce/push": [2, 3, 4],
  "all_reduce/recursive_doubling": [2, 4],
  "all_reduce/ring": [2, 3, 4],
  "all_reduce/tree": [2, 3, 4],
  "all_reduce/two_shot": [2, 3, 4],
  // The root stores what it has, where others load it.
  "broadcast/flat": [],
  "broadcast/relay": [2, 3, 4],
  "broadcast/ring": [2, 3, 4],
  "broadcast/scatter_gather": [2, 3, 4],
  "broadcast/tree": [2, 3, 4],
  "reduce/pull": [2, 3, 4],
  "reduce/scatter": [2, 3, 4],
};

describe.each(Object.entries(WAYS))("%s", (way, worlds) => {
  it.each([2, 3, 4].filter((w) => w !== 3 || way !== "all_reduce/recursive_doubling"))("on %i ranks", (ranks) => {
    expect(isLeft(way, ranks)).toBe(worlds.includes(ranks));
    const { answer, ordering } = prove(inPlace(way, ranks));
    expect(answer.status === "proved" && ordering.status === "proved").toBe(worlds.includes(ranks));
  });
});

it("knows every way that converts tensors where they lie", () => {
  const files = ["all_reduce", "broadcast", "reduce"].flatMap((folder) =>
    readdirSync(path.join(packageRoot(), "kernels", folder)).map((f) => `${folder}/${f.replace(".coll", "")}`),
  );
  // Rounding on the way the last, for a mesh the others: no ways of the name where all ranks share addresses.
  const others = [
    ...["all_reduce/hierarchical", "all_reduce/rails", "broadcast/hierarchical", "broadcast/rails"],
    ...["all_reduce/hierarchical_in_chunks", "all_reduce/rails_in_chunks"],
    "all_reduce/quantised",
  ];
  expect(files.filter((f) => !others.includes(f)).sort()).toEqual(Object.keys(WAYS).sort());
});

describe("what a program of one conversion in place is made of", () => {
  const PROGRAMS = {
    all_reduce: ["partial(sum)", "replicated", "all_reduce(x)"],
    broadcast: ["on(0)", "replicated", "broadcast(x)"],
    reduce: ["partial(sum)", "on(0)", "reduce(x, to: 0)"],
  } as const;
  const compiled = (name: keyof typeof PROGRAMS, ranks: number, mapping = {}): CompileResult => {
    const [from, to, value] = PROGRAMS[name];
    const text = `collective ${name}_(x: T[n] ${from}) -> x: T[n] ${to} {\n  x = ${value}\n}\n`;
    return compile(text, { ranks, dtype: "bf16", library: libraryFromDisk, resolve: importsFromDisk, mapping });
  };

  it.each(Object.keys(PROGRAMS) as (keyof typeof PROGRAMS)[])(
    "%s: the library's ways and the compiler's own",
    (name) => {
      const { ways, diagnostics } = compiled(name, 4);
      expect(diagnostics).toEqual([]);
      const [left, out] = [true, false].map((is) =>
        Object.keys(WAYS).filter((way) => way.startsWith(`${name}/`) && WAYS[way]!.includes(4) === is),
      );
      for (const way of left!) expect(ways).toContain(way);
      for (const way of out!) expect(ways).not.toContain(way);
      expect(ways).toContain("one_shot");
    },
  );

  it.each(
    (Object.keys(PROGRAMS) as (keyof typeof PROGRAMS)[]).flatMap((name, turn) =>
      turned([2, 3, 4], turn + 1).map((ranks) => [name, ranks] as const),
    ),
  )("%s on %i ranks computes what it says, in every way", (name, ranks) => {
    const { considered, manifest, source } = compiled(name, ranks);
    expect(considered.length).toBeGreaterThan(2);
    for (const { name: way, compiled: one } of considered)
      for (const n of [1, 7, 1001, 4096]) {
        const group = new CpuGroup(one.kernel!, manifest!, { source, detectUnwritten: true });
        for (const seed of [1, 2]) {
          const data = makeInputs(manifest!, { n }, seed);
          group.run(data, { n });
          expect(checkOutputs(manifest!, { n }, data, data), `${way}, n=${n}`).toMatchObject({ correct: true });
        }
      }
  });

  it.each(Object.keys(PROGRAMS) as (keyof typeof PROGRAMS)[])("%s is proved in every way", (name) => {
    for (const { name: way, compiled: one } of compiled(name, 3, PROOF_MAPPING).considered) {
      const { answer, ordering } = prove(one);
      expect([answer.status, ordering.status], way).toEqual(["proved", "proved"]);
    }
  });
});

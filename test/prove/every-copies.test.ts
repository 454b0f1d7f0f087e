/**
 * Strips and peers in one loop, as copy engines have them, at every length ("Packets" in docs/PROOF.md): such loops are followed without packets, too,
 * and none that is wrong is held to be right, however far away it is wrong.
 */
import { describe, expect, it } from "vitest";
import { compile, type CompileOptions, withMapping } from "../../src/compiler/index.js";
import type { Kernel } from "../../src/compiler/ir/module.js";
import { parseKernel } from "../../src/compiler/ir/parse.js";
import { printKernel } from "../../src/compiler/ir/print.js";
import { everyLength, PROOF_MAPPING, proveAnswer } from "../../src/compiler/prove/index.js";
import { compileFile, LIBRARY } from "../kernels/library.js";

const COPIES: CompileOptions["mapping"] = { ...PROOF_MAPPING, copies: "engine" };
const SHAPES = [4, 12, 64, 300, 856].map((n) => ({ n }));
const ROWS = [4, 12, 20].flatMap((m) => [4, 12, 64, 300].map((n) => ({ m, n })));

/** Why the ordering or the answer of a kernel is not shown; null where both are. */
function reasonOf(kernel: Kernel): string | null {
  const { answer, ordering } = everyLength(kernel, kernel.dims.length > 1 ? ROWS : SHAPES, (dims) =>
    proveAnswer(kernel, { dims }),
  );
  if (!ordering.holds) return ordering.reason;
  return answer.holds ? null : answer.reason;
}

describe("kernels that go through strips and peers in one loop", () => {
  it.each([
    ["all_gather/pull", 2],
    ["all_gather/pull", 4],
    ["broadcast/flat", 4],
    ["all_to_all/push", 2],
    ["all_to_all/push", 4],
  ] as const)("%s on %i ranks holds for every length, as printed, too", (name, ranks) => {
    const small = compileFile(
      LIBRARY.find((f) => f.name === name)!,
      { ranks, dtype: "bf16", mapping: COPIES },
    );
    expect(reasonOf(small.kernel!)).toBe(null);
    const printed = withMapping(small, { elementThreads: 256, elementBlocks: 32, busyBlocks: 32 }).kernel!;
    expect(reasonOf(printed)).toBe(null);
  });
});

function plain(kernel: Kernel): string {
  return printKernel(kernel).replaceAll(/ loc\(\d+:\d+\)/g, "");
}

const PULL = plain(
  compileFile(
    LIBRARY.find((f) => f.name === "all_gather/pull")!,
    { ranks: 2, dtype: "bf16", mapping: COPIES },
  ).kernel!,
);

const MATRIX = plain(
  compileFile(
    LIBRARY.find((f) => f.name === "all_to_all/push")!,
    { ranks: 2, dtype: "bf16", mapping: COPIES },
  ).kernel!,
);

/** Pulled in strips by some blocks, and taken from there in rows by others. */
const TWICE = plain(
  compile(
    `collective twice(x: T[n] sharded(0)) -> (y: T[n] replicated, z: T[n] replicated) {
      for p in ranks { for i in tiles(shard(n, p)) { y[i] = x@p[i - shard(n, p).start] } }
      for i in tiles(n) { z[i] = y[i] }
    }`,
    { ranks: 2, dtype: "bf16", mapping: COPIES },
  ).kernel!,
);

/** `%902` is 1 beyond 500000 elements, else 0; `%903` the strips, but no more than 500000. */
const BEYOND = `%900 = const {value=500000} : index
%901 = compare %5, %900 {fn="gt"} : bool
%902 = select %901, %17, %2 : index
%903 = binary %20, %900 {fn="min"} : index
`;
const WITH_OTHERS = PULL.replace(/( *%21 = )/, `${BEYOND}%905 = binary %16, %902 {fn="add"} : index\n$1`).replace(
  /( *%31 = [^\n]*\n)/,
  '$1%904 = binary %31, %902 {fn="add"} : index\n',
);

describe("kernels that differ in one thing", () => {
  it.each([
    ["as it is", [], null],
    ["the last strip is not gone through", [["%19 = binary %6, %18 ", "%19 = binary %6, %2 "]], /fewer strips/],
    ["no more than 500000 strips are", [["%21 = binary %20, %3 ", "%21 = binary %903, %3 "]], /fewer strips/],
    ["of one peer alone", [["%21 = binary %20, %3 ", "%21 = binary %20, %17 "]], /./],
    ["beyond 500000 another element is stored to", [["%46 = binary %31, %45 ", "%46 = binary %904, %45 "]], /./],
    ["beyond 500000 another element is read", [["%47 = binary %46, %31 ", "%47 = binary %46, %904 "]], /./],
    ["beyond 500000 strips are longer", [["%37 = binary %36, %16 ", "%37 = binary %36, %905 "]], /./],
    ["beyond 500000 strips begin farther on", [["%34 = binary %28, %16 ", "%34 = binary %28, %905 "]], /./],
    ["a strip is of the peer of another", [["%29 = binary %22, %27 ", "%29 = binary %22, %28 "]], /./],
    ["the strip is the peer's", [[/%28 = binary %27, %3 \{fn="div"\}/, '%28 = binary %27, %3 {fn="rem"}']], /./],
    ["all strips are the first", [["%34 = binary %28, %16 ", "%34 = binary %2, %16 "]], /./],
    ["what is left is stored in each strip", [["for %42, %37 ", "for %2, %16 "]], /./],
    ["what is left is left out", [["for %42, %37 ", "for %42, %42 "]], /./],
    ["vectors are read wherever they begin", [["%40 = binary %26, %39 ", "%40 = binary %26, %26 "]], /vector/],
    [
      "nobody waits for the peers",
      [[/\n {4}for %2, %3 \{map="threads"\} \(%14\) \{[\s\S]*?\n {4}\}/, ""]],
      /caller|order/,
    ],
    [
      "nobody waits for who reads",
      [[/\n {4}for %2, %3 \{map="threads"\} \(%62\) \{[\s\S]*?\n {4}\}/, ""]],
      /last wait/,
    ],
  ] as const)("%s", (_, edits, reason) => {
    const text = edits.reduce((t, [from, to]) => {
      const now = t.replace(from, to);
      expect(now).not.toBe(t);
      return now;
    }, WITH_OTHERS);
    const found = reasonOf(parseKernel(text));
    if (reason === null) expect(found).toBe(null);
    else expect(found).toMatch(reason);
  });

  it.each([
    ["the last strip of rows is not gone through", "%25 = binary %20, %21 "],
    ["no more than 500000 strips of rows are", "%25 = binary %901, %21 "],
    ["strips are counted as if rows were shorter", "%25 = binary %902, %21 "],
  ])("%s", (_, strips) => {
    const others = `%900 = const {value=16000000} : index
%901 = binary %24, %900 {fn="min"} : index
%904 = binary %11, %22 {fn="sub"} : index
%903 = binary %7, %904 {fn="mul"} : index
%902 = binary %903, %23 {fn="add"} : index
`;
    const counted = /( *)(%25 = binary %24, %21 )/;
    expect(MATRIX).toMatch(counted);
    expect(reasonOf(parseKernel(MATRIX.replace(counted, `${others}$2`)))).toBe(null);
    expect(reasonOf(parseKernel(MATRIX.replace(counted, `${others}${strips}`)))).toMatch(/fewer strips|not followed/);
  });

  it("blocks take rows of what others stored", () => {
    const grid = /\n {4}for %2, [^\n]*\n(?: {6}%[^\n]*\n)* {6}wait [^\n]*scope="gpu"[^\n]*\n {4}\}/;
    const text = TWICE.replace(grid, "");
    expect(text).not.toBe(TWICE);
    expect(reasonOf(parseKernel(TWICE))).toBe(null);
    expect(reasonOf(parseKernel(text))).toMatch(/orders/);
  });
});

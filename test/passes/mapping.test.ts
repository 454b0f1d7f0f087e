/** A compilation that is mapped anew is the one that would have been made from the text. */
import { readFileSync } from "node:fs";
import { expect, it } from "vitest";
import { compile, packed, printKernel, PROOF_MAPPING, unpacked, withMapping } from "../../src/compiler/index.js";
import { importsFromDisk } from "../../src/runtime/imports.js";

/** A program of one way, with products; those of the library have several. */
const PRODUCTS =
  "collective f(a: T[m, k] replicated, b: T[k, n] sharded(1), d: T[k, n] sharded(1)) -> (x: T[m, n] sharded(1), y: T[m, n] sharded(1)) {\n  x = a @ b\n  y = a @ d\n}\n";
const FILES = ["products", "fused/softmax_over_ranks", "all_reduce/quantised", "all_gather/ring"];

function compiled(name: string, extra: object = {}) {
  const file = new URL(`../../kernels/${name}.coll`, import.meta.url).pathname;
  const text = name === "products" ? PRODUCTS : readFileSync(file, "utf8");
  return compile(text, { file, ranks: 4, dtype: "bf16", resolve: importsFromDisk, ...extra });
}

it.each(FILES)("%s", (name) => {
  // The second begins with the first pass but one, and the last changes nothing.
  for (const mapping of [PROOF_MAPPING, { algorithm: "one_shot" as const }, { loadsInFlight: 1 }, {}]) {
    const anew = withMapping(compiled(name), mapping);
    const whole = compiled(name, { mapping });
    const passes = ({ snapshots }: typeof whole) => snapshots.map((s) => `${s.pass}\n${printKernel(s.kernel)}`);
    expect(passes(anew)).toEqual(passes(whole));
    // Tiles as small as those of proofs have no instructions, and no text.
    if (mapping !== PROOF_MAPPING || name !== "products") expect(anew.cuda).toBe(whole.cuda);
    expect(anew.manifest).toEqual(whole.manifest);
    expect(withMapping(anew, {}).cuda).toBe(compiled(name).cuda);
  }
});

it.each(FILES)("%s goes to another thread as plain data", (name) => {
  const here = withMapping(compiled(name), PROOF_MAPPING);
  const there = unpacked(structuredClone(packed(compiled(name), PROOF_MAPPING)));
  const passes = ({ snapshots }: typeof here) => snapshots.map((s) => `${s.pass}\n${printKernel(s.kernel)}`);
  expect(passes(there)).toEqual(passes(here));
  expect(there.manifest).toEqual(here.manifest);
  const { span } = there.kernel!.body.ops.at(-1)!;
  expect(there.source.position(span.start)).toEqual(here.source.position(span.start));
  expect(there.source.fileOf(span.start)).toBe(here.source.fileOf(span.start));
});

it("does not run the passes that the difference cannot reach", () => {
  const first = compiled("all_gather/ring");
  const second = withMapping(first, PROOF_MAPPING);
  const at = (result: typeof first, pass: string) => result.snapshots.find((s) => s.pass === pass)!.kernel;
  expect(at(second, "derive-sync")).toBe(at(first, "derive-sync"));
  expect(at(second, "map-grid")).not.toBe(at(first, "map-grid"));
});

it("gives a program with errors back with its errors", () => {
  const wrong = compile("collective f(x: T[n] replicated) -> y: T[n] replicated { y = z }", { ranks: 2 });
  expect(wrong.diagnostics).not.toEqual([]);
  expect(withMapping(wrong, PROOF_MAPPING)).toMatchObject({ diagnostics: wrong.diagnostics, kernel: null });
});

it("refuses what was stopped on the way", () => {
  const stopped = compiled("all_gather/ring", { stopAfter: "derive-sync" });
  expect(() => withMapping(stopped, PROOF_MAPPING)).toThrow(RangeError);
});

it("has its CUDA text and its manifest as properties of its own, though they are made when asked for", () => {
  const { cuda, manifest } = compiled("all_gather/ring");
  expect({ ...compiled("all_gather/ring") }).toMatchObject({ cuda, manifest });
});

/** forward-scratch: what is kept from one loop to the next alone stays in a register, where nobody else reads what the next stores. */
import { describe, expect, it } from "vitest";
import { parseKernel, printKernel } from "../../src/compiler/index.js";
import { forwardScratch } from "../../src/compiler/passes/forward-scratch.js";
import { verify } from "../../src/compiler/ir/verify.js";

const kernel = (
  first: string,
  second: string,
  between = "",
  bounds = "%0, %1",
): string => `kernel k level=rank world=2 threads=0 blocks=0 {
  dim n
  in x: f32[n] local local [n]
  out y: f32[n] local local [n]
  specify nothing
  buffer x: input f32[n]
  buffer y: output f32[n]
  buffer kept: scratch f32[n]
  body {
    %0 = const {value=0} : index
    %1 = dim {name="n"} : index
    for %0, %1 {map="tiles"} (%2) {
      %3 = load %2 {buffer="x"} : f32
      ${first}
    }
    ${between}
    for ${bounds} {map="tiles"} (%4) {
      ${second}
    }
  }
}
`;
const STORE = `store %3, %2 {buffer="kept"}`;
const LOAD = `%5 = load %4 {buffer="kept"} : f32
      %6 = binary %5, %5 {fn="add"} : f32
      store %6, %4 {buffer="y"}`;
const run = (text: string, protocol: "packet" | "barrier" = "packet"): string => {
  const after = forwardScratch(parseKernel(text), { protocol } as never);
  verify(after, "forward-scratch");
  return printKernel(after);
};

describe("two loops", () => {
  it("become one, and the scratch goes", () => {
    const after = run(kernel(STORE, LOAD));
    expect(after).not.toContain("kept");
    expect(after.match(/ for /g)).toHaveLength(1);
    expect(after).toMatch(/load %\d+ \{buffer="x"\}[\s\S]*binary (%\d+), \1 [\s\S]*store %\d+, %\d+ \{buffer="y"\}/);
  });

  it.each([
    ["another index", kernel(STORE, LOAD.replace("load %4", "load %0"))],
    ["a peer's element", kernel(STORE, LOAD.replace(`load %4 {buffer="kept"}`, `load %0, %4 {buffer="kept", remote=true}`))], // prettier-ignore
    ["other bounds", kernel(STORE, LOAD, "%7 = const {value=1} : index", "%7, %1")],
    ["what the first reads, stored by the second", kernel(STORE.replace("}", `}\n      %8 = load %0 {buffer="y"} : f32\n      store %8, %2 {buffer="kept"}`), LOAD)], // prettier-ignore
    ["a loop in between that does something", kernel(STORE, LOAD, `for %0, %1 {map="tiles"} (%9) {\n store %1f, %9 {buffer="y"}\n }`.replace("%1f", "%10").replace("for", "%10 = const {value=1} : f32\n    for"))], // prettier-ignore
  ])("stay two for %s", (_, text) => {
    expect(run(text)).toBe(printKernel(parseKernel(text)));
  });

  it("stay two without packets: others may still read", () => {
    const text = kernel(STORE, LOAD);
    expect(run(text, "barrier")).toBe(printKernel(parseKernel(text)));
  });
});

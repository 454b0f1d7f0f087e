/** Twins of a kernel that are wrong: edits that make them, and that executions show of them what no claim may deny. */
import { expect } from "vitest";
import { compile } from "../../src/compiler/index.js";
import { type Kernel, type Op, Value } from "../../src/compiler/ir/module.js";
import { INDEX } from "../../src/compiler/ir/types.js";
import { everyLength, proveAnswer, proveOrdering } from "../../src/compiler/prove/index.js";
import type { DimValues } from "../../src/compiler/types/extent.js";
import { edited } from "./mutants.js";
import { printedMutantsOf } from "./printed-mutants.js";

/** A name, how it is made, and why it is not proved. */
export type Twin = readonly [name: string, twin: () => Kernel, reason: RegExp];

/** The kernel of a collective `f` in bf16 that goes one way. @param signature what follows its name and the opening parenthesis */
export function variantOf(
  signature: string,
  ranks: number,
  way: string,
): ReturnType<typeof compile>["variants"][number]["compiled"] {
  const { variants, diagnostics } = compile(`collective f(${signature}`, { ranks, dtype: "bf16" });
  expect(diagnostics.filter((d) => d.severity === "error")).toEqual([]);
  return variants.find(({ name }) => name === way)!.compiled;
}

/** Executions at some shapes, which refute what is claimed of kernels. */
export class Executions {
  /** @param shapes to execute at @param examples at which an answer may be proved for every length */
  constructor(
    private readonly shapes: readonly DimValues[],
    private readonly examples: readonly DimValues[],
  ) {}

  private isWrong(kernel: Kernel, claim: typeof proveAnswer | typeof proveOrdering): boolean {
    return this.shapes.some((dims) => claim(kernel, { dims }).status === "wrong");
  }

  readonly refute = (kernel: Kernel): boolean =>
    this.isWrong(kernel, proveOrdering) || this.isWrong(kernel, proveAnswer);

  /** Expects that a twin is not proved for every length, and refuted. */
  expectWrong(kernel: Kernel, reason: RegExp): void {
    const { answer, ordering } = everyLength(kernel, this.examples);
    const stop = ordering.holds ? answer : ordering;
    expect(stop).toMatchObject({ holds: false, reason: expect.stringMatching(reason) as string });
    expect(this.refute(kernel)).toBe(true);
  }

  /** Expects that nothing is claimed of mutants that is refuted. @param step every so many one is looked at */
  expectNoFalseClaims(kernels: readonly Kernel[], step: number): void {
    const all = kernels.flatMap(printedMutantsOf);
    expect(all.length).toBeGreaterThan(2000 * kernels.length);
    const wrong = all
      .filter((_, i) => i % step === 0)
      .filter(({ kernel }) => {
        const { answer, ordering } = everyLength(kernel, this.examples);
        return (answer.holds && this.refute(kernel)) || (ordering.holds && this.isWrong(kernel, proveOrdering));
      });
    expect(wrong.map(({ name }) => name)).toEqual([]);
  }
}

/** The kernel with each of some ops replaced, which have no regions: they stay the same while others are. */
export function changed(kernel: Kernel, targets: readonly Op[], edit: (op: Op) => readonly Op[]): Kernel {
  expect(targets.length).toBeGreaterThan(0);
  return targets.reduce((k, op) => edited(k, op, edit), kernel);
}

/** An op with more in an operand. */
export function moved(op: Op, operand: number, by: number): readonly Op[] {
  const [more, sum] = [new Value(INDEX), new Value(INDEX)];
  const make = (name: Op["name"], operands: Value[], result: Value, attributes: Op["attributes"]): Op => {
    return { name, operands, results: [result], attributes, regions: [], span: op.span };
  };
  return [
    make("const", [], more, { value: by }),
    make("binary", [op.operands[operand]!, more], sum, { fn: "add" }),
    { ...op, operands: op.operands.map((v, i) => (i === operand ? sum : v)) },
  ];
}

/** An op with other attributes. */
export const withAttributes = (op: Op, attributes: Op["attributes"]): readonly Op[] => [
  { ...op, attributes: { ...op.attributes, ...attributes } },
];

/** Leaves an op out. */
export const dropped = (): readonly Op[] => [];

/** A flag that orders nothing. */
export const relaxed = (op: Op): readonly Op[] => withAttributes(op, { order: "relaxed" });

/** Whether an op is one on a buffer. */
export const onBuffer =
  (buffer: string) =>
  (op: Op): boolean =>
    op.attributes["buffer"] === buffer;

/** Whether it copies from one. */
export const from =
  (buffer: string) =>
  (op: Op): boolean =>
    op.attributes["from"] === buffer;

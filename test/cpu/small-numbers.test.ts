/** Errors that the reference allows where float32 has no more bits the smaller a number is. */
import { describe, expect, it } from "vitest";
import { UNARY, type UnaryFunction } from "../../src/compiler/index.js";
import { functionError, rounding } from "../../src/runtime/reference/elementwise.js";

const f = Math.fround;

/** As the printed kernel has them (`emit/prelude.ts`), operation by operation in float32. */
const PRINTED: Readonly<Partial<Record<UnaryFunction, (x: number) => number>>> = {
  silu: (x) => f(f(x * f(Math.exp(-Math.abs(x)))) / f(1 + f(Math.exp(-Math.abs(x))))),
  sigmoid: (x) => f(f(Math.exp(-Math.abs(x))) / f(1 + f(Math.exp(-Math.abs(x))))),
  exp: (x) => f(Math.exp(x)),
};

describe.each(Object.keys(PRINTED) as UnaryFunction[])("%s far below 0", (fn) => {
  it("is off by no more than is allowed, and then times a number", () => {
    for (let k = 0; k < 4000; k++) {
      const x = f(-110 + k / 100);
      const [exact, made] = [UNARY[fn].value!(x), PRINTED[fn]!(x)];
      const allowed = functionError(fn, x, exact);
      expect(Math.abs(made - exact), `${fn}(${x})`).toBeLessThanOrEqual(allowed);
      const by = f(3e-3 + k / 1000);
      const product = exact * by;
      expect(Math.abs(f(made * by) - product), `${fn}(${x}) * ${by}`).toBeLessThanOrEqual(
        allowed * by + rounding(product),
      );
    }
  });

  it("is held to the bits it has where numbers are normal", () => {
    expect(functionError(fn, -20, UNARY[fn].value!(-20))).toBeLessThan(
      1e-5 * UNARY[fn].value!(-20) * Math.sign(UNARY[fn].value!(-20)),
    );
    expect(rounding(1e-20)).toBeLessThan(1e-27);
  });
});

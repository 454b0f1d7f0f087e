/** A case of a product begins with values of the one before it: those that it would have made itself. */
import { describe, expect, it } from "vitest";
import { compile } from "../../src/compiler/index.js";
import type { Value } from "../../src/compiler/ir/module.js";
import { NotShown } from "../../src/compiler/prove/every/conditions.js";
import { constant, type Form, keyOf, ZERO } from "../../src/compiler/prove/every/forms.js";
import { Follow, makersOf } from "../../src/compiler/prove/every/products/follow.js";
import { type Assumed, Atoms, NeedsCase, Numbers } from "../../src/compiler/prove/every/products/numbers.js";

const TEXT =
  "collective f(a: T[m, k] sharded(1), b: T[k, n] sharded(0)) -> c: T[m, n] sharded(0) { c = reduce_scatter(a @ b, dim: 0) }";

/** Cases that are looked at. */
const MOST = 60;

function textOf(follow: Follow, v: Value): string {
  try {
    return keyOf(follow.of(v));
  } catch (e) {
    if (e instanceof NeedsCase) return `one of ${e.options.length}`;
    if (e instanceof NotShown) return e.reason;
    throw e;
  }
}

/** What values of a case differ from those that are made anew, of so many. */
function differences(turned: boolean): { readonly different: number; readonly cases: number } {
  const { kernel } = compile(TEXT, { ranks: 2, dtype: "bf16", arch: "sm_90a" });
  const makers = makersOf(kernel!);
  const values = turned ? [...makers.keys()].reverse() : [...makers.keys()];
  const atoms = new Atoms();
  const first: Assumed = new Map();
  const open = [{ follow: new Follow(kernel!, makers, new Numbers(atoms, first), true), assumed: first }];
  let [different, cases] = [0, 0];
  for (let one = open.pop(); one !== undefined && cases < MOST; one = open.pop(), cases++) {
    const { follow, assumed } = one;
    const fresh = new Follow(kernel!, makers, new Numbers(atoms, assumed), true);
    different += values.filter((v) => textOf(follow, v) !== textOf(fresh, v)).length;
    for (const v of values) {
      const needed = neededFor(follow, v);
      if (needed === null) continue;
      for (const more of needed)
        open.push({ follow: follow.assuming(more, true), assumed: new Map([...assumed, ...more]) });
      break;
    }
  }
  return { different, cases };
}

/** What has to be assumed for a value to be a truth value that is known; null where it is none, or known. */
function neededFor(follow: Follow, v: Value): readonly Assumed[] | null {
  try {
    if (v.type.kind === "scalar" && v.type.scalar === "bool") follow.numbers.decided(follow.of(v));
    return null;
  } catch (e) {
    if (e instanceof NeedsCase) return e.options;
    if (e instanceof NotShown) return null;
    throw e;
  }
}

describe("a case of a product begins with values of another", () => {
  for (const turned of [false, true])
    it(`that it would have made, asked for from the ${turned ? "last" : "first"}`, () => {
      const { different, cases } = differences(turned);
      expect(different).toBe(0);
      expect(cases).toBe(MOST);
    });
});

describe("conditions that hold together", () => {
  const numbers = new Numbers(new Atoms(), new Map());
  const [a, b, n] = [numbers.named("aligned a 16", 0, 1), numbers.named("aligned b 16", 0, 1), numbers.named("dim n")];
  const isEmpty = numbers.apply("eq", n, ZERO);

  /** What is assumed in turn, as text, to know a truth value. */
  function casesOf(f: Form): readonly string[] {
    try {
      return [String(numbers.decided(f))];
    } catch (e) {
      if (!(e instanceof NeedsCase)) throw e;
      return e.options.map((more) => [...more].map(([name, value]) => `${name}=${keyOf(value)}`).join(" "));
    }
  }
  const is = (f: Form, value: string): string => `${keyOf(f).slice(2)}=${value}`;

  it("are decided together: all of them do, or not all", () => {
    const both = numbers.apply("and", a, numbers.apply("and", b, isEmpty));
    const [all, notAll, ...others] = casesOf(both);
    // A number that is 0 is known from there on.
    expect(all!.split(" ").sort()).toEqual([...[both, a, b, isEmpty].map((f) => is(f, "1")), is(n, "")].sort());
    expect([notAll, others]).toEqual([is(both, ""), []]);
  });

  it("are not where one is made of a number that is one of several", () => {
    const least = numbers.apply("min", n, numbers.named("dim m"));
    const isMultiple = numbers.apply("eq", numbers.apply("rem", least, constant(8)), ZERO);
    expect(casesOf(numbers.apply("and", a, isMultiple))[0]).toBe(is(a, "1"));
  });
});

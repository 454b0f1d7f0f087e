/** Launches that are followed once for all: whether they do the same is a question of every movement, its place and its order. */
import { expect, it } from "vitest";
import type { Buffer, Kernel } from "../../src/compiler/ir/module.js";
import { constant, parameter, plus, ZERO } from "../../src/compiler/prove/every/forms.js";
import type { Unit } from "../../src/compiler/prove/every/lengths.js";
import type { Movement } from "../../src/compiler/prove/every/pieces.js";
import { areLaunchesAlike, inOneOrder } from "../../src/compiler/prove/every/repeats.js";
import { NO_SPAN } from "../../src/compiler/source.js";

const roles = { x: "input", even: "scratch", odd: "scratch", y: "output", z: "output" } as const;
const buffers = Object.entries(roles).map(([name, role]) => ({ name, role }) as Buffer);
const kernel = { buffers } as unknown as Kernel;

const FAR = parameter("@1");

function moving(from: string, to: string, edit: Partial<Movement> = {}, distance = ZERO, owner = -1): Movement {
  const place = { apart: constant(1), distance, rows: null, turns: [] };
  const rest = { length: { root: 2 }, text: "$0", rows: 8, takers: [null, null], covered: [], aligned: [], divisors: [], turns: [], span: NO_SPAN }; // prettier-ignore
  return { ...rest, buffer: to, owner: -1, base: ZERO, sources: [{ buffer: from, owner, place }], ...edit };
}

/** Two ranks, each of which stores to its scratch, then reads it. */
function launch(number: number, scratch: string, second: Movement = moving(scratch, "y"), ranks = [0, 1]): Unit[] {
  const unit = (rank: number, stretch: number, m: Movement): Unit => ({ rank, launch: number, stretch, run: stretch, movements: [m] }); // prettier-ignore
  return [
    ...[0, 1].map((r) => unit(r, 0, moving("x", scratch))),
    ...ranks.map((r) => unit(r, 1, r === 0 ? moving(scratch, "y") : second)),
  ];
}

it("launches that do the same in copies of scratch are alike", () => {
  expect(areLaunchesAlike(kernel, [...launch(0, "even"), ...launch(1, "odd"), ...launch(2, "even")])).toBe(true);
});

it.each([
  ["reads what the launch before has written", moving("even", "y")],
  ["reads an input", moving("x", "y")],
  ["stores to another output", moving("odd", "z")],
  ["stores elsewhere", moving("odd", "y", { base: FAR })],
  ["stores to another rank", moving("odd", "y", { owner: 0 })],
  ["stores fewer", moving("odd", "y", { length: { root: 3 } })],
  ["stores something else", moving("odd", "y", { text: "neg $0" })],
  ["reads elsewhere", moving("odd", "y", {}, FAR)],
  ["reads its neighbour", moving("odd", "y", {}, constant(1))],
  ["reads another rank's", moving("odd", "y", {}, ZERO, 0)],
])("a launch in which one rank %s is another", (_, second) => {
  expect(areLaunchesAlike(kernel, [...launch(0, "even"), ...launch(1, "odd", second)])).toBe(false);
  // In the third launch, too.
  const all = [...launch(0, "even"), ...launch(1, "odd"), ...launch(2, "odd", second)];
  expect(areLaunchesAlike(kernel, all)).toBe(false);
});

it("a launch in which one rank does less, or ranks come in another order, is another", () => {
  expect(areLaunchesAlike(kernel, [...launch(0, "even"), ...launch(1, "odd", undefined, [0])])).toBe(false);
  expect(areLaunchesAlike(kernel, [...launch(0, "even"), ...launch(1, "odd", undefined, [1, 0])])).toBe(false);
});

it("an order that the first launch has is taken where nothing is against it", () => {
  const units = [...launch(0, "even"), ...launch(1, "odd", undefined, [1, 0])];
  const stretches = (a: number, b: number): boolean => units[a]!.stretch < units[b]!.stretch;
  const stuck = (): never => expect.fail("no circle is there");
  expect(areLaunchesAlike(kernel, inOneOrder(units, stretches, stuck))).toBe(true);
  // Rank 1 comes first in the second launch.
  const mustBe = (a: number, b: number): boolean =>
    stretches(a, b) || (units[a]!.launch === 1 && units[a]!.stretch === units[b]!.stretch && units[a]!.rank > units[b]!.rank); // prettier-ignore
  expect(areLaunchesAlike(kernel, inOneOrder(units, mustBe, stuck))).toBe(false);
  let circles = 0;
  expect(inOneOrder(units, (a, b) => a !== b, () => void circles++)).toHaveLength(units.length); // prettier-ignore
  expect(circles).toBeGreaterThan(0);
});

it("no other place of scratch stands for a sum of two", () => {
  const both = (a: string, b: string): Movement => {
    const [{ sources: as }, { sources: bs }] = [moving(a, "y"), moving(b, "y")];
    return moving(a, "y", { text: "add $0 $1", sources: [...as, ...bs] });
  };
  const filled = (number: number, a: string, b: string, sum: Movement): Unit[] =>
    [moving("x", a), moving("x", b, { base: plus(FAR, FAR) }), sum].map((m, stretch) => ({ rank: 0, launch: number, stretch, run: stretch, movements: [m] })); // prettier-ignore
  const alike = [...filled(0, "even", "odd", both("even", "odd")), ...filled(1, "odd", "even", both("odd", "even"))];
  expect(areLaunchesAlike(kernel, alike)).toBe(true);
  const twice = [...filled(0, "even", "odd", both("even", "odd")), ...filled(1, "odd", "even", both("odd", "odd"))];
  expect(areLaunchesAlike(kernel, twice)).toBe(false);
});

/** Makes programs of tile loops, steps and conditions at random, with words and barriers at random places. */
import { randomKey, randomStream } from "../../src/runtime/numbers/index.js";

/**
 * A body in which no loop over tiles races with itself, so that synchronisation between statements is all it needs.
 *
 * @param options `repeats`: a third of the programs have loops in order inside loops over tiles, whose turns store to one element or to several
 */
export function randomProgram(
  seed: number,
  options: { readonly readsPlaces: boolean; readonly repeats?: boolean },
): string {
  const stream = randomStream(randomKey(seed, 0));
  const below = (n: number): number => (stream() >>> 0) % n;
  return new Maker(below, options.readsPlaces, options.repeats === true && below(3) === 0).program();
}

const ARRAYS = ["a", "b", "y"];

class Maker {
  private steps = 0;

  constructor(
    private readonly below: (n: number) => number,
    private readonly readsPlaces: boolean,
    private readonly repeats: boolean,
  ) {}

  program(): string {
    const places = this.readsPlaces ? [", places: i32[n] local", "where places in 0..n"] : ["", ""];
    return `collective made(x: T[n] local${places[0]}) -> y: T[n] local ${places[1]} {
      scratch a: f32[n]
      scratch b: f32[n]
      scratch c: f32[world, n]
      for i in tiles(n) { y[i] = x[i] a[i] = x[i] b[i] = x[i] for p in ranks { c[p, i] = x[i] } }
      ${this.block(0, [], 2 + this.below(4), false)}
    }`;
  }

  private pick<T>(from: readonly T[]): T {
    return from[this.below(from.length)]!;
  }

  private block(depth: number, steps: readonly string[], length: number, differs: boolean): string {
    return Array.from({ length }, () => this.statement(depth, steps, differs)).join("\n      ");
  }

  /** @param differs stands under a condition that differs from rank to rank, where all ranks cannot meet */
  private statement(depth: number, steps: readonly string[], differs: boolean): string {
    const kind = this.below(12);
    if (depth < 2 && kind === 0) {
      const step = `step${this.steps++}`;
      const turns = this.pick(["1", "2", "3", "world", "n / 100 + 1"]);
      return `for ${step} in 0..${turns} { ${this.block(depth + 1, [step, ...steps], 1 + this.below(3), differs)} }`;
    }
    if (depth < 2 && kind === 1)
      return `if ${this.condition(steps)} { ${this.block(depth + 1, steps, 1 + this.below(2), true)} }`;
    if (!differs && kind === 2) {
      const by = 1 + this.below(2);
      return `signal (rank + ${by}) % world wait (rank - ${by}) % world`;
    }
    if (!differs && kind === 3 && this.below(3) === 0) return "barrier";
    return this.repeats && this.below(6) === 0 ? this.repeated(steps) : this.tiles(steps);
  }

  private condition([step]: readonly string[]): string {
    const own = [`rank == ${this.below(3)}`, `rank < ${1 + this.below(2)}`, `rank % 2 == ${this.below(2)}`];
    const ofStep = step === undefined ? [] : [`rank == ${step}`, `rank >= ${step}`, `${step} == ${this.below(2)}`];
    return this.pick([...own, ...ofStep]);
  }

  private peer([step]: readonly string[]): string {
    const fixed = ["", "", `@((rank + ${1 + this.below(3)}) % world)`, "@((rank - 1) % world)"];
    return this.pick(step === undefined ? fixed : [...fixed, `@((rank + ${step} + ${this.below(2)}) % world)`]);
  }

  private range([step]: readonly string[]): string {
    const fixed = ["n", "n", "chunk(n, rank)", "chunk(n, (rank + 1) % world)", `chunk(n, ${this.below(2)})`];
    const ofStep = step === undefined ? [] : [`chunk(n, (rank - ${step}) % world)`, `chunk(n, ${step} % world)`];
    return this.pick([...fixed, ...ofStep]);
  }

  /** Turns that store to one element or to several; there are at least three ranks. */
  private repeated(steps: readonly string[]): string {
    const to = this.pick(ARRAYS);
    const value = `${this.pick(["x", ...ARRAYS].filter((name) => name !== to))}[i] + f32(t)`;
    const peer = `@((rank + ${1 + this.below(3)}) % world)`;
    const [one, several] = [`${to}${peer}[i]`, `c${peer}[${this.pick(["t", "2 - t"])}, i]`];
    const inIteration = this.pick([
      `${one} = ${value}`,
      `${several} = ${value}`,
      `if t != rank { ${several} = ${value} }`,
      `${several} = ${value}`,
      `if t < 1 + rank % 2 { ${one} = ${value} }`,
      `${one} = ${value} if t == 0 { ${one} = x[i] }`,
    ]);
    return `for i in tiles(${this.range(steps)}) { for t in 0..3 { ${inIteration} } }`;
  }

  private tiles(steps: readonly string[]): string {
    const to = this.pick(ARRAYS);
    const from = this.pick(["x", ...ARRAYS].filter((name) => name !== to));
    const range = this.range(steps);
    const at = this.pick(["i", "i", "i", "n - 1 - i"]);
    const kind = this.below(this.readsPlaces ? 13 : 10);
    switch (kind) {
      case 0:
        return `for i in tiles(${range}) { c${this.pick(["", "@((rank + 1) % world)"])}[rank, i] = ${from}[${at}] }`;
      case 1:
        return `for i in tiles(${range}) { ${to}[i] = c[${this.pick(["rank", "0", "(rank + 1) % world"])}, ${at}] }`;
      case 2:
        return `for p in ranks { for i in tiles(${range}) { c@p[rank, i] = ${from}[i] } }`;
      case 3:
        return `for i in tiles(${range}) { ${to}[i] = sum(p in ranks) c[p, i] }`;
      case 4:
        return `for p, i in tiles(world, n) { c[p, i] = ${this.pick(ARRAYS)}@((rank + 1) % world)[i] }`;
      case 5:
        return `for i in tiles(${range}) { ${to}[i] = (sum(p in ranks) ${from}@p[${at}]) + ${to}[i] }`;
      case 6:
        return `for i in tiles(${range}) { ${to}[i] = ${from}${this.peer(steps)}[${at}] + ${to}[i] }`;
      case 10:
        return `for i in tiles(${range}) { ${to}[i] = ${from}${this.peer(steps)}[index(places[i])] }`;
      case 11:
        return `for i in tiles(${range}) { ${to}[i] = ${from}@(index(places[0]) % world)[i] }`;
      case 12:
        return `for i in tiles(chunk(n, index(places[0]) % world)) { ${to}[i] = ${from}${this.peer(steps)}[i] }`;
      default:
        return `for i in tiles(${range}) { ${to}${this.peer(steps)}[i] = ${from}${this.peer(steps)}[${at}] }`;
    }
  }
}

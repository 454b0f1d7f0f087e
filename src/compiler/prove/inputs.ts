/** What the inputs hold: symbols, and numbers where they steer. */
import type { Kernel } from "../ir/module.js";
import type { ElementExpression, SignatureTensor } from "../manifest.js";
import { partsOfExpression } from "../specification-shape.js";
import { DTYPES } from "../types/dtype.js";
import { tableOf } from "../specification-table.js";
import { type DimValues, evaluateExtent } from "../types/extent.js";
import { hasAxes, leaderOf } from "../types/mesh.js";
import type { Algebra, Number_ } from "./algebra.js";
import { keyOf } from "./residues.js";
import { comparedWith, limitsOf } from "./compared.js";
import { steeringOf } from "../execute/steering.js";

/** How the inputs that steer are filled. The first three are the extremes. */
export const SAMPLE_NAMES = ["all least", "all greatest", "all to one", "random", "random", "random"] as const;

/** A hash of integers, from 0 to 1. */
function randomOf(...parts: readonly number[]): number {
  let h = 0x9e3779b9;
  for (const part of parts) {
    h = Math.imul(h ^ (part + 0x7f4a7c15), 0x85ebca6b);
    h ^= h >>> 13;
    h = Math.imul(h, 0xc2b2ae35);
    h ^= h >>> 16;
  }
  return (h >>> 0) / 2 ** 32;
}

/** Of a program and one of its inputs: no two inputs have the same values, and no two programs. */
function inputKey({ name, dtypes, inputs, outputs, specification }: Kernel, input: string, seed: number): number {
  return keyOf(JSON.stringify([name, dtypes, inputs, outputs, tableOf(specification), input]), seed)[0];
}

/** Found once for each kernel. */
const steering = new WeakMap<Kernel, ReadonlySet<string>>();

/** Integer inputs that decide where the kernel reads or writes, or where what is claimed of it reads. */
export function steeringInputs(kernel: Kernel): ReadonlySet<string> {
  let names = steering.get(kernel);
  if (names === undefined) {
    const isInteger = (name: string): boolean =>
      kernel.inputs.some((t) => t.name === name && DTYPES[t.dtype].kind === "int");
    const claimed = kernel.specification.flatMap((s) => (s?.kind === "elements" ? readBy(s.value) : []));
    names = new Set([...steeringOf(kernel).inputs, ...claimed.filter(isInteger)]);
    steering.set(kernel, names);
  }
  return names;
}

/** Inputs whose elements a claim reads or counts by. */
function readBy(value: ElementExpression): string[] {
  const names = new Set<string>();
  const seen = new Set<ElementExpression>();
  const look = (e: ElementExpression, decides: boolean): void => {
    if (decides && e.kind === "load") names.add(e.input);
    if (!decides && seen.has(e)) return;
    seen.add(e);
    const deciding: readonly (ElementExpression | null)[] =
      e.kind === "load" ? [...e.indices, e.peer] : e.kind === "reduce" ? [e.from, e.to] : [];
    for (const part of partsOfExpression(e)) look(part, decides || deciding.includes(part));
  };
  look(value, false);
  return [...names];
}

/** Elements of inputs that are known; `rank` as `InputValues.nameOf` says. */
export type GivenNumbers = (launch: number, name: string, rank: number, index: number) => number;

/** Of how many random elements one is next to a constant that data is compared with, where there are any. */
const ONE_OF = 4;

export class InputValues {
  private readonly keys = new Map<string, number>();
  private readonly steering: ReadonlySet<string>;
  private readonly tensors: ReadonlyMap<string, SignatureTensor>;

  /**
   * @param sample number of a set of values, see `SAMPLE_NAMES`
   * @param seed of those that are random
   */
  constructor(
    private readonly kernel: Kernel,
    private readonly dims: DimValues,
    private readonly sample: number,
    private readonly seed: number,
    private readonly given?: GivenNumbers,
  ) {
    this.steering = steeringInputs(kernel);
    this.tensors = new Map(kernel.inputs.map((t) => [t.name, t]));
  }

  /** Whether an input steers, so that its elements are numbers. */
  steers(name: string): boolean {
    return this.steering.has(name);
  }

  /**
   * The rank under whose name a rank's elements of an input go: its own, except for what is equal on several ranks. That
   * is the first rank of a row of the mesh, and -1 for all ranks.
   */
  nameOf({ layout }: SignatureTensor, rank: number): number {
    if (hasAxes(layout)) return leaderOf(layout, this.kernel.mesh, rank);
    return layout.kind === "replicated" ? -1 : rank;
  }

  /**
   * The elements of an input at a launch, by index; `rank` as `nameOf` says.
   * @param algebra is not asked about inputs that steer: their elements are numbers
   */
  elements(algebra: Algebra, launch: number, name: string, rank: number): (index: number) => Number_ {
    return this.steers(name) ? this.numbers(launch, name, rank) : algebra.leavesOf(launch, name, rank);
  }

  /** The elements of an input that steers. */
  numbers(launch: number, name: string, rank: number): (index: number) => number {
    const [from, to] = this.range(this.tensors.get(name)!);
    const { world } = this.kernel;
    const { given } = this;
    if (given !== undefined) return (index) => given(launch, name, rank, index);
    switch (this.sample) {
      case 0:
        return () => from;
      case 1:
        return () => to - 1;
      case 2:
        return (index) => (index % world === launch % world ? to - 1 : from);
      default: {
        const key = this.keyOf(name);
        const near = this.near(name);
        return (index) => {
          const random = randomOf(this.sample, launch, key, rank, index);
          const chosen = near.length === 0 ? 1 : randomOf(this.sample, launch, key, rank, index, 1) * ONE_OF;
          return chosen < 1
            ? near[Math.floor(chosen * near.length)]!
            : from + Math.floor(random * Math.max(1, to - from));
        };
      }
    }
  }

  /** Values on both sides of the constants that elements are compared with, of those that they may have. */
  private near(name: string): readonly number[] {
    const { values, dtype } = this.tensors.get(name)!;
    if (dtype === "bool") return [];
    const [from, to] = values === undefined ? limitsOf(dtype) : this.range(this.tensors.get(name)!);
    const all = [...(comparedWith(this.kernel).get(name) ?? [])].flatMap((c) => [c, c - 1, c + 1]);
    return [...new Set(all)].filter((c) => c >= from && c < to);
  }

  private keyOf(name: string): number {
    let key = this.keys.get(name);
    if (key === undefined) this.keys.set(name, (key = inputKey(this.kernel, name, this.seed)));
    return key;
  }

  /** The values an element may have: at least the first, below the second. Where nobody says, numbers of ranks. */
  private range({ values, dtype }: SignatureTensor): readonly [number, number] {
    if (dtype === "bool") return [0, 2];
    if (values === undefined) return [0, this.kernel.world];
    const from = evaluateExtent(values.from, this.dims);
    return [from, Math.max(from + 1, evaluateExtent(values.to, this.dims))];
  }
}

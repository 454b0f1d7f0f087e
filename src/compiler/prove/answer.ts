/** Is the answer right? Every element of every output of every rank, for all data at once. */
import { type Kernel } from "../ir/module.js";
import { DTYPES } from "../types/dtype.js";
import { type DimValues } from "../types/extent.js";
import type { Algebra, Number_ } from "./algebra.js";
import { describeDifference } from "./difference.js";
import { AllData } from "./all-data.js";
import { compareAtData } from "./evaluate.js";
import { ExactAlgebra, TooLarge } from "./exact.js";
import { printLayout, sameLayout } from "../types/layout.js";
import { cutsOf, isHolder, partsOfRank } from "../types/mesh.js";
import { execute } from "./execute.js";
import { ExponentialAlgebra } from "./exponentials.js";
import { FieldAlgebra } from "./field.js";
import { gridOf } from "./machine.js";
import { type Answer, CannotTell, Fails, unknownBecause } from "./results.js";
import { GridShards, indexOf, Shards, sizeOf } from "./places.js";
import { Signature } from "./signature.js";
import { type ElementAt, Expectation } from "./specification.js";
import { proveReplicas } from "./replicas.js";
import {
  computedInOf,
  dtypesOf,
  EXPONENTIALS,
  hasChoices,
  hasFunction,
  isOfFewIntegers,
  MADE_OF_EXPONENTIALS,
  randomPlaces,
  rangesOf,
  storePlace,
  storesOf,
  limitsOf,
  positiveInputsOf,
} from "./facts.js";
import { RoundingAlgebra } from "./rounding.js";
import { termsForAllData } from "./terms-for-all-data.js";
import { castOf } from "./values.js";

export interface AnswerOptions {
  readonly dims: DimValues;
  /** Default 2: the second launch meets the flags and the scratch that the first one left. */
  readonly launches?: number;
  /** Number of a set of values for inputs that steer. */
  readonly sample?: number;
  /** What random data is drawn from, besides the program; 0 by default. */
  readonly seed?: number;
  /** Whether buffers start at aligned addresses; both ways are worth proving. Default true. */
  readonly aligned?: boolean;
}

/**
 * Executes the kernel symbolically and compares what it stores with its specification. Holds for every schedule
 * if `proveOrdering` says that the accesses are ordered.
 */
export function proveAnswer(kernel: Kernel, options: AnswerOptions): Answer {
  const launches = options.launches ?? 2;
  const { dims, aligned = true } = options;
  const claim = { ranks: kernel.world, dims, grid: gridOf(kernel, dims), launches, aligned };
  try {
    const unspecified = kernel.outputs.filter((_, o) => kernel.specification[o] == null).map((t) => t.name);
    if (unspecified.length === kernel.outputs.length) {
      proveReplicas(kernel, { ...options, launches });
      return { status: "proved", claim, checked: 0, samples: 0, unspecified, overflows: [], executed: [] };
    }
    const seed = options.seed ?? 0;
    let run = new Run(kernel, { ...options, launches }, algebraFor(kernel, seed, hasFunction(kernel, EXPONENTIALS)));
    let difference = run.firstDifference();
    // What is made of exponentials, and has another name, has their laws.
    if (
      difference !== null &&
      !(run.algebra instanceof ExponentialAlgebra) &&
      hasFunction(kernel, MADE_OF_EXPONENTIALS)
    ) {
      run = new Run(kernel, { ...options, launches }, algebraFor(kernel, seed, true));
      difference = run.firstDifference();
    }
    if (difference !== null) difference = differenceInTerms(kernel, { ...options, launches }, difference, run);
    if (difference !== null) explain(kernel, { ...options, launches }, difference, run.indexOf(difference));
    proveReplicas(kernel, { ...options, launches });
    const { checked, executed } = run;
    const overflows = [...run.algebra.overflows];
    return { status: "proved", claim, checked, samples: 0, unspecified, overflows, executed };
  } catch (e) {
    if (e instanceof CannotTell) return unknownBecause(kernel, claim, e);
    if (!(e instanceof Fails)) throw e;
    const { kind, message, places, witness, help } = e;
    return { status: "wrong", claim, kind, message, places, witness, help };
  }
}

/**
 * Whether a kernel whose answer is proved makes its outputs by the operations of the claim, in their order, with each
 * rounding: then what it compares is what the claim compares.
 */
export function isRoundedAsClaimed(kernel: Kernel, options: AnswerOptions): boolean {
  const algebra = new RoundingAlgebra(dtypesOf(kernel), false, randomPlaces(kernel, options.seed ?? 0).plain, false);
  try {
    return new Run(kernel, { ...options, launches: 1 }, algebra).firstDifference() === null;
  } catch (e) {
    if (e instanceof CannotTell || e instanceof Fails) return false;
    throw e;
  }
}

/**
 * The difference that is left where terms are looked into: all data is tried where there is little, else all orders of it.
 * @param before found the difference. What is equal there is not asked again: terms need not be of one form for that.
 */
function differenceInTerms(kernel: Kernel, options: RunOptions, difference: Place, before: Run): Place | null {
  if (!isOfFewIntegers(kernel) && !hasChoices(kernel)) return difference;
  const algebra = termsForAllData(kernel, options);
  try {
    return new Run(kernel, options, algebra).firstDifference(before);
  } catch (e) {
    if (e instanceof TooLarge) return difference;
    throw e;
  }
}

/** @param isExponential whether laws of exponentials matter: they cost twice as much, and more */
function algebraFor(kernel: Kernel, seed: number, isExponential: boolean): Algebra {
  const places = randomPlaces(kernel, seed);
  return isExponential
    ? new ExponentialAlgebra(dtypesOf(kernel), places, positiveInputsOf(kernel))
    : new FieldAlgebra(dtypesOf(kernel), places.plain);
}

/** Where an output is not what it should be. For a `partial` output the rank is 0, and the value that of all ranks. */
interface Place {
  readonly output: number;
  readonly launch: number;
  readonly rank: number;
  /** Number of the element; in a claim about elements, of the rank's own part. */
  readonly at: number;
}

/** An output that is specified. */
interface Specified {
  readonly output: number;
  readonly shape: readonly number[];
  /** Where it is in parts. */
  readonly shards: Shards | GridShards | null;
  /** The ranks of which an element is asked for, by part; of a `partial` tensor the first of each row. */
  readonly holders: readonly (readonly number[])[];
}

type RunOptions = AnswerOptions & { readonly launches: number };

/** A kernel executed on all ranks, and what its outputs should be. */
class Run {
  private readonly ended: Number_[][][][] = [];
  private readonly signature: Signature;
  private readonly expectations: Expectation[];
  private readonly everyRank: readonly number[];
  readonly executed: readonly number[];
  checked = 0;

  constructor(
    private readonly kernel: Kernel,
    options: RunOptions,
    readonly algebra: Algebra,
  ) {
    const { launches, dims } = options;
    this.everyRank = Array.from({ length: kernel.world }, (_, r) => r);
    // A peer may still write to a rank whose own kernel has ended only if the ordering is wrong; that is not asked here.
    const machine = execute(kernel, options, algebra, false, (m, rank, launch) => {
      (this.ended[launch] ??= [])[rank] = kernel.outputs.map((t) => m.memory[m.bufferNumber(t.name)]![rank]!.slice());
    });
    this.executed = machine.executed;
    this.signature = new Signature(kernel, dims);
    this.expectations = Array.from(
      { length: launches },
      (_, l) => new Expectation(this.signature, algebra, l, machine.inputs),
    );
  }

  /** @param before has found what is equal elsewhere */
  firstDifference(before?: Run): Place | null {
    const specified = this.kernel.outputs.flatMap((_, o) => this.specified(o) ?? []);
    for (const launch of this.expectations.keys())
      for (const s of specified) {
        const difference = this.firstDifferenceIn(s, launch, before);
        if (difference !== null) return difference;
      }
    return null;
  }

  private firstDifferenceIn({ output, shape, shards, holders }: Specified, launch: number, before?: Run): Place | null {
    const { algebra, everyRank } = this;
    const wantedBy = everyRank.map((rank) => this.expectations[launch]!.of(output, rank));
    const gotBy = everyRank.map((rank) => this.held(output, launch, rank));
    const { dtype } = this.kernel.outputs[output]!;
    const { compute } = DTYPES[dtype];
    const total = sizeOf(shape);
    const run = shards?.part ?? total;
    for (let start = 0; start < total; start += run) {
      const ranks = holders[shards?.place(start) ?? 0]!;
      const first = shards?.index(start) ?? 0;
      for (let i = 0; i < run; i++) {
        let last: ElementAt | null = null;
        let wanted: Number_ = 0;
        for (let h = 0; h < ranks.length; h++) {
          const rank = ranks[h]!;
          this.checked++;
          const got = gotBy[rank]!(first + i);
          const want = wantedBy[rank]!;
          if (want !== last) wanted = castOf(algebra, compute, dtype, (last = want)(start + i));
          if (got === wanted) continue;
          const place = { output, launch, rank, at: start + i };
          if (before?.isEqualAt(place) === true || algebra.isSame(got, wanted)) continue;
          return place;
        }
      }
    }
    return null;
  }

  /** What a rank holds for an element, and what it should. */
  values({ output, launch, rank, at }: Place): { readonly got: Number_; readonly wanted: Number_ } {
    const { shards } = this.specified(output)!;
    const { dtype } = this.kernel.outputs[output]!;
    const wanted = castOf(this.algebra, DTYPES[dtype].compute, dtype, this.expectations[launch]!.of(output, rank)(at));
    return { got: this.held(output, launch, rank)(shards === null ? at : shards.index(at)), wanted };
  }

  private isEqualAt(place: Place): boolean {
    const { got, wanted } = this.values(place);
    return got === wanted || this.algebra.isSame(got, wanted);
  }

  /** The index of an element. */
  indexOf({ output, at }: Place): readonly number[] {
    return indexOf(at, this.specified(output)!.shape);
  }

  /** Null for an output of which nothing is claimed. */
  private specified(output: number): Specified | null {
    const { kernel, signature } = this;
    const s = kernel.specification[output] ?? null;
    if (s === null) return null;
    const tensor = kernel.outputs[output]!;
    const { layout } = tensor;
    const shape = s.kind === "elements" ? signature.localShapeOf(tensor) : signature.shapeOf(tensor);
    const isMember = (place: number) => (rank: number) => signature.membersFor(tensor, rank)[place] === rank;
    const some = (place: number): readonly number[] => this.everyRank.filter(isMember(place));
    if (layout.kind === "grid" && s.kind !== "elements") {
      const { mesh, world } = kernel;
      const shards = new GridShards(shape, cutsOf(layout, mesh, world, shape.length));
      const holders: number[][] = Array.from({ length: sizeOf(shards.cuts) }, () => []);
      for (const rank of this.everyRank.filter((r) => isHolder(layout, mesh, r)))
        holders[shards.numberOf(partsOfRank(layout, mesh, rank, shape.length))]!.push(rank);
      return { output, shape, shards, holders };
    }
    if (layout.kind === "on") return { output, shape, shards: null, holders: [some(layout.rank)] };
    if (layout.kind === "grid")
      return { output, shape, shards: null, holders: [this.everyRank.filter((r) => isHolder(layout, kernel.mesh, r))] };
    if (s.kind === "elements" || layout.kind === "replicated" || layout.kind === "local")
      return { output, shape, shards: null, holders: [this.everyRank] };
    if (layout.kind !== "sharded") return { output, shape, shards: null, holders: [some(0)] };
    const parts = signature.membersFor(tensor, 0).length;
    const holders = Array.from({ length: parts }, (_, place) => some(place));
    return { output, shape, shards: new Shards(shape, layout.dim, parts), holders };
  }

  /** What a rank holds of an output after a launch; of a `partial` one, what its row holds together. */
  private held(output: number, launch: number, rank: number): ElementAt {
    const { kernel, algebra, signature } = this;
    const tensor = kernel.outputs[output]!;
    const { layout } = tensor;
    const on = (r: number): ElementAt => {
      const memory = this.ended[launch]![r]![output]!;
      return (index) => memory[index] ?? algebra.poison(tensor.name, r, index);
    };
    if (layout.kind !== "partial" || kernel.specification[output]!.kind === "elements") return on(rank);
    const parts = signature.membersFor(tensor, rank).map(on);
    const reduced = this.expectations[launch]!.reduced(layout.op, parts, tensor.dtype);
    return (index) => castOf(algebra, DTYPES[tensor.dtype].compute, tensor.dtype, reduced(index));
  }
}

/** Says how a value differs, with terms that can be read. Throws Fails, or CannotTell if it may not differ at all. */
function explain(kernel: Kernel, options: RunOptions, place: Place, at: readonly number[]): never {
  const { output, launch, rank } = place;
  const element = `'${kernel.outputs[output]!.name}'[${at.join(", ")}]`;
  const name = kernel.outputs[output]!.name;
  const places = storesOf(kernel, name).map((span) => storePlace(name, rank, launch, span));
  let message = "is not what the signature says";
  let witness: readonly string[] = [];
  try {
    const { got, wanted } = new Run(
      kernel,
      options,
      new ExactAlgebra(dtypesOf(kernel), undefined, rangesOf(kernel, options.dims)),
    ).values(place);
    const rangeOf = rangesOf(kernel, options.dims);
    const computedIn = computedInOf(kernel);
    const isRefuted = isOfFewIntegers(kernel) && new AllData(rangeOf, computedIn).areEqual(got, wanted) === false;
    const atData = isRefuted
      ? "differ"
      : compareAtData(got, wanted, rangeOf, computedIn, options.seed ?? 0, limitsOf(kernel, options.dims));
    if (atData !== "differ") {
      const seen = atData === "agree" ? "agree at random data" : "could not be compared at random data";
      throw new CannotTell(
        `output ${element} on rank ${rank} is written in another form than the signature's, and no rule says that they are equal (they ${seen})`,
        places[0]?.span,
      );
    }
    const isScalar = (name: string): boolean => kernel.scalars.some((s) => s.name === name);
    [message, ...witness] = describeDifference(got, wanted, launch, isScalar) as [string, ...string[]];
  } catch (e) {
    // Residues that differ are proof enough; the terms may be too large to hold.
    if (!(e instanceof TooLarge)) throw e;
  }
  throw new Fails(
    "answer",
    `output ${element} on rank ${rank}: ${message}`,
    places,
    witness,
    helpForCopy(kernel, output, at.length),
  );
}

/** What a body of loops computes is no part of its signature: without an `ensures`, one layout for both says that the output is the input. */
function helpForCopy({ specification, clauses, inputs, outputs }: Kernel, output: number, rank: number): string | null {
  const { name, layout } = outputs[output]!;
  const claim = specification[output];
  const input = claim?.kind === "input" ? inputs.find((t) => t.name === claim.name) : undefined;
  if (input === undefined || !sameLayout(input.layout, layout) || (clauses?.ensures[output] ?? null) !== null)
    return null;
  const indices = rank === 1 ? "i" : Array.from({ length: rank }, (_, d) => `i${d}`).join(", ");
  return `'${name}' and '${input.name}' are both ${printLayout(layout)}, so the signature says that they are equal; if '${name}' is meant to be something else, say what: ensures ${name}[${indices}] == …`;
}

/**
 * What roundings come to in programs with too many elements to be carried out once more.
 *
 * A program is carried out at a shorter length instead, on elements that are chosen from the long tensors: each of the pieces that the
 * long tensor falls into has a run of a few of its elements in the short one, so that what goes to a rank, or comes first, in the
 * one does so in the other. Where elements depend on those of their own place alone, the short program computes the long one's elements, with the same
 * data, on the same way. Whether it does, the data tell: what does not come to what the signature says explains nothing.
 */
import {
  brokenRequirement,
  type DimValues,
  evaluateExtent,
  executionWork,
  type Extent,
  extentNames,
  fitDims,
  type Kernel,
  type Manifest,
  roundedOutputs,
  type RoundedOutputs,
} from "../../compiler/index.js";
import { isMeant, type RoundedElement, type SignatureElement } from "./program-roundings.js";

/** Elements of a piece that stand next to each other in the short tensor. */
const RUN = 8;
/** Elements that the execution of a window goes through, at most: some tenths of a second. */
const MOST_WORK = 2 ** 17;
/** Windows after which what they have shown is taken for other elements, too. */
const ENOUGH_WINDOWS = 12;
/** Windows at most, with those that elements far from the signature have of their own. */
const MOST_WINDOWS = 60;
/** An element that is so many times smaller than the largest has errors that do not go with its size. */
const MUCH_SMALLER = 64;

/** A dimension of a tensor, and the one that stands for it. */
class Axis {
  private readonly pieces: number;

  constructor(
    readonly long: number,
    readonly short: number,
    /** The dimension that decides about it; null: it is as long as it was. */
    readonly dimension: string | null,
  ) {
    this.pieces = dimension === null ? 1 : Math.max(1, Math.floor(short / RUN));
  }

  private start(piece: number): number {
    return Math.floor((piece * this.long) / this.pieces);
  }

  /** @param from element of each piece that its run begins with */
  toLong(index: number, from: number): number {
    if (this.dimension === null) return index;
    const piece = Math.min(Math.floor(index / RUN), this.pieces - 1);
    return Math.min(this.start(piece) + from + index - piece * RUN, this.long - 1);
  }

  toShort(index: number): { readonly index: number; readonly from: number } {
    if (this.dimension === null) return { index, from: 0 };
    let piece = Math.min(this.pieces - 1, Math.floor((index * this.pieces) / this.long));
    while (this.start(piece) > index) piece--;
    while (piece + 1 < this.pieces && this.start(piece + 1) <= index) piece++;
    const at = index - this.start(piece);
    const from = Math.min(at - (at % RUN), Math.max(0, this.start(piece + 1) - this.start(piece) - RUN));
    return { index: piece * RUN + at - from, from };
  }
}

/** A number that a launch is given: of an input's element, or of a scalar. */
type GivenNumbers = (launch: number, name: string, rank: number, index: number) => number;

/** What is asked about: one kernel, launched at one set of lengths. */
interface Program {
  readonly kernel: Kernel;
  readonly manifest: Manifest;
  readonly dims: DimValues;
  readonly launches: number;
  readonly given: GivenNumbers;
}

/** By dimension, the element of each piece that runs begin with. */
type Froms = Readonly<Record<string, number>>;

/** A way to shorten the program, and what was carried out of it. */
class Shortened {
  private readonly windows = new Map<string, RoundedOutputs | null>();

  private constructor(
    private readonly program: Program,
    private readonly dims: DimValues,
    private readonly axes: ReadonlyMap<string, readonly Axis[]>,
  ) {}

  /** Null where a tensor's length goes with several of the dimensions that are shorter. */
  static of(program: Program, dims: DimValues): Shortened | null {
    const { manifest } = program;
    const shorter = manifest.dims.filter((name) => dims[name] !== program.dims[name]);
    const axes = new Map<string, readonly Axis[]>();
    for (const { name, localShape } of [...manifest.inputs, ...manifest.outputs]) {
      const own = localShape.map((extent) => axisOf(extent, program.dims, dims, shorter));
      if (!own.every((axis) => axis !== null)) return null;
      axes.set(name, own);
    }
    return new Shortened(program, dims, axes);
  }

  /**
   * The element of the long program; null where no window has it, or the program cannot be followed.
   * @param mayOpen whether a window may be carried out for it that was not
   */
  element(launch: number, output: string, rank: number, index: number, mayOpen: boolean): RoundedElement | null {
    const place = this.placeOf(output, index);
    if (place === null) return null;
    const key = JSON.stringify(place.froms);
    let window = this.windows.get(key);
    if (window === undefined) {
      if (!mayOpen) return null;
      window = this.carriedOut(place.froms);
      this.windows.set(key, window);
    }
    return window?.(launch, output, rank, place.index) ?? null;
  }

  get opened(): number {
    return this.windows.size;
  }

  private placeOf(output: string, index: number): { readonly index: number; readonly froms: Froms } | null {
    const froms: Record<string, number> = {};
    let [place, stride, rest] = [0, 1, index];
    for (const axis of this.axes.get(output)!.toReversed()) {
      const { index: at, from } = axis.toShort(rest % axis.long);
      rest = Math.floor(rest / axis.long);
      const { dimension } = axis;
      if (dimension !== null && (froms[dimension] ??= from) !== from) return null;
      if (at >= axis.short) return null;
      place += at * stride;
      stride *= axis.short;
    }
    return { index: place, froms };
  }

  private carriedOut(froms: Froms): RoundedOutputs | null {
    const { kernel, launches, given } = this.program;
    const inWindow: GivenNumbers = (launch, name, rank, index) =>
      given(launch, name, rank, this.longPlace(name, index, froms));
    return roundedOutputs(kernel, { dims: this.dims, launches, given: inWindow });
  }

  private longPlace(name: string, index: number, froms: Froms): number {
    let [place, stride, rest] = [0, 1, index];
    // A number of the launch has no axes.
    for (const axis of this.axes.get(name)?.toReversed() ?? []) {
      place += axis.toLong(rest % axis.short, axis.dimension === null ? 0 : (froms[axis.dimension] ?? 0)) * stride;
      rest = Math.floor(rest / axis.short);
      stride *= axis.long;
    }
    return place;
  }
}

function axisOf(extent: Extent, dims: DimValues, fewer: DimValues, shorter: readonly string[]): Axis | null {
  const [long, short] = [evaluateExtent(extent, dims), evaluateExtent(extent, fewer)];
  if (long === short) return new Axis(long, short, null);
  const names = [...extentNames(extent)].filter((name) => shorter.includes(name));
  return names.length === 1 ? new Axis(long, short, names[0]!) : null;
}

/** Elements of a program that is too long to be carried out whole. */
export class Windows {
  private readonly ways: readonly Shortened[];
  private readonly outputs = new Map<string, Followed>();

  constructor(program: Program) {
    this.ways = waysToShorten(program);
  }

  /**
   * Where enough windows have shown how large errors of an output are, an element of it that is no farther from what the signature says than those
   * reach is taken to be rounded as they are; any other is looked at in a window of its own, so that nothing is refused unseen.
   */
  element(launch: number, output: string, rank: number, index: number, says: SignatureElement): RoundedElement | null {
    let of = this.outputs.get(output);
    if (of === undefined) this.outputs.set(output, (of = { ways: this.ways, seen: [], reach: null }));
    const scale = Math.max(Math.abs(says.value), says.size, says.tolerance);
    const opened = of.ways.reduce((sum, way) => sum + way.opened, 0);
    if (opened >= ENOUGH_WINDOWS && of.seen.length > 0) of.reach ??= reachOf(of.seen);
    const reached = of.reach?.(scale) ?? 0;
    if (says.distance <= reached) return { value: says.value, error: reached };
    for (const way of of.ways) {
      const found = way.element(launch, output, rank, index, opened < MOST_WINDOWS);
      if (found === null || !isMeant(found, says)) continue;
      if (of.ways.length > 1) of.ways = [way];
      if (of.reach === null) of.seen.push({ scale, error: found.error });
      return found;
    }
    return null;
  }
}

/** What is known of an output. */
interface Followed {
  /** Ways to shorten the program that were not seen to fail, the best first. */
  ways: readonly Shortened[];
  /** Errors of elements that were asked for, and what they go with. */
  readonly seen: { readonly scale: number; readonly error: number }[];
  reach: ((scale: number) => number) | null;
}

/**
 * How far errors reach, by what they go with: as far as the largest of those that were seen, in parts of it. What is much smaller than others
 * has errors as those that are not, as of a smallest step, or of what cancels.
 */
function reachOf(seen: readonly { readonly scale: number; readonly error: number }[]): (scale: number) => number {
  const least = seen.reduce((most, { scale }) => Math.max(most, scale), 0) / MUCH_SMALLER;
  const part = seen.reduce((most, { scale, error }) => (scale < least ? most : Math.max(most, error / scale)), 0);
  return (scale) => part * Math.max(scale, least);
}

/** The program with one of its dimensions shorter, the first first, or with all of them. */
function waysToShorten(program: Program): Shortened[] {
  const { manifest, dims } = program;
  const groups = manifest.dims.length === 1 ? [manifest.dims] : [...manifest.dims.map((name) => [name]), manifest.dims];
  return groups.flatMap((names) => {
    const few = shortened(program, names);
    const way =
      few === null || manifest.dims.every((name) => few[name] === dims[name]) ? null : Shortened.of(program, few);
    return way === null ? [] : [way];
  });
}

/** Dimensions of which some are short enough to be carried out; null where they never are. */
function shortened({ kernel, manifest, dims }: Program, names: readonly string[]): DimValues | null {
  // Parts of all ranks have whole runs.
  const unit = RUN * manifest.ranks;
  const least = (length: number): number => Math.min(length, unit);
  for (let less = 2; less <= 2 ** 40; less *= 2) {
    const wanted: Record<string, number> = { ...dims };
    for (const name of names) wanted[name] = Math.max(least(dims[name]!), Math.floor(dims[name]! / less / unit) * unit);
    const few = fitDims(manifest.requirements, wanted, new Set(names));
    const isAllowed = brokenRequirement(manifest.requirements, few) === null;
    if (isAllowed && executionWork(kernel, few) <= MOST_WORK) return few;
    if (names.every((name) => wanted[name]! <= least(dims[name]!))) return null;
  }
  return null;
}

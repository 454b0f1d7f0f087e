/** Steps of programs that send messages, on emulated ranks: what each rank sends meets what its peer receives, and when. */
import {
  type DimValues,
  elementsOf,
  InternalCompilerError,
  type Manifest,
  type MessageStep,
  type Run,
  runsOf,
} from "../../compiler/index.js";
import { copyInto, randomKey, randomStream, type TypedArray } from "../numbers/index.js";
import type { PersistentMemory } from "./memory.js";

function overlaps(a: Run, b: Run): boolean {
  return a.memory === b.memory && a.offset < b.offset + b.length && b.offset < a.offset + a.length;
}

interface Place {
  readonly array: TypedArray;
  readonly written: Uint8Array;
}

/**
 * Carries out the messages of a step, as grouped sends and receives do: the k-th that a rank sends to a peer is the k-th that the
 * peer receives from it.
 * @throws InternalCompilerError for a send that nobody receives, a receive that nobody sends, and lengths that differ
 */
export function exchangeMessages(
  { ranks }: MessageStep,
  { memory }: Pick<Manifest, "memory">,
  held: PersistentMemory,
  dims: DimValues,
): void {
  const place = ({ memory: name, offset, length }: Run, rank: number): Place => {
    const { dtype, shape } = memory!.find((m) => m.name === name)!;
    const elements = elementsOf(shape, dims);
    const { array, written } = held.of({ name, dtype, role: "scratch" }, rank, elements);
    if (offset + length > elements)
      throw new InternalCompilerError(`a message of ${name} ends at ${offset + length} of ${elements} elements`);
    return { array: array.subarray(offset, offset + length), written: written.subarray(offset, offset + length) };
  };
  for (const [rank, { sends, receives }] of ranks.entries()) {
    const [sent, filled] = [runsOf(sends, dims), runsOf(receives, dims)];
    filled.forEach((run, i) => {
      const other = [...filled.slice(i + 1), ...sent].find((o) => overlaps(run, o));
      if (other !== undefined)
        throw new InternalCompilerError(`rank ${rank}: what arrives from rank ${run.peer} in ${run.memory}[${run.offset}] lies where another message does`); // prettier-ignore
    });
  }
  const channel = (from: number, to: number): string => `${from} to ${to}`;
  const waiting = new Map<string, Run[]>();
  for (const [rank, { receives }] of ranks.entries())
    for (const run of runsOf(receives, dims)) {
      const key = channel(run.peer, rank);
      waiting.set(key, [...(waiting.get(key) ?? []), run]);
    }
  for (const [rank, { sends }] of ranks.entries())
    for (const run of runsOf(sends, dims)) {
      const key = channel(rank, run.peer);
      const receive = waiting.get(key)?.shift();
      if (receive?.length !== run.length)
        throw new InternalCompilerError(`rank ${key} sends ${run.length} elements where ${receive?.length ?? 0} are received`); // prettier-ignore
      const [source, target] = [place(run, rank), place(receive, run.peer)];
      copyInto(target.array, source.array);
      target.written.set(source.written);
    }
  for (const [key, left] of waiting)
    if (left.length > 0) throw new InternalCompilerError(`rank ${key}: ${left.length} messages are received that nobody sends`); // prettier-ignore
}

/** When messages that go on beside launches are carried out: as soon as they may be, no sooner than awaited, or any time between. */
export type MessageTimes = "early" | "late" | "any";

/**
 * Messages that go on beside launches: each is carried out after those before it, and no later than a launch that awaits it. And copies beside launches:
 * a rank's in their order, which launches await by words.
 */
export class EmulatedLane {
  private readonly waiting: { readonly at: number; readonly carryOut: () => void }[] = [];
  /** Copies of each rank that are left. */
  private copies: (() => void)[][] = [];
  private readonly random: () => number;

  /** @param seed of `any` */
  constructor(
    private readonly when: MessageTimes = "early",
    seed = 0,
  ) {
    this.random = randomStream(randomKey(seed, 0));
  }

  /** A launch that failed may have left some. */
  reset(): void {
    this.waiting.length = 0;
    this.copies = [];
  }

  /** @param copies of each rank, from rank 0 on */
  beginCopies(copies: readonly (readonly (() => void)[])[]): void {
    this.copies = copies.map((list) => [...list]);
    const next = (): boolean => this.when === "early" || (this.when === "any" && this.random() % 2 === 0);
    while (next() && this.nextCopies());
  }

  /** Carries out the next copy of each rank that has one, which is what stuck blocks may wait for. @returns whether there was any */
  nextCopies(): boolean {
    const next = this.copies.flatMap((list) => list.shift() ?? []);
    for (const copy of next) copy();
    return next.length > 0;
  }

  /** @param at number of the step */
  begin(at: number, carryOut: () => void): void {
    this.waiting.push({ at, carryOut });
    this.goOn();
  }

  /** Carries out those that are to be now. */
  goOn(): void {
    if (this.when === "late") return;
    while (this.waiting.length > 0 && (this.when === "early" || this.random() % 2 === 0)) this.first();
  }

  /** Carries out all up to a step. */
  await(at: number): void {
    while (this.waiting.length > 0 && this.waiting[0]!.at <= at) this.first();
  }

  /** Carries out all that is left. */
  finish(): void {
    while (this.nextCopies());
    this.await(Infinity);
  }

  private first(): void {
    this.waiting.shift()!.carryOut();
  }
}

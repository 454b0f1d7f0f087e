/** Steps of programs that send messages, on emulated ranks: what each rank sends meets what its peer receives. */
import {
  type DimValues,
  elementsOf,
  InternalCompilerError,
  type Manifest,
  type MessageStep,
  type Run,
  runsOf,
} from "../../compiler/index.js";
import { copyInto, type TypedArray } from "../numbers/index.js";
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

/** Stores that not everybody sees yet, in lists by element and by who stored. */
import type { Element, TypedArray } from "../../numbers/index.js";

/** A store that not everybody sees. */
export interface Hidden {
  readonly stores: HiddenStores;
  readonly index: number;
  readonly value: Element;
  readonly by: Storer;
  /** Number of the segment that stored it. */
  readonly segment: number;
  /** Blocks of its own rank see it. */
  onGpu: boolean;
  /** The store to the same element before it. */
  older: Hidden | null;
  /** Neighbours among the stores of one block, in their order. */
  previous: Hidden | null;
  next: Hidden | null;
  isShown: boolean;
}

/** Whose stores are hidden. */
export interface Storer {
  readonly rank: number;
  firstHidden: Hidden | null;
  lastHidden: Hidden | null;
}

/** Of one memory. */
export class HiddenStores {
  /** The latest store to each element. */
  private readonly latest: (Hidden | null)[];
  private count = 0;

  constructor(private readonly array: TypedArray) {
    this.latest = new Array<Hidden | null>(array.length).fill(null);
  }

  add(index: number, value: Element, by: Storer, segment: number): void {
    const older = this.latest[index]!;
    const previous = by.lastHidden;
    const h: Hidden = { stores: this, index, value, by, segment, onGpu: false, older, previous, next: null, isShown: false }; // prettier-ignore
    this.latest[index] = h;
    if (previous === null) by.firstHidden = h;
    else previous.next = h;
    by.lastHidden = h;
    this.count++;
  }

  /** What an element holds for this block. */
  valueFor(reader: Storer, index: number): Element {
    if (this.count > 0)
      for (let h: Hidden | null = this.latest[index]!; h !== null; h = h.older)
        if (h.by === reader || (h.onGpu && h.by.rank === reader.rank)) return h.value;
    return this.array[index]!;
  }

  /** Lets everybody see a store, and those to the same element before it. */
  show(h: Hidden): void {
    if (h.isShown) return;
    this.array[h.index] = h.value;
    let newer: Hidden | null = null;
    for (let at: Hidden | null = this.latest[h.index]!; at !== h && at !== null; at = at.older) newer = at;
    if (newer === null) this.latest[h.index] = null;
    else newer.older = null;
    for (let done: Hidden | null = h; done !== null; done = done.older) {
      done.isShown = true;
      this.count--;
      if (done.previous === null) done.by.firstHidden = done.next;
      else done.previous.next = done.next;
      if (done.next === null) done.by.lastHidden = done.previous;
      else done.next.previous = done.previous;
    }
  }
}

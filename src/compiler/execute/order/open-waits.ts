/** Waits that are not known to end, in the order of the trace. */
import type { Wait } from "./flags.js";

/**
 * Waits leave from the front, most often, while others are gone through. A `Set` would go through all that have left each time: kernels
 * that take hundreds of thousands of packets spent half a minute there (2026-11).
 */
export class OpenWaits {
  private waits: readonly Wait[];
  /** By number of a wait: 1 while it is open. */
  private readonly isOpen: Uint8Array;
  /** None before this place is open. */
  private first = 0;
  size: number;

  constructor(waits: readonly Wait[]) {
    this.waits = waits.toSorted((a, b) => a.at - b.at);
    this.isOpen = new Uint8Array(waits.length).fill(1);
    this.size = waits.length;
  }

  *[Symbol.iterator](): Generator<Wait, void> {
    const { waits } = this;
    for (let i = this.first; i < waits.length; i++) if (this.isOpen[waits[i]!.id] === 1) yield waits[i]!;
  }

  close({ id }: Wait): void {
    this.isOpen[id] = 0;
    this.size--;
    while (this.first < this.waits.length && this.isOpen[this.waits[this.first]!.id] === 0) this.first++;
  }

  /** Forgets those that are closed: nobody may be going through them. */
  tidy(): void {
    this.waits = this.waits.filter(({ id }) => this.isOpen[id] === 1);
    this.first = 0;
  }

  /** Whether something holds of each of those before a place in the trace. */
  everyBefore(at: number, holds: (wait: Wait) => boolean): boolean {
    const { waits } = this;
    for (let i = this.first; i < waits.length && waits[i]!.at <= at; i++)
      if (this.isOpen[waits[i]!.id] === 1 && !holds(waits[i]!)) return false;
    return true;
  }
}

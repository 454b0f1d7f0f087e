/** Paths of a thread through its work, as round trips to memory, and when values are there on them. */

/**
 * Round trips to memory one after the other: those of loads that wait for values of loads before them, or that stand behind a
 * store which may have changed what they read.
 */
export interface Trips {
  readonly peer: number;
  readonly own: number;
  /** Looks at packets in own memory that peers store there. */
  readonly packets: number;
}

/** A path without any, and with one of a kind. */
export const NONE: Trips = { peer: 0, own: 0, packets: 0 };
export const OWN: Trips = { ...NONE, own: 1 };
export const PEER: Trips = { ...NONE, peer: 1 };
export const PACKETS: Trips = { ...NONE, packets: 1 };

/** A path, and then another so many times. */
export const add = (a: Trips, b: Trips, times = 1): Trips => ({
  peer: a.peer + times * b.peer,
  own: a.own + times * b.own,
  packets: a.packets + times * b.packets,
});
/** A trip to a peer takes about twice as long; which of two paths is the longer one needs no more than that. */
export const length = (t: Trips): number => 2 * t.peer + t.own + t.packets;
/** The longer of two paths. What is loaded of own memory while a packet is on its way is there before the packet. */
export const later = (a: Trips, b: Trips): Trips => {
  const [one, other] = [length(a), length(b)];
  return other > one || (other === one && b.packets > a.packets) ? b : a;
};
/** What a path has that another has not. */
export const since = (a: Trips, b: Trips): Trips => add(a, b, -1);

/** When the values of a kernel are there, by their numbers, on a thread's path. What has no entry is there at once. */
export class Arrivals {
  private readonly at: (Trips | undefined)[];
  private readonly late: number[] = [];

  /** @param values how many there are */
  constructor(values: number) {
    this.at = new Array<Trips | undefined>(values).fill(undefined);
  }

  /** The later of a place on the path and of where all these values are there. */
  after(values: readonly number[], place: Trips): Trips {
    if (this.late.length === 0) return place;
    let last = place;
    for (let i = 0; i < values.length; i++) {
      const at = this.at[values[i]!];
      if (at !== undefined) last = later(last, at);
    }
    return last;
  }

  set(v: number, place: Trips): void {
    if (length(place) === 0) return;
    if (this.at[v] === undefined) this.late.push(v);
    this.at[v] = place;
  }

  /** All that there are are there: a new path begins. */
  clear(): void {
    for (const v of this.late) this.at[v] = undefined;
    this.late.length = 0;
  }
}

/** Flags under a hostile schedule: a wait learns from the earliest signal that suffices, and from no more. */
import { type Clock } from "./clock.js";

interface Message {
  /** The flag's value after this signal. */
  readonly value: number;
  /** What the signaller handed on; null for a relaxed signal. */
  readonly clock: Clock | null;
  readonly rank: number;
  readonly sys: boolean;
  readonly adds: boolean;
}

/** Signals of one flag that a later wait may still see; older ones are covered by every epoch in use. */
const KEPT = 512;

export class Flags {
  private readonly messages = new Map<number, Message[]>();

  /** Sets the flag or adds to it. The flag itself is seen at once by everybody: it may overtake what came before it. */
  signal(array: Uint32Array, slot: number, amount: number, message: Omit<Message, "value">): void {
    array[slot] = message.adds ? array[slot]! + amount : amount;
    let all = this.messages.get(slot);
    if (all === undefined) this.messages.set(slot, (all = []));
    all.push({ ...message, value: array[slot]! });
    if (all.length > 2 * KEPT) all.splice(0, KEPT);
  }

  /** What a satisfied wait of `rank` learns. A set speaks for itself; a sum speaks for all that were added up. */
  learn(slot: number, wanted: number, rank: number, sys: boolean): Clock | null {
    const all = this.messages.get(slot) ?? [];
    const at = all.findIndex((m) => ((m.value - wanted) | 0) >= 0);
    if (at < 0) return null;
    const from = all[at]!.adds ? 0 : at;
    let clock: Clock | null = null;
    for (const m of all.slice(from, at + 1))
      if (m.clock !== null && (m.rank === rank || (m.sys && sys)))
        clock = clock === null ? m.clock : clock.join(m.clock);
    return clock;
  }
}

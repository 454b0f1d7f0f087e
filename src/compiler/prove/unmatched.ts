/** Signals that no wait is for: the next launch's waits would take them for its own. */
import { Fails } from "./results.js";
import type { Flag, Signal, Wait } from "../execute/order/flags.js";
import type { Trace } from "../execute/order/trace.js";

/** Throws for a flag that ends higher than any wait asks for. */
export function checkUnmatched(trace: Trace): void {
  const waits = new Map<Flag, Wait>();
  for (const wait of trace.waits) {
    const most = waits.get(wait.flag);
    if (most === undefined || ((wait.value - most.value) | 0) > 0) waits.set(wait.flag, wait);
  }
  for (const flag of trace.flags) {
    const last = flag.signals.at(-1);
    // A stage of a ring that is free at the end is as it should be: rings begin anew.
    if (last === undefined || last.op.name === "ring_release") continue;
    const end = last.add ? flag.signals.reduce((sum, s) => (sum + s.value) | 0, 0) : last.value;
    const asked = waits.get(flag)?.value ?? 0;
    if (((end - asked) | 0) <= 0) continue;
    const name = `'${flag.buffer}'[${flag.slot}] of rank ${flag.owner}`;
    const place = (e: Signal | Wait, what: string) => ({
      rank: trace.rankOf(e.entity),
      block: trace.blockOf(e.entity),
      launch: e.launch,
      span: e.op.span,
      what,
    });
    const wait = waits.get(flag);
    throw new Fails(
      "unmatched-signal",
      `flag ${name} ends at ${end}, and ${wait === undefined ? "nobody waits for it" : `the last wait is for ${asked}`}`,
      [
        place(last, `signal of ${name} that nobody waits for`),
        ...(wait === undefined ? [] : [place(wait, `wait for ${name}`)]),
      ],
    );
  }
}

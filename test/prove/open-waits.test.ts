/** Waits that are not known to end: gone through while they leave, from the front and from the middle. */
import { expect, it } from "vitest";
import type { Wait } from "../../src/compiler/execute/order/flags.js";
import { OpenWaits } from "../../src/compiler/execute/order/open-waits.js";
import { processorSeconds } from "../processor.js";

/** Those that stand at the given places of a trace. */
const waitsAt = (places: readonly number[]): Wait[] => places.map((at, id) => ({ id, at }) as Wait);
const placesOf = (open: OpenWaits): number[] => [...open].map(({ at }) => at);

it("are in the order of the trace, whatever order they are given in", () => {
  expect(placesOf(new OpenWaits(waitsAt([5, 1, 3])))).toEqual([1, 3, 5]);
});

it("leave while they are gone through", () => {
  const open = new OpenWaits(waitsAt([0, 2, 4, 6, 8]));
  const seen: number[] = [];
  for (const w of open) {
    seen.push(w.at);
    if (w.at !== 4) open.close(w);
  }
  expect(seen).toEqual([0, 2, 4, 6, 8]);
  expect(placesOf(open)).toEqual([4]);
  expect(open.size).toBe(1);
  open.tidy();
  expect(placesOf(open)).toEqual([4]);
});

it("are asked about before a place alone, and only while they are open", () => {
  const open = new OpenWaits(waitsAt([0, 2, 4, 6]));
  const first = [...open][0];
  const asked: number[] = [];
  const ask = (at: number): boolean => open.everyBefore(at, (w) => asked.push(w.at) > 0);
  expect(ask(5)).toBe(true);
  expect(asked).toEqual([0, 2, 4]);
  open.close(first!);
  asked.length = 0;
  expect(ask(3)).toBe(true);
  expect(asked).toEqual([2]);
  expect(open.everyBefore(6, (w) => w.at !== 4)).toBe(false);
  expect(open.everyBefore(3, (w) => w.at !== 4)).toBe(true);
});

it("that leave from the front are not gone through again: packets are waited for hundreds of thousands of times", () => {
  const open = new OpenWaits(waitsAt(Array.from({ length: 300_000 }, (_, i) => i)));
  const start = processorSeconds();
  for (const w of open) if (open.everyBefore(w.at - 1, () => false)) open.close(w);
  expect(open.size).toBe(0);
  // A set takes minutes.
  expect(processorSeconds() - start).toBeLessThan(5);
});

/** What a search goes through: boxes of lengths, ranks and iterations, how they are cut, and in which order they are looked at. */
import { OPPOSITE } from "../ir/functions.js";
import type { Op, Value } from "../ir/module.js";
import type { Comparison } from "../ir/ops.js";
import type { Range } from "./ranges.js";

export type Bounds = readonly [number, number];

export interface Box {
  readonly low: number[];
  readonly high: number[];
  /** Elements of the shortest tensors in it, about. */
  readonly cost: number;
  readonly depth: number;
}

/** Where the operands of a function lie, if what it gives lies in a range. */
export function operandsOf(op: Op, [lo, hi]: Bounds, of: (v: Value) => Range): [Value, number, number][] {
  const [v, w] = op.operands as [Value, Value];
  const [a, b] = [of(v), of(w)];
  if (op.name === "cast") return [[v, lo, hi]];
  if (op.name === "unary") return [[v, 1 - hi, 1 - lo]];
  if (a === null || b === null) return [];
  if (op.name === "compare") {
    const fn = op.attributes["fn"] as Comparison;
    return lo !== hi ? [] : sidesOf(lo === 1 ? fn : OPPOSITE[fn], [v, ...a], [w, ...b]);
  }
  if (op.name !== "binary") return [];
  const c = b[0] === b[1] && b[0] > 0 ? b[0] : null;
  switch (op.attributes["fn"]) {
    case "add":
      return [[v, lo - b[1], hi - b[0]], [w, lo - a[1], hi - a[0]]]; // prettier-ignore
    case "sub":
      return [[v, lo + b[0], hi + b[1]], [w, a[0] - hi, a[1] - lo]]; // prettier-ignore
    case "mul":
      return c === null ? [] : [[v, Math.ceil(lo / c), Math.floor(hi / c)]];
    case "div":
      return c === null || a[0] < 0 ? [] : [[v, lo * c, hi * c + c - 1]];
    case "rem": {
      if (c === null || a[0] < 0 || lo !== hi) return [];
      const rest = (x: number): number => ((x % c) + c) % c;
      return [[v, a[0] + rest(lo - a[0]), a[1] - rest(a[1] - lo)]];
    }
    case "min":
      return [[v, lo, Infinity], [w, lo, Infinity]]; // prettier-ignore
    case "max":
      return [[v, -Infinity, hi], [w, -Infinity, hi]]; // prettier-ignore
    case "and":
      return lo === 1 && hi === 1 && a[1] <= 1 && b[1] <= 1 ? [[v, 1, 1], [w, 1, 1]] : []; // prettier-ignore
    case "or":
      return hi === 0 && lo === 0 ? [[v, 0, 0], [w, 0, 0]] : []; // prettier-ignore
    default:
      return [];
  }
}

function sidesOf(fn: Comparison, a: [Value, number, number], b: [Value, number, number]): [Value, number, number][] {
  if (fn === "gt" || fn === "ge") return sidesOf(fn === "gt" ? "lt" : "le", b, a);
  if (fn === "eq") return [[a[0], b[1], b[2]], [b[0], a[1], a[2]]]; // prettier-ignore
  const step = fn === "lt" ? 1 : 0;
  return fn === "ne" ? [] : [[a[0], -Infinity, b[2] - step], [b[0], a[1] + step, Infinity]]; // prettier-ignore
}

/** Far ranges by their orders of magnitude, near ones in halves. */
export function between(low: number, high: number): number {
  if (low >= 0 && high > 4 * low + 64) return Math.floor(Math.sqrt((low + 1) * (high + 1))) - 1;
  return Math.floor((low + high) / 2);
}

/** Boxes, the cheapest first; of equal ones the smallest, and of these the newest. */
export class Queue {
  private readonly boxes: Box[] = [];

  add(box: Box): void {
    const { boxes } = this;
    let i = boxes.length;
    boxes.push(box);
    for (let up = (i - 1) >> 1; i > 0 && isBefore(box, boxes[up]!); i = up, up = (i - 1) >> 1) {
      boxes[i] = boxes[up]!;
      boxes[up] = box;
    }
  }

  take(): Box | null {
    const { boxes } = this;
    const [first] = boxes;
    const last = boxes.pop();
    if (first === undefined || last === undefined) return null;
    if (boxes.length === 0) return first;
    boxes[0] = last;
    for (let i = 0; ;) {
      let least = i;
      for (const down of [2 * i + 1, 2 * i + 2])
        if (down < boxes.length && isBefore(boxes[down]!, boxes[least]!)) least = down;
      if (least === i) return first;
      [boxes[i], boxes[least]] = [boxes[least]!, boxes[i]!];
      i = least;
    }
  }
}

function isBefore(a: Box, b: Box): boolean {
  return a.cost !== b.cost ? a.cost < b.cost : a.depth >= b.depth;
}

/** Row-major numbers of elements, and where those of one tensor lie in another. */

/** By the number of an element, that of another; null where they are equal. */
export type Places = Int32Array | null;

export const sizeOf = (shape: readonly number[]): number => shape.reduce((a, n) => a * n, 1);

export function stridesOf(shape: readonly number[]): number[] {
  const strides = new Array<number>(shape.length);
  let stride = 1;
  for (let d = shape.length - 1; d >= 0; d--) {
    strides[d] = stride;
    stride *= shape[d]!;
  }
  return strides;
}

/** Number of the element at an index. */
export function linear(at: readonly number[], shape: readonly number[]): number {
  let number = 0;
  for (let d = 0; d < at.length; d++) number = number * shape[d]! + at[d]!;
  return number;
}

/** Index of the element with a number. */
export function indexOf(number: number, shape: readonly number[]): number[] {
  const strides = stridesOf(shape);
  return shape.map((n, d) => Math.floor(number / strides[d]!) % n);
}

/** By the number of an element of `shape`: `from`, and a stride for each step along a dimension. */
export function placesAlong(shape: readonly number[], strides: readonly number[], from = 0): Places {
  const own = stridesOf(shape);
  if (from === 0 && own.every((stride, d) => stride === strides[d] || shape[d] === 1)) return null;
  const places = new Int32Array(sizeOf(shape));
  const at = new Array<number>(shape.length).fill(0);
  let place = from;
  for (let i = 0; i < places.length; i++) {
    places[i] = place;
    for (let d = shape.length - 1; d >= 0; d--) {
      place += strides[d]!;
      if (++at[d]! < shape[d]!) break;
      place -= shape[d]! * strides[d]!;
      at[d] = 0;
    }
  }
  return places;
}

/** Of a broadcast operand: dimensions are matched from the last one, and one of length 1 repeats. */
export function broadcastPlaces(shape: readonly number[], operand: readonly number[]): Places {
  const strides = stridesOf(operand);
  const lacking = shape.length - operand.length;
  return placesAlong(
    shape,
    shape.map((_, d) => (d < lacking || operand[d - lacking] === 1 ? 0 : strides[d - lacking]!)),
  );
}

/** How a tensor is cut along a dimension into equal parts. */
export class Shards {
  private readonly whole: number;
  /** Neighbouring elements that lie in one part. */
  readonly part: number;

  constructor(shape: readonly number[], dim: number, parts: number) {
    this.whole = sizeOf(shape.slice(dim));
    this.part = this.whole / parts;
  }

  /** Number of the part in which an element lies. */
  place(at: number): number {
    return Math.floor((at % this.whole) / this.part);
  }

  /** The element's number there. */
  index(at: number): number {
    return Math.floor(at / this.whole) * this.part + (at % this.part);
  }
}

/** How a tensor is cut along several dimensions, each into equal parts; a part of the whole has the parts of them, counted row-major. */
export class GridShards {
  private readonly shape: readonly number[];
  private readonly local: readonly number[];
  /** Neighbouring elements that lie in one part. */
  readonly part: number;

  constructor(
    shape: readonly number[],
    readonly cuts: readonly number[],
  ) {
    this.shape = shape;
    this.local = shape.map((n, d) => n / cuts[d]!);
    this.part = this.local.at(-1) ?? 1;
  }

  place(at: number): number {
    return this.numberOf(indexOf(at, this.shape).map((i, d) => Math.floor(i / this.local[d]!)));
  }

  index(at: number): number {
    return linear(
      indexOf(at, this.shape).map((i, d) => i % this.local[d]!),
      this.local,
    );
  }

  /** The number of the part that has these parts of the dimensions. */
  numberOf(parts: readonly number[]): number {
    return linear(parts, this.cuts);
  }
}

/** Shapes with strides: where the elements of a tensor lie. Units are elements throughout. */
import { UsageError } from "./errors.js";
import type { Tensor } from "./group.js";

/** A shape whose elements need not lie densely. */
export interface StridedShape {
  readonly shape: readonly number[];
  /** Elements from one index of a dimension to the next; positive where the dimension has more than one. */
  readonly strides: readonly number[];
}

/** What callers give: a shape alone is dense and row-major. */
export type ShapeLike = readonly number[] | StridedShape;

/** A checked shape. */
export interface TensorShape extends StridedShape {
  /** Number of elements. */
  readonly length: number;
  /** Elements from the first to the last, gaps included. */
  readonly extent: number;
  /** Dense and row-major, which kernels ask for. */
  readonly isContiguous: boolean;
}

/** Strides of a dense row-major tensor. */
export function denseStrides(shape: readonly number[]): number[] {
  const strides: number[] = [];
  let step = 1;
  for (const size of [...shape].reverse()) {
    strides.unshift(step);
    step *= Math.max(size, 1);
  }
  return strides;
}

/**
 * Checks a shape and works out its extent.
 * @throws UsageError for sizes that are no whole numbers, strides that do not fit the shape, and elements that share
 *   memory.
 */
export function tensorShape(asked: ShapeLike): TensorShape {
  const isStrided = "shape" in asked;
  const shape = isStrided ? asked.shape : asked;
  const text = `[${shape.join(", ")}]`;
  if (!shape.every((size) => Number.isSafeInteger(size) && size >= 0))
    throw new UsageError(`${text} is no shape`, "the sizes of dimensions are whole numbers, 0 or more");
  const length = shape.reduce((a, b) => a * b, 1);
  if (!Number.isSafeInteger(length)) throw new UsageError(`a tensor of shape ${text} has too many elements`);
  const dense = denseStrides(shape);
  if (!isStrided) return { shape: [...shape], strides: dense, length, extent: length, isContiguous: true };
  const { strides } = asked;
  if (strides.length !== shape.length)
    throw new UsageError(`shape ${text} has ${shape.length} dimensions and ${strides.length} strides`);
  if (length === 0) return { shape: [...shape], strides: [...strides], length, extent: 0, isContiguous: true };
  // Sorted by stride, each dimension must step over all that lies inside it.
  let covered = 1;
  const wide = shape.map((size, d) => ({ size, stride: strides[d]! })).filter(({ size }) => size > 1);
  for (const { size, stride } of wide.sort((a, b) => a.stride - b.stride)) {
    if (!Number.isSafeInteger(stride) || stride < covered)
      throw new UsageError(
        `strides [${strides.join(", ")}] of shape ${text} put elements into one place`,
        `a dimension of ${size} over ${covered} elements needs a stride of ${covered} or more`,
      );
    covered += (size - 1) * stride;
  }
  if (!Number.isSafeInteger(covered)) throw new UsageError(`a tensor of shape ${text} spans too many elements`);
  const isContiguous = shape.every((size, d) => size <= 1 || strides[d] === dense[d]);
  return { shape: [...shape], strides: [...strides], length, extent: covered, isContiguous };
}

/** Places of the elements in row-major order, counted from the first. */
export function* placesOf({ shape, strides, length }: TensorShape): Generator<number> {
  if (length === 0) return;
  const index = shape.map(() => 0);
  for (let place = 0; ;) {
    yield place;
    let d = shape.length - 1;
    for (; d >= 0; d--) {
      place += strides[d]!;
      if (++index[d]! < shape[d]!) break;
      place -= shape[d]! * strides[d]!;
      index[d] = 0;
    }
    if (d < 0) return;
  }
}

/** @throws UsageError unless the tensor is dense. `name` is for the message. */
export function requireContiguous(shape: TensorShape, name: string): void {
  if (shape.isContiguous) return;
  throw new UsageError(
    `${name} has strides [${shape.strides.join(", ")}] for shape [${shape.shape.join(", ")}], so it is not contiguous`,
    "copy it into a contiguous tensor first",
  );
}

/** @throws UsageError unless `length` elements at `offset` lie inside `within`. `what` begins the message. */
export function requireInside(what: string, offset: number, length: number, within: number): void {
  if (!Number.isSafeInteger(offset) || offset < 0)
    throw new UsageError(`${what}: offset ${offset} is no whole number of 0 or more`);
  if (offset + length > within)
    throw new UsageError(`${what}: ${length} elements at ${offset} lie outside a tensor of ${within}`);
}

/** The arguments of a write of words. @throws UsageError for each that cannot be. */
export function checkWords(
  tensor: Pick<Tensor, "dtype" | "shape" | "strides" | "length">,
  offset: number,
  value: number,
  count: number,
): void {
  if (tensor.dtype !== "u32") throw new UsageError(`words are written into u32 tensors, not ${tensor.dtype}`);
  if (tensor.shape.length !== 1)
    throw new UsageError(`words are written into one-dimensional tensors, not [${tensor.shape.join(", ")}]`);
  if (tensor.length > 1 && tensor.strides[0] !== 1) throw new UsageError("the tensor of words is not contiguous");
  if (!Number.isSafeInteger(value) || value < 0 || value >= 2 ** 32)
    throw new UsageError(`${value} is no 32-bit word`, "words go from 0 to 2^32 - 1");
  if (!Number.isSafeInteger(count) || count <= 0) throw new UsageError(`${count} words cannot be written`);
  if (!Number.isSafeInteger(offset) || offset < 0)
    throw new UsageError(`word ${offset} does not exist: offsets count from 0`);
  if (offset + count > tensor.length)
    throw new UsageError(`${count} words at ${offset} lie outside a tensor of ${tensor.length}`);
}

/** Where elements of tensors lie in others, against indices counted one by one. */
import { expect, it } from "vitest";
import {
  broadcastPlaces,
  indexOf,
  linear,
  placesAlong,
  Shards,
  sizeOf,
  stridesOf,
} from "../../src/compiler/prove/places.js";

const everyIndex = (shape: readonly number[]): number[][] =>
  Array.from({ length: sizeOf(shape) }, (_, i) => indexOf(i, shape));

it("numbers and indices are each other's inverse", () => {
  const shape = [3, 1, 4, 2];
  expect(everyIndex(shape).map((at) => linear(at, shape))).toEqual([...Array(24).keys()]);
  expect(indexOf(17, shape)).toEqual([2, 0, 0, 1]);
});

it("a permutation moves each element", () => {
  const inner = [2, 3, 4];
  const order = [2, 0, 1];
  const shape = order.map((d) => inner[d]!);
  const strides = stridesOf(inner);
  const places = placesAlong(
    shape,
    order.map((d) => strides[d]!),
  )!;
  everyIndex(shape).forEach((at, i) => {
    const from = new Array<number>(3);
    order.forEach((d, j) => (from[d] = at[j]!));
    expect(places[i]).toBe(linear(from, inner));
  });
});

it("a slice starts where it is cut", () => {
  const places = placesAlong([2, 2], stridesOf([4, 5]), linear([1, 3], [4, 5]))!;
  expect([...places]).toEqual([8, 9, 13, 14]);
});

it("a broadcast operand repeats along dimensions of length 1 and those that it lacks", () => {
  expect([...broadcastPlaces([2, 3], [3])!]).toEqual([0, 1, 2, 0, 1, 2]);
  expect([...broadcastPlaces([2, 3], [2, 1])!]).toEqual([0, 0, 0, 1, 1, 1]);
  expect([...broadcastPlaces([2, 2], [])!]).toEqual([0, 0, 0, 0]);
});

it("what stays where it is needs no places", () => {
  expect(broadcastPlaces([2, 3], [2, 3])).toBeNull();
  expect(broadcastPlaces([1, 3], [3])).toBeNull();
});

it("parts of a tensor", () => {
  const shape = [2, 6, 3];
  const shards = new Shards(shape, 1, 3);
  for (const at of everyIndex(shape)) {
    const number = linear(at, shape);
    expect(shards.place(number)).toBe(Math.floor(at[1]! / 2));
    expect(shards.index(number)).toBe(linear([at[0]!, at[1]! % 2, at[2]!], [2, 2, 3]));
  }
  expect(shards.part).toBe(6);
});

/**
 * Folds of what few blocks would have: a vector, of which one block would read all, or columns, of which a block has some hundred. All blocks fold parts of it first,
 * and what they come to is folded when they have met.
 */
import type { Value } from "../../ir/module.js";
import { COMBINES, type Reduction } from "../../ir/ops.js";
import { extent, type Extent } from "../../types/extent.js";
import type { ElementBuilder } from "./element-builder.js";
import type { TensorMemory } from "./tensor-memory.js";
import { computeKind, type Index, type LocalTensor, readsOf } from "./tensor-values.js";

/** In how many parts a long vector is folded: as many as a GPU has multiprocessors, nearly. */
const VECTOR_PARTS = 128;

/** What parts of a vector are multiples of, so that vectors of elements begin with them. */
const VECTOR_RUN = 8;

/** What one block folds as fast as blocks that meet: of 8192 elements of 4 bytes, 2048 threads have four each. */
const LONG_VECTOR = 8192;

/** The same of columns: few enough that what is left of each is straight code, and enough for all multiprocessors where there are a thousand columns. */
const COLUMN_PARTS = 16;

/** Threads of a block that share a column have a row each of so many. */
const COLUMN_RUN = 16;

/** A block takes some hundred columns of so many rows in a few iterations of its threads. */
const LONG_COLUMN = 256;

interface Fold {
  readonly at: ElementBuilder;
  readonly memory: TensorMemory;
  /** A tensor of the fold's type, of such a shape. */
  readonly plain: (shape: readonly Extent[]) => LocalTensor;
  readonly source: LocalTensor;
  readonly dim: number;
  readonly fn: Reduction;
}

/**
 * What folds a dimension of a tensor up in parts, which are put in memory here. Null where that is known to be short, or where other dimensions have rows enough.
 * @returns emits the element at an index
 */
export function foldedInParts({ at, memory, plain, source, dim, fn }: Fold): ((index: Index) => Value) | null {
  const { build } = at;
  const length = source.shape[dim]!;
  const isOne = (n: Extent): boolean => n === 1;
  const isVector = source.shape.every((n, d) => d === dim || isOne(n));
  const isColumns = !isVector && source.shape.slice(0, dim).every(isOne);
  const isShort = typeof length === "number" && length <= (isVector ? LONG_VECTOR : LONG_COLUMN);
  if (isShort || !(isVector || isColumns) || (source.owned ?? source.spread) !== null) return null;
  const [count, run] = isVector ? [VECTOR_PARTS, VECTOR_RUN] : [COLUMN_PARTS, COLUMN_RUN];
  const each = extent("mul", extent("div", length, count * run), run);
  const whole = extent("mul", count, each);
  const facts = { isReachable: false, isCostly: true, reads: readsOf([source], "anywhere") };
  const zero = at.constant(0);
  /** So many parts, each of so many terms from where it begins on. Of a vector they are rows: the threads of a block share one. */
  const partsOf = (parts: number, terms: Extent, begin: (part: Value) => Value): LocalTensor => {
    const element = (index: Index): Value =>
      at.reduce(fn, terms, false, (k) =>
        source.element(at.replaced(index, dim, (part) => at.index("add", begin(part), k))),
      );
    const shape = source.shape.with(dim, parts);
    if (!isVector) return memory.computed({ ...plain(shape), ...facts, element });
    const alone = ([part]: Index): Value => element(shape.map((_, d) => (d === dim ? part! : zero)));
    return memory.computed({ ...plain([parts, 1]), ...facts, element: alone });
  };
  const kept = (like: LocalTensor, store: (name: string) => void): LocalTensor => {
    const name = memory.scratch("folded_parts", computeKind(like.dtype), like.shape);
    store(name);
    return memory.inBuffer(name, like, false);
  };
  const all = partsOf(count, each, (part) => at.index("mul", part, at.extent(each)));
  // What is short has no parts: nothing is folded for them.
  const none = partsOf(count, 0, () => zero);
  const hasParts = build.compare("gt", at.extent(each), zero);
  const parts = kept(all, (name) => at.when(hasParts, () => memory.store(name, all), () => memory.store(name, none))); // prettier-ignore
  const behind = partsOf(1, extent("sub", length, whole), () => at.extent(whole));
  const rest = kept(behind, (name) => memory.store(name, behind));
  return (index) => {
    const placed = (part: Value): Index => (isVector ? [part, zero] : at.replaced(index, dim, () => part));
    const folded = at.reduce(fn, count, false, (k) => parts.element(placed(k)));
    return build.binary(COMBINES[fn], folded, rest.element(placed(zero)));
  };
}

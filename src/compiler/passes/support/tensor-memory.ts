/**
 * Tensors in memory: stored to outputs, kept in scratch on their rank, or given to all ranks. A replicated tensor that has
 * a partition is stored by each rank's computing its part and writing it into everybody's copy.
 */
import type { Buffer, Kernel, Value } from "../../ir/module.js";
import { scalar } from "../../ir/types.js";
import { type DType, DTYPES, isNarrow } from "../../types/dtype.js";
import { extent, type Extent, printExtent, productOf } from "../../types/extent.js";
import type { Layout } from "../../types/layout.js";
import { placementsOf } from "../../types/mesh.js";
import { counterpartsOf, type ElementBuilder, groupOf, type RankGroup } from "./element-builder.js";
import { computeKind, type Index, type LocalTensor, type Partition } from "./tensor-values.js";

/** One rank of all, or one place along an axis. */
interface Counting {
  readonly axis: number | null;
  readonly rank: number;
}

/** Where an element of a tensor goes in the buffer it is stored to. */
type Placement = (index: Index) => Index;
const SAME: Placement = (index) => index;

/** So many indices of a dimension for each place: exactly, or as far as there are so many. */
interface Slice {
  readonly dim: number;
  readonly length: Extent;
  readonly isExact: boolean;
}

export class TensorMemory {
  buffers: readonly Buffer[];
  private tensors = 0;
  /** Tensors that were given to all ranks once, for whoever asks again. */
  private readonly gathered = new WeakMap<LocalTensor, LocalTensor>();
  /** Buffers that have the same on every rank, each of which reads its own. */
  private readonly same = new Set<string>();
  /** Operands of products that were put in memory once, for whatever else multiplies them. */
  private readonly multiplied = new WeakMap<LocalTensor, LocalTensor>();

  constructor(
    private readonly kernel: Kernel,
    private readonly at: ElementBuilder,
  ) {
    this.buffers = kernel.buffers;
  }

  scratch(hint: string, dtype: DType, shape: readonly Extent[]): string {
    let name = hint;
    for (let n = 2; this.buffers.some((b) => b.name === name); n++) name = `${hint}${n}`;
    this.buffers = [...this.buffers, { name, role: "scratch", dtype, shape, symmetric: false }];
    return name;
  }

  /** A tensor whose elements, asked for twice in one place with equal indices, are emitted once. */
  computed(tensor: LocalTensor): LocalTensor {
    const { at } = this;
    const number = this.tensors++;
    const element = (index: Index, peer?: Value): Value => {
      const key = `t${number} ${index.map((v) => at.id(v)).join(",")} ${peer === undefined ? "" : at.id(peer)}`;
      return at.once(key, () => tensor.element(index, peer));
    };
    return { ...tensor, element, isStrided: false, ofStrided: null };
  }

  /** @param isSame every rank's copy has the same values, so that one's own stands for any peer's. */
  inBuffer(name: string, like: LocalTensor, isSame: boolean): LocalTensor {
    const { dtype } = this.buffers.find((b) => b.name === name)!;
    const kind = computeKind(like.dtype);
    if (isSame) this.same.add(name);
    const { build } = this.at;
    const element = (index: Index, peer?: Value): Value =>
      build.cast(build.load(name, index, scalar(dtype), isSame ? null : (peer ?? null)), kind);
    const computed = this.computed({
      ...like,
      buffer: dtype === like.dtype ? name : null,
      element,
      isReachable: true,
      isExact: dtype === like.dtype,
      isConverted: false,
      isCostly: false,
      reads: new Map([[name, "own"]]),
      products: new Set(),
      ofRepeated: null,
      scaled: null,
      owned: null,
      spread: null,
    });
    return { ...computed, isStrided: dtype === like.dtype };
  }

  // -- storing -------------------------------------------------------------------------------------

  store(name: string, t: LocalTensor, place: Placement = SAME): void {
    const { at } = this;
    const { build } = at;
    const { dtype } = this.buffers.find((b) => b.name === name)!;
    const partition = t.owned ?? t.spread;
    const counting = this.countingRanks(t.layout, partition);
    // Those along whose axis a value is divided each send their part to the one that counts.
    const target = t.owned === null ? undefined : counting.find(({ axis }) => axis === t.owned!.axis);
    if (t.owned !== null && target !== undefined) {
      const to = (): Value => at.member(groupOf(this.kernel, target.axis), at.constant(target.rank));
      const others = counting.filter((c) => c !== target);
      return this.whereCounting(others, () =>
        this.ownPart(t, t.owned!, (i) => build.store(name, build.cast(t.element(i), dtype), place(i), to())),
      );
    }
    this.whereCounting(counting, () => {
      if (partition === null || this.groupOf(partition).size === 1)
        return at.tiles(t.shape, (i) => build.store(name, build.cast(t.element(i), dtype), place(i)));
      this.ownPart(t, partition, (index) => {
        const value = build.cast(t.element(index), dtype);
        const to = place(index);
        at.ranks(this.groupOf(partition), (p) => build.store(name, value, to, p));
      });
    });
  }

  /** The places, of all ranks or along axes, that a tensor lies `on`. */
  private countingRanks(layout: Layout, partition: Partition | null): readonly Counting[] {
    const isOfAll = layout.kind === "on" && layout.axis === undefined && (partition?.axis ?? null) === null;
    if (isOfAll) return [{ axis: null, rank: layout.rank }];
    return placementsOf(layout, this.kernel.mesh).flatMap((p, axis) =>
      p.kind === "on" ? [{ axis, rank: p.rank }] : [],
    );
  }

  private whereCounting(counting: readonly Counting[], body: () => void): void {
    const { at } = this;
    const [first, ...rest] = counting;
    if (first === undefined) return body();
    const place = first.axis === null ? at.rank() : at.place(groupOf(this.kernel, first.axis));
    at.when(at.build.compare("eq", place, at.constant(first.rank)), () => this.whereCounting(rest, body));
  }

  private groupOf({ axis }: Partition): RankGroup {
    return groupOf(this.kernel, axis);
  }

  /** Runs over the elements that this rank has of a partition. */
  ownPart(t: Pick<LocalTensor, "shape">, partition: Partition, body: (index: Index) => void): void {
    const { at } = this;
    const group = this.groupOf(partition);
    if (partition.kind === "rails") return this.ownRails(t, partition, body);
    if (partition.kind === "slices") return this.slice(t, partition, at.place(group), body);
    const whole = productOf(t.shape);
    const bounds = this.pieceAt(at.place(group), pieceOf(whole, group.size), whole);
    at.loop("tiles", [bounds], ([n]) => body(at.unfold(n!, t.shape)));
  }

  /** What the place has of so many, of which each place has as many, as far as there are any. */
  private pieceAt(place: Value, each: Extent, whole: Extent): readonly [start: Value, end: Value] {
    const { at } = this;
    const start = at.index("min", at.index("mul", place, at.extent(each)), at.extent(whole));
    return [start, at.index("min", at.index("add", start, at.extent(each)), at.extent(whole))];
  }

  /** Runs over the elements that a place has, where each has so many indices of a dimension. */
  private slice(
    { shape }: Pick<LocalTensor, "shape">,
    { dim, length, isExact }: Slice,
    place: Value,
    body: (index: Index) => void,
  ): void {
    const { at } = this;
    if (!isExact) return at.tiles(shape, body, { dim, bounds: this.pieceAt(place, length, shape[dim]!) });
    const start = at.index("mul", place, at.extent(length));
    at.tiles(shape.with(dim, length), (i) => body(at.replaced(i, dim, (v) => at.index("add", v, start))));
  }

  /** Runs over the elements that each rank of a group has, with the rank and where its elements begin. */
  partsOfRanks(
    t: Pick<LocalTensor, "shape">,
    group: RankGroup,
    slice: Slice,
    body: (index: Index, peer: Value, begin: Value) => void,
  ): void {
    const { at } = this;
    at.loop("ranks", [[at.constant(0), at.constant(group.size)]], ([place]) => {
      const begin = at.index("mul", place!, at.extent(slice.length));
      this.slice(t, slice, place!, (i) => body(i, at.member(group, place!), begin));
    });
  }

  /** The same of rails, with the rank whose shard it is, and where that begins. */
  ownRails(
    { shape }: Pick<LocalTensor, "shape">,
    { dim, length }: Extract<Partition, { kind: "rails" }>,
    body: (index: Index, counterpart: Value, start: Value) => void,
  ): void {
    const { at } = this;
    at.ranks(counterpartsOf(this.kernel), (counterpart) => {
      const start = at.index("mul", counterpart, at.extent(length));
      at.tiles(shape.with(dim, length), (i) =>
        body(
          at.replaced(i, dim, (v) => at.index("add", v, start)),
          counterpart,
          start,
        ),
      );
    });
  }

  // -- keeping -------------------------------------------------------------------------------------

  /** The tensor in this rank's memory, as much of it as is this rank's. @param dtype of the memory; by default nothing is rounded */
  held(t: LocalTensor, dtype: DType = keptIn(t), hint = "value"): LocalTensor {
    if (t.buffer !== null) return t;
    const name = this.scratch(hint, dtype, t.shape);
    const { at } = this;
    const partition = t.owned ?? (t.spread?.kind === "slices" ? t.spread : null);
    if (partition === null || this.groupOf(partition).size === 1) {
      this.store(name, { ...t, spread: null });
      return this.inBuffer(name, t, false);
    }
    this.ownPart(t, partition, (i) => at.build.store(name, at.build.cast(t.element(i), dtype), i));
    return { ...this.inBuffer(name, t, false), owned: partition };
  }

  /** A replicated tensor that can be asked for any element at no great cost: in every rank's memory, if it is not so already. */
  everywhere(t: LocalTensor): LocalTensor {
    if (t.owned === null && t.spread === null) return t;
    let whole = this.gathered.get(t);
    if (whole === undefined) this.gathered.set(t, (whole = this.gather(t)));
    return whole;
  }

  private gather(t: LocalTensor): LocalTensor {
    const name = this.scratch("gathered", t.isConverted ? memoryDType(t) : keptIn(t), t.shape);
    this.store(name, t);
    return this.inBuffer(name, t, t.layout.kind === "replicated");
  }

  /** In memory, whole, in its dtype, perhaps as a transposed or cut view of what lies there: as operands of products must be. */
  strided(t: LocalTensor): LocalTensor {
    if (t.isStrided && t.owned === null && t.spread === null) return t;
    let kept = this.multiplied.get(t);
    if (kept === undefined) this.multiplied.set(t, (kept = t.ofStrided?.() ?? this.inMemory(t)));
    return kept;
  }

  /** In memory, whole, in its dtype, as it is. */
  inMemory(t: LocalTensor, dtype: DType = memoryDType(t)): LocalTensor {
    return this.held(this.everywhere(t), dtype);
  }

  /** A form whose elements can be read from peers: the expression itself, or its values in memory. */
  withinReach(t: LocalTensor, dtype: DType = memoryDType(t)): LocalTensor {
    return t.isReachable ? t : this.inMemory(t, dtype);
  }

  /** Whether an element has fewer bytes than what it is computed from: that is several tensors, or one of a wider dtype. */
  isOfMoreBytes(t: LocalTensor, dtype: DType = memoryDType(t)): boolean {
    if (t.buffer !== null) return false;
    const sizesOf = (shape: readonly Extent[]): string =>
      shape
        .filter((n) => n !== 1)
        .map(printExtent)
        .sort()
        .join();
    // What has fewer elements, as a number for each row, hardly travels.
    const isOfEach = (name: string): boolean =>
      !this.same.has(name) && sizesOf(this.buffers.find((b) => b.name === name)!.shape) === sizesOf(t.shape);
    const bytes = [...t.reads.keys()].filter(isOfEach).map((name) => DTYPES[this.buffers.find((b) => b.name === name)!.dtype].bytes); // prettier-ignore
    return bytes.reduce((a, b) => a + b, 0) > DTYPES[dtype].bytes;
  }
}

/** Chunks are cut at multiples of 64 elements, like those of `chunk(n, r)`. */
export function pieceOf(total: Extent, world: number): Extent {
  return extent("mul", extent("ceildiv", extent("ceildiv", total, world), 64), 64);
}

/** The dtype in which values of a tensor lie in memory: its own, if what they lose is what roundings lose. Whole numbers of 8 bits would wrap. */
export function memoryDType(t: LocalTensor): DType {
  return isNarrow(t.dtype) ? keptIn(t) : t.dtype;
}

/** The dtype that holds the elements unrounded: their own, or the one that they are computed in. */
function keptIn(t: LocalTensor): DType {
  return t.isExact ? t.dtype : computeKind(t.dtype);
}

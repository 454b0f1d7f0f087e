/** Accesses to shared buffers that lie over each other, in granules of the block's shared memory. */
import type { Kernel } from "../../ir/module.js";
import { DTYPES } from "../../types/dtype.js";
import { evaluateExtent } from "../../types/extent.js";

/** Places of shared buffers in a block's shared memory, as the printer assigns them (`emit/shared-layout.ts`). */
export interface SharedLayout {
  readonly places: ReadonlyMap<
    string,
    {
      /** Bytes from the start. */
      readonly offset: number;
      /** Elements from one row, and from one stage, to the next. */
      readonly rowStride: number;
      readonly stageStride: number;
    }
  >;
  readonly bytes: number;
}

/** Where one shared buffer lies among the granules of a block's shared memory. */
interface SharedPlace {
  readonly first: number;
  /** Granules of an element. */
  readonly scale: number;
  readonly rows: number;
  readonly columns: number;
  /** Elements from one row, and from one stage, to the next. */
  readonly rowStride: number;
  readonly stageStride: number;
}

export class SharedPlaces {
  /** Bytes of the narrowest element in shared memory: no access is to less, and places are multiples of it. */
  private readonly granule: number;
  private readonly places: (SharedPlace | undefined)[] = [];
  /** Granules of a block's shared memory. */
  readonly length: number;

  constructor(
    private readonly kernel: Kernel,
    private readonly layout: SharedLayout,
  ) {
    this.granule = Math.min(4, ...kernel.buffers.filter((b) => b.role === "shared").map((b) => DTYPES[b.dtype].bytes));
    this.length = Math.ceil(layout.bytes / this.granule);
  }

  /** Calls `visit` with the stretches of granules that elements of a buffer lie in. */
  each(buffer: number, start: number, length: number, visit: (start: number, length: number) => void): void {
    const { first, scale, rows, columns, rowStride, stageStride } = (this.places[buffer] ??= this.placeOf(buffer));
    const size = rows * columns;
    // A whole stage at once: the padding between its rows belongs to nobody else.
    if (start % size === 0 && length % size === 0) {
      const whole = ((rows - 1) * rowStride + columns) * scale;
      for (let stage = start / size; stage < (start + length) / size; stage++)
        visit(first + stage * stageStride * scale, whole);
      return;
    }
    for (let at = start; at < start + length;) {
      const column = at % columns;
      const count = Math.min(columns - column, start + length - at);
      const row = (at - column) / columns;
      const from = Math.trunc(row / rows) * stageStride + (row % rows) * rowStride + column;
      visit(first + from * scale, count * scale);
      at += count;
    }
  }

  private placeOf(buffer: number): SharedPlace {
    const { name, dtype, shape: extents } = this.kernel.buffers[buffer]!;
    const { offset, rowStride, stageStride } = this.layout.places.get(name)!;
    // Shared memory is sized at compile time.
    const shape = extents.map((e) => evaluateExtent(e, {}));
    return {
      first: offset / this.granule,
      scale: DTYPES[dtype].bytes / this.granule,
      rows: shape.at(-2) ?? 1,
      columns: shape.at(-1)!,
      rowStride,
      stageStride,
    };
  }
}

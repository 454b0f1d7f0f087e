/**
 * Where an element of an input lies, seen from the element of an output that is made of it, in a way that does not depend on
 * lengths: at a distance in the whole tensor; or dimension by dimension, where tensors are cut or ordered in different ways.
 */
import type { SignatureTensor } from "../../manifest.js";
import { productOf, sameExtent } from "../../types/extent.js";
import { type Answer, outputRows, rowDims, withoutRows } from "./elementwise.js";
import { constantOf, equal, type Form, isAtLeastZero, isConstant, minus, ONE, plus, product, ZERO } from "./forms.js";
import type { Lengths } from "./lengths.js";
import { type Columns, distanceOf, latticeOf, parted, type Place } from "./places.js";

/** A coordinate of an input: that of the output's dimension `of`, and so much more. */
interface Coordinate {
  readonly of: number;
  readonly more: Form;
}

export class Coordinates {
  private readonly output: SignatureTensor;

  constructor(
    private readonly lengths: Lengths,
    output: SignatureTensor,
    private readonly rank: number,
    private readonly answer: Answer,
  ) {
    this.output = answer === "whole" ? outputRows(output) : output;
  }

  /**
   * One text for equal places. Null where it would depend on lengths.
   * @param given the input @param owner the rank that has the element of the input
   * @param start elements of the output, from here
   * @param end to here, that are made of the elements at these places
   * @param columns of these, which elements; absent: all
   */
  textOf(
    given: SignatureTensor,
    owner: number,
    place: Place,
    start: Form,
    end: Form,
    columns?: Columns,
  ): string | null {
    const input = this.answer === "whole" ? withoutRows(given, this.output.shape.length) : given;
    const shape = this.output.localShape;
    if (this.answer === "local" && rowDims(input.localShape, shape) < shape.length)
      return this.rowsOrColumns(input, place, start, end);
    if (this.isLinear(input)) {
      const linear = this.linear(input, owner, this.inOneRow(place, start, end));
      return linear !== null && isConstant(linear) ? String(constantOf(linear)) : null;
    }
    const [of, output] = this.asRows(input);
    const dims = output.shape.length - of.shape.length;
    const inDims = (f: Form): Form => this.lengths.inDims(f);
    const all = this.coordinates(of, output, place, start, end, columns)?.map(({ of: dim, more }, d) => ({
      of: dim,
      more: minus(plus(more, inDims(this.beginOf(of, owner, d))), inDims(this.beginOf(output, this.rank, dim))),
    }));
    if (all === undefined || !all.every(({ more }) => isConstant(more))) return null;
    if (this.answer === "whole" && all.some(({ of: dim }, d) => dim !== d + dims)) return null;
    return `[${all.map(({ of: dim, more }) => `${dim} + ${constantOf(more)}`).join()}]`;
  }

  /** An input and the output with all dimensions before one that is cut as rows, and all others as columns, where they have as many. */
  private asRows(input: SignatureTensor): readonly [input: SignatureTensor, output: SignatureTensor] {
    const { output } = this;
    const rows = this.answer === "whole" ? rowDims(input.shape, output.shape) : output.shape.length;
    if (rows < input.shape.length) return [flattened(input, rows), flattened(output, rows)];
    const cuts = [input, output].flatMap(({ layout }) => (layout.kind === "sharded" && layout.dim > 0 ? [layout.dim] : [])); // prettier-ignore
    const [first = 1, second = first] = cuts;
    if (output.shape.length < 3 || input.shape.length !== output.shape.length || first !== second)
      return [input, output];
    return [flattened(input, first), flattened(output, first)];
  }

  /** A place by rows, of elements of the first row alone, as what has one row has: they lie at a distance. */
  private inOneRow(place: Place, start: Form, end: Form): Place {
    const { rows, turns } = place;
    if (rows === null || turns.length > 0 || rows.steps.length > 0) return place;
    const { ranges } = this.lengths.box;
    const isFirst =
      isAtLeastZero(plus(start, rows.shift), ranges) && isAtLeastZero(minus(rows.by, plus(end, rows.shift)), ranges);
    return isFirst ? { ...place, rows: null } : place;
  }

  /**
   * Whether elements of an input are named by one distance. Of one input in one way alone: of two, names that differ could mean one
   * element at the lengths of a proof.
   */
  private isLinear(input: SignatureTensor): boolean {
    if (this.answer !== "whole") return this.answer === "local";
    const isByRows = ({ layout }: SignatureTensor): boolean => layout.kind !== "sharded" || layout.dim === 0;
    const { shape } = this.output;
    const isAlike = input.shape.length === shape.length && input.shape.every((e, d) => sameExtent(e, shape[d]!));
    return isAlike && isByRows(input) && isByRows(this.output);
  }

  /** The distance in the whole tensor, counted row-major; or, of what is said of elements where ranks hold them, in what a rank holds. */
  private linear(input: SignatureTensor, owner: number, place: Place): Form | null {
    const distance = distanceOf(place);
    if (distance === null || this.answer === "local") return distance;
    return minus(plus(distance, this.elementsBefore(input, owner)), this.elementsBefore(this.output, this.rank));
  }

  /** Elements of a tensor that is cut along its first dimension, if at all, before a rank's part. */
  private elementsBefore({ layout, localShape }: SignatureTensor, rank: number): Form {
    if (layout.kind !== "sharded") return ZERO;
    const { expressions } = this.lengths.program;
    return this.lengths.of(
      expressions.apply("mul", expressions.constant(rank), expressions.extent(productOf(localShape))),
    );
  }

  /** Where a rank's part begins in the whole, along a dimension. */
  private beginOf({ layout, localShape }: SignatureTensor, rank: number, dim: number): Form {
    if (layout.kind !== "sharded" || layout.dim !== dim) return ZERO;
    const { expressions } = this.lengths.program;
    return this.lengths.of(expressions.apply("mul", expressions.constant(rank), expressions.extent(localShape[dim]!)));
  }

  private lengthOf(e: SignatureTensor["shape"][number]): Form {
    return this.lengths.of(this.lengths.program.expressions.extent(e));
  }

  /**
   * An element of what has a number for each row, or for each column, of what a rank holds, where that is of the same row, or column: of as many first dimensions
   * as the input has, or last ones.
   */
  private rowsOrColumns(input: SignatureTensor, place: Place, start: Form, end: Form): string | null {
    const shape = this.output.localShape;
    const dims = rowDims(input.localShape, shape);
    const isOf = (part: typeof shape): boolean =>
      input.localShape.slice(0, dims).every((e, d) => sameExtent(e, part[d]!));
    const lattice = latticeOf(place);
    if (lattice === null) {
      // In the first row, or in rows of one element.
      const distance = distanceOf(place);
      const isFirst = isOf(shape.slice(-dims)) && this.isInFirst(shape.slice(-dims), start, end);
      return distance !== null && distance.size === 0 && isFirst ? "columns" : null;
    }
    const { first, row, column, shift, by } = lattice;
    if (first.size > 0 || shift.size > 0) return null;
    const isBy = (part: typeof shape): boolean => equal(by, this.lengthOf(productOf(part)));
    if (isOf(shape) && isBy(shape.slice(dims)) && equal(row, ONE) && column.size === 0) return "rows";
    if (isOf(shape.slice(-dims)) && isBy(shape.slice(-dims)) && row.size === 0 && equal(column, ONE)) return "columns";
    return null;
  }

  private isInFirst(part: SignatureTensor["shape"], start: Form, end: Form): boolean {
    const { ranges } = this.lengths.box;
    return isAtLeastZero(start, ranges) && isAtLeastZero(minus(this.lengthOf(productOf(part)), end), ranges);
  }

  /** Of outputs with rows and columns, what lies where in a rank's part of an input with rows and columns, or columns alone. */
  private coordinates(
    input: SignatureTensor,
    output: SignatureTensor,
    place: Place,
    start: Form,
    end: Form,
    some?: Columns,
  ): readonly Coordinate[] | null {
    const { lengths } = this;
    const { ranges } = lengths.box;
    if (output.localShape.length !== 2 || input.localShape.length > 2) return null;
    const columns = lengths.inDims(this.lengthOf(output.localShape[1]!));
    const length = lengths.inDims(this.lengthOf(input.localShape.at(-1)!));
    const distance = distanceOf(place);
    if (this.answer === "whole" && rowDims(input.shape, output.shape) < input.shape.length)
      return this.ofRow(place, columns);
    const isOfRows = input.localShape.length === 2;
    if (distance !== null && isOfRows && equal(columns, length)) {
      const more = lengths.over(distance, columns);
      return more === null ? null : rowsAndColumns({ of: 0, more }, { of: 1, more: ZERO });
    }
    // What lies at one distance in the first row goes by rows of any length.
    const isInFirst = distance !== null && isOfRows && this.isInFirst(output.localShape.slice(1), start, end);
    const lattice = isInFirst
      ? { first: distance, row: length, column: ONE, shift: ZERO, by: columns }
      : latticeOf(place);
    if (lattice === null) return null;
    const inDims = (f: Form): Form => lengths.inDims(f);
    const [first, row, column] = [lattice.first, lattice.row, lattice.column].map(inDims) as [Form, Form, Form];
    const [shift, by] = [inDims(lattice.shift), inDims(lattice.by)];
    if (!equal(by, columns)) return null;
    const { from: begin, to: stop } = isInFirst ? { from: start, to: end } : (some ?? { from: ZERO, to: by });
    const [left, right] = [inDims(begin), inDims(stop)];
    // Where in a row of the input the first of these columns lies.
    const [moved, at] = [lengths.over(shift, by), parted(plus(first, product(column, left)), length)];
    if (moved === null || at === null) return null;
    if (input.localShape.length === 1) return row.size === 0 && equal(column, ONE) ? [{ of: 1, more: first }] : null;
    const isWithin = (from: Form, to: Form): boolean =>
      isAtLeastZero(from, ranges) && isAtLeastZero(minus(length, to), ranges);
    const [from, to] = [lengths.over(plus(start, shift), by), lengths.over(plus(end, shift), by)];
    const isCrossed = equal(row, ONE) && equal(column, length) && from !== null && to !== null;
    if (this.answer === "single" && isCrossed && some === undefined && isWithin(plus(at.rest, from), plus(at.rest, to)))
      return rowsAndColumns({ of: 1, more: at.whole }, { of: 0, more: plus(at.rest, moved) });
    return equal(row, length) && equal(column, ONE) && isWithin(at.rest, plus(at.rest, minus(right, left)))
      ? rowsAndColumns({ of: 0, more: plus(at.whole, moved) }, { of: 1, more: minus(at.rest, left) })
      : null;
  }

  /** Where the one element lies that an input has for each row of the output. @param columns how long such a row is */
  private ofRow(place: Place, columns: Form): readonly Coordinate[] | null {
    const { lengths } = this;
    const distance = distanceOf(place);
    if (distance !== null) return equal(columns, ONE) ? [{ of: 0, more: lengths.inDims(distance) }] : null;
    const lattice = latticeOf(place);
    if (lattice === null || lattice.column.size > 0 || !equal(lattice.row, ONE)) return null;
    const [by, shift] = [lengths.inDims(lattice.by), lengths.inDims(lattice.shift)];
    const moved = lengths.over(shift, by);
    return equal(by, columns) && moved !== null ? [{ of: 0, more: plus(lengths.inDims(lattice.first), moved) }] : null;
  }

  /**
   * Whether elements in several columns of a row are among these, so that no row may be taken for a column. Of one box with
   * lengths that are numbers. In a row, what an input has for the first dimensions is what it has for the last ones in one column at
   * most; so of as many columns as there are dimensions one tells it of inputs of all numbers of dimensions.
   */
  tellsColumns(start: Form, end: Form): boolean {
    const { localShape } = this.output;
    const columns = this.lengthOf(localShape.at(-1)!);
    const dims = localShape.length;
    return dims < 2 || (constantOf(columns) >= dims && constantOf(minus(end, start)) >= 2 * dims - 1);
  }
}

/** A tensor with two dimensions, of which one dimension is the first of the second; as it is where ranks have other parts of that. */
function flattened(t: SignatureTensor, dim: number): SignatureTensor {
  const { layout, shape, localShape } = t;
  if (layout.kind === "sharded" && layout.dim !== 0 && layout.dim !== dim) return t;
  const both = (of: typeof shape): typeof shape => [productOf(of.slice(0, dim)), productOf(of.slice(dim))];
  const cut = layout.kind === "sharded" ? { ...layout, dim: layout.dim === 0 ? 0 : 1 } : layout;
  return { ...t, layout: cut, shape: both(shape), localShape: both(localShape) };
}

function rowsAndColumns(row: Coordinate, column: Coordinate): readonly Coordinate[] {
  return [row, column];
}

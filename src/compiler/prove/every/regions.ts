/**
 * An `ensures` that says something else of some rows than of others, as of what neighbours send: rows fall into regions, in each of which
 * the answer is one function of elements at distances that lengths determine.
 */
import type { Kernel } from "../../ir/module.js";
import type { ElementExpression, ElementSpecification, SignatureTensor } from "../../manifest.js";
import { productOf, sameExtent } from "../../types/extent.js";
import { placeOf } from "../results.js";
import { NotShown } from "./conditions.js";
import { type Expression, Expressions, isNeverNegative } from "./expressions.js";
import { equal, type Form, product, ZERO } from "./forms.js";
import type { Lengths } from "./lengths.js";

/** What a number is: so often the row, and what is the same for all rows. */
interface Affine {
  readonly rows: number;
  readonly rest: Expression;
}

/** An element that the answer is made of: in row `index` of an input of rank `peer`; null: of several ranks. */
interface Load {
  readonly input: string;
  readonly peer: ElementExpression | null;
  readonly isOfSeveral: boolean;
  readonly index: ElementExpression;
}

type Tree =
  | { readonly kind: "split"; readonly difference: ElementExpression; readonly below: Tree; readonly rest: Tree }
  | { readonly kind: "leaf"; readonly number: number; readonly loads: readonly Load[] };

/** Elements of an output, from one to before another, of which one thing is said. */
export interface Region {
  readonly number: number;
  readonly start: Form;
  readonly end: Form;
  /** Where the elements are that these are made of, seen from each; owner null: some rank. */
  readonly places: readonly { readonly input: string; readonly owner: number | null; readonly distance: Form }[];
}

/** Looks at what is said of a region. @param isInPlace whether a load is of what the region may be made of @throws NotShown */
type Check = (value: ElementExpression, isInPlace: (load: ElementExpression & { kind: "load" }) => boolean) => void;

/** Conditions on conditions make twice as many each, most of them empty. */
const MOST_REGIONS = 1000;

export class Regions {
  private readonly tree: Tree;
  private leaves = 0;

  /** @throws NotShown where rows do not fall into regions */
  constructor(
    private readonly kernel: Kernel,
    private readonly output: SignatureTensor,
    private readonly specification: ElementSpecification,
    check: Check,
  ) {
    this.tree = this.treeOf(specification.value, check);
  }

  private treeOf(e: ElementExpression, check: Check): Tree {
    if (e.kind === "select") {
      const split = this.splitOf(e.condition, e.a, e.b, check);
      if (split !== null) return split;
    }
    if (this.leaves === MOST_REGIONS) throw new NotShown("the answer has too many regions", placeOf(this.kernel));
    const loads = new Map<string, Load>();
    check(e, (load) => this.note(load, loads));
    return { kind: "leaf", number: this.leaves++, loads: [...loads.values()] };
  }

  /** Null where a condition is not about rows. */
  private splitOf(c: ElementExpression, a: ElementExpression, b: ElementExpression, check: Check): Tree | null {
    const select = (condition: ElementExpression, x: ElementExpression, y: ElementExpression): ElementExpression => ({
      kind: "select",
      condition,
      a: x,
      b: y,
    });
    if (c.kind === "unary" && c.fn === "not") return this.splitOf(c.a, b, a, check);
    if (c.kind === "binary" && c.fn === "and") return this.splitOf(c.a, select(c.b, a, b), b, check);
    if (c.kind === "binary" && c.fn === "or") return this.splitOf(c.a, a, select(c.b, a, b), check);
    if (c.kind !== "compare") return null;
    const isOfRows = this.isForAllRanks(
      { kind: "binary", fn: "sub", a: c.a, b: c.b },
      ({ rows }) => Math.abs(rows) === 1,
    );
    if (!isOfRows) return null;
    // What is below 0 where the condition says so.
    const minus = (x: ElementExpression, y: ElementExpression, more = 0): ElementExpression => {
      const difference: ElementExpression = { kind: "binary", fn: "sub", a: x, b: y };
      return more === 0
        ? difference
        : { kind: "binary", fn: "sub", a: difference, b: { kind: "constant", value: more } };
    };
    const split = (difference: ElementExpression, below: Tree, rest: Tree): Tree => ({ kind: "split", difference, below, rest }); // prettier-ignore
    switch (c.fn) {
      case "lt":
        return split(minus(c.a, c.b), this.treeOf(a, check), this.treeOf(b, check));
      case "le":
        return split(minus(c.a, c.b, 1), this.treeOf(a, check), this.treeOf(b, check));
      case "gt":
        return split(minus(c.b, c.a), this.treeOf(a, check), this.treeOf(b, check));
      case "ge":
        return split(minus(c.b, c.a, 1), this.treeOf(a, check), this.treeOf(b, check));
      default:
        return null;
    }
  }

  /** Notes a load that is of a row that lies at a distance, in the same place of that row. */
  private note(e: ElementExpression & { kind: "load" }, loads: Map<string, Load>): boolean {
    const input = this.kernel.inputs.find((t) => t.name === e.input)!;
    const { localShape } = this.output;
    const { variables } = this.specification;
    const [index, ...inner] = e.indices;
    const isInPlace =
      input.localShape.length === localShape.length &&
      input.localShape.every((x, d) => d === 0 || sameExtent(x, localShape[d]!)) &&
      inner.every((i, d) => i.kind === "variable" && i.name === variables[d + 1]);
    if (index === undefined || !isInPlace || !this.isForAllRanks(index, ({ rows }) => rows === 1)) return false;
    const { peer } = e;
    // A variable of a reduction is any rank.
    const isOfSeveral = peer !== null && !this.isForAllRanks(peer, ({ rows, rest }) => rows === 0 && rest.kind === "constant"); // prettier-ignore
    if (isOfSeveral && (peer.kind !== "variable" || variables.includes(peer.name))) return false;
    const key = JSON.stringify([e.input, isOfSeveral ? "several" : peer, index]);
    if (!loads.has(key)) loads.set(key, { input: e.input, peer: isOfSeveral ? null : peer, isOfSeveral, index });
    return true;
  }

  private isForAllRanks(e: ElementExpression, holds: (of: Affine) => boolean): boolean {
    const expressions = new Expressions();
    for (let rank = 0; rank < this.kernel.world; rank++) {
      const affine = this.affine(e, rank, expressions);
      if (affine === null || !holds(affine)) return false;
    }
    return true;
  }

  /** Null of what is not followed. */
  private affine(e: ElementExpression, rank: number, expressions: Expressions): Affine | null {
    const ofAll = (rest: Expression): Affine => ({ rows: 0, rest });
    switch (e.kind) {
      case "constant":
        return Number.isInteger(e.value) ? ofAll(expressions.constant(e.value)) : null;
      case "rank":
        return ofAll(expressions.constant(rank));
      case "dim":
        return ofAll(expressions.dim(e.name));
      case "variable":
        return e.name === this.specification.variables[0] ? { rows: 1, rest: expressions.constant(0) } : null;
      case "binary": {
        const [a, b] = [this.affine(e.a, rank, expressions), this.affine(e.b, rank, expressions)];
        if (a === null || b === null) return null;
        if (e.fn === "add" || e.fn === "sub")
          return {
            rows: e.fn === "add" ? a.rows + b.rows : a.rows - b.rows,
            rest: expressions.apply(e.fn, a.rest, b.rest),
          };
        if (a.rows !== 0 || b.rows !== 0) return null;
        if (e.fn === "mul" || e.fn === "min" || e.fn === "max") return ofAll(expressions.apply(e.fn, a.rest, b.rest));
        if ((e.fn !== "floordiv" && e.fn !== "mod") || b.rest.kind !== "constant" || b.rest.value < 1) return null;
        const by = b.rest.value;
        if (a.rest.kind === "constant") {
          const down = Math.floor(a.rest.value / by);
          return ofAll(expressions.constant(e.fn === "mod" ? a.rest.value - down * by : down));
        }
        return isNeverNegative(a.rest)
          ? ofAll(expressions.apply(e.fn === "mod" ? "rem" : "div", a.rest, b.rest))
          : null;
      }
      default:
        return null;
    }
  }

  /** Of a rank, those that have elements, in order. @throws Cut, Undecided, where the box has to be cut */
  of(lengths: Lengths, rank: number): readonly Region[] {
    const found: Region[] = [];
    const { ends, program } = lengths;
    const { expressions } = program;
    const numberOf = (e: ElementExpression): Affine => this.affine(e, rank, expressions)!;
    const [rows, ...inner] = this.output.localShape;
    const neighbours = lengths.of(expressions.extent(productOf(inner)));
    const walk = (tree: Tree, from: Form, to: Form): void => {
      if (tree.kind === "leaf") {
        if (!ends.isBelow(from, to)) return;
        const places = tree.loads.map(({ input, peer, isOfSeveral, index }) => {
          const owner = peer === null ? rank : (numberOf(peer).rest as Expression & { value: number }).value;
          const distance = product(lengths.of(numberOf(index).rest), neighbours);
          return { input, owner: isOfSeveral ? null : owner, distance };
        });
        found.push({ number: tree.number, start: product(from, neighbours), end: product(to, neighbours), places });
        return;
      }
      const { rows: times, rest } = numberOf(tree.difference);
      // i + rest < 0, or rest - i < 0: from which row on it is otherwise.
      const least = times > 0 ? expressions.apply("sub", expressions.constant(0), rest) : expressions.apply("add", rest, expressions.constant(1)); // prettier-ignore
      const at = lengths.of(least);
      const [first, second] = times > 0 ? [tree.below, tree.rest] : [tree.rest, tree.below];
      if (!ends.isAtMost(at, from)) walk(first, from, ends.isAtMost(to, at) ? to : at);
      if (!ends.isAtMost(to, at)) walk(second, ends.isAtMost(at, from) ? from : at, to);
    };
    walk(this.tree, ZERO, lengths.of(expressions.extent(rows!)));
    return found;
  }
}

/** Whether, at lengths that are numbers, two of the places are one: what an element is made of is not known then. */
export function hasOnePlaceTwice({ places }: Region): boolean {
  return places.some((a, i) =>
    places.some(
      (b, k) =>
        k < i &&
        a.input === b.input &&
        (a.owner === null || b.owner === null || a.owner === b.owner) &&
        equal(a.distance, b.distance),
    ),
  );
}

/** What an iteration over tiles multiplies, of one product or of several: which tile it is, and that the producer brings what the consumers multiply. */
import { bufferOf, type Op, type Region, text } from "../../../ir/module.js";
import type { SignatureTensor } from "../../../manifest.js";
import { constant, equal, type Form, minus, plus, product, ZERO } from "../forms.js";
import type { Tile } from "./epilogue.js";
import type { Filled } from "./filled.js";
import { argumentOf, expect, type Follow, Steps } from "./follow.js";
import type { Known } from "./known.js";
import type { Gathered, Gathering } from "./gathering.js";
import type { Factors } from "./made.js";
import { Parts } from "./parts.js";
import { type Extent2, ordersOf, type Plan, planOf } from "./plan.js";
import { type Brought, brought, summed, type Summed, turnedBack } from "./rings.js";

/** What the tiles of an iteration are. */
export interface Multiplied {
  readonly roles: Op;
  readonly consuming: Op;
  /** What the consumers do with the sum. */
  readonly steps: Steps;
  readonly t: Form;
  readonly tile: Tile;
  readonly plan: Plan;
  /** Of several products the one that the tile is of, by its output, and the tile's number among those of that product. */
  readonly output: SignatureTensor;
  readonly number: Form;
  /** Rows and columns of that product's tiles. */
  readonly extent: Extent2;
  readonly factors: Factors;
}

/** Where rows of all ranks lie that are multiplied: gathered meanwhile, or filled before; null: what is multiplied is the rank's own. */
export interface Operand {
  readonly gathered: Gathered | null;
  readonly filled: Filled | null;
}

/** Any one iteration of the loop over blocks, in one case. */
export class Iteration {
  constructor(
    private readonly follow: Follow,
    private readonly known: Known,
    private readonly operand: Operand,
  ) {}

  /** What it multiplies; null where there is no such iteration. */
  multiplied(roles: Op, gathering: Gathering | null): Multiplied | null {
    const { follow, known, operand } = this;
    const { numbers } = follow;
    const [consumers, producers] = roles.regions as readonly [Region, Region, Region];
    const ring = text(roles, "ring");
    // Both go through the same iterations, and so through the same cases.
    const t = numbers.named("iteration");
    const loopOf = (steps: Steps): Op => {
      const loop = steps.next("for", "blocks");
      steps.end();
      follow.set(argumentOf(loop), t);
      return loop;
    };
    const consuming = loopOf(new Steps(follow.steps(consumers), roles));
    const bringing = new Steps(follow.steps(producers), roles);
    const parts = gathering === null ? null : Parts.begin(follow, gathering, bringing);
    const producing = loopOf(bringing);
    const count = follow.length(consuming);
    expect(
      equal(count, follow.length(producing)),
      "producers and consumers go through other numbers of tiles",
      producing,
    );
    if (equal(numbers.apply("lt", t, count), ZERO)) return null;
    const steps = new Steps(follow.steps(consuming.regions[0]!), consuming);
    const sum = summed(follow, steps, ring);
    const { stages } = sum;
    const tiles = this.brought(producing, stages, parts);

    // Positions of all iterations are counted in one way.
    known.alike(`stages of ${known.numberOf(roles)}`, JSON.stringify(stages), roles);
    const { width, height, depth } = stages;
    const { left: isLeftTurned, right: isTurned } = stages.isTurned;
    const isOfStages = gathering === null || (gathering.of.height === height && gathering.of.depth === depth);
    expect(isOfStages, "what is gathered is not what is multiplied", roles);
    const { filled } = operand;
    const isFilled = filled === null || tiles.left === filled.buffer;
    expect(isFilled, "something else is multiplied than was filled before", roles);
    const columns = tiles.limit === null ? width : numbers.decided(tiles.limit);
    const isEnough = columns >= 1 && columns <= sum.columns && sum.columns <= width;
    expect(isEnough, "fewer columns are multiplied than there are", consuming);

    const shapes = this.shapes(roles, tiles, stages);
    const extents = shapes.map(([r, c]): Extent2 => {
      return { rows: numbers.rounds(r, constant(height)), columns: numbers.rounds(c, constant(columns)) };
    });
    const [, deep] = turnedBack(follow.shape(tiles.left) as readonly [Form, Form], isLeftTurned);
    const counts = extents.map((e) => product(e.rows, e.columns));
    const slices = numbers.rounds(deep, constant(depth));
    const plan = planOf(
      numbers,
      producing,
      count,
      t,
      counts.reduce((a, b) => plus(a, b)),
      slices,
    );
    this.checkSlices(consuming, producing, sum, tiles, plan);
    const { at, number } = this.productOf(roles, plan.tile, counts);
    const output = follow.kernel.outputs[at]!;
    const shape = shapes[at]!;
    this.checkFactors(roles, tiles.left, tiles.right, stages, shape, output);
    // Both products of a pair are of the output's shape.
    if (tiles.twin !== null) {
      expect(shapes.length === 1, "a pair of products is one of several", roles);
      this.checkFactors(roles, tiles.left, tiles.twin, stages, shape, output);
    }
    // A piece is not all parts of its rows.
    expect(!tiles.remembers || plan.piece === null, "more is remembered than was waited for", producing);
    const { row, column } = tiles;
    const { accumulator, twin } = stages;
    const [rows, all] = shape;
    const tile: Tile = { accumulator, twin, height, width, columns, row, column, rows, all };
    const left = { name: gathering?.of.own ?? filled?.own ?? tiles.left, isTurned: isLeftTurned };
    const right = { name: tiles.right, isTurned };
    const factors: Factors = tiles.twin === null ? [left, right] : [left, right, { name: tiles.twin, isTurned }];
    return { roles, consuming, steps, t, tile, plan, output, number, extent: extents[at]!, factors };
  }

  /** The tile is that of the plan. @param isTurned whether tiles may begin in any row of them, and go round */
  checkPlace({ roles, tile, number, extent, output }: Multiplied, isTurned: boolean): void {
    const { follow, known } = this;
    const { height, columns, row, column } = tile;
    const orders = (turn?: null): readonly string[] =>
      ordersOf(follow.numbers, number, extent, [height, columns], [row, column], turn);
    const all = [...orders(), ...(isTurned ? orders(null) : [])];
    const what = `tiles of ${known.numberOf(roles)} for ${output.name}`;
    known.narrow(what, all, follow.numbers, "a tile is copied from another place than its own", roles);
  }

  /** Rows and columns of each product: of each output; what ranks make together is as its factors are. */
  private shapes(
    roles: Op,
    { left, right }: Brought,
    { isTurned }: Summed["stages"],
  ): readonly (readonly [Form, Form])[] {
    const { follow } = this;
    const [of, by] = [left, right].map((name) => follow.shape(name)) as [readonly Form[], readonly Form[]];
    const outputs = follow.kernel.outputs.map(({ name }) => follow.shape(name));
    const all = this.isAlone ? outputs : [];
    const areMatrices = outputs.length > 0 && [of, by, ...all].every((s) => s.length === 2);
    expect(areMatrices, "a product of other than matrices is not followed", roles);
    if (this.isAlone) return outputs as unknown as readonly (readonly [Form, Form])[];
    const [m] = turnedBack(of as readonly [Form, Form], isTurned.left);
    const [, n] = turnedBack(by as readonly [Form, Form], isTurned.right);
    return [[m, n]];
  }

  /** Whether what a rank multiplies is all of its output. */
  private get isAlone(): boolean {
    return !this.follow.isShared || this.everywhere !== undefined;
  }

  /** Where rows of all ranks lie. */
  private get everywhere(): string | undefined {
    return this.operand.gathered?.buffer ?? this.operand.filled?.buffer;
  }

  /** The product that a tile is of, and its number there: tiles of the first output come first. */
  private productOf(roles: Op, tile: Form, counts: readonly Form[]): { readonly at: number; readonly number: Form } {
    const { numbers } = this.follow;
    let before = ZERO;
    for (const [at, count] of counts.entries()) {
      const end = plus(before, count);
      // Tiles are no more than those of all products.
      const isLast = at === counts.length - 1;
      if (isLast || numbers.decided(numbers.apply("lt", tile, end), roles.span) !== 0)
        return { at, number: minus(tile, before) };
      before = end;
    }
    throw new RangeError("there is no product");
  }

  /** What the producer brings. */
  private brought(
    producing: Op,
    stages: Summed["stages"],
    parts: Parts | null,
  ): Brought & { readonly remembers: boolean } {
    const { follow } = this;
    const region = follow.chosen(producing.regions[0]!);
    if (parts !== null) {
      // Rows of a tile that are there.
      const [rows] = follow.shape(this.operand.gathered!.buffer) as readonly [Form];
      const end = (row: Form): Form => follow.numbers.apply("min", plus(row, constant(stages.height)), rows);
      return parts.brought(region, producing, stages, end);
    }
    const filling = new Steps(follow.steps(region), producing);
    const tiles = brought(follow, filling, stages);
    filling.end();
    return { ...tiles, remembers: false };
  }

  /** Both go through the slices of the plan, at its positions in the ring. */
  private checkSlices(consuming: Op, producing: Op, sum: Summed, tiles: Brought, plan: Plan): void {
    const isBrought = equal(tiles.from, plan.from) && equal(tiles.to, plan.to) && equal(tiles.first, plan.base);
    expect(isBrought, "other slices of the depth are copied than make it up", producing);
    const isSummed = equal(sum.count, minus(plan.to, plan.from)) && equal(sum.first, plan.base);
    expect(isSummed, "other slices of the depth are multiplied than are copied", consuming);
  }

  /** The factors of a product have its rows and its columns, and one depth. */
  private checkFactors(
    roles: Op,
    left: string,
    right: string,
    { a, b, accumulator, twin: second, isTurned }: Summed["stages"],
    [rows, columns]: readonly [Form, Form],
    output: SignatureTensor,
  ): void {
    const { follow, everywhere } = this;
    const [m, k] = turnedBack(follow.shape(left) as readonly [Form, Form], isTurned.left);
    const [depth, n] = turnedBack(follow.shape(right) as readonly [Form, Form], isTurned.right);
    const fits = equal(m, rows) && equal(n, columns) && equal(k, depth);
    expect(fits, "a product of parts of matrices is not followed", roles);
    const { kernel } = follow;
    const isInput = [left, right].every((name) => bufferOf(kernel, name).role === "input" || name === everywhere);
    expect(right !== everywhere, "a product of parts of matrices is not followed", roles);
    expect(isInput && bufferOf(kernel, output.name).role === "output", "a product is not of inputs", roles);
    for (const [from, to] of [
      [left, a],
      [right, b],
    ] as const) {
      const { dtype } = bufferOf(kernel, from);
      const isFloat = dtype === "bf16" || dtype === "f16";
      expect(isFloat && bufferOf(kernel, to).dtype === dtype, "a product of such dtypes is not followed", roles);
    }
    const areWide = [accumulator, ...(second === null ? [] : [second])].every((name) => bufferOf(kernel, name).dtype === "f32"); // prettier-ignore
    expect(areWide, "a product of such dtypes is not followed", roles);
    expect(["bf16", "f16", "f32"].includes(output.dtype), "a product of such dtypes is not followed", roles);
  }
}

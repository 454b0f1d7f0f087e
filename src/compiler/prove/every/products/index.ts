/**
 * Products on each rank alone, for every length: what `every` shows of kernels without products it shows here of those whose blocks multiply tiles in roles, share
 * the depth of some, and touch nothing of other ranks. docs/PROOF.md, "Products", says what is shown and why it is enough.
 */
import { bufferOf, type Kernel, memoryOperands, multiplies, type Op, type Region, text } from "../../../ir/module.js";
import { walkKernel } from "../../../ir/visit.js";
import type { SignatureTensor } from "../../../manifest.js";
import { NO_SPAN } from "../../../source.js";
import type { Layout } from "../../../types/layout.js";
import { NotShown } from "../conditions.js";
import { constant, equal, type Form, minus, ONE, plus, product } from "../forms.js";
import { type Made, specified, stored, SUM, type Tile } from "./epilogue.js";
import { argumentOf, expect, Follow, makersOf, refuse, Steps } from "./follow.js";
import { type Assumed, Atoms, BLOCK, NeedsCase, Numbers } from "./numbers.js";
import { havePiecesRoom, isPlaceOf, type Piece, type Plan, planOf } from "./plan.js";
import { brought, summed, type Summed } from "./rings.js";

/** Cases that are looked at, at most. */
const MOST_CASES = 4000;

/** Whether a kernel is one that is looked at here. */
export function hasRoles(kernel: Kernel): boolean {
  const isRoles = (r: Region): boolean => r.ops.some((op) => op.name === "roles" || op.regions.some(isRoles));
  return multiplies(kernel) && isRoles(kernel.body);
}

/**
 * Shows that a kernel's ordering holds for every length, and its answer.
 * @param whereAnswered takes what asks for the answer alone
 * @throws NotShown
 */
export function checkProducts(kernel: Kernel, whereAnswered: (of: () => void) => void): void {
  checkAlone(kernel);
  const makers = makersOf(kernel);
  const atoms = new Atoms();
  const known = new Map<string, string>();
  const cases: Assumed[] = [new Map()];
  for (let looked = 0; cases.length > 0; looked++) {
    if (looked === MOST_CASES) throw new NotShown("there are too many cases of lengths", NO_SPAN);
    const assumed = cases.pop()!;
    try {
      const follow = new Follow(kernel, makers, new Numbers(atoms, assumed));
      // An iteration and the block that has it are any: their bounds are said where they are named first.
      follow.numbers.named("grid", 1, kernel.maxBlocks);
      new Product(follow, whereAnswered, known).check();
    } catch (e) {
      if (!(e instanceof NeedsCase)) throw e;
      for (const more of e.options) cases.push(new Map([...assumed, ...more]));
    }
  }
}

/** @throws NotShown where a product has to do with other ranks, or with other kernels */
function checkAlone(kernel: Kernel): void {
  let roles: Op | undefined;
  walkKernel(kernel, (op) => void (op.name === "roles" && (roles ??= op)));
  const shared = kernel.buffers.find(({ memory, role, symmetric }) => {
    return memory !== undefined || role === "inout" || role === "packet" || symmetric;
  });
  if (shared === undefined) return;
  throw new NotShown(
    `there is a 'roles', which is followed on ranks alone, and they share '${shared.name}'`,
    roles!.span,
  );
}

/** A launch on one rank, and any one iteration of the loop over blocks in it, in one case. */
class Product {
  private readonly output: SignatureTensor;
  /** Of a block, how many launches there were before; null where that is not counted. */
  private launches: Form | null = null;
  private counter: string | null = null;

  constructor(
    private readonly follow: Follow,
    private readonly whereAnswered: (of: () => void) => void,
    /** What is one thing in all cases: of each ring its stages; of each accumulator where its pieces are kept, and what tells of them. */
    private readonly known: Map<string, string>,
  ) {
    const [output, ...others] = follow.kernel.outputs;
    if (output === undefined || others.length > 0) throw new NotShown("a product has several outputs", NO_SPAN);
    this.output = output;
  }

  check(): void {
    const { follow } = this;
    const { kernel } = follow;
    const all = follow.steps(kernel.body);
    const around = all[0] ?? kernel.body.ops[0]!;
    const steps = new Steps(all, around);
    while (steps.isNext("load")) this.count(steps.next("load"));
    const roles = steps.next("roles");
    this.roles(roles);
    if (this.counter !== null) this.counts(steps);
    steps.end();
  }

  /** A block reads how many launches there were. */
  private count(load: Op): Form {
    const { kernel, numbers } = this.follow;
    const buffer = text(load, "buffer");
    const { indices, peer } = memoryOperands(load);
    const isOwn = bufferOf(kernel, buffer).role === "state" && peer === null && indices.length === 1;
    if (!isOwn || (this.counter !== null && this.counter !== buffer)) refuse(load);
    expect(equal(this.follow.of(indices[0]!), numbers.named(BLOCK)), "launches are not counted by each block", load);
    this.counter = buffer;
    this.launches = numbers.named("launches");
    this.follow.set(load.results[0]!, this.launches);
    return this.launches;
  }

  /** Each row is kept by the block that has its number modulo the grid, and all are: so each block's is one more after each launch. */
  private counts(steps: Steps): void {
    const { follow } = this;
    const { numbers, kernel } = follow;
    const loop = steps.next("for", "threads");
    const row = numbers.named("row");
    follow.set(argumentOf(loop), row);
    const [rows] = follow.shape(this.counter!);
    const isAll = equal(follow.length(loop), rows!) && equal(rows!, constant(kernel.maxBlocks));
    expect(isAll, "launches are not counted by each block", loop);
    const body = new Steps(follow.effects(loop.regions[0]!), loop);
    const choice = body.next("if");
    body.end();
    const owner = numbers.apply("rem", row, numbers.named("grid"));
    const isOwn = numbers.apply("eq", owner, numbers.named(BLOCK));
    expect(equal(follow.of(choice.operands[0]!), isOwn), "launches are not counted by each block", choice);
    new Steps(follow.effects(choice.regions[1]!), choice).end();
    const then = new Steps(follow.effects(choice.regions[0]!), choice);
    const store = then.next("store");
    then.end();
    const { value, indices, peer } = memoryOperands(store);
    const isOne =
      text(store, "buffer") === this.counter &&
      peer === null &&
      equal(follow.of(indices[0]!), row) &&
      equal(follow.of(value!), plus(this.launches!, ONE));
    expect(isOne, "launches are not counted by each block", store);
  }

  private roles(roles: Op): void {
    const { follow } = this;
    const { numbers } = follow;
    const [consumers, producers, movers] = roles.regions as readonly [Region, Region, Region];
    const isPlain = roles.attributes["movers"] === undefined && roles.attributes["outgoing"] === undefined;
    if (!isPlain || movers.ops.length > 0) refuse(movers.ops[0] ?? roles);
    const ring = text(roles, "ring");
    // Both go through the same iterations, and so through the same cases.
    const t = numbers.named("iteration");
    const loopOf = (role: Region): Op => {
      const steps = new Steps(follow.steps(role), roles);
      const loop = steps.next("for", "blocks");
      steps.end();
      follow.set(argumentOf(loop), t);
      return loop;
    };
    const [consuming, producing] = [loopOf(consumers), loopOf(producers)];
    const count = follow.length(consuming);
    expect(
      equal(count, follow.length(producing)),
      "producers and consumers go through other numbers of tiles",
      producing,
    );
    const steps = new Steps(follow.steps(consuming.regions[0]!), consuming);
    const sum = summed(follow, steps, ring);
    const { stages } = sum;
    const filling = new Steps(follow.steps(producing.regions[0]!), producing);
    const tiles = brought(follow, filling, stages);
    filling.end();

    // Positions of all iterations are counted in one way.
    this.alike(`stages of ${roles.span.start} ${ring}`, JSON.stringify(stages), roles);
    const { width, height, depth } = stages;
    const [rows, all, deep] = this.lengths(roles, tiles.left, tiles.right, stages);
    const columns = tiles.limit === null ? width : numbers.decided(tiles.limit);
    const isEnough = columns >= 1 && columns <= sum.columns && sum.columns <= width;
    expect(isEnough, "fewer columns are multiplied than there are", consuming);
    const extent = {
      rows: numbers.rounds(rows, constant(height)),
      columns: numbers.rounds(all, constant(columns)),
      slices: numbers.rounds(deep, constant(depth)),
    };
    const plan = planOf(numbers, producing, count, t, extent);
    this.checkSlices(consuming, producing, sum, tiles, plan);
    const isPlaced = isPlaceOf(numbers, plan.tile, extent, [height, columns], [tiles.row, tiles.column]);
    expect(isPlaced, "a tile is copied from another place than its own", producing);
    const { row, column } = tiles;
    const tile: Tile = { accumulator: stages.accumulator, height, width, columns, row, column, rows, all };
    this.finish(consuming, steps, plan, tile, [tiles.left, tiles.right]);
  }

  /** Both go through the slices of the plan, at its positions in the ring. */
  private checkSlices(consuming: Op, producing: Op, sum: Summed, tiles: ReturnType<typeof brought>, plan: Plan): void {
    const isBrought = equal(tiles.from, plan.from) && equal(tiles.to, plan.to) && equal(tiles.first, plan.base);
    expect(isBrought, "other slices of the depth are copied than make it up", producing);
    const isSummed = equal(sum.count, minus(plan.to, plan.from)) && equal(sum.first, plan.base);
    expect(isSummed, "other slices of the depth are multiplied than are copied", consuming);
  }

  /** Rows and columns of the output, and the depth, which the inputs agree with. */
  private lengths(
    roles: Op,
    left: string,
    right: string,
    { a, b, accumulator }: Summed["stages"],
  ): readonly [Form, Form, Form] {
    const { follow, output } = this;
    const shapes = [left, right, output.name].map((name) => follow.shape(name));
    expect(
      shapes.every((s) => s.length === 2),
      "a product of other than matrices is not followed",
      roles,
    );
    const [[m, k], [depth, n], [rows, columns]] = shapes as [[Form, Form], [Form, Form], [Form, Form]];
    const fits = equal(m, rows) && equal(n, columns) && equal(k, depth);
    expect(fits, "a product of parts of matrices is not followed", roles);
    const { kernel } = follow;
    const isInput = [left, right].every((name) => bufferOf(kernel, name).role === "input");
    expect(isInput && bufferOf(kernel, output.name).role === "output", "a product is not of inputs", roles);
    for (const [from, to] of [
      [left, a],
      [right, b],
    ] as const) {
      const { dtype } = bufferOf(kernel, from);
      const isFloat = dtype === "bf16" || dtype === "f16";
      expect(isFloat && bufferOf(kernel, to).dtype === dtype, "a product of such dtypes is not followed", roles);
    }
    expect(bufferOf(kernel, accumulator).dtype === "f32", "a product of such dtypes is not followed", roles);
    expect(["bf16", "f16", "f32"].includes(output.dtype), "a product of such dtypes is not followed", roles);
    return [rows, columns, k];
  }

  /** What becomes of the sum of an iteration: it is stored, or kept for the block that has the tile's last piece, which adds it up. */
  private finish(loop: Op, steps: Steps, { piece }: Plan, tile: Tile, factors: readonly [string, string]): void {
    if (piece === null || piece.isLast) {
      if (piece !== null) this.addPieces(steps, piece, tile);
      const made = stored(this.follow, steps, this.output.name, tile);
      steps.end();
      this.whereAnswered(() => this.checkAnswer(loop, made, factors));
    } else {
      this.keepPiece(steps, piece, tile);
      steps.end();
    }
  }

  /** Rows of a tile that are there. */
  private rowsOf({ row, height, rows }: Tile): Form {
    return minus(this.follow.numbers.apply("min", plus(row, constant(height)), rows), row);
  }

  /** The piece is put in a row of its own, and then its flag says in which launch. */
  private keepPiece(steps: Steps, { number, shared, tiles }: Piece, tile: Tile): void {
    const { follow } = this;
    const put = steps.next("fragment_put");
    const slot = plus(product(number, tiles), shared);
    this.checkPassed(put, text(put, "to"), slot, tile);
    this.count(steps.next("load"));
    steps.next("block_sync");
    const loop = steps.next("for", "threads");
    expect(equal(follow.length(loop), ONE), "a piece is told of by several threads", loop);
    const body = new Steps(follow.effects(loop.regions[0]!), loop);
    const signal = body.next("signal");
    body.end();
    const { mode, order, remote } = signal.attributes;
    const [value, at] = signal.operands.map((v) => follow.of(v)) as [Form, Form];
    const isTold = remote !== true && mode === "set" && order === "release" && signal.operands.length === 2;
    expect(isTold && equal(value, this.epoch) && equal(at, slot), "a piece is not told of", signal);
    this.pass(put, text(put, "to"), text(signal, "buffer"));
  }

  /** The pieces before the last are waited for, and added. */
  private addPieces(steps: Steps, piece: Piece, tile: Tile): void {
    const { follow } = this;
    const { numbers } = follow;
    const { number, shared, tiles } = piece;
    this.count(steps.next("load"));
    const waiting = steps.next("for", "threads");
    const j = numbers.named("other piece");
    const slot = plus(product(j, tiles), shared);
    follow.set(argumentOf(waiting), j);
    const body = new Steps(follow.effects(waiting.regions[0]!), waiting);
    const wait = body.next("wait");
    body.end();
    const { order, remote } = wait.attributes;
    const [value, at] = wait.operands.map((v) => follow.of(v)) as [Form, Form];
    const isAsked = remote !== true && order === "acquire" && wait.operands.length === 2;
    const isAwaited = isAsked && equal(value, this.epoch) && equal(at, slot) && equal(follow.length(waiting), number);
    expect(isAwaited, "a piece is not waited for", wait);
    steps.next("block_sync");
    const adding = steps.next("for", "serial");
    follow.set(argumentOf(adding), j);
    const sums = new Steps(follow.effects(adding.regions[0]!), adding);
    const add = sums.next("fragment_add");
    sums.end();
    expect(equal(follow.length(adding), number), "other pieces are added than there are", adding);
    this.checkPassed(add, text(add, "from"), slot, tile);
    this.pass(add, text(add, "from"), text(wait, "buffer"));
    const [told] = follow.shape(text(wait, "buffer"));
    const [room] = follow.shape(text(add, "from"));
    const hasRoom = [told!, room!].every((extent) => havePiecesRoom(numbers, piece, extent));
    expect(hasRoom, "there may be more pieces than have room", add);
  }

  /** The number that tells of this launch. */
  private get epoch(): Form {
    return plus(this.launches!, ONE);
  }

  /** Whether a piece lies in its row, with as many rows of the tile as there are. */
  private checkPassed(op: Op, buffer: string, slot: Form, tile: Tile): void {
    const { follow } = this;
    const [at, rows] = op.operands.map((v) => follow.of(v)) as [Form, Form];
    const [, length, ...others] = follow.shape(buffer);
    const { accumulator, height, width } = tile;
    const isRow = others.length === 0 && length !== undefined && equal(length, constant(height * width));
    const { role, dtype } = bufferOf(follow.kernel, buffer);
    const isOwn = role === "scratch" && dtype === "f32" && text(op, "buffer") === accumulator;
    const isPassed = isOwn && isRow && equal(at, slot) && equal(rows, this.rowsOf(tile));
    expect(isPassed, "a piece of a tile is kept in a way that is not followed", op);
  }

  /** What takes pieces is what keeps them: of one accumulator's there is one buffer, and one of flags. */
  private pass(op: Op, pieces: string, told: string): void {
    const isFlags = bufferOf(this.follow.kernel, told).role === "signal" && this.follow.shape(told).length === 1;
    expect(isFlags, "a piece is not told of", op);
    this.alike(`pieces of ${text(op, "buffer")}`, `${pieces} ${told}`, op);
  }

  /** What is one thing in all cases. */
  private alike(what: string, value: string, op: Op): void {
    const known = this.known.get(what) ?? value;
    this.known.set(what, known);
    expect(known === value, "iterations keep their parts in several places", op);
  }

  /** The output is as specified: the same function of the sum, where the factors and all else that it is made of lie as it does. */
  private checkAnswer(loop: Op, made: Made, [left, right]: readonly [string, string]): void {
    const { kernel } = this.follow;
    const [specification] = kernel.specification;
    if (specification == null) return;
    if (specification.kind === "elements") throw new NotShown("what an element must be is said of ranks", loop.span);
    const { layout, shape } = this.output;
    const inputOf = (name: string): SignatureTensor => kernel.inputs.find((t) => t.name === name)!;
    const liesAs = (name: string, dims: readonly (number | null)[]): boolean =>
      isLikewise(layout, inputOf(name).layout, dims);
    // Each rank has a part of the depth, and what they have is added up.
    const isCut = (name: string, dim: number): boolean => {
      const { layout: of } = inputOf(name);
      return of.axis === undefined && of.kind === "sharded" && of.dim === dim;
    };
    const isPart = layout.kind === "partial" && layout.op === "sum" && layout.axis === undefined && made === SUM;
    const lies = isPart ? isCut(left, 1) && isCut(right, 0) : liesAs(left, [0, null]) && liesAs(right, [null, 1]);
    expect(lies, "the factors do not lie as the product does", loop);
    const has = (name: string): boolean => {
      const input = inputOf(name);
      return liesAs(name, input.shape.length === 1 ? [1] : [0, 1]) && input.shape.length <= shape.length;
    };
    const wanted = specified(specification, [left, right], has, loop);
    expect(wanted === made, "an element is made in another way than is specified", loop);
  }
}

/**
 * Whether an input lies on ranks as an output does: cut where that is cut, and else the same on all.
 * @param dims by dimension of the input, that of the output which it goes along; null of one that the output has not
 */
function isLikewise(output: Layout, input: Layout, dims: readonly (number | null)[]): boolean {
  if (output.axis !== undefined || input.axis !== undefined) return false;
  if (output.kind === "local") return input.kind === "local" || input.kind === "replicated";
  if (output.kind !== "replicated" && output.kind !== "sharded") return false;
  const cut = output.kind === "sharded" ? dims.indexOf(output.dim) : -1;
  return cut < 0 ? input.kind === "replicated" : input.kind === "sharded" && input.dim === cut;
}

/** What goes through the ring of a product's stages in one iteration: the producer fills what the consumers multiply, position by position. */
import { isRemote, type Op, text, type Value } from "../../../ir/module.js";
import { tileOperands } from "../../../ir/tile-window.js";
import { constant, equal, type Form, minus, ONE, plus, scaled } from "../forms.js";
import { argumentOf, expect, type Follow, Steps } from "./follow.js";

/** Buffers of a product, and the sizes of its tiles. */
export interface Stages {
  readonly ring: string;
  readonly a: string;
  readonly b: string;
  readonly accumulator: string;
  /** The accumulator of a second product of the same rows, whose tiles of the right factor lie behind the first's; null where there is none. */
  readonly twin: string | null;
  /** Positions of the ring, and as many stages of each buffer, or twice as many of a pair's right factors. */
  readonly count: number;
  /** Rows and columns of the accumulator, and the depth of a stage. */
  readonly height: number;
  readonly width: number;
  readonly depth: number;
  /** Whether stages hold tiles of a factor with its rows and columns the other way round. */
  readonly isTurned: { readonly left: boolean; readonly right: boolean };
}

/** What an iteration adds up. */
export interface Summed {
  readonly stages: Stages;
  /** Columns that are multiplied, the first. */
  readonly columns: number;
  /** Positions, from the first on. */
  readonly first: Form;
  readonly count: Form;
}

/**
 * The consumers' part: a sum is cleared, and each position in turn is waited for, multiplied and, when that has ended, released.
 * @param ring the ring of the roles
 */
export function summed(follow: Follow, steps: Steps, ring: string): Summed {
  const { numbers } = follow;
  const clear = steps.next("fragment_clear");
  const accumulator = text(clear, "buffer");
  const twin = steps.isNext("fragment_clear") ? text(steps.next("fragment_clear"), "buffer") : null;
  const loop = steps.next("for", "serial");
  const count = follow.length(loop);
  const i = numbers.named("slice");
  follow.set(argumentOf(loop), i);
  const body = new Steps(follow.effects(loop.regions[0]!), loop);

  const wait = body.next("ring_wait");
  const position = follow.of(wait.operands[0]!);
  const first = minus(position, i);
  const mma = body.next("mma");
  const stages = stagesOf(follow, mma, ring);
  const ofOne = [wait, clear, mma].every((op) => (op.attributes["ring"] ?? ring) === ring);
  const isOwn = stages.accumulator === accumulator && stages.twin === twin;
  expect(ofOne && isOwn, "a product has parts of another", mma);
  expect(isStage(follow, mma.operands[0]!, position, stages), "what is multiplied is not what was waited for", mma);

  const releases = (op: Op, at: Form): void =>
    expect(
      op.attributes["ring"] === ring && equal(follow.of(op.operands[0]!), at),
      "a stage is released that is not the one before",
      op,
    );
  const ends = (op: Op, pending: number): void =>
    expect(
      op.attributes["pending"] === pending &&
        text(op, "accumulator") === accumulator &&
        (op.attributes["twin"] ?? null) === twin,
      "a product is waited for in a way that is not followed",
      op,
    );
  const isAsync = mma.attributes["async"] === true;
  /** A release of the position before another, where there is one. */
  const releasesBefore = (choice: Op, at: Form, number: Form): void => {
    const isThere = equal(follow.of(choice.operands[0]!), numbers.isPositive(number));
    expect(isThere, "stages are released under another condition", choice);
    const then = new Steps(follow.effects(choice.regions[0]!), choice);
    releases(then.next("ring_release"), minus(at, ONE));
    then.end();
    new Steps(follow.effects(choice.regions[1]!), choice).end();
  };
  if (isAsync) {
    // What was multiplied in the iteration before has ended.
    ends(body.next("mma_wait"), 1);
    releasesBefore(body.next("if"), position, i);
  } else releases(body.next("ring_release"), position);
  body.end();
  if (isAsync) {
    ends(steps.next("mma_wait"), 0);
    releasesBefore(steps.next("if"), plus(first, count), count);
  }
  const columns = (mma.attributes["columns"] as number | undefined) ?? stages.width;
  expect(twin === null || columns === stages.width, "fewer columns are multiplied than there are", mma);
  return { stages, columns, first, count };
}

function stagesOf(follow: Follow, mma: Op, ring: string): Stages {
  const { accumulator, a, b, twin, transposed, scaleA, scaleB } = mma.attributes as Readonly<Record<string, string>>;
  const isPlain = [scaleA, scaleB].every((x) => x === undefined || x === "");
  expect(isPlain, "a product of scaled tiles is not followed", mma);
  const isTurned = { left: (transposed ?? "").includes("a"), right: (transposed ?? "").includes("b") };
  const [count, ...leftTile] = follow.fixed(a!) as readonly [number, number, number];
  const [countB, ...rightTile] = follow.fixed(b!) as readonly [number, number, number];
  const [height, depth] = turnedBack(leftTile, isTurned.left);
  const [depthB, width] = turnedBack(rightTile, isTurned.right);
  const [rows, columns] = follow.fixed(accumulator!) as readonly [number, number];
  const [positions] = follow.fixed(ring) as readonly [number];
  const isPair = twin !== undefined;
  const isTwin = !isPair || (twin !== accumulator && follow.fixed(twin).join() === `${rows},${columns}`);
  const fits =
    count === positions &&
    countB === positions * (isPair ? 2 : 1) &&
    isTwin &&
    depth === depthB &&
    rows === height &&
    columns === width;
  // With one stage, a producer would wait for the release that comes behind what it is to bring.
  expect(fits && a !== b && positions >= 2, "the tiles of a product do not fit together", mma);
  return { ring, a: a!, b: b!, accumulator: accumulator!, twin: twin ?? null, count, height, width, depth, isTurned };
}

/** Rows and columns of a factor, of which a pair has the columns first where it is turned. */
export function turnedBack<T>([first, second]: readonly [T, T], isTurned: boolean): readonly [T, T] {
  return isTurned ? [second, first] : [first, second];
}

/** Whether a value is the stage of a position. @param of how many tiles of the buffer one has, and which it is */
function isStage(
  follow: Follow,
  v: Op["operands"][number],
  position: Form,
  { count }: Stages,
  [tiles, tile]: readonly [number, number] = [1, 0],
): boolean {
  const stage = follow.numbers.apply("rem", position, constant(count));
  return equal(follow.of(v), plus(scaled(stage, tiles), constant(tile)));
}

/** What the producer brings in one iteration: slices of two inputs' tiles. */
export interface Brought {
  /** Inputs, and where in them the tile of a slice begins: the row of the left one, the column of the right one. */
  readonly left: string;
  readonly right: string;
  /** The right factor of the second product of a pair, of which the same is copied; null where there is none. */
  readonly twin: string | null;
  readonly row: Form;
  readonly column: Form;
  /** Columns that are copied of the right one; null where all are. */
  readonly limit: Form | null;
  /** Slices, from one to before another. */
  readonly from: Form;
  readonly to: Form;
  /** The position of the first slice. */
  readonly first: Form;
}

/** The producer's part: each position in turn is acquired, and its two tiles are copied, zeroes where the depth ends. */
export function brought(follow: Follow, steps: Steps, stages: Stages): Brought {
  const loop = steps.next("for", "serial");
  const of = broughtSlices(follow, loop, stages, null);
  const [from, to] = loop.operands.map((v) => follow.of(v)) as [Form, Form];
  return { ...of, from, to, first: minus(of.position, minus(of.slice, from)) };
}

/** What is brought in one iteration of a loop over slices. */
export interface BroughtSlice extends Omit<Brought, "from" | "to" | "first"> {
  readonly position: Form;
  readonly slice: Form;
}

/**
 * A loop over slices.
 * @param gathered of a left factor that ranks gather: where tiles of the rank's own rows are copied from, and when, by the first row of a tile; null of one that is an input
 */
export function broughtSlices(
  follow: Follow,
  loop: Op,
  stages: Stages,
  gathered: {
    readonly buffer: string;
    readonly own: string;
    readonly ownRow: (row: Form) => Form;
    readonly isOwn: (row: Form) => Form;
  } | null,
): BroughtSlice {
  const { numbers } = follow;
  const { ring, depth } = stages;
  const s = numbers.named("slice");
  follow.set(argumentOf(loop), s);
  const body = new Steps(follow.effects(loop.regions[0]!), loop);
  const acquire = body.next("ring_acquire");
  const position = follow.of(acquire.operands[0]!);
  const choice = gathered === null ? null : body.next("if");
  const copyIn = (region: number): Op => {
    const copies = new Steps(follow.effects(choice!.regions[region]!), choice!);
    const copy = copies.next("copy_tile");
    copies.end();
    return copy;
  };
  const own = choice === null ? null : copyIn(0);
  const a = choice === null ? body.next("copy_tile") : copyIn(1);
  const b = body.next("copy_tile");
  const second = stages.twin === null ? null : body.next("copy_tile");
  const fill = body.next("ring_fill");
  body.end();
  const lefts = own === null ? [a] : [a, own];
  const rights = second === null ? [b] : [b, second];
  const isOne = [acquire, ...lefts, ...rights, fill].every((op) => op.attributes["ring"] === ring);
  expect(isOne && equal(follow.of(fill.operands[0]!), position), "a stage is filled that was not acquired", fill);
  expect(fill.attributes["plain"] !== true, "stages are filled without the copy engine", fill);

  const at = scaled(s, depth);
  const tile = (
    op: Op,
    to: string,
    place?: readonly [number, number],
  ): ReturnType<typeof tileOperands<Op["operands"][number]>> => {
    const { attributes } = op;
    const isPlain = !isRemote(op) && attributes["plain"] !== true && attributes["rows"] === 0 && !("end" in attributes);
    expect(
      isPlain && follow.shape(text(op, "from")).length === 2,
      "a tile is copied in a way that is not followed",
      op,
    );
    expect(attributes["to"] === to, "a tile is copied to another buffer than is multiplied", op);
    const operands = tileOperands(op, 2, op.operands);
    expect(
      isStage(follow, operands.stage, position, stages, place),
      "a tile is copied to another stage than was acquired",
      op,
    );
    return operands;
  };
  const { isTurned } = stages;
  const placeOf = (indices: readonly Value[], turned: boolean): readonly [Form, Form] =>
    turnedBack(indices.map((v) => follow.of(v)) as [Form, Form], turned);
  expect(gathered === null || !isTurned.left, "a gathered factor is turned", a);
  const [left, ownLeft] = lefts.map((op) => placeOf(tile(op, stages.a).indices, isTurned.left));
  const [right, twin] = rights.map((op, i) => tile(op, stages.b, [rights.length, i]));
  // What goes along the result makes rows and columns of it that nobody asks for, where it is not there; what goes along the depth must be zero.
  const isWhole = lefts.every(({ attributes }) => !("limit" in attributes) && !(isTurned.left && attributes["spare"] === true)); // prettier-ignore
  const limited = isTurned.right ? "rows" : "columns";
  const isZeroed =
    isWhole &&
    rights.every(({ attributes: { spare, limit = limited } }) => limit === limited && (isTurned.right || spare !== true)); // prettier-ignore
  expect(isZeroed, "what is behind the end of the depth is not zero", b);
  const [row, x] = left!;
  const [y, column] = placeOf(right!.indices, isTurned.right);
  if (twin !== undefined) {
    const isAlike = placeOf(twin.indices, isTurned.right).every((f, d) => equal(f, [y, column][d]!));
    expect(isAlike && right!.limit === null && twin.limit === null, "tiles of a pair are not copied alike", second!);
  }
  const isDeep = equal(x, at) && (ownLeft === undefined || equal(ownLeft[1], at));
  expect(isDeep, "a slice of the left factor is not of its place in the depth", a);
  expect(equal(y, at), "a slice of the right factor is not of its place in the depth", b);
  if (gathered !== null) {
    const isFrom = text(a, "from") === gathered.buffer && text(own!, "from") === gathered.own;
    expect(isFrom && equal(ownLeft![0], gathered.ownRow(row)), "a rank's own rows are read in another place", own!);
    const isOwn = equal(follow.of(choice!.operands[0]!), gathered.isOwn(row));
    expect(isOwn, "other rows are read where a rank's own lie", choice!);
  }
  return {
    left: text(a, "from"),
    right: text(b, "from"),
    twin: second === null ? null : text(second, "from"),
    row,
    column,
    limit: right!.limit === null ? null : follow.of(right!.limit),
    position,
    slice: s,
  };
}

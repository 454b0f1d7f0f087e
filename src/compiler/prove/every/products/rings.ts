/** What goes through the ring of a product's stages in one iteration: the producer fills what the consumers multiply, position by position. */
import { isRemote, type Op, text } from "../../../ir/module.js";
import { tileOperands } from "../../../ir/tile-window.js";
import { constant, equal, type Form, minus, ONE, plus, scaled } from "../forms.js";
import { argumentOf, expect, type Follow, Steps } from "./follow.js";

/** Buffers of a product, and the sizes of its tiles. */
export interface Stages {
  readonly ring: string;
  readonly a: string;
  readonly b: string;
  readonly accumulator: string;
  /** Positions of the ring, and as many stages of each buffer. */
  readonly count: number;
  /** Rows and columns of the accumulator, and the depth of a stage. */
  readonly height: number;
  readonly width: number;
  readonly depth: number;
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
  expect(ofOne && stages.accumulator === accumulator, "a product has parts of another", mma);
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
        op.attributes["twin"] === undefined,
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
  return { stages, columns, first, count };
}

function stagesOf(follow: Follow, mma: Op, ring: string): Stages {
  const { accumulator, a, b, twin, transposed, scaleA, scaleB } = mma.attributes as Readonly<Record<string, string>>;
  const isPlain = [twin, transposed, scaleA, scaleB].every((x) => x === undefined || x === "");
  expect(isPlain, "a product of several, scaled or transposed tiles is not followed", mma);
  const [count, height, depth] = follow.fixed(a!) as readonly [number, number, number];
  const [countB, depthB, width] = follow.fixed(b!) as readonly [number, number, number];
  const [rows, columns] = follow.fixed(accumulator!) as readonly [number, number];
  const [positions] = follow.fixed(ring) as readonly [number];
  const fits = count === positions && countB === positions && depth === depthB && rows === height && columns === width;
  // With one stage, a producer would wait for the release that comes behind what it is to bring.
  expect(fits && a !== b && positions >= 2, "the tiles of a product do not fit together", mma);
  return { ring, a: a!, b: b!, accumulator: accumulator!, count, height, width, depth };
}

/** Whether a value is the stage of a position. */
function isStage(follow: Follow, v: Op["operands"][number], position: Form, { count }: Stages): boolean {
  return equal(follow.of(v), follow.numbers.apply("rem", position, constant(count)));
}

/** What the producer brings in one iteration: slices of two inputs' tiles. */
export interface Brought {
  /** Inputs, and where in them the tile of a slice begins: the row of the left one, the column of the right one. */
  readonly left: string;
  readonly right: string;
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
  const { numbers } = follow;
  const { ring, depth } = stages;
  const loop = steps.next("for", "serial");
  const [from, to] = loop.operands.map((v) => follow.of(v)) as [Form, Form];
  const s = numbers.named("slice");
  follow.set(argumentOf(loop), s);
  const body = new Steps(follow.effects(loop.regions[0]!), loop);
  const acquire = body.next("ring_acquire");
  const position = follow.of(acquire.operands[0]!);
  const [a, b] = [body.next("copy_tile"), body.next("copy_tile")];
  const fill = body.next("ring_fill");
  body.end();
  const isOne = [acquire, a, b, fill].every((op) => op.attributes["ring"] === ring);
  expect(isOne && equal(follow.of(fill.operands[0]!), position), "a stage is filled that was not acquired", fill);
  expect(fill.attributes["plain"] !== true, "stages are filled without the copy engine", fill);

  const at = scaled(s, depth);
  const tile = (op: Op, to: string): ReturnType<typeof tileOperands<Op["operands"][number]>> => {
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
      isStage(follow, operands.stage, position, stages),
      "a tile is copied to another stage than was acquired",
      op,
    );
    return operands;
  };
  const [left, right] = [tile(a, stages.a), tile(b, stages.b)];
  // Rows of the left one that are not there make rows of the product that nobody asks for; a row of the right one is of the depth, and must be zero.
  const isZeroed = !("limit" in a.attributes) && b.attributes["spare"] !== true && b.attributes["limit"] !== "rows";
  expect(isZeroed, "what is behind the end of the depth is not zero", b);
  const places = [left, right].map(({ indices }) => indices.map((v) => follow.of(v)));
  const [[row, x], [y, column]] = places as [[Form, Form], [Form, Form]];
  expect(equal(x, at), "a slice of the left factor is not of its place in the depth", a);
  expect(equal(y, at), "a slice of the right factor is not of its place in the depth", b);
  return {
    left: text(a, "from"),
    right: text(b, "from"),
    row,
    column,
    limit: right.limit === null ? null : follow.of(right.limit),
    from,
    to,
    first: minus(position, minus(s, from)),
  };
}

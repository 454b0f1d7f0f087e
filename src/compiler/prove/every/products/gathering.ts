/**
 * An operand that ranks gather while they multiply it: the rows of each are sent to all by the movers of its blocks, in parts of the depth, and a word tells of each
 * part. What is found here of a launch is one for all tiles: where rows come together, how their depth is cut, and what words say.
 */
import { bufferOf, type Kernel, type Op, type Region, text } from "../../../ir/module.js";
import { walk, walkKernel } from "../../../ir/visit.js";
import { constant, equal, type Form, minus, ONE, plus, product, scaled } from "../forms.js";
import { Counts } from "./counts.js";
import { expect, type Follow, type Makers, Steps } from "./follow.js";
import type { Known } from "./known.js";
import type { Launches } from "./launches.js";
import { partsOf } from "./leaving.js";
import { isOfLengths } from "./shared.js";

/** Where an operand's rows come from. */
export interface Gathered {
  /** The rank's own rows, and where those of all ranks come together. */
  readonly own: string;
  readonly buffer: string;
  /** Rows of a tile, and the depth of a slice. */
  readonly height: number;
  readonly depth: number;
  /** The op that copies a tile of them. */
  readonly copy: Op;
}

/** What a kernel gathers before it multiplies it; null where it gathers nothing. @throws NotShown where that is not followed */
export function gatheredBy(kernel: Kernel): Gathered | null {
  let copy: Op | null = null;
  walkKernel(kernel, (op) => {
    if (op.name !== "copy_tile") return;
    const { role, symmetric } = bufferOf(kernel, text(op, "from"));
    if (role === "scratch" && symmetric) copy ??= op;
  });
  if (copy === null) return null;
  const buffer = text(copy, "from");
  const to = text(copy, "to");
  let own: string | null = null;
  walkKernel(kernel, (op) => {
    if (op.name === "copy_tile" && text(op, "to") === to && text(op, "from") !== buffer) own ??= text(op, "from");
  });
  expect(own !== null && bufferOf(kernel, own).role === "input", "a rank's own rows are not read where they lie", copy);
  const [, height, depth] = bufferOf(kernel, to).shape as readonly [number, number, number];
  return { own, buffer, height, depth, copy };
}

/** How a launch gathers an operand, in one case. */
export class Gathering {
  /** Rows of each rank, of all, and elements of one. */
  readonly shard: Form;
  readonly rows: Form;
  readonly all: Form;
  /** How many parts the depth has, and slices of each but the last. */
  readonly count: Form;
  readonly slices: Form;
  /** The loop over parts that movers send. */
  readonly sending: Op;
  /** Words that tell of parts, so many of each rank. */
  readonly arrived: string;
  readonly words: number;

  constructor(
    readonly follow: Follow,
    readonly makers: Makers,
    readonly known: Known,
    readonly of: Gathered,
    readonly counts: Counts,
    readonly roles: Op,
  ) {
    const { numbers, kernel } = follow;
    const { world } = kernel;
    const [gathered, own] = [of.buffer, of.own].map((name) => bufferOf(kernel, name)) as [
      ReturnType<typeof bufferOf>,
      ReturnType<typeof bufferOf>,
    ];
    const fits = gathered.shape.length === 2 && own.shape.length === 2 && gathered.dtype === own.dtype;
    expect(fits, "what is gathered is not made of rows", of.copy);
    const [[rows, all], [shard, length]] = [of.buffer, of.own].map((name) => follow.shape(name)) as unknown as [
      [Form, Form],
      [Form, Form],
    ];
    // So ranks have equal parts, which are all rows.
    const [, part] = partsOf(follow, rows);
    const isCut = part !== undefined && equal(part, shard) && equal(all, length);
    expect(isCut, "ranks have other rows than are gathered", of.copy);
    [this.rows, this.all, this.shard] = [rows, all, shard];
    known.own(of.buffer, "gathered", of.copy);

    const movers = new Steps(follow.effects(roles.regions[2]!), roles);
    movers.skipTo("for", "serial");
    this.sending = movers.next("for", "serial");
    const [from, to] = this.sending.operands;
    const turns = follow.of(to!);
    const count: Form = new Map([...turns].map(([key, n]) => [key, n / world]));
    expect(follow.of(from!).size === 0 && isOfLengths(to!, makers), "parts are sent in other turns", this.sending);
    // As many slices for each part that there are no more parts than words.
    const division = numbers.atomOf(count);
    const slices = division?.of[1];
    const steps = numbers.apply("max", numbers.rounds(all, constant(of.depth)), ONE);
    expect(
      division?.fn === "div" && equal(count, numbers.rounds(steps, slices!)),
      "the parts of the depth are not all of it",
      this.sending,
    );
    [this.count, this.slices] = [count, slices!];

    const waits = anyWait(roles.regions[1]!, this.sending);
    this.arrived = text(waits, "buffer");
    const { role, shape } = bufferOf(kernel, this.arrived);
    const isOfRanks = role === "signal" && shape.length === 2 && shape[0] === world && typeof shape[1] === "number";
    expect(isOfRanks, "words that tell of parts are not those of ranks", waits);
    this.words = shape[1] as number;
    known.own(this.arrived, "words of parts", waits);
    // What is cut into no more parts than there are words has as many slices in each, and at least one.
    const cut = numbers.atomOf(slices!);
    const parts = cut?.fn === "div" ? cut.of[1]! : null;
    const isEnough =
      parts !== null &&
      equal(slices!, numbers.rounds(steps, parts)) &&
      numbers.least(parts) >= 1 &&
      numbers.most(parts) <= this.words;
    expect(isEnough, "there may be more parts than words", this.sending);
  }

  /** The first of the rank's own rows. */
  get begin(): Form {
    return product(this.follow.rank, this.shard);
  }

  /** The word that tells of a part of a rank's rows. */
  wordOf(rank: Form, part: Form): Form {
    return plus(scaled(rank, this.words), part);
  }

  /** Whether a tile's rows are the rank's own alone, as a number; the last of them is before `end`. */
  isOwn(row: Form, end: Form): Form {
    const { numbers } = this.follow;
    return numbers.apply(
      "and",
      numbers.apply("ge", row, this.begin),
      numbers.apply("le", end, plus(this.begin, this.shard)),
    );
  }

  /** Ranks whose rows a tile has, from one to before another. */
  ranksOf(row: Form, end: Form): readonly [Form, Form] {
    const { numbers } = this.follow;
    return [numbers.apply("div", row, this.shard), plus(numbers.apply("div", minus(end, ONE), this.shard), ONE)];
  }
}

/** Follows a launch that gathers an operand: what blocks count before its roles and behind them, and nothing else. */
export function gatheringOf(
  follow: Follow,
  makers: Makers,
  known: Known,
  launches: Launches,
  gathered: Gathered,
): Gathering {
  const all = follow.effects(follow.kernel.body);
  const at = all.findIndex((op) => op.name === "roles");
  const roles = all[at];
  expect(roles !== undefined, "blocks multiply tiles in some launches alone", gathered.copy);
  const counts = new Counts(follow, makers, known, launches);
  counts.begin(all.slice(0, at));
  const end = new Steps(all.slice(at + 1), roles);
  counts.end(end.next("for", "threads"));
  end.end();
  expect(roles.attributes["outgoing"] === undefined, "tiles leave that others are gathered for", roles);
  return new Gathering(follow, makers, known, gathered, counts, roles);
}

/** An op in the producer's part that waits: of several products each has one, for words of the same buffer. */
function anyWait(producer: Region, around: Op): Op {
  const waits: Op[] = [];
  walk(producer, (op) => void (op.name === "wait" && waits.push(op)));
  const [wait, ...others] = waits;
  const isOne = wait !== undefined && others.every((op) => text(op, "buffer") === text(wait, "buffer"));
  expect(isOne, "parts are not waited for in one place", around);
  return wait;
}

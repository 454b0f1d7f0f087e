/**
 * The movers' part of a launch that gathers an operand: they meet their namesakes on all ranks, send each part of their rank's rows to each rank, tell of it, and wait
 * for what others tell. docs/PROOF.md, "Products of what ranks gather", says why that is enough.
 */
import { bufferOf, type Kernel, memoryOperands, type Op, text } from "../../../ir/module.js";
import { constant, equal, type Form, minus, ONE, plus, product, scaled, ZERO } from "../forms.js";
import { argumentOf, expect, Steps } from "./follow.js";
import type { Gathering } from "./gathering.js";
import { BLOCK } from "./numbers.js";
import { sending } from "./sending.js";

/** What one turn of the movers is about. */
interface Turn {
  /** Which of two orders it is of. */
  readonly order: "rem" | "div";
  readonly peer: Form;
  readonly part: Form;
}

/** Shows what movers do in any one turn; what they send is a kernel of which it has to be shown that it is a copy. */
export class Movers {
  /** What blocks of the rank have sent, by words of the rank's own. */
  private counted: string | null = null;

  constructor(private readonly gathering: Gathering) {}

  /** @returns what is sent in a turn, of which there may be none in this case */
  check(): Kernel | null {
    const { gathering } = this;
    const { follow, counts, roles, known } = gathering;
    const steps = new Steps(follow.effects(roles.regions[2]!), roles);
    const { numbers, kernel, rank } = follow;
    const i = numbers.named("peer");
    const own = scaled(numbers.named(BLOCK), kernel.world);
    const loopOverRanks = (): Op => {
      const loop = steps.next("for", "threads");
      follow.set(argumentOf(loop), i);
      return loop;
    };
    steps.next("block_sync");
    const begun = counts.read(steps.next("load"), "launches");
    const telling = loopOverRanks();
    const signal = only(gathering, telling, "signal");
    const flags = text(signal, "buffer");
    const { mode, order, scope, remote } = signal.attributes;
    const isTold = mode === "set" && order === "release" && scope === "sys" && remote === true;
    const isToAll =
      signal.operands[0] === begun &&
      equal(follow.length(telling), constant(kernel.world)) &&
      equal(follow.of(signal.operands[1]!), i) &&
      equal(follow.of(signal.operands[2]!), plus(own, rank));
    expect(isTold && isToAll, "ranks are not told that the block has begun", signal);
    const loop = loopOverRanks();
    const wait = only(gathering, loop, "wait");
    const slot = plus(own, i);
    const isAll =
      equal(follow.length(loop), constant(kernel.world)) && text(wait, "buffer") === flags && isAwaited(wait, "sys");
    expect(isAll && wait.operands[0] === begun && equal(follow.of(wait.operands[1]!), slot), "ranks are sent to before they have begun", wait); // prettier-ignore
    this.checkFlags(flags, kernel.maxBlocks * kernel.world, wait);
    known.own(flags, "words of begins", wait);
    steps.next("block_sync");
    const sends = steps.next("for", "serial");
    expect(sends === gathering.sending, "parts are sent in other turns", sends);
    const sent = this.turn(sends);
    this.arrives(steps);
    steps.end();
    return sent;
  }

  /** A launch ends behind all words of parts. */
  private arrives(steps: Steps): void {
    const { gathering } = this;
    const { follow, counts } = gathering;
    const { numbers, kernel } = follow;
    const loop = steps.next("for", "threads");
    const i = numbers.named("word");
    follow.set(argumentOf(loop), i);
    const body = new Steps(follow.effects(loop.regions[0]!), loop);
    const expected = counts.read(body.next("load"), "blocks");
    const wait = body.next("wait");
    body.end();
    const isAll = equal(follow.length(loop), constant(kernel.world * gathering.words));
    const isWord = text(wait, "buffer") === gathering.arrived && equal(follow.of(wait.operands[1]!), i);
    expect(isAll && isWord && wait.operands[0] === expected && isAwaited(wait, "sys"), "a launch does not end behind all parts", wait); // prettier-ignore
    steps.next("block_sync");
  }

  private turn(loop: Op): Kernel | null {
    const { gathering } = this;
    const { follow, of, shard, count, makers } = gathering;
    const { numbers, kernel, rank } = follow;
    const number = numbers.named("turn");
    follow.set(argumentOf(loop), number);
    const world = constant(kernel.world);
    const body = new Steps(follow.effects(loop.regions[0]!), loop);
    const choice = body.next("if");
    body.end();
    // Where no tile has rows of two ranks, tiles of the rank's own are read where they lie.
    const leaves = numbers.apply("eq", numbers.apply("rem", shard, constant(of.height)), ZERO);
    const leavesOwn = numbers.decided(leaves, choice.span) !== 0;
    const turns = (["rem", "div"] as const).map((fn): Turn => {
      const isInTurn = fn === "rem";
      const turn = isInTurn ? numbers.apply("rem", number, world) : numbers.apply("div", number, count);
      const part = isInTurn ? numbers.apply("div", number, world) : numbers.apply("rem", number, count);
      const behind = plus(turn, leavesOwn ? ONE : ZERO);
      return { order: fn, peer: numbers.apply("rem", minus(plus(rank, world), behind), world), part };
    });
    const condition = follow.of(choice.operands[0]!);
    const isOwn = (peer: Form): Form => (leavesOwn ? numbers.apply("eq", peer, rank) : ZERO);
    const possible = turns.filter(({ peer }) => equal(condition, isOwn(peer)));
    expect(possible.length > 0, "other rows are left out than are read where they lie", choice);
    const [then, otherwise] = choice.regions.map((r) => follow.effects(r)) as [Op[], Op[]];
    if (numbers.decided(condition, choice.span) !== 0) {
      this.last(then, choice, possible);
      return null;
    }
    // The last three ops tell.
    const { peer, part } = this.tells(new Steps(otherwise.slice(-3), choice), possible, true);
    const columns = scaled(gathering.slices, of.depth);
    const from = product(part, columns);
    const isLast = numbers.decided(numbers.apply("eq", plus(part, ONE), count), choice.span) !== 0;
    const width = numbers.apply("max", minus(isLast ? gathering.all : plus(from, columns), from), ZERO);
    return sending(follow, makers, otherwise.slice(0, -3), {
      ...{ own: of.own, gathered: of.buffer, peer, rows: shard, all: gathering.all, from, width },
      begin: product(gathering.begin, gathering.all),
    });
  }

  /** What is done in the last turn of the rank itself, where it keeps no copy: all its parts are told of. */
  private last(ops: readonly Op[], around: Op, turns: readonly Turn[]): void {
    const { follow, count } = this.gathering;
    const { numbers } = follow;
    const steps = new Steps(ops, around);
    const choice = steps.next("if");
    steps.end();
    const condition = follow.of(choice.operands[0]!);
    const isLast = ({ part }: Turn): boolean => equal(condition, numbers.apply("eq", plus(part, ONE), count));
    const inLast = turns.filter(isLast);
    expect(inLast.length > 0, "parts are told of in another turn", choice);
    new Steps(follow.effects(choice.regions[1]!), choice).end();
    this.tells(new Steps(follow.effects(choice.regions[0]!), choice), inLast, false);
  }

  /**
   * All movers meet, and each block counts that it has sent a part; the last waits for all of them, and tells the rank that has got it.
   * @param isSent whether something was sent: else all parts are told of at once
   */
  private tells(steps: Steps, turns: readonly Turn[], isSent: boolean): Turn {
    const { gathering } = this;
    const { follow, counts, known, count } = gathering;
    const { numbers, rank } = follow;
    steps.next("block_sync");
    const expected = counts.read(steps.next("load"), "blocks");
    const loop = steps.next("for", "threads");
    steps.end();
    const word = numbers.named("word");
    follow.set(argumentOf(loop), word);
    const body = new Steps(follow.effects(loop.regions[0]!), loop);
    const add = body.next("signal");
    const choice = body.next("if");
    body.end();
    const then = new Steps(follow.effects(choice.regions[0]!), choice);
    const wait = then.next("wait");
    const tell = then.next("signal");
    then.end();
    new Steps(follow.effects(choice.regions[1]!), choice).end();
    const isLastBlock = numbers.apply("eq", plus(numbers.named(BLOCK), ONE), numbers.named("grid"));
    expect(equal(follow.of(choice.operands[0]!), isLastBlock), "another block tells of a part", choice);

    const told = memoryOperands(tell);
    const peer = told.peer === null ? null : follow.of(told.peer);
    // From which word to which: that of the part, and behind the last part all that are left.
    const [from, to] = loop.operands.map((v) => follow.of(v)) as [Form, Form];
    const all = turns.filter((t) => peer !== null && equal(peer, t.peer) && (!isSent || equal(from, t.part)));
    const [turn] = all;
    expect(turn !== undefined, "a part is told of to another rank than has got it", tell);
    // Each order has each rank and part once; the first turns of one and the last of another may not.
    known.narrow("turns", all.map((t) => t.order), numbers, "turns are of several orders", tell); // prettier-ignore
    const isLast = numbers.apply("eq", plus(turn.part, ONE), count);
    const words = constant(gathering.words);
    const end = isSent && numbers.decided(isLast, loop.span) === 0 ? plus(turn.part, ONE) : words;
    expect(equal(from, isSent ? turn.part : ZERO) && equal(to, end), "other parts are told of than were sent", loop);

    const slot = gathering.wordOf(turn.peer, word);
    const { mode, order } = add.attributes;
    const added = memoryOperands(add);
    const isOne = mode === "add" && order === "release" && added.peer === null && equal(follow.of(added.value!), ONE);
    expect(isOne && equal(follow.of(added.indices[0]!), slot), "a block does not count what it has sent", add);
    const counted = text(add, "buffer");
    this.counted ??= counted;
    expect(this.counted === counted, "parts are counted in several places", add);
    known.own(counted, "counts of parts", add);
    this.checkFlags(counted, follow.kernel.world * gathering.words, add);
    const isAll =
      text(wait, "buffer") === counted && isAwaited(wait, null) && wait.operands[0] === expected && equal(follow.of(wait.operands[1]!), slot); // prettier-ignore
    expect(isAll, "a part is told of before all blocks have sent it", wait);
    const isTold =
      text(tell, "buffer") === gathering.arrived &&
      tell.attributes["mode"] === "set" &&
      tell.attributes["order"] === "release" &&
      tell.attributes["scope"] === "sys" &&
      told.value === expected &&
      equal(follow.of(told.indices[0]!), gathering.wordOf(rank, word));
    expect(isTold, "a part is not told of", tell);
    return turn;
  }

  private checkFlags(name: string, size: number, op: Op): void {
    const { role, shape } = bufferOf(this.gathering.follow.kernel, name);
    const all = shape.reduce<number>((n, e) => (typeof e === "number" ? n * e : NaN), 1);
    expect(role === "signal" && all === size, "words are not there for what is told", op);
  }
}

/** Whether a wait learns of what was done before, in one's own memory. @param scope null: among the rank's blocks, or of all ranks */
function isAwaited({ attributes }: Op, scope: "sys" | null): boolean {
  const { order, remote } = attributes;
  return order === "acquire" && remote !== true && (scope === null || attributes["scope"] === scope);
}

/** The one op of a loop. */
function only({ follow }: Gathering, loop: Op, name: Op["name"]): Op {
  const body = new Steps(follow.effects(loop.regions[0]!), loop);
  const op = body.next(name);
  body.end();
  return op;
}

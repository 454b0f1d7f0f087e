/**
 * What the producer brings of an operand that ranks gather: part by part of the depth, each behind the words that tell of it; or the rank's own rows from where they
 * lie. What it has waited for of a rank it remembers.
 */
import { bufferOf, memoryOperands, type Op, type Region, text, type Value } from "../../../ir/module.js";
import { equal, type Form, minus, ONE, plus, product, ZERO } from "../forms.js";
import { argumentOf, expect, type Follow, Steps } from "./follow.js";
import type { Gathering } from "./gathering.js";
import { type Brought, broughtSlices, type Stages } from "./rings.js";

/** Ranks that a register of 32 bits has one each of, and one above. */
const MOST_RANKS = 31;

export class Parts {
  constructor(
    private readonly follow: Follow,
    private readonly gathering: Gathering,
    /** The register that says of which ranks all was awaited. */
    private readonly remembered: string,
  ) {}

  /** The producer begins with a register that remembers nothing. */
  static begin(follow: Follow, gathering: Gathering, steps: Steps): Parts {
    const store = steps.next("store");
    const name = text(store, "buffer");
    const { role, shape, dtype } = bufferOf(follow.kernel, name);
    const { value, indices, peer } = memoryOperands(store);
    const isRegister = role === "register" && dtype === "u32" && shape.length === 1 && shape[0] === 1 && peer === null;
    const isNone = equal(follow.of(value!), ZERO) && equal(follow.of(indices[0]!), ZERO);
    expect(isRegister && isNone && follow.kernel.world <= MOST_RANKS, "what was waited for is not remembered", store);
    gathering.known.own(name, "what was waited for", store);
    return new Parts(follow, gathering, name);
  }

  /**
   * What is brought in one iteration.
   * @param region where that is done @param loop the loop over tiles @param end of the rows of a tile that are there, by its first
   * @returns and whether it is remembered that ranks' rows are all there
   */
  brought(
    region: Region,
    loop: Op,
    stages: Stages,
    end: (row: Form) => Form,
  ): Brought & { readonly remembers: boolean } {
    const { follow, gathering } = this;
    const { numbers } = follow;
    const steps = new Steps(follow.effects(region), loop);
    const load = steps.next("load");
    expect(this.isPlace(load), "what was waited for is not remembered", load);
    const parts = steps.next("for", "serial");
    const part = numbers.named("part");
    follow.set(argumentOf(parts), part);
    const body = new Steps(follow.effects(parts.regions[0]!), parts);
    const choice = body.next("if");
    const slices = body.next("for", "serial");
    body.end();
    const of = broughtSlices(follow, slices, stages, {
      ...{ buffer: gathering.of.buffer, own: gathering.of.own },
      ownRow: (row) => minus(row, gathering.begin),
      isOwn: (row) => gathering.isOwn(row, end(row)),
    });
    const last = end(of.row);

    // Slices of all parts are those of the tile, one after the other.
    const { slices: each, count } = gathering;
    const [begin, reached] = parts.operands.map((v) => follow.of(v)) as [Form, Form];
    const next = plus(part, ONE);
    const limit = gathering.makers.get(slices.operands[1]!);
    const isSelect = limit?.name === "select";
    expect(isSelect, "the slices of a part are not followed", slices);
    const [isEnd, to, before] = limit.operands.map((v) => follow.of(v)) as [Form, Form, Form];
    const low = follow.of(slices.operands[0]!);
    const least = gathering.makers.get(slices.operands[0]!);
    const from = [ZERO, ...(least?.attributes["fn"] === "max" ? least.operands.map((v) => follow.of(v)) : [])].find(
      (f) => equal(low, numbers.apply("max", f, product(part, each))) && equal(begin, numbers.apply("div", f, each)),
    );
    const isAll =
      from !== undefined &&
      equal(isEnd, numbers.apply("ge", next, reached)) &&
      equal(before, product(next, each)) &&
      equal(reached, numbers.apply("min", numbers.rounds(to, each), count));
    expect(isAll, "the parts of the depth are not all of it", slices);

    const wanted = this.waits(choice, load, of.row, last, part);
    const remembers = this.notes(steps, choice.operands[0]!, load, wanted);
    return { ...of, from, to, first: minus(of.position, minus(of.slice, from)), remembers };
  }

  /** Words of all ranks whose rows the tile has are waited for, unless they are its own, or known. @returns the bits of these ranks */
  private waits(choice: Op, load: Op, row: Form, end: Form, part: Form): Value {
    const { follow, gathering } = this;
    const { makers, counts } = gathering;
    const ranks = gathering.ranksOf(row, end);
    const parts = this.operandsOf(choice.operands[0]!, "binary", "and");
    expect(parts !== null, "parts are waited for under another condition", choice);
    const missing = parts.map((v) => this.missing(v, load, ranks)).find((v) => v !== null);
    const isOwn = gathering.isOwn(row, end);
    const isOthers = parts.some((v) => {
      const [of, no] = this.operandsOf(v, "compare", "eq") ?? [];
      return of !== undefined && makers.get(no!)?.name === "const" && equal(follow.of(no!), ZERO) && equal(follow.of(of), isOwn); // prettier-ignore
    });
    expect(missing !== undefined && missing !== null && isOthers, "parts are waited for under another condition", choice); // prettier-ignore
    new Steps(follow.effects(choice.regions[1]!), choice).end();
    const then = new Steps(follow.effects(choice.regions[0]!), choice);
    const loop = then.next("for", "threads");
    then.next("block_sync");
    then.end();
    const rank = follow.numbers.named("peer");
    follow.set(argumentOf(loop), rank);
    const isEach = loop.operands.every((v, i) => equal(follow.of(v), ranks[i]!));
    expect(isEach, "a tile has rows of other ranks than are waited for", loop);
    const body = new Steps(follow.effects(loop.regions[0]!), loop);
    const expected = counts.read(body.next("load"), "blocks");
    const wait = body.next("wait");
    body.end();
    const { order, scope, remote } = wait.attributes;
    const isAcquired = order === "acquire" && scope === "sys" && remote !== true;
    const isWord =
      text(wait, "buffer") === gathering.arrived &&
      wait.operands[0] === expected &&
      equal(follow.of(wait.operands[1]!), gathering.wordOf(rank, part));
    expect(isAcquired && isWord, "a part is multiplied that was not waited for", wait);
    return missing;
  }

  /** The bits that a condition asks for, where it says that some of these ranks' are missing in what is remembered; else null. */
  private missing(v: Value, load: Op, [from, to]: readonly [Form, Form]): Value | null {
    const [known, wanted] = this.operandsOf(v, "compare", "ne") ?? [];
    const both = known === undefined ? null : this.operandsOf(known, "binary", "and");
    if (wanted === undefined || both === null) return null;
    const isKnown = both.includes(load.results[0]!) && both.includes(wanted);
    const [upper, lower] = this.operandsOf(wanted, "binary", "sub") ?? [];
    if (!isKnown || upper === undefined || !this.isBelow(upper, to) || !this.isBelow(lower!, from)) return null;
    return wanted;
  }

  /** Whether a value has the bits of all ranks below one. */
  private isBelow(v: Value, rank: Form): boolean {
    const [power, less] = this.operandsOf(v, "binary", "sub") ?? [];
    const [one, by] = power === undefined ? [] : (this.operandsOf(power, "binary", "shl") ?? []);
    const cast = by === undefined ? undefined : this.gathering.makers.get(by);
    const isOne = (u: Value | undefined): boolean => u !== undefined && equal(this.follow.of(u), ONE);
    return isOne(less) && isOne(one) && cast?.name === "cast" && equal(this.follow.of(cast.operands[0]!), rank);
  }

  /** That all parts of ranks were awaited may be remembered behind the last of them, where they were. */
  private notes(steps: Steps, needed: Value, load: Op, wanted: Value): boolean {
    const { follow } = this;
    let remembers = false;
    const look = (of: Steps): void => {
      while (of.isNext("if")) {
        const choice = of.next("if");
        const [then, otherwise] = choice.regions.map((r) => new Steps(follow.effects(r), choice)) as [Steps, Steps];
        if (choice.operands[0] !== needed) {
          look(follow.numbers.decided(follow.of(choice.operands[0]!), choice.span) !== 0 ? then : otherwise);
          continue;
        }
        const store = then.next("store");
        then.end();
        otherwise.end();
        const { value } = memoryOperands(store);
        const both = this.operandsOf(value!, "binary", "or");
        const isSum = both !== null && both.includes(load.results[0]!) && both.includes(wanted);
        expect(this.isPlace(store) && isSum, "more is remembered than was waited for", store);
        remembers = true;
      }
      of.end();
    };
    look(steps);
    return remembers;
  }

  private isPlace(op: Op): boolean {
    const { peer, indices } = memoryOperands(op);
    return text(op, "buffer") === this.remembered && peer === null && equal(this.follow.of(indices[0]!), ZERO);
  }

  private operandsOf(v: Value, name: Op["name"], fn: string): readonly Value[] | null {
    const op = this.gathering.makers.get(v);
    return op?.name === name && op.attributes["fn"] === fn ? op.operands : null;
  }
}

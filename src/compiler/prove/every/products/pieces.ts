/** Where several blocks share a tile's depth: each keeps what it has added up, and tells of it; the one that has the last piece adds up the others. */
import { bufferOf, type Op, text } from "../../../ir/module.js";
import { constant, equal, type Form, minus, ONE, plus, product } from "../forms.js";
import type { Tile } from "./epilogue.js";
import { argumentOf, expect, type Follow, Steps } from "./follow.js";
import type { Known } from "./known.js";
import type { Launches } from "./launches.js";
import { havePiecesRoom, type Piece } from "./plan.js";

export class Pieces {
  constructor(
    private readonly follow: Follow,
    private readonly launches: Launches,
    private readonly known: Known,
    /** The roles that are followed: of several a launch has one. */
    private readonly roles: Op,
  ) {}

  /** The piece is put in a row of its own, and then its flag says in which launch. */
  keep(steps: Steps, { number, shared, tiles }: Piece, tile: Tile): void {
    const { follow, launches } = this;
    const slot = plus(product(number, tiles), shared);
    const puts = this.each(steps, "fragment_put", "to", slot, tile);
    launches.read(steps.next("load"));
    steps.next("block_sync");
    const loop = steps.next("for", "threads");
    expect(equal(follow.length(loop), ONE), "a piece is told of by several threads", loop);
    const body = new Steps(follow.effects(loop.regions[0]!), loop);
    const signal = body.next("signal");
    body.end();
    const { mode, order, remote } = signal.attributes;
    const [value, at] = signal.operands.map((v) => follow.of(v)) as [Form, Form];
    const isTold = remote !== true && mode === "set" && order === "release" && signal.operands.length === 2;
    expect(isTold && equal(value, launches.epoch) && equal(at, slot), "a piece is not told of", signal);
    for (const put of puts) this.pass(put, text(put, "to"), text(signal, "buffer"));
  }

  /** An op for each accumulator of a tile, with a buffer of its own. */
  private each(steps: Steps, name: Op["name"], buffer: "to" | "from", slot: Form, tile: Tile): readonly Op[] {
    const ops = [tile.accumulator, ...(tile.twin === null ? [] : [tile.twin])].map((accumulator) => {
      const op = steps.next(name);
      this.checkPassed(op, text(op, buffer), slot, tile, accumulator);
      return op;
    });
    const isApart = new Set(ops.map((op) => text(op, buffer))).size === ops.length;
    expect(isApart, "two sums of a tile are kept in one place", ops[0]!);
    return ops;
  }

  /** The pieces before the last are waited for, and added. */
  add(steps: Steps, piece: Piece, tile: Tile): void {
    const { follow, launches } = this;
    const { numbers } = follow;
    const { number, shared, tiles } = piece;
    launches.read(steps.next("load"));
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
    const isAwaited =
      isAsked && equal(value, launches.epoch) && equal(at, slot) && equal(follow.length(waiting), number);
    expect(isAwaited, "a piece is not waited for", wait);
    steps.next("block_sync");
    const adding = steps.next("for", "serial");
    follow.set(argumentOf(adding), j);
    const sums = new Steps(follow.effects(adding.regions[0]!), adding);
    const adds = this.each(sums, "fragment_add", "from", slot, tile);
    sums.end();
    expect(equal(follow.length(adding), number), "other pieces are added than there are", adding);
    for (const add of adds) {
      this.pass(add, text(add, "from"), text(wait, "buffer"));
      const [told] = follow.shape(text(wait, "buffer"));
      const [room] = follow.shape(text(add, "from"));
      const hasRoom = [told!, room!].every((extent) => havePiecesRoom(numbers, piece, extent));
      expect(hasRoom, "there may be more pieces than have room", add);
    }
  }

  /** Rows of a tile that are there. */
  private rowsOf({ row, height, rows }: Tile): Form {
    return minus(this.follow.numbers.apply("min", plus(row, constant(height)), rows), row);
  }

  /** Whether a piece lies in its row, with as many rows of the tile as there are. */
  private checkPassed(op: Op, buffer: string, slot: Form, tile: Tile, accumulator: string): void {
    const { follow } = this;
    const [at, rows] = op.operands.map((v) => follow.of(v)) as [Form, Form];
    const [, length, ...others] = follow.shape(buffer);
    const { height, width } = tile;
    const isRow = others.length === 0 && length !== undefined && equal(length, constant(height * width));
    const { role, dtype } = bufferOf(follow.kernel, buffer);
    const isOwn = role === "scratch" && dtype === "f32" && text(op, "buffer") === accumulator;
    const isPassed = isOwn && isRow && equal(at, slot) && equal(rows, this.rowsOf(tile));
    expect(isPassed, "a piece of a tile is kept in a way that is not followed", op);
  }

  /** What takes pieces is what keeps them: of one accumulator's there is one buffer, and one of flags. */
  private pass(op: Op, pieces: string, told: string): void {
    const { follow, known } = this;
    const isFlags = bufferOf(follow.kernel, told).role === "signal" && follow.shape(told).length === 1;
    expect(isFlags, "a piece is not told of", op);
    known.alike(`pieces of ${known.numberOf(this.roles)} ${text(op, "buffer")}`, `${pieces} ${told}`, op);
    for (const name of [pieces, told]) known.own(name, "pieces", op);
  }
}

/** Tiles whose elements go to other ranks in packets, which need no order but their own. */
import { bufferOf, isRemote, text, type Value } from "../../../ir/module.js";
import { lanesOf } from "../../../ir/types.js";
import { constant, equal, type Form, minus, plus, product, scaled } from "../forms.js";
import { kindOf } from "../packets.js";
import { type Stored, stored, type Tile } from "./epilogue.js";
import { expect, type Follow, type Steps } from "./follow.js";
import type { Launches } from "./launches.js";
import type { Made } from "./made.js";

/** Elements of the product go to ranks in packets, each of which has neighbours of a row: to all ranks, or to the one whose rows they are of. */
export interface InPackets {
  readonly kind: "packets";
  readonly even: string;
  readonly odd: string;
  readonly format: string;
  /** The number of the launch that they carry. */
  readonly epoch: Value;
  readonly lanes: number;
  /** Slots of each rank that writes: its packets lie in its own, in the order of their elements. */
  readonly share: Form;
  /** Rows of a rank's part; null where each rank gets all rows. */
  readonly part: Form | null;
  readonly made: Made;
}

/** @param parts how many rows a rank's part may have */
export function inPackets(
  follow: Follow,
  launches: Launches,
  steps: Steps,
  tile: Tile,
  parts: readonly Form[],
): InPackets {
  const { numbers, kernel } = follow;
  const of = stored(follow, steps, tile, null, false, "packet_store");
  const [{ op }] = of.stores as [Stored["stores"][number]];
  const [data, epoch] = op.operands as [Value, Value];
  const lanes = lanesOf(data.type);
  const [even, odd, format] = (["even", "odd", "format"] as const).map((key) => text(op, key)) as [
    string,
    string,
    string,
  ];
  kindOf(op, data.type, bufferOf(kernel, even));
  const [slots, width] = follow.shape(even);
  expect(equal(width!, constant(lanes)), "a packet is of something else than its slot", op);
  const share = slotsOfEach(follow, even);
  expect(share !== null && equal(slots!, scaled(share, kernel.world)), "packets have no slots for each rank", op);
  const isCounted = launches.counter !== null && equal(follow.of(epoch), launches.epoch);
  expect(isCounted, "packets carry another number than the launch's", op);
  const part = of.stores.length === 1 ? parts.find((h) => equal(peerOf(of, 0), numbers.apply("div", of.row, h))) : null;
  expect(part !== undefined, "an element is sent to another rank than adds it up", op);
  if (part === null) expect(isToAll(follow, of), "an element is not sent to all ranks", op);
  const row = part === null ? of.row : minus(of.row, product(part, peerOf(of, 0)));
  const place = plus(product(row, tile.all), of.column);
  const slot = numbers.apply("div", plus(scaled(product(share, follow.rank), lanes), place), constant(lanes));
  for (const store of of.stores) {
    const { op: one } = store;
    const isAlike = (["even", "odd", "format"] as const).every((key) => text(one, key) === text(op, key));
    expect(isAlike && one.operands[1] === epoch && isRemote(one), "an element is sent in several ways", one);
    expect(equal(store.index, slot), "an element is sent to another place", one);
    of.checkLanes(store, true);
  }
  return { kind: "packets", even, odd, format, epoch, lanes, share, part, made: of.made };
}

function peerOf({ stores }: Stored, i: number): Form {
  const { peer, op } = stores[i]!;
  expect(peer !== null, "a packet is sent to no peer", op);
  return peer;
}

/** Whether the peers are all ranks, each once: one after the other from any on. */
function isToAll(follow: Follow, of: Stored): boolean {
  const { numbers, kernel } = follow;
  if (of.stores.length !== kernel.world) return false;
  const world = constant(kernel.world);
  const [{ op }] = of.stores as [Stored["stores"][number]];
  const first = follow.maker(op.operands[2]!);
  if (first?.attributes["fn"] !== "rem" || !equal(follow.of(first.operands[1]!), world)) return false;
  const from = follow.of(first.operands[0]!);
  if (numbers.least(from) < 0) return false;
  return of.stores.every((_, i) => equal(peerOf(of, i), numbers.apply("rem", plus(from, constant(i)), world)));
}

/** Slots of each rank that writes, of a buffer that has as many for each. */
function slotsOfEach({ kernel, numbers }: Follow, even: string): Form | null {
  const [slots] = bufferOf(kernel, even).shape;
  if (typeof slots === "number") return slots % kernel.world === 0 ? constant(slots / kernel.world) : null;
  if (typeof slots !== "object" || slots.op !== "mul") return null;
  const [a, b] = [slots.a, slots.b];
  return a === kernel.world ? numbers.extent(b) : b === kernel.world ? numbers.extent(a) : null;
}

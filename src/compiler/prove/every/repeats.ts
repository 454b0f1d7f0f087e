/** What launches of one program have in common: whole launches, and what one rank does in one stretch of several. */
import type { Kernel } from "../../ir/module.js";
import { type Form, keyOf } from "./forms.js";
import type { Unit } from "./lengths.js";
import { bufferAt } from "./packets.js";
import type { Movement, Source } from "./pieces.js";
import { keyOfCounted, keyOfPlace, renamedCounted, renamedPlace } from "./places.js";
import { keyOfTaker, renamedTaker } from "./takers.js";

type Name = (buffer: string) => string;

const OWN_NAME: Name = (buffer) => buffer;

/** One text for movements that do the same, but for the names of buffers. */
function textOf(
  {
    buffer,
    owner,
    base,
    turns,
    length,
    text,
    sources,
    rows,
    takers,
    covered,
    aligned,
    divisors,
    isFootprint,
    iterations,
    span,
  }: Movement,
  name: Name,
): string {
  const keys = (all: readonly Form[]): string[] => all.map(keyOf);
  const read = sources.map((s: Source) => [name(s.buffer), s.owner, keyOfPlace(s.place)]);
  const lanes = aligned.map((a) => [keyOf(a.form), a.lanes]);
  const stored = [name(buffer), owner, keyOf(base), turns.map(keyOfCounted), length, text, isFootprint, iterations];
  const blocks = [rows, ...takers.map(keyOfTaker)];
  return JSON.stringify([...stored, read, blocks, keys(covered), lanes, keys(divisors), span.start, span.end]);
}

/** One list of movements for all stretches in which a rank does the same; and one object for equal forms and places, which are then made once in a box of lengths. */
export class SharedMovements {
  private readonly known = new Map<string, readonly Movement[]>();
  private readonly forms = new Map<string, Form>();
  private readonly sources = new Map<string, readonly Source[]>();

  of(rank: number, movements: readonly Movement[]): readonly Movement[] {
    const key = `${rank} ${movements.map((m) => textOf(m, OWN_NAME)).join("\n")}`;
    return shared(this.known, key, () => movements.map((m) => this.movement(m)));
  }

  private movement(m: Movement): Movement {
    const form = (f: Form): Form => shared(this.forms, keyOf(f), () => f);
    const key = m.sources.map((s) => `${s.buffer} ${s.owner} ${keyOfPlace(s.place)}`).join("\n");
    return {
      ...m,
      base: form(m.base),
      turns: m.turns.map((c) => renamedCounted(c, form)),
      sources: shared(this.sources, key, () => m.sources.map((s) => ({ ...s, place: renamedPlace(s.place, form) }))),
      covered: m.covered.map(form),
      aligned: m.aligned.map((a) => ({ ...a, form: form(a.form) })),
      divisors: m.divisors.map(form),
      takers: m.takers.map((t) => renamedTaker(t, form)),
    };
  }
}

function shared<T>(known: Map<string, T>, key: string, make: () => T): T {
  let one = known.get(key);
  if (one === undefined) known.set(key, (one = make()));
  return one;
}

/**
 * Launch after launch, in an order in which each unit comes after those that come first; of such orders, where there are several, the one
 * that an earlier launch has.
 * @param comesFirst whether a unit must come before another of the same launch, by their places among all
 * @param isStuck called where each that is left comes after another
 */
export function inOneOrder(
  units: readonly Unit[],
  comesFirst: (a: number, b: number) => boolean,
  isStuck: () => void,
): Unit[] {
  const sorted: Unit[] = [];
  for (const launch of new Set(units.map((u) => u.launch))) {
    const earlier = new Map(sorted.map(({ rank, stretch }, at) => [`${rank} ${stretch}`, at]));
    const placeOf = (i: number): number => earlier.get(`${units[i]!.rank} ${units[i]!.stretch}`) ?? units.length;
    const own = [...units.keys()].filter((i) => units[i]!.launch === launch).sort((a, b) => placeOf(a) - placeOf(b));
    const left = new Map(own.map((b) => [b, own.filter((a) => a !== b && comesFirst(a, b))]));
    while (left.size > 0) {
      let next = [...left].find(([, after]) => !after.some((u) => left.has(u)))?.[0];
      if (next === undefined) {
        isStuck();
        next = [...left.keys()][0]!;
      }
      left.delete(next);
      sorted.push(units[next]!);
    }
  }
  return sorted;
}

/**
 * Whether each launch does what the first does, in the same order, in other copies of scratch at most. The first begins with empty
 * memory; so where all that it reads has been written, it is by itself, and each other launch reads what it has written itself, too.
 * @param units of each launch, in an order that could happen
 */
export function areLaunchesAlike(kernel: Kernel, units: readonly Unit[]): boolean {
  const launches = new Map<number, Unit[]>();
  for (const unit of units) {
    const own = launches.get(unit.launch);
    if (own === undefined) launches.set(unit.launch, [unit]);
    else own.push(unit);
  }
  const [first, ...others] = [...launches.values()];
  if (first === undefined) return true;
  const text = launchText(kernel, first);
  return others.every((own) => own.length === first.length && launchText(kernel, own) === text);
}

/** One text for launches that do the same in the same order. Scratch goes by the order in which it occurs. */
function launchText(kernel: Kernel, units: readonly Unit[]): string {
  const numbers = new Map<string, number>();
  const name: Name = (buffer) => {
    const { role } = bufferAt(kernel, buffer);
    if (role === "input" || role === "output" || role === "inout") return buffer;
    if (!numbers.has(buffer)) numbers.set(buffer, numbers.size);
    return `#${numbers.get(buffer)!}`;
  };
  return units.map(({ rank, movements }) => `${rank} ${movements.map((m) => textOf(m, name)).join("\n")}`).join("\n");
}

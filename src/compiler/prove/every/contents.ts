/** What the outputs hold in the end, for a whole box of lengths: expressions of elements of inputs. */
import type { Span } from "../../source.js";
import { hasAxes, isHolder, leaderOf } from "../../types/mesh.js";
import { Coordinates } from "./coordinates.js";
import { answersOf, rowDims } from "./elementwise.js";
import { equal, type Form, isZero, minus, ONE, plus, product, type Ranges, ZERO } from "./forms.js";
import type { Lengths, MovementPart, Program, Unit } from "./lengths.js";
import { areOneColumns, type Columns, distanceOf, type InColumns, keyOfPlace, movedPlace, type Place, placeInColumns } from "./places.js"; // prettier-ignore
import { demand, isAsked, NotShown } from "./conditions.js";
import { bufferAt, TAKEN } from "./packets.js";
import { areApart } from "./order.js";
import type { Source } from "./pieces.js";
import { hasOnePlaceTwice, type Region, Regions } from "./regions.js";

/** What an element holds: an expression, with `$0`, `$1`, … for elements of inputs, by their distance from it. */
interface Content {
  readonly text: string;
  readonly leaves: readonly Leaf[];
}

interface Leaf {
  readonly input: string;
  readonly owner: number;
  readonly launch: number;
  readonly place: Place;
}

interface Held {
  readonly start: Form;
  readonly end: Form;
  readonly content: Content;
  /** Which of these elements hold it, in whole rows; absent: all. */
  readonly columns?: Columns;
}

/** What columns of a buffer hold, by how their elements are counted row by row, from the first row of the buffer on. */
interface HeldColumns {
  readonly columns: Columns;
  held: readonly Held[];
}

/**
 * What the outputs hold: one key for each rank and kind of element. Of what is ordered.
 * @param isProved whether the answer is proved at these lengths; then kinds are left out that may be taken for another there
 * @throws NotShown
 */
export function outputsOf(lengths: Lengths, isProved: boolean): Set<string> {
  return new Memory(lengths, isProved).outputs();
}

class Memory {
  private readonly held = new Map<string, readonly Held[]>();
  /** Of buffers that are stored to in columns, which then hold nothing else. */
  private readonly columns = new Map<string, HeldColumns[]>();
  private readonly program: Program;
  private readonly ranges: Ranges;

  constructor(
    private readonly lengths: Lengths,
    private readonly isProved: boolean,
  ) {
    this.program = lengths.program;
    this.ranges = lengths.box.ranges;
  }

  outputs(): Set<string> {
    for (const { hasRounds, movements } of this.program.units)
      if (hasRounds === true) throw new NotShown("blocks go through rows in rounds, of which values are not followed", movements[0]?.span ?? NO_PLACE); // prettier-ignore
    const outputs = new Set<string>();
    for (let launch = 0; launch < this.program.launches; launch++) {
      for (const { name } of this.program.kernel.outputs)
        for (let r = 0; r < this.program.kernel.world; r++) this.begin(name, r, launch);
      for (const unit of this.program.units) if (unit.launch === launch) this.run(unit);
      for (const key of this.outputKeys(launch)) outputs.add(key);
    }
    return outputs;
  }

  /** An output as a launch finds it: empty, or, where it is changed in place, as the caller has filled it. */
  private begin(name: string, owner: number, launch: number): void {
    const end = this.lengths.sizeOf(name);
    const isInput = bufferAt(this.program.kernel, name).role === "inout" && !isZero(end, this.ranges);
    this.columns.delete(`${owner} ${name}`);
    if (isInput) this.held.set(`${owner} ${name}`, [{ start: ZERO, end, content: given(name, owner, launch) }]);
    else this.held.delete(`${owner} ${name}`);
  }

  private run(unit: Unit): void {
    // What is sent to all peers is made once.
    const known = new Map<readonly Source[], { readonly part: MovementPart; readonly made: readonly Held[] }>();
    const make = (part: MovementPart): readonly Held[] => {
      const { movement: m, base, length, sources } = part;
      const found = known.get(sources);
      const isSame =
        found !== undefined &&
        found.part.movement.text === m.text &&
        equal(found.part.base, base) &&
        equal(found.part.length, length);
      const all = isSame ? found.made : this.madeIn(part, unit);
      known.set(sources, { part, made: all });
      return all;
    };
    const write = ({ movement: m, inColumns }: MovementPart, all: readonly Held[]): void => {
      const owner = m.owner < 0 ? unit.rank : m.owner;
      const key = `${owner} ${m.buffer}`;
      if (inColumns !== undefined) this.writeColumns(key, all, inColumns, m.span);
      else if (this.columns.has(key)) throw new NotShown(MIXED, m.span);
      else for (const held of all) this.held.set(key, this.with(this.held.get(key) ?? [], held));
      // What reads what was written now is made anew.
      for (const of of known.keys())
        if (of.some((s) => s.buffer === m.buffer && (s.owner < 0 ? unit.rank : s.owner) === owner)) known.delete(of);
    };
    const parts = this.lengths.partsIn(unit).filter(({ movement }) => movement.text !== TAKEN);
    const done = new Set<MovementPart>();
    for (const part of parts) {
      if (done.has(part)) continue;
      const { iterations } = part.movement;
      // What iterations store together is made of what was there before.
      const beside = iterations === undefined ? [part] : parts.filter((p) => p.movement.iterations === iterations);
      beside.forEach((p) => done.add(p));
      const made = beside.map(make);
      beside.forEach((p, i) => write(p, made[i]!));
    }
  }

  /** What a movement stores, piece by piece. */
  private madeIn({ movement: m, base, length, sources }: MovementPart, unit: Unit): readonly Held[] {
    const { lengths } = this;
    // By offset in the movement; what each source holds there.
    let parts: { from: Form; to: Form; of: Content[] }[] = [{ from: ZERO, to: length, of: [] }];
    for (const source of sources) {
      const { place } = source;
      const distance = distanceOf(place);
      const owner = source.owner < 0 ? unit.rank : source.owner;
      if (distance === null) {
        // Of an input alone, which holds what it held at first.
        if (bufferAt(this.program.kernel, source.buffer).role !== "input")
          throw new NotShown("elements of scratch are read in another order than they lie in", m.span);
        const leaf = { input: source.buffer, owner, launch: unit.launch, place };
        parts = parts.map((part) => ({ ...part, of: [...part.of, { text: "$0", leaves: [leaf] }] }));
        continue;
      }
      const start = lengths.sum(base, distance);
      parts = parts.flatMap((part) => {
        const [from, to] = [lengths.sum(start, part.from), lengths.sum(start, part.to)];
        const read = this.read(source.buffer, owner, from, to, unit.launch, m.span);
        if (read.some((h) => h.columns !== undefined)) throw new NotShown("columns are read as rows", m.span);
        return read.map((h) => ({
          from: h.start === from ? part.from : minus(h.start, start),
          to: h.end === to ? part.to : minus(h.end, start),
          of: [...part.of, moved(h.content, distance)],
        }));
      });
    }
    return parts.map(({ from, to, of }) => ({
      start: lengths.sum(base, from),
      end: lengths.sum(base, to),
      content: made(m.text, of),
    }));
  }

  private read(buffer: string, owner: number, start: Form, end: Form, launch: number, span: Span): Held[] {
    const { role } = bufferAt(this.program.kernel, buffer);
    if (role === "input") {
      return [{ start, end, content: given(buffer, owner, launch) }];
    }
    const columns = this.columns.get(`${owner} ${buffer}`);
    if (columns !== undefined) return this.wholeRows(columns, buffer, start, end, span);
    const found: Held[] = [];
    let at = start;
    for (const held of this.held.get(`${owner} ${buffer}`) ?? []) {
      // They lie in order, and no more is asked for than there are elements.
      if (found.length > 0 && equal(at, end)) break;
      const part = this.common(held, at, end);
      if (part === null) continue;
      if (!isZero(minus(part.start, at), this.ranges)) break;
      found.push(part);
      at = part.end;
    }
    const isWritten = isZero(minus(at, end), this.ranges);
    demand("written", isWritten, `an element of '${buffer}' may be read before it is written`, span);
    return found;
  }

  /** The part of what is held that lies in an interval. */
  private common(held: Held, start: Form, end: Form): Held | null {
    const { ends } = this.lengths;
    if (equal(held.start, start) && equal(held.end, end)) return { start, end, content: held.content };
    const from = ends.isAtMost(start, held.start) ? held.start : start;
    const to = ends.isAtMost(held.end, end) ? held.end : end;
    return ends.isBelow(from, to) ? { start: from, end: to, content: held.content } : null;
  }

  /** What is held, in order, with something written over it. */
  private with(all: readonly Held[], written: Held): readonly Held[] {
    const { ends } = this.lengths;
    const { start, end } = written;
    const kept: Held[] = [];
    for (const held of all) {
      if (this.common(held, start, end) === null) {
        kept.push(held);
        continue;
      }
      if (ends.isBelow(held.start, start)) kept.push({ ...held, end: start });
      if (ends.isBelow(end, held.end)) kept.push({ ...held, start: end });
    }
    let at = 0;
    while (at < kept.length && ends.isBelow(kept[at]!.start, start)) at++;
    kept.splice(at, 0, written);
    return kept;
  }

  private writeColumns(key: string, all: readonly Held[], inColumns: InColumns, span: Span): void {
    if (this.held.has(key)) throw new NotShown(MIXED, span);
    const { lengths } = this;
    const { columns, own, more } = inColumns;
    const known = this.columns.get(key) ?? [];
    this.columns.set(key, known);
    let same = known.find((k) => areOneColumns(k.columns, columns));
    if (same === undefined) {
      const isApart = known.every((k) => areApart(k.columns, columns, lengths.ends));
      if (!isApart) throw new NotShown("columns are stored over other columns", span);
      known.push((same = { columns, held: [] }));
    }
    const counted = plus(own.shift, product(more, own.by));
    for (const { start, end, content } of all) {
      const leaves = content.leaves.map((leaf) => ({ ...leaf, place: placeInColumns(leaf.place, inColumns) }));
      if (!leaves.every((leaf): leaf is Leaf => leaf.place !== null))
        throw new NotShown("elements of several orders are stored in columns", span);
      const from = lengths.normal(plus(start, counted));
      const to = lengths.normal(plus(end, counted));
      same.held = this.with(same.held, { start: from, end: to, content: { text: content.text, leaves } });
    }
  }

  /** Columns that are whole rows together, in their order. */
  private wholeRows(all: readonly HeldColumns[], buffer: string, start: Form, end: Form, span: Span): Held[] {
    const left = [...all];
    const found: Held[] = [];
    const { by } = all[0]!.columns;
    let at: Form = ZERO;
    while (left.length > 0) {
      const next = left.findIndex(({ columns: { from } }) => isZero(minus(from, at), this.ranges));
      if (next < 0) break;
      const [{ columns, held }] = left.splice(next, 1) as [HeldColumns];
      const width = minus(columns.to, columns.from);
      const rows = [start, end].map((f) => this.lengths.over(f, by));
      const whole = joined(held);
      const isWhole =
        whole !== null &&
        [whole.start, whole.end].every((f, i) => rows[i] != null && isZero(minus(f, this.lengths.normal(product(rows[i], width))), this.ranges)); // prettier-ignore
      if (!isWhole) break;
      found.push({ start, end, content: whole.content, columns });
      at = columns.to;
    }
    const isWritten = left.length === 0 && isZero(minus(at, by), this.ranges);
    demand("written", isWritten, `an element of '${buffer}' may be read before it is written`, span);
    return found;
  }

  /** What each output holds after a launch, in places of the whole tensor. */
  private outputKeys(launch: number): string[] {
    const { kernel } = this.program;
    return kernel.outputs.flatMap((output, o) => {
      if (kernel.specification[o] === null) return [];
      const size = this.lengths.sizeOf(output.name);
      if (isZero(size, this.ranges)) return [];
      const { layout, name } = output;
      // Ranks that hold one value must hold it with the same bits, and what each holds of a sum says nothing of what they hold
      // in all: what they hold together is one kind of element.
      const isInParts = layout.kind === "partial" && kernel.specification[o]!.kind !== "elements";
      const isOne = layout.kind === "replicated" || isInParts;
      const together = new Map<number, KeyedParts[]>();
      for (let r = 0; r < kernel.world; r++) {
        if (!isHolder(layout, kernel.mesh, r)) continue;
        const leader = hasAxes(layout) ? leaderOf(layout, kernel.mesh, r) : isOne ? 0 : r;
        const answer = answersOf(kernel)[o]!;
        const whole = this.read(name, r, ZERO, size, launch, NO_PLACE);
        const held =
          answer instanceof Regions
            ? answer.of(this.lengths, r).flatMap((region) => this.keyedIn(region, whole, launch, name))
            : whole.map((h) => ({
                end: h.end,
                ...(h.columns === undefined ? {} : { columns: h.columns }),
                keys: this.isAmbiguous(h, o, r) ? null : [this.key(h, o, r, launch)],
              }));
        together.set(leader, [...(together.get(leader) ?? []), held]);
      }
      return [...together].flatMap(([leader, all]) => {
        const parts = all.reduce((as, bs) => this.cutTogether(as, bs));
        return parts.flatMap(({ keys }) => (keys === null ? [] : [`${name}@${leader} ${keys.join(" | ")}`]));
      });
    });
  }

  /** Parts of one output as two ranks hold it, cut where either is. */
  private cutTogether(as: KeyedParts, bs: KeyedParts): KeyedParts {
    const { ends } = this.lengths;
    const parts: { end: Form; keys: readonly string[] | null; columns?: Columns }[] = [];
    for (let i = 0, j = 0; i < as.length && j < bs.length;) {
      const [a, b] = [as[i]!, bs[j]!];
      const keys = a.keys === null || b.keys === null ? null : [...a.keys, ...b.keys];
      if (a.columns !== undefined || b.columns !== undefined) {
        const areOne = a.columns !== undefined && b.columns !== undefined && areOneColumns(a.columns, b.columns);
        if (!equal(a.end, b.end) || !areOne)
          throw new NotShown("ranks hold columns of which others are no columns", NO_PLACE);
        parts.push({ ...a, keys });
        [i, j] = [i + 1, j + 1];
        continue;
      }
      const isEnd = equal(a.end, b.end);
      const isA = isEnd || ends.isAtMost(a.end, b.end);
      const isB = isEnd || !isA || ends.isAtMost(b.end, a.end);
      parts.push({ end: isA ? a.end : b.end, keys });
      if (isA) i++;
      if (isB) j++;
    }
    return parts;
  }

  /** What a region holds, part by part: an expression of places that the region is made of. */
  private keyedIn(region: Region, whole: readonly Held[], launch: number, output: string): KeyedParts {
    const isUnknown = this.isProved && isAsked("told apart") && hasOnePlaceTwice(region);
    return whole.flatMap((held) => {
      if (held.columns !== undefined) throw new NotShown("regions of columns are not followed", NO_PLACE);
      const part = this.common(held, region.start, region.end);
      if (part === null) return [];
      const leaves = part.content.leaves.map(({ input, owner, launch: of, place }) => {
        const distance = distanceOf(place);
        const places = region.places.flatMap((p, i) =>
          p.input === input && (p.owner ?? owner) === owner && distance !== null && equal(p.distance, distance)
            ? [i]
            : [],
        );
        if (places.length === 0) throw new NotShown(`what '${output}' holds is of elements that nothing says of it`, NO_PLACE); // prettier-ignore
        return `${input}@${owner} ${places.join("=")} ${launch - of}`;
      });
      const text = `${region.number}: ${part.content.text} of ${leaves.join(", ")}`;
      return [{ end: part.end, keys: isUnknown ? null : [text] }];
    });
  }

  /** What is said may cancel where a row's number is a column's, whatever is held: so all inputs count. */
  private isAmbiguous({ start, end, columns }: Held, o: number, rank: number): boolean {
    const { kernel } = this.program;
    const answer = answersOf(kernel)[o];
    const { localShape } = kernel.outputs[o]!;
    const hasFew = kernel.inputs.some((t) => rowDims(t.localShape, localShape) < localShape.length);
    const isOfBoth = answer === "single" || (answer === "local" && hasFew);
    if (!this.isProved || !isAsked("told apart") || !isOfBoth) return false;
    return columns !== undefined || !this.coordinates(o, rank).tellsColumns(start, end);
  }

  private key({ start, end, content, columns }: Held, o: number, rank: number, launch: number): string {
    const output = this.program.kernel.outputs[o]!;
    const coordinates = this.coordinates(o, rank);
    const leaves = content.leaves.map((leaf) => {
      const input = this.program.kernel.inputs.find((t) => t.name === leaf.input)!;
      const place = coordinates.textOf(input, leaf.owner, leaf.place, start, end, columns);
      if (place === null)
        throw new NotShown(`what '${output.name}' holds is of elements farther away, the longer tensors are`, NO_PLACE);
      return `${leaf.input}@${leaf.owner} ${place} ${launch - leaf.launch}`;
    });
    if (answersOf(this.program.kernel)[o] === "single" && leaves.length !== 1)
      throw new NotShown(`what '${output.name}' holds is not of one element`, NO_PLACE);
    return `${content.text} of ${leaves.join(", ")}`;
  }

  private coordinates(o: number, rank: number): Coordinates {
    const { kernel } = this.program;
    return new Coordinates(this.lengths, kernel.outputs[o]!, rank, answersOf(kernel)[o]!);
  }
}

/** Part after part of an output, from its beginning to its end. Null is of what may be taken for another. */
type KeyedParts = readonly {
  readonly end: Form;
  readonly keys: readonly string[] | null;
  readonly columns?: Columns;
}[];

const MIXED = "columns are stored where other elements are, too";

/** What lies one behind the other and is the same, as one; null of others. */
function joined(all: readonly Held[]): Held | null {
  const key = ({ content: { text, leaves } }: Held): string =>
    `${text} ${leaves.map((l) => `${l.input} ${l.owner} ${l.launch} ${keyOfPlace(l.place)}`).join()}`;
  const [first] = all;
  if (first === undefined) return null;
  const isOne = all.every((h, i) => i === 0 || (equal(h.start, all[i - 1]!.end) && key(h) === key(first)));
  return isOne ? { ...first, end: all.at(-1)!.end } : null;
}

/** Nothing in the source stands for it. */
const NO_PLACE: Span = { start: 0, end: 0 } as Span;

/** What an input holds. */
function given(input: string, owner: number, launch: number): Content {
  const place = { apart: ONE, distance: ZERO, rows: null, turns: [] };
  return { text: "$0", leaves: [{ input, owner, launch, place }] };
}

function moved(content: Content, by: Form): Content {
  if (by.size === 0) return content;
  const { text, leaves } = content;
  return { text, leaves: leaves.map((leaf) => ({ ...leaf, place: movedPlace(leaf.place, by) })) };
}

const texts = new Map<string, string>();

/** An expression of contents. Equal ones have one text. */
function made(text: string, of: readonly Content[]): Content {
  if (text === "$0") return of[0]!;
  const leaves: Leaf[] = [];
  const numbers = new Map<string, number>();
  const inner = of.map((content) => {
    const places = content.leaves.map((leaf) => {
      const key = `${leaf.input} ${leaf.owner} ${leaf.launch} ${keyOfPlace(leaf.place)}`;
      let number = numbers.get(key);
      if (number === undefined) {
        numbers.set(key, (number = leaves.length));
        leaves.push(leaf);
      }
      return number;
    });
    return `${content.text}[${places.join()}]`;
  });
  const whole = `${text} where ${inner.join("; ")}`;
  let short = texts.get(whole);
  if (short === undefined) texts.set(whole, (short = `e${texts.size}`));
  return { text: short, leaves };
}

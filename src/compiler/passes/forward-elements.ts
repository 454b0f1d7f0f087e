/**
 * forward-elements: where an iteration of a thread loads what it has stored, or data decides whether it stores over that, it has it in a
 * register. A load of what was stored is what was stored, a second load of an element is the value of the first, and of several stores to
 * an element the last is left. Where data decides whether to store to an element that is known, what is stored is chosen instead. Scratch
 * that nobody loads is not stored to.
 *
 * So an author may add up in a tensor, step by step, as in `best[i] = where(x@p[i] > best[i], x@p[i], best[i])`, or by `if`, and gets the
 * code of a single expression, which is what vectorize takes and what proofs follow element by element. Proofs choose where this does
 * not, since they may look at accesses that do not happen (`prove/predicated.ts`).
 *
 * An iteration of threads synchronises nothing, so nobody can have changed in between what it has loaded, or seen what it has stored
 * over: either would be a race. Elements are the same where their indices are one value.
 */
import { Builder } from "../ir/builder.js";
import { isRemote, type Kernel, memoryOperands, type Op, type Region, type Value } from "../ir/module.js";
import { definitionOf } from "../ir/ops.js";
import { sameType } from "../ir/types.js";
import { buffersNamed, copyOp, copyRegion, rewriteOps, Substitution, walk, walkKernel } from "../ir/visit.js";
import { Unwinding } from "../unwinding.js";
import { isPartial } from "./support/partial.js";
import { dropUnused } from "./support/unused.js";

export function forwardElements(kernel: Kernel): Kernel {
  const build = new Builder({ start: 0, end: 0 });
  const pass = new Forwarding(build, new Map(kernel.buffers.map((b) => [b.name, b])), kernel.world);
  rewriteOps(kernel.body.ops, build, new Substitution(), (op, _, values) => pass.threads(op, values));
  if (!pass.hasChanged) return kernel;
  const ops = withoutOverwritten({ arguments: [], ops: build.ops });
  return dropUnused(withoutUnread({ ...kernel, body: ops }));
}

/** Thrown where an `if` cannot become a choice. */
class NoChoice extends Unwinding {}

interface Stored {
  readonly op: Op;
  readonly value: Value;
  readonly indices: readonly Value[];
  readonly place: string;
}

interface Element {
  readonly buffer: string;
  /** Its index, and the shape of its tensor. */
  readonly place: string;
  readonly value: Value;
  /** Or else loaded. */
  readonly isStored: boolean;
}

/** What elements hold, by their names; and what branches of an `if` would store, where they are looked at for a choice. */
class Known {
  readonly stored = new Map<string, Stored>();

  constructor(private readonly elements = new Map<string, Element>()) {}

  get(key: string): Value | undefined {
    return this.elements.get(key)?.value;
  }

  /** Whether some rank's element of that place is known. */
  hasPlace(place: string): boolean {
    return [...this.elements.values()].some((element) => element.place === place);
  }

  isStored(key: string): boolean {
    return this.elements.get(key)?.isStored === true;
  }

  set(key: string, element: Element): void {
    this.elements.set(key, element);
  }

  /** Forgets all elements of some buffers; of all where they are null. */
  forget(buffers: ReadonlySet<string> | null): void {
    for (const [key, { buffer }] of this.elements) if (buffers?.has(buffer) ?? true) this.elements.delete(key);
  }

  copy(): Known {
    return new Known(new Map(this.elements));
  }
}

class Forwarding {
  /** Whether some loop is another. */
  hasChanged = false;
  /** Whether this one loads what it has stored, or stores what was chosen. */
  private isForwarded = false;
  private readonly ids = new Map<Value, number>();
  /** Values that are made of what was loaded. */
  private readonly data = new Set<Value>();

  constructor(
    private readonly build: Builder,
    private readonly buffers: ReadonlyMap<string, Kernel["buffers"][number]>,
    private readonly world: number,
  ) {}

  /** Takes a loop over threads, and leaves what is around it. */
  threads(op: Op, values: Substitution): boolean {
    if (op.name !== "for" || op.attributes["map"] !== "threads") return false;
    const known = new Known();
    const before = this.build.ops.length;
    this.isForwarded = false;
    copyOp(op, this.build, values, (o, _, v) => this.op(o, v, known, false));
    if (this.isForwarded) this.hasChanged = true;
    else {
      this.build.ops.splice(before);
      copyOp(op, this.build, values);
    }
    return true;
  }

  /** @param isChoice whether this is a branch that is to become a choice @throws NoChoice where it cannot */
  private op(op: Op, values: Substitution, known: Known, isChoice: boolean): boolean {
    const { build } = this;
    if (op.name === "load") return this.load(op, values, known, isChoice);
    if (op.name === "store") return this.store(op, values, known, isChoice);
    if (op.name === "if") return this.condition(op, values, known, isChoice);
    const divisor = op.operands[1] === undefined ? undefined : build.constantOf(values.get(op.operands[1]));
    if (isChoice && (definitionOf(op.name).effect !== "pure" || isPartial(op, divisor))) throw new NoChoice("effect");
    const changed = touchedIn(op, changes);
    known.forget(changed);
    const inner = known.copy();
    copyOp(op, build, values, (o, _, v) => this.op(o, v, inner, false));
    known.forget(changed);
    const [result] = op.results;
    const isData = definitionOf(op.name).effect !== "pure" || op.operands.some((v) => this.data.has(values.get(v)));
    if (result !== undefined && isData) this.data.add(values.get(result));
    return true;
  }

  private load(op: Op, values: Substitution, known: Known, isChoice: boolean): boolean {
    const key = this.keyOf(op, values);
    const result = op.results[0]!;
    const value = known.get(key);
    if (value !== undefined && sameType(value.type, result.type)) {
      values.set(result, value);
      if (known.isStored(key)) this.isForwarded = true;
      return true;
    }
    if (isChoice && !this.isThere(op, values, known)) throw new NoChoice("load");
    copyOp(op, this.build, values);
    this.data.add(values.get(result));
    known.set(key, this.element(op, values, values.get(result), false));
    return true;
  }

  private store(op: Op, values: Substitution, known: Known, isChoice: boolean): boolean {
    const key = this.keyOf(op, values);
    const value = values.get(memoryOperands(op).value!);
    if (isChoice) {
      if (isRemote(op)) throw new NoChoice("store");
      known.stored.set(key, {
        op,
        value,
        indices: memoryOperands(op).indices.map((v) => values.get(v)),
        place: this.placeOf(op, values),
      });
    } else copyOp(op, this.build, values);
    known.forget(new Set([bufferOf(op)]));
    if (!isRemote(op)) known.set(key, this.element(op, values, value, true));
    return true;
  }

  private condition(op: Op, values: Substitution, known: Known, isChoice: boolean): boolean {
    const condition = values.get(op.operands[0]!);
    const isData = this.data.has(condition);
    if (isData && this.chosen(op, condition, values, known, isChoice)) return true;
    if (isChoice) throw new NoChoice("if");
    const changed = touchedIn(op, changes);
    const regions = op.regions.map((region) => {
      const inner = known.copy();
      return copyRegion(region, this.build, values, (o, _, v) => this.op(o, v, inner, false));
    });
    this.build.span = op.span;
    this.build.op("if", [condition], op.attributes, null, regions);
    known.forget(changed);
    return true;
  }

  /** What branches store as choices between values. False, and nothing is done, where they do anything else. */
  private chosen(op: Op, condition: Value, values: Substitution, known: Known, isChoice: boolean): boolean {
    const { build } = this;
    const before = build.ops;
    build.ops = [];
    try {
      const branches = op.regions.map((region) => {
        const inner = known.copy();
        rewriteOps(region.ops, build, new Substitution(values), (o, _, v) => this.op(o, v, inner, true));
        return inner.stored;
      });
      const stored = new Map(branches.flatMap((branch) => [...branch]));
      const buffers = [...stored.values()].map((s) => bufferOf(s.op));
      // Of one buffer, which of two elements was stored to last may matter.
      if (new Set(buffers).size !== buffers.length) throw new NoChoice("elements");
      const made = [...stored].map(([key, { op: store, value, indices, place }]) => {
        const [yes, no] = branches.map((branch) => branch.get(key)?.value ?? known.get(key));
        const isSame = [yes, no].every((v) => v !== undefined && sameType(v.type, value.type));
        if (!isSame) throw new NoChoice("element");
        build.span = store.span;
        const either = build.select(condition, yes!, no!);
        this.data.add(either);
        return { key, store, indices, place, either };
      });
      const ops = build.ops;
      build.ops = before;
      build.ops.push(...ops);
      for (const { key, store, indices, place, either } of made) {
        if (isChoice) known.stored.set(key, { op: store, value: either, indices, place });
        else {
          build.span = store.span;
          build.op("store", [either, ...indices], store.attributes, null);
        }
        known.forget(new Set([bufferOf(store)]));
        known.set(key, { buffer: bufferOf(store), place, value: either, isStored: true });
      }
      this.isForwarded = true;
      return true;
    } catch (e) {
      if (!(e instanceof NoChoice)) throw e;
      build.ops = before;
      return false;
    }
  }

  /**
   * Whether an element may be loaded, needed or not: of an input, which nobody changes, where this thread has one of the same index of a
   * tensor of that shape, here or on another rank.
   */
  private isThere(op: Op, values: Substitution, known: Known): boolean {
    const { peer } = memoryOperands(op);
    const rank = peer === null ? 0 : this.build.constantOf(values.get(peer));
    const isRank = rank !== undefined && rank >= 0 && rank < this.world;
    return this.buffers.get(bufferOf(op))!.role === "input" && isRank && known.hasPlace(this.placeOf(op, values));
  }

  private element(op: Op, values: Substitution, value: Value, isStored: boolean): Element {
    return { buffer: bufferOf(op), place: this.placeOf(op, values), value, isStored };
  }

  private placeOf(op: Op, values: Substitution): string {
    const at = memoryOperands(op).indices.map((v) => this.nameOf(values.get(v)));
    return `${JSON.stringify(this.buffers.get(bufferOf(op))!.shape)}[${at.join()}]`;
  }

  private keyOf(op: Op, values: Substitution): string {
    const { peer, indices } = memoryOperands(op);
    const at = indices.map((v) => this.nameOf(values.get(v)));
    return `${bufferOf(op)}@${peer === null ? "own" : this.nameOf(values.get(peer))}[${at.join()}]`;
  }

  private nameOf(v: Value): number | string {
    return this.build.constantOf(v) ?? `%${this.id(v)}`;
  }

  private id(v: Value): number {
    let id = this.ids.get(v);
    if (id === undefined) this.ids.set(v, (id = this.ids.size));
    return id;
  }
}

const bufferOf = (op: Op): string => op.attributes["buffer"] as string;

const changes = (op: Op): boolean => definitionOf(op.name).effect === "write";
const loads = (op: Op): boolean => definitionOf(op.name).effect !== "pure" && op.name !== "store";

/** Buffers of the ops that do something to them, in an op; null where it meets other threads, which may do that to any. */
function touchedIn(op: Op, touches: (op: Op) => boolean): ReadonlySet<string> | null {
  const touched = new Set<string>();
  let meets = false;
  walk({ arguments: [], ops: [op] }, (inner) => {
    const { effect, suspends } = definitionOf(inner.name);
    if (effect === "sync" || suspends === true) meets = true;
    if (touches(inner)) for (const buffer of buffersNamed(inner)) touched.add(buffer);
  });
  return meets ? null : touched;
}

/** In iterations of threads, without stores to what is stored to again before anybody loads it. */
function withoutOverwritten(region: Region, isInThreads = false): Region {
  const kept: Op[] = [];
  /** The buffer of each element that is stored to further on, by its index. */
  const later = new Map<string, string>();
  const ids = new Map<Value, number>();
  const id = (v: Value): number => {
    if (!ids.has(v)) ids.set(v, ids.size);
    return ids.get(v)!;
  };
  for (const op of [...region.ops].reverse()) {
    if (op.name === "store" && !isRemote(op)) {
      const key = `${bufferOf(op)}[${memoryOperands(op).indices.map(id).join()}]`;
      if (isInThreads && later.has(key)) continue;
      later.set(key, bufferOf(op));
    } else {
      const loaded = touchedIn(op, loads);
      for (const [key, buffer] of later) if (loaded?.has(buffer) ?? true) later.delete(key);
    }
    const isThreads = op.name === "for" && op.attributes["map"] === "threads";
    const inner = op.regions.length === 0 ? op : { ...op, regions: op.regions.map((r) => withoutOverwritten(r, isInThreads || isThreads)) }; // prettier-ignore
    kept.push(inner);
  }
  return { arguments: region.arguments, ops: kept.reverse() };
}

/** Without stores to scratch that no rank loads, here or in another step of the program. */
function withoutUnread(kernel: Kernel): Kernel {
  const unread = new Set(
    kernel.buffers.filter((b) => b.role === "scratch" && b.memory === undefined).map((b) => b.name),
  );
  walkKernel(kernel, (op) => {
    if (op.name === "store") return;
    for (const buffer of buffersNamed({ ...op, regions: [] })) unread.delete(buffer);
  });
  if (unread.size === 0) return kernel;
  const strip = (region: Region): Region => ({
    arguments: region.arguments,
    ops: region.ops
      .filter((op) => !(op.name === "store" && unread.has(bufferOf(op))))
      .map((op) => (op.regions.length === 0 ? op : { ...op, regions: op.regions.map(strip) })),
  });
  return { ...kernel, body: strip(kernel.body) };
}

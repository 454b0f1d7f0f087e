/**
 * Which rank tells which, at a point where ranks synchronise: a relation on the ranks of a group, and its one text.
 *
 *   all        every rank tells every rank
 *   self       every rank tells itself only
 *   +1,+3      rank r tells r + 1 and r + 3, modulo the number of ranks
 *   ^1,^4      rank r tells r xor 1 and r xor 4
 *   0>1,2>3    rank 0 tells 1, rank 2 tells 3
 *
 * The first that fits is the text. What a rank tells itself matters between its own blocks.
 */
export class RankPairs {
  private readonly bits: Uint8Array;

  constructor(readonly world: number) {
    this.bits = new Uint8Array(world * world);
  }

  static where(world: number, tells: (from: number, to: number) => boolean): RankPairs {
    const pairs = new RankPairs(world);
    for (let from = 0; from < world; from++)
      for (let to = 0; to < world; to++) if (tells(from, to)) pairs.add(from, to);
    return pairs;
  }

  static all(world: number): RankPairs {
    return RankPairs.where(world, () => true);
  }

  static self(world: number): RankPairs {
    return RankPairs.where(world, (from, to) => from === to);
  }

  /** The relation a text names; null if it names none between ranks of this group, or no pair at all. */
  static parse(text: string, world: number): RankPairs | null {
    if (text === "all") return RankPairs.all(world);
    if (text === "self") return RankPairs.self(world);
    const pairs = new RankPairs(world);
    for (const part of text.split(",")) {
      const [, from, sign, number] = /^(\d*)([+^>])(\d+)$/.exec(part) ?? [];
      if (number === undefined || (sign === ">") !== (from !== "")) return null;
      const to = Number(number);
      if (to >= world || Number(from) >= world) return null;
      if (sign === ">") pairs.add(Number(from), to);
      else
        for (let r = 0; r < world; r++) {
          const target = sign === "+" ? (r + to) % world : r ^ to;
          if (target >= world) return null;
          pairs.add(r, target);
        }
    }
    return pairs;
  }

  has(from: number, to: number): boolean {
    return this.bits[from * this.world + to] === 1;
  }

  add(from: number, to: number): void {
    this.bits[from * this.world + to] = 1;
  }

  /** Number of pairs of two different ranks. */
  get between(): number {
    let count = 0;
    for (let from = 0; from < this.world; from++)
      for (let to = 0; to < this.world; to++) if (from !== to && this.has(from, to)) count++;
    return count;
  }

  /** Whether some rank tells itself. */
  get hasSelf(): boolean {
    return this.ranks().some((r) => this.has(r, r));
  }

  union(other: RankPairs): RankPairs {
    return RankPairs.where(this.world, (from, to) => this.has(from, to) || other.has(from, to));
  }

  /** Steps c such that every rank r tells r + c; null if that is not all there is. */
  offsets(): number[] | null {
    const steps = this.ranks().filter((c) => this.ranks().every((r) => this.has(r, (r + c) % this.world)));
    return steps.length * this.world === this.count ? steps : null;
  }

  /** Masks c such that every rank r tells r xor c; null if that is not all there is. */
  masks(): number[] | null {
    const masks = Array.from({ length: 2 ** Math.ceil(Math.log2(this.world)) }, (_, c) => c).filter((c) =>
      this.ranks().every((r) => (r ^ c) < this.world && this.has(r, r ^ c)),
    );
    return masks.length * this.world === this.count ? masks : null;
  }

  /** The pairs one by one. */
  list(): [from: number, to: number][] {
    const found: [number, number][] = [];
    for (let from = 0; from < this.world; from++)
      for (let to = 0; to < this.world; to++) if (this.has(from, to)) found.push([from, to]);
    return found;
  }

  /** The text; empty if no rank tells any. */
  print(): string {
    const { world, count } = this;
    if (count === world * world) return "all";
    const offsets = this.offsets();
    if (offsets?.length === 1 && offsets[0] === 0) return "self";
    if (offsets !== null) return offsets.map((c) => `+${c}`).join();
    const masks = this.masks();
    if (masks !== null) return masks.map((c) => `^${c}`).join();
    return this.list()
      .map(([from, to]) => `${from}>${to}`)
      .join();
  }

  /** Number of pairs. */
  get count(): number {
    let count = 0;
    for (const bit of this.bits) count += bit;
    return count;
  }

  private ranks(): number[] {
    return Array.from({ length: this.world }, (_, r) => r);
  }
}

/**
 * Waits whose signals come later, where ranks are followed in step: a rank that hands on what it gets waits above the line that signals the
 * next one. What a rank does behind such a wait comes after what another does further down, so no place in the text between the two is one
 * at which all ranks have done what is above it.
 */
import type { Kernel, Op, Region } from "../../ir/module.js";
import { walkKernel } from "../../ir/visit.js";
import type { Definitions } from "./analysis.js";
import { iterationsOf } from "./iterations.js";
import { RankValues } from "./rank-values.js";
import { isWord } from "./sync-ops.js";

/** How many words there have been, by what they are and whom they go between. */
type Counts = ReadonlyMap<string, number>;

/** What a rank has said and heard before a nest, and at its end. */
interface Passage {
  readonly before: Counts;
  readonly behind: Counts;
}

export class OpenWaits {
  private readonly areWaits: boolean;
  private readonly known = new Map<Op, boolean>();

  constructor(
    private readonly kernel: Kernel,
    private readonly definitions: Definitions,
  ) {
    let areWaits = false;
    walkKernel(kernel, ({ name }) => void (areWaits ||= name === "await"));
    this.areWaits = areWaits;
  }

  /** Whether some rank has come by the end of a nest to a wait whose signal is none that another has given before the nest, or may have. */
  areAt(nest: Op): boolean {
    if (!this.areWaits) return false;
    let found = this.known.get(nest);
    if (found === undefined) this.known.set(nest, (found = this.lookAt(nest)));
    return found;
  }

  private lookAt(nest: Op): boolean {
    const { kernel, definitions } = this;
    const ranks = Array.from({ length: kernel.world }, (_, rank) => rank);
    const all = ranks.map((rank) => new Follower(nest, RankValues.of(definitions, rank)).follow(kernel.body));
    const [first] = all as [Follower];
    return all.some(({ isUnclear, passages, loops }) => {
      if (isUnclear || passages.length !== first.passages.length || loops.length !== first.loops.length) return true;
      // However often a loop runs, it leaves no word open.
      const isOpen = loops.some((words, i) => !areEven(words, (from) => all[from]?.loops[i]));
      return isOpen || passages.some(({ behind }, i) => !areHeard(behind, (from) => all[from]?.passages[i]?.before));
    });
  }
}

/** How many signals of a rank there have been to the one that waits for it. */
function signalsOf(word: string, by: (rank: number) => Counts | undefined): number {
  return by(Number(word.split(" ")[1]))?.get(word.replace("await", "notify")) ?? 0;
}

/** Whether there have been signals for all waits of a rank. */
function areHeard(words: Counts, by: (rank: number) => Counts | undefined): boolean {
  return [...words].every(([word, n]) => !word.startsWith("await") || n <= signalsOf(word, by));
}

/** Whether a rank has waited in a loop just as often as others have signalled there, and others for it. */
function areEven(words: Counts, by: (rank: number) => Counts | undefined): boolean {
  return [...words].every(([word, n]) => {
    const [name, from, to] = word.split(" ") as [string, string, string];
    if (name === "await") return n === signalsOf(word, by);
    return n === (by(Number(to))?.get(`await ${from} ${to}`) ?? 0);
  });
}

/** Follows one rank, and counts its words. */
class Follower {
  /** Each time that the rank comes to the nest. */
  readonly passages: Passage[] = [];
  /** The words in an iteration of each loop of unknown length. */
  readonly loops: Counts[] = [];
  /** Whether its words cannot be counted. */
  isUnclear = false;
  private words = new Map<string, number>();

  constructor(
    private readonly nest: Op,
    private readonly values: RankValues,
  ) {}

  follow(body: Region): this {
    this.region(body, this.values);
    return this;
  }

  private region({ ops }: Region, values: RankValues): void {
    for (const op of ops) {
      const before = op === this.nest ? new Map(this.words) : null;
      this.visit(op, values);
      if (before !== null) this.passages.push({ before, behind: new Map(this.words) });
    }
  }

  private visit(op: Op, values: RankValues): void {
    if (isWord(op)) return this.word(op, values);
    if (!this.holds(op, (inner) => inner === this.nest || isWord(inner))) return;
    if (op.name === "if") {
      const condition = values.number(op.operands[0]!);
      if (condition === null && this.holds(op, isWord)) this.isUnclear = true;
      op.regions.forEach((r, i) => {
        if (condition === null || (condition !== 0) === (i === 0)) this.region(r, values);
      });
      return;
    }
    const iterations = iterationsOf(op, values);
    if (iterations === null) return this.anyIteration(op, values);
    for (const i of iterations) this.region(op.regions[0]!, values.atIteration(op, i));
  }

  /** One iteration stands for all, as long as each leaves as many words open as it has found. */
  private anyIteration(op: Op, values: RankValues): void {
    const inside = values.insideLoop(op);
    if (inside === null) return;
    if (op.operands.some((v) => values.definitions.varying.has(v))) this.isUnclear = true;
    const around = this.words;
    this.words = new Map();
    const own = this.words;
    const from = this.passages.length;
    this.region(op.regions[0]!, inside);
    this.loops.push(new Map(own));
    this.words = sum(around, own);
    for (let i = from; i < this.passages.length; i++) {
      const { before, behind } = this.passages[i]!;
      this.passages[i] = { before: sum(around, before), behind: sum(around, behind) };
    }
  }

  private word({ name, operands }: Op, values: RankValues): void {
    const peer = values.number(operands[0]!);
    if (peer === null) this.isUnclear = true;
    const word = name === "await" ? `await ${peer} ${values.rank}` : `notify ${values.rank} ${peer}`;
    this.words.set(word, (this.words.get(word) ?? 0) + 1);
  }

  private holds({ regions }: Op, isIt: (op: Op) => boolean): boolean {
    return regions.some(({ ops }) => ops.some((op) => isIt(op) || this.holds(op, isIt)));
  }
}

function sum(a: Counts, b: Counts): Map<string, number> {
  const all = new Map(a);
  for (const [word, n] of b) all.set(word, (all.get(word) ?? 0) + n);
  return all;
}

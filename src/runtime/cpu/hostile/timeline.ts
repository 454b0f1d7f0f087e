/** The last steps of every rank and block, as a picture with a lane each. */
import type { Op } from "../../../compiler/index.js";
import type { FaultReporter } from "../faults.js";

export interface Step {
  readonly number: number;
  readonly rank: number;
  /** -1 for the rank's caller. */
  readonly block: number;
  readonly launch: number;
  readonly what: string;
  /** Place in the source; "" for the caller. */
  readonly where: string;
}

interface Growing {
  readonly rank: number;
  readonly block: number;
  readonly launch: number;
  readonly op: Op;
  readonly verb: string;
  readonly buffer: string;
  readonly owner: number;
  first: number;
  last: number;
  number: number;
}

/** Words are made for the steps that are shown. */
interface Noted {
  readonly rank: number;
  readonly block: number;
  readonly launch: number;
  readonly op: Op | null;
  readonly say: () => string;
  number: number;
}

const KEPT = 4096;

export class Timeline {
  private readonly steps: (Growing | Noted)[] = [];
  /** Accesses since anybody synchronised last. */
  private growing: Growing[] = [];
  private count = 0;

  constructor(private readonly faults: FaultReporter) {}

  /** An access to some elements; those of a block at the same place, until somebody synchronises, are one step. */
  access(
    rank: number,
    block: number,
    launch: number,
    op: Op,
    verb: string,
    buffer: string,
    owner: number,
    first: number,
    last: number,
  ): void {
    // The latest first, which are the block's own.
    for (let i = this.growing.length - 1; i >= 0; i--) {
      const g = this.growing[i]!;
      if (g.op === op && g.rank === rank && g.block === block && g.owner === owner) {
        g.first = Math.min(g.first, first);
        g.last = Math.max(g.last, last);
        return;
      }
    }
    const step = { rank, block, launch, op, verb, buffer, owner, first, last, number: 0 };
    this.push(step);
    this.growing.push(step);
  }

  /** @param op null for the caller */
  note(rank: number, block: number, launch: number, op: Op | null, say: () => string): void {
    this.growing = [];
    this.push({ rank, block, launch, op, say, number: 0 });
  }

  private push(step: Growing | Noted): void {
    step.number = ++this.count;
    this.steps.push(step);
    if (this.steps.length > 2 * KEPT) this.steps.splice(0, KEPT);
  }

  get length(): number {
    return this.count;
  }

  /** The last `count` steps, of one launch or of all. */
  last(count: number, launch: number | null = null): Step[] {
    const steps = launch === null ? this.steps : this.steps.filter((s) => s.launch === launch);
    return steps.slice(-count).map((s) => {
      if ("say" in s) return { ...s, what: s.say(), where: s.op === null ? "" : this.faults.line(s.op) };
      const range = s.first === s.last ? `${s.first}` : `${s.first}…${s.last}`;
      return {
        ...s,
        what: `${s.verb} ${elementName(s.buffer, range, s.owner, s.rank)}`,
        where: this.faults.line(s.op),
      };
    });
  }
}

/** "'x'[3] of rank 1"; its own rank is not said. */
export function elementName(buffer: string, index: string, owner: number, rank: number): string {
  return `'${buffer}'[${index}]${owner === rank ? "" : ` of rank ${owner}`}`;
}

const MOST_LANES = 16;

/** Lines of text: a column a block (or a rank, where there are many), a row a step. */
export function drawTimeline(steps: readonly Step[], world: number, grid: number): string[] {
  const byRank = world * grid > MOST_LANES;
  const lanes = byRank
    ? Array.from({ length: world }, (_, r) => `${r}`)
    : Array.from({ length: world * grid }, (_, i) => `${Math.floor(i / grid)}.${i % grid}`);
  const width = Math.max(...lanes.map((l) => l.length), 3);
  const cell = (text: string): string => text.padStart(Math.ceil((width + text.length) / 2)).padEnd(width);
  const number = Math.max(4, String(steps.at(-1)?.number ?? 0).length);
  const what = Math.min(64, Math.max(...steps.map((s) => s.what.length), 0));
  const rows = steps.map((s) => {
    const isLane = (i: number): boolean =>
      byRank ? i === s.rank : s.block < 0 ? Math.floor(i / grid) === s.rank : i === s.rank * grid + s.block;
    const marks = lanes.map((_, i) => cell(isLane(i) ? (s.block < 0 ? "○" : "●") : "·")).join(" ");
    const who = byRank && s.block >= 0 ? `block ${s.block} ` : "";
    return `${String(s.number).padStart(number)}  ${marks}  launch ${s.launch}: ${(who + s.what).padEnd(what)}  ${s.where}`.trimEnd();
  });
  const title = `${"step".padStart(number)}  ${lanes.map(cell).join(" ")}  (${byRank ? "rank" : "rank.block"}; ○ its caller)`;
  return [title, ...rows];
}

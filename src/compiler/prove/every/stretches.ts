/**
 * A kernel as a walk of one rank through it: what synchronises, as it stands, and between that *stretches* of ops that touch
 * tensors and synchronise nothing. How a rank walks must not depend on lengths or on data; then the walk is one for all of them.
 */
import { bufferOf, type Kernel, memoryOperands, type Op, type Region, text, type Value } from "../../ir/module.js";
import { scalarOf } from "../../ir/types.js";
import { demand, isAsked, NotShown } from "./conditions.js";
import { type Expression, type Expressions } from "./expressions.js";
import { packetsIn } from "./packets.js";
import { hasRounds, type Rounds, roundsOf } from "./rounds.js";
import { type Make, type Part, partsOf } from "./unrolled.js";

/** What a rank does between two synchronisations, in parts that are followed one by one. */
export interface Stretch {
  readonly parts: readonly Part[];
  /** Loops over blocks in which the threads of each meet; then there are no parts. */
  readonly rounds: Rounds | null;
  /** Stretches of one run have no synchronisation between them. */
  readonly run: number;
}

/** How many launches there were before: of which a walk knows whether it is even. */
const LAUNCHES = "launches";

/** The number that packets of a launch carry, by whether the number of launches before it is even or odd. */
const EPOCHS = ["odd epoch", "even epoch"] as const;
export const EVEN_EPOCH = EPOCHS[1];

const SYNCHRONISES = new Set(["signal", "wait", "block_sync"]);

/** Ops that are followed: others have to do with tiles and roles. */
const FOLLOWED = new Set([
  ...[
    "const",
    "dim",
    "rank",
    "launch_parity",
    "binary",
    "unary",
    "compare",
    "select",
    "cast",
    "aligned",
    "block",
    "grid",
    "scalar",
    "splat",
  ],
  ...["for", "if", "reduce", "yield", "load", "store", "packet_load", "packet_store", "pack", "lane", ...SYNCHRONISES],
]);

/** Differ from launch to launch, or with addresses. */
const VARYING = new Set(["dim", "aligned", "scalar"]);

const OWN_ROLES = new Set(["state", "register", "signal"]);

/** What is known of ops: each rank's walk and each skeleton asks again. */
interface KnownOps {
  readonly synchronising: Map<Op, boolean>;
  readonly touching: Map<Op, boolean>;
}

const knownOps = new WeakMap<Kernel, KnownOps>();

/** An answer about an op of a kernel, found once. */
function known(kernel: Kernel, about: keyof KnownOps, op: Op, find: () => boolean): boolean {
  let all = knownOps.get(kernel);
  if (all === undefined) knownOps.set(kernel, (all = { synchronising: new Map(), touching: new Map() }));
  let is = all[about].get(op);
  if (is === undefined) all[about].set(op, (is = find()));
  return is;
}

/** Whether an op, or one inside it, synchronises or keeps count of epochs; rounds do that inside of a block alone. */
export function synchronises(kernel: Kernel, op: Op): boolean {
  if (SYNCHRONISES.has(op.name)) return true;
  return known(kernel, "synchronising", op, () => {
    if (isRounds(kernel, op)) return false;
    if (op.name === "load" || op.name === "store") return OWN_ROLES.has(bufferOf(kernel, text(op, "buffer")).role);
    return op.regions.some((r) => r.ops.some((o) => synchronises(kernel, o)));
  });
}

/** Whether an op is loops over blocks in which the threads of each meet, and nothing else synchronises: a stretch of its own. */
export function isRounds(kernel: Kernel, op: Op): boolean {
  return hasRounds(op, (o) => o.name !== "block_sync" && synchronises(kernel, o));
}

/** Whether an op touches tensors or packets itself or in its regions. */
export function touches(kernel: Kernel, op: Op): boolean {
  if (op.name === "packet_load" || op.name === "packet_store") return true;
  return known(kernel, "touching", op, () => {
    if (op.name === "load" || op.name === "store") return !OWN_ROLES.has(bufferOf(kernel, text(op, "buffer")).role);
    return op.regions.some((r) => r.ops.some((o) => touches(kernel, o)));
  });
}

/** Whether an op takes packets of a buffer that ops before it, with no synchronisation between, store to: a stretch begins with it. */
export function beginsStretch(before: readonly Op[], op: Op): boolean {
  const taken = packetsIn(op, "packet_load");
  return taken.size > 0 && before.some((o) => [...packetsIn(o, "packet_store")].some((b) => taken.has(b)));
}

/** Which copy of their slots packets of such an epoch go to; null of what is no epoch. */
export function copyOf(epoch: Expression | undefined): "even" | "odd" | null {
  const at = epoch?.kind === "symbol" ? (EPOCHS as readonly string[]).indexOf(epoch.name) : -1;
  return at < 0 ? null : at === 0 ? "odd" : "even";
}

/** @throws NotShown for a kernel with an op that is not followed */
export function checkOps(kernel: Kernel, region: Region = kernel.body): void {
  for (const op of region.ops) {
    if (!FOLLOWED.has(op.name)) throw new NotShown(NAMES[op.name] ?? `there is a '${op.name}'`, op.span);
    for (const inner of op.regions) checkOps(kernel, inner);
  }
}

const NAMES: Readonly<Record<string, string>> = {
  copy_tile: "elements go through tiles",
  mma: "elements go through tiles",
};

/** The name of a test whether a buffer begins at a multiple of so many bytes. @param peer whose, in any words */
export function addressTest(buffer: string, bytes: number, peer: string): string {
  return `aligned ${buffer} ${bytes} ${peer}`;
}

/** Of the name of a test of an address: the buffer, and what its address is a multiple of where the test holds. Null of other names. */
export function startOf(name: string): { readonly buffer: string; readonly bytes: number } | null {
  const [test, buffer, bytes] = name.split(" ");
  return test === "aligned" ? { buffer: buffer!, bytes: Number(bytes) } : null;
}

/** What a rank comes to on its way through one launch. */
export class Walk {
  readonly stretches: Stretch[] = [];
  readonly values = new Map<Value, Expression>();
  readonly makers = new Map<Value, Op>();
  /** Values that lengths or data have a part in. */
  private readonly varying = new Set<Value>();
  private run: Op[] = [];
  private runs = 0;
  /** Counts of launches that have grown in this one. */
  private readonly grown = new Set<string>();

  constructor(
    private readonly kernel: Kernel,
    private readonly expressions: Expressions,
    readonly rank: number,
    private readonly parity: number,
    private readonly counters: ReadonlySet<string>,
  ) {
    this.region(kernel.body);
    this.close();
  }

  /** Where something synchronises. */
  private close(): void {
    this.end();
    this.runs++;
  }

  /** Ends a stretch. */
  private end(): void {
    if (this.run.length === 0) return;
    const make: Make = (op, of) => this.made(op, of);
    const parts = partsOf(this.run, this, this.expressions, make);
    this.stretches.push({ parts, rounds: null, run: this.runs });
    this.run = [];
  }

  private region({ ops }: Region): void {
    for (const op of ops) {
      const touching = touches(this.kernel, op);
      if (!synchronises(this.kernel, op)) {
        if (touching && op.results.length > 0) throw new NotShown("an element is read by all threads", op.span);
        if (!touching) {
          this.value(op);
          continue;
        }
        if (beginsStretch(this.run, op)) this.end();
        if (isRounds(this.kernel, op)) {
          this.end();
          const rounds = roundsOf(this.kernel, op, this, this.expressions, (o, of) => this.made(o, of));
          this.stretches.push({ parts: [], rounds, run: this.runs });
        } else this.run.push(op);
        continue;
      }
      this.close();
      this.checkSteady(op, touching);
      this.counted(op);
      // What one block alone does with flags is looked at in `blocks.ts`.
      if (op.name === "if" && !touching && this.isOfBlocks(op)) continue;
      if (op.name === "if") {
        const condition = this.decided(op, op.operands[0]!);
        this.region(op.regions[condition !== 0 ? 0 : 1]!);
        this.close();
      } else if (op.name === "for" && op.attributes["map"] !== "threads") this.loop(op);
    }
  }

  /** Whether a condition asks for the number of the block, and of how many, alone. */
  private isOfBlocks(op: Op): boolean {
    const isOf = (e: Expression): boolean =>
      e.kind === "symbol"
        ? e.name === "block" || e.name === "grid"
        : e.kind === "constant" || (e.kind === "apply" && e.of.every(isOf));
    const condition = this.values.get(op.operands[0]!);
    return condition !== undefined && condition.kind !== "constant" && isOf(condition);
  }

  /** A block's number of earlier launches, as long as this one is not among them. */
  private counted(op: Op): void {
    const buffer = op.name === "load" || op.name === "store" ? text(op, "buffer") : "";
    if (op.name === "store") this.grown.add(buffer);
    if (op.name === "load" && this.counters.has(buffer) && !this.grown.has(buffer)) {
      const { indices } = memoryOperands(op);
      const row = this.values.get(indices[0]!);
      if (row?.kind === "symbol" && row.name === "block")
        this.values.set(op.results[0]!, this.expressions.symbol(LAUNCHES));
    }
    // What loops and branches store is looked for at once, however often they do.
    op.regions.forEach((r) => r.ops.forEach((o) => (o.name === "load" ? undefined : this.counted(o))));
  }

  /** Whether what synchronises is the same for all lengths and all data. */
  private checkSteady(op: Op, touching: boolean): void {
    const isDescended =
      (op.name === "if" && (touching || !this.isOfBlocks(op))) ||
      (op.name === "for" && op.attributes["map"] !== "threads");
    if (touching && !isDescended) throw new NotShown("a loop over elements synchronises", op.span);
    const look = (o: Op): void => {
      const isSteady = !VARYING.has(o.name) && !o.operands.some((v) => this.varying.has(v));
      demand("steady", isSteady, "lengths or data decide about synchronisation", o.span);
      if (o !== op || !isDescended) o.regions.forEach((r) => r.ops.forEach(look));
    };
    look(op);
  }

  private loop(op: Op): void {
    const [body] = op.regions as readonly [Region];
    const map = op.attributes["map"];
    if (body.arguments.length !== 1 || (map !== "serial" && map !== "ranks"))
      throw new NotShown("a loop over elements synchronises", op.span);
    const [from, to] = op.operands.map((v) => this.decided(op, v));
    for (let i = from!; i < to!; i++) {
      this.values.set(body.arguments[0]!, this.expressions.constant(i));
      this.region(body);
      this.close();
    }
  }

  private decided(op: Op, v: Value): number {
    const value = this.values.get(v);
    if (value?.kind !== "constant") throw new NotShown("lengths or data decide about synchronisation", op.span);
    return value.value;
  }

  private value(op: Op): void {
    const [result] = op.results;
    if (result === undefined) return;
    this.makers.set(result, op);
    if (VARYING.has(op.name) || op.operands.some((v) => this.varying.has(v))) this.varying.add(result);
    const of = op.operands.map((v) => this.values.get(v));
    const made = this.made(op, of);
    if (made !== null) this.values.set(result, made);
  }

  private made(op: Op, of: readonly (Expression | undefined)[]): Expression | null {
    const { expressions } = this;
    switch (op.name) {
      case "const":
        return expressions.constant(op.attributes["value"] as number);
      case "dim":
        return expressions.dim(text(op, "name"));
      case "rank":
        return expressions.constant(this.rank);
      case "grid":
        return expressions.symbol("grid");
      case "launch_parity":
        return expressions.constant(this.parity);
      case "block":
        return expressions.symbol("block");
      case "aligned":
        return expressions.symbol(addressTest(text(op, "buffer"), op.attributes["bytes"] as number, String(of[0]?.id)));
      case "cast":
        // Of numbers of launches, which are far from where one dtype has them and another not.
        return scalarOf(op.results[0]!.type) === "index" && of[0]?.kind === "symbol" ? of[0] : null;
      case "binary":
      case "compare":
      case "select":
      case "unary": {
        const kind = scalarOf(op.results[0]!.type);
        if (kind === "u32") return this.epoch(op, of);
        if ((kind !== "index" && kind !== "bool") || of.some((e) => e === undefined)) return null;
        if (op.name === "unary" && op.attributes["fn"] !== "not") return null;
        const fn = op.name === "select" ? "select" : text(op, "fn");
        const [a, b] = of;
        if (fn === "rem" && a!.kind === "symbol" && a!.name === LAUNCHES && b!.kind === "constant" && b!.value === 2)
          return expressions.constant(this.parity);
        return expressions.apply(fn, ...(of as Expression[]));
      }
      default:
        return null;
    }
  }

  /** The number of this launch, where the number of those before it is what is counted. */
  private epoch(op: Op, [a, b]: readonly (Expression | undefined)[]): Expression | null {
    if (op.attributes["fn"] !== "add" || a?.kind !== "symbol" || a.name !== LAUNCHES || b?.kind !== "constant")
      return null;
    if (b.value !== 1 && isAsked("epochs")) return null;
    return this.expressions.symbol(EPOCHS[this.parity as 0 | 1]);
  }
}

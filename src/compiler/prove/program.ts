/**
 * A kernel as closures over numbered values. Regions that hold no wait run straight through; those that do are
 * generators, which suspend where a flag is not there yet.
 */
import { InternalCompilerError } from "../diagnostics/ice.js";
import { type Kernel, type Op, type Region, text, type Value } from "../ir/module.js";
import { type BinaryFunction, type Comparison, definitionOf, type Reduction, type UnaryFunction } from "../ir/ops.js";
import { lanesOf, scalarOf } from "../ir/types.js";
import type { Frame, Machine } from "./machine.js";
import { memoryStep, waitStep } from "./memory-ops.js";
import { CannotTell } from "./results.js";
import { tileStep } from "./tile-ops.js";
import type { Number_ } from "./algebra.js";
import { binaryOf, castOf, compareOf, FOLD, type Held, identityOf, selectOf, unaryOf } from "./values.js";

export type Step = (f: Frame) => void;

/** A wait that is not satisfied. */
export interface Blocked {
  readonly frame: Frame;
  readonly op: Op;
  readonly buffer: number;
  readonly slot: number;
  readonly wanted: number;
  /** Rank expected to signal; -1 if not said. */
  readonly peer: number;
  readonly ready: () => boolean;
}

/** Suspends on waits of which any may go on. */
export type Running = Generator<readonly Blocked[], void>;
export type WaitingStep = (f: Frame) => Running;

/** The turns of a loop in a frame. */
type Turns = (f: Frame) => { readonly count: number; readonly set: (f: Frame, i: number) => void };

export class Program {
  private readonly numbers = new Map<Value, number>();
  private readonly waits = new Map<Region, boolean>();
  readonly body: WaitingStep;

  constructor(
    readonly machine: Machine,
    readonly kernel: Kernel,
  ) {
    this.body = this.waiting(kernel.body);
  }

  /** Number of a value in `Frame.env`. */
  number(v: Value): number {
    let n = this.numbers.get(v);
    if (n === undefined) this.numbers.set(v, (n = this.numbers.size));
    return n;
  }

  /** A step for each op, to run in order. */
  plain(region: Region): Step {
    const steps = region.ops.filter((op) => !this.isIdle(op)).map((op) => this.step(op));
    return (f) => {
      for (const s of steps) s(f);
    };
  }

  waiting(region: Region): WaitingStep {
    const ops = region.ops.filter((op) => !this.isIdle(op));
    const steps = ops.map((op): { plain: Step } | { waiting: WaitingStep } => {
      if (op.name === "wait") return { waiting: waitStep(this, op) };
      if (!op.regions.some((r) => this.hasWait(r))) return { plain: this.step(op) };
      return { waiting: op.name === "if" ? this.waitingIf(op) : this.waitingFor(op) };
    });
    return function* (f) {
      for (const s of steps) {
        if ("plain" in s) s.plain(f);
        else yield* s.waiting(f);
      }
    };
  }

  /** Where data does not matter: computes nothing that decides what happens. */
  private isIdle({ name, results }: Op): boolean {
    const { algebra, inputs } = this.machine;
    return algebra === null && definitionOf(name).effect === "pure" && !results.some((v) => inputs.decides(v));
  }

  private hasWait(region: Region): boolean {
    let has = this.waits.get(region);
    if (has === undefined) {
      has = region.ops.some((op) => op.name === "wait" || op.regions.some((r) => this.hasWait(r)));
      this.waits.set(region, has);
    }
    return has;
  }

  private step(op: Op): Step {
    return this.valueStep(op) ?? this.controlStep(op) ?? memoryStep(this, op) ?? tileStep(this, op) ?? refuse(op);
  }

  private valueStep(op: Op): Step | null {
    const { algebra, dims } = this.machine;
    const [a, b, c] = op.operands.map((v) => this.number(v));
    const kind = op.operands.length > 0 ? scalarOf(op.operands[0]!.type) : "index";
    const fn = op.attributes["fn"];
    const set = (compute: (f: Frame) => Held): Step => {
      const to = this.number(op.results[0]!);
      return (f) => void (f.env[to] = compute(f));
    };
    switch (op.name) {
      case "const": {
        const value = op.attributes["value"] as number;
        return set(() => value);
      }
      case "dim": {
        const value = dims[text(op, "name")]!;
        return set(() => value);
      }
      case "rank":
        return set((f) => f.rank);
      case "block":
        return set((f) => f.block);
      case "grid":
        return set((f) => this.machine.gridAt(f.launch));
      case "binary":
        return set((f) =>
          pairwise(f.env[a!]!, f.env[b!]!, (x, y) => binaryOf(algebra, fn as BinaryFunction, kind, x, y)),
        );
      case "unary":
        return set((f) => each(f.env[a!]!, (x) => unaryOf(algebra, fn as UnaryFunction, kind, x)));
      case "compare":
        return set((f) => pairwise(f.env[a!]!, f.env[b!]!, (x, y) => compareOf(algebra, fn as Comparison, x, y)));
      case "select":
        return set((f) => {
          const condition = f.env[a!]!;
          if (typeof condition === "number") return condition !== 0 ? f.env[b!]! : f.env[c!]!;
          const lane = (v: Held, i: number): Number_ => (Array.isArray(v) ? (v as Number_[])[i]! : (v as Number_));
          const lanes = lanesOf(op.results[0]!.type);
          if (lanes === 1) return selectOf(algebra, condition as Number_, f.env[b!] as Number_, f.env[c!] as Number_);
          return Array.from({ length: lanes }, (_, i) =>
            selectOf(algebra, lane(condition, i), lane(f.env[b!]!, i), lane(f.env[c!]!, i)),
          );
        });
      case "cast": {
        const to = scalarOf(op.results[0]!.type);
        return set((f) => each(f.env[a!]!, (x) => castOf(algebra, kind, to, x)));
      }
      case "splat": {
        const lanes = lanesOf(op.results[0]!.type);
        return set((f) => new Array<Number_>(lanes).fill(f.env[a!] as Number_));
      }
      case "aligned":
        return set(() => (this.machine.aligned ? 1 : 0));
      default:
        return null;
    }
  }

  private controlStep(op: Op): Step | null {
    switch (op.name) {
      case "if": {
        const condition = this.number(op.operands[0]!);
        const [then, otherwise] = op.regions.map((r) => this.plain(r));
        return (f) =>
          this.machine.known(f.env[condition]!, "the condition of an if") !== 0 ? then!(f) : otherwise!(f);
      }
      case "for": {
        const body = this.plain(op.regions[0]!);
        const turns = this.turns(op);
        if (op.attributes["map"] !== "threads")
          return (f) => {
            const { count, set } = turns(f);
            for (let i = 0; i < count; i++) {
              set(f, i);
              body(f);
            }
          };
        return (f) => {
          const { trace } = this.machine;
          const { count, set } = turns(f);
          for (let i = 0; i < count; i++) {
            if (trace !== null) f.strand = trace.strand(trace.entity(f.rank, f.block), f.launch);
            set(f, i);
            body(f);
          }
          f.strand = null;
        };
      }
      case "reduce": {
        const region = op.regions[0]!;
        const body = this.plain({ ...region, ops: region.ops.slice(0, -1) });
        const yielded = this.number(region.ops.at(-1)!.operands[0]!);
        const [lo, hi, to, at] = [...op.operands, op.results[0]!, region.arguments[0]!].map((v) => this.number(v));
        const fn = op.attributes["fn"] as Reduction;
        const type = op.results[0]!.type;
        const kind = scalarOf(type);
        const { algebra, inputs } = this.machine;
        const counts = algebra !== null || inputs.decides(op.results[0]!);
        return (f) => {
          const first = identityOf(fn, kind);
          let total: Held = lanesOf(type) === 1 ? first : new Array<Number_>(lanesOf(type)).fill(first);
          const end = this.machine.known(f.env[hi!]!, "the bound of a reduce");
          for (let i = this.machine.known(f.env[lo!]!, "the bound of a reduce"); i < end; i++) {
            f.env[at!] = i;
            body(f);
            if (counts) total = pairwise(total, f.env[yielded]!, (x, y) => binaryOf(algebra, FOLD[fn], kind, x, y));
          }
          f.env[to!] = total;
        };
      }
      default:
        return null;
    }
  }

  /** The turns of a loop that this block takes: how many, and what sets the loop's variables to the i-th. */
  private turns(op: Op): Turns {
    const bounds = op.operands.map((v) => this.number(v));
    const variables = op.regions[0]!.arguments.map((v) => this.number(v));
    const byBlock = text(op, "map") === "blocks";
    const { machine } = this;
    const known = (f: Frame, n: number): number => machine.known(f.env[n]!, "the bound of a loop");
    return (f) => {
      const lows = variables.map((_, d) => known(f, bounds[2 * d]!));
      const lengths = variables.map((_, d) => Math.max(0, known(f, bounds[2 * d + 1]!) - lows[d]!));
      const total = lengths.reduce((a, n) => a * n, 1);
      // With one variable it is its value, with several the number of the turn, that is this block's modulo the grid.
      const grid = machine.gridAt(f.launch);
      const first = variables.length === 1 ? (((f.block - lows[0]!) % grid) + grid) % grid : f.block;
      const start = byBlock ? first : 0;
      const step = byBlock ? grid : 1;
      return {
        count: Math.max(0, Math.ceil((total - start) / step)),
        set: (g, i) => {
          let rest = start + i * step;
          for (let d = variables.length - 1; d >= 0; d--) {
            g.env[variables[d]!] = lows[d]! + (d === 0 ? rest : rest % lengths[d]!);
            rest = Math.floor(rest / lengths[d]!);
          }
        },
      };
    };
  }

  private waitingIf(op: Op): WaitingStep {
    const condition = this.number(op.operands[0]!);
    const [then, otherwise] = op.regions.map((r) => this.waiting(r));
    const { machine } = this;
    return (f) => (machine.known(f.env[condition]!, "the condition of an if") !== 0 ? then!(f) : otherwise!(f));
  }

  private waitingFor(op: Op): WaitingStep {
    if (op.name !== "for") throw new InternalCompilerError(`a wait inside a '${op.name}'`);
    const body = this.waiting(op.regions[0]!);
    const turns = this.turns(op);
    const { machine } = this;
    if (op.attributes["map"] !== "threads")
      return function* (f) {
        const { count, set } = turns(f);
        for (let i = 0; i < count; i++) {
          set(f, i);
          yield* body(f);
        }
      };
    return function* (f) {
      const { trace } = machine;
      let running: { task: Running; blocked: readonly Blocked[] }[] = [];
      const { count, set } = turns(f);
      for (let i = 0; i < count; i++) {
        // Each thread has values of its own, since it may be suspended between two others.
        const strand = trace === null ? null : trace.strand(trace.entity(f.rank, f.block), f.launch);
        const own: Frame = { ...f, env: f.env.slice(), strand };
        set(own, i);
        running.push({ task: body(own), blocked: [] });
      }
      while (running.length > 0) {
        let went = false;
        const rest: typeof running = [];
        for (const r of running) {
          if (r.blocked.length > 0 && !r.blocked.some((b) => b.ready())) {
            rest.push(r);
            continue;
          }
          went = true;
          const next = r.task.next();
          if (next.done !== true) rest.push({ task: r.task, blocked: next.value });
        }
        running = rest;
        if (!went && running.length > 0) yield running.flatMap((r) => r.blocked);
      }
    };
  }
}

function refuse(op: Op): Step {
  return () => {
    throw new CannotTell(`the prover does not know the op '${op.name}'`);
  };
}

export function each(a: Held, fn: (x: Number_) => Number_): Held {
  return Array.isArray(a) ? (a as Number_[]).map(fn) : fn(a as Number_);
}

/** Lane by lane; one number goes with every lane. */
export function pairwise(a: Held, b: Held, fn: (x: Number_, y: Number_) => Number_): Held {
  if (Array.isArray(a)) {
    const x = a as Number_[];
    return Array.isArray(b) ? x.map((v, i) => fn(v, (b as Number_[])[i]!)) : x.map((v) => fn(v, b as Number_));
  }
  return Array.isArray(b) ? (b as Number_[]).map((v) => fn(a as Number_, v)) : fn(a as Number_, b as Number_);
}

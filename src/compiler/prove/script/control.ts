/** Text of regions: loops, conditions and folds. */
import { InternalCompilerError } from "../../diagnostics/ice.js";
import { type Kernel, type Op, type Region, text, type Value } from "../../ir/module.js";
import { definitionOf, type Reduction } from "../../ir/ops.js";
import { lanesOf, scalarOf } from "../../ir/types.js";
import { type Steering, steeringOf } from "../steering.js";
import { FOLD, identityOf } from "../values.js";
import { writeAccess } from "./accesses.js";
import { binaryText, writeValue } from "./values.js";
import { literal, Writer } from "./writer.js";

/** What a run asks: values of data, and traces of accesses. */
export interface Mode {
  readonly hasData: boolean;
  readonly isTraced: boolean;
}

/** Text of a kernel, and the ops it speaks of. */
export interface ScriptText {
  readonly text: string;
  readonly ops: readonly Op[];
}

export function writeScript(kernel: Kernel, mode: Mode): ScriptText {
  const w = new Writer();
  const control = new Control(w, kernel, mode);
  const text = w.finish(() => {
    w.line("const { rank, block } = f;");
    w.line("const grid = M.gridAt(f.launch);");
    control.region(kernel.body);
  });
  return { text, ops: w.ops };
}

class Control {
  private readonly waits = new Map<Region, boolean>();
  private readonly steering: Steering;

  constructor(
    private readonly w: Writer,
    private readonly kernel: Kernel,
    private readonly mode: Mode,
  ) {
    this.steering = steeringOf(kernel);
  }

  region(region: Region): void {
    for (const op of region.ops) if (!this.isIdle(op)) this.op(op);
  }

  /** Where data does not matter: computes nothing that decides what happens. */
  private isIdle({ name, results }: Op): boolean {
    if (this.mode.hasData || definitionOf(name).effect !== "pure") return false;
    return !results.some((v) => this.steering.deciding.has(v));
  }

  private op(op: Op): void {
    const { w, kernel, mode } = this;
    if (writeValue(w, op, mode.hasData)) return;
    switch (op.name) {
      case "if":
        w.line(`if (${w.known(op.operands[0]!, "the condition of an if")} !== 0) {`);
        this.region(op.regions[0]!);
        w.line("} else {");
        this.region(op.regions[1]!);
        w.line("}");
        return;
      case "for":
        if (op.attributes["map"] !== "threads") return this.loop(op, () => this.region(op.regions[0]!));
        return this.hasWait(op.regions[0]!) ? this.waitingThreads(op) : this.threads(op);
      case "reduce":
        return this.fold(op);
      default:
        writeAccess(w, kernel, this.steering, mode, op);
    }
  }

  private hasWait(region: Region): boolean {
    let has = this.waits.get(region);
    if (has === undefined) {
      has = region.ops.some((op) => op.name === "wait" || op.regions.some((r) => this.hasWait(r)));
      this.waits.set(region, has);
    }
    return has;
  }

  /** The turns of a loop that this block takes; `body` writes one. */
  private loop(op: Op, body: () => void): void {
    const { w } = this;
    const variables = op.regions[0]!.arguments;
    const bounds = variables.map((_, d) =>
      [op.operands[2 * d]!, op.operands[2 * d + 1]!].map((v) => w.knownName(v, "the bound of a loop")),
    ) as [string, string][];
    if (text(op, "map") === "blocks") return this.blocks(variables, bounds, body);
    variables.forEach((v, d) => {
      const name = w.fresh("i");
      this.bindIndex(v, name);
      w.line(`for (let ${name} = ${bounds[d]![0]}; ${name} < ${bounds[d]![1]}; ${name}++) {`);
    });
    body();
    w.line("}".repeat(variables.length));
  }

  /** With one variable its value, with several the number of the turn, is this block's modulo the grid. */
  private blocks(variables: readonly Value[], bounds: readonly (readonly [string, string])[], body: () => void): void {
    const { w } = this;
    const [block, grid] = [w.use("block"), w.use("grid")];
    const turn = w.fresh("i");
    if (variables.length === 1) {
      const [low, high] = bounds[0]!;
      w.line(`for (let ${turn} = ${low} + ((((${block} - ${low}) % ${grid}) + ${grid}) % ${grid}); `);
      w.line(`  ${turn} < ${high}; ${turn} += ${grid}) {`);
      this.bindIndex(variables[0]!, turn);
    } else {
      const lengths = bounds.map(([low, high]) => w.variable("n", `Math.max(0, ${high} - ${low})`));
      const total = w.variable("n", lengths.join(" * "));
      w.line(`for (let ${turn} = ${block}; ${turn} < ${total}; ${turn} += ${grid}) {`);
      let rest = turn;
      for (let d = variables.length - 1; d >= 0; d--) {
        const [low] = bounds[d]!;
        const index = w.variable("i", `${low} + ${d === 0 ? rest : `(${rest} % ${lengths[d]!})`}`);
        this.bindIndex(variables[d]!, index);
        if (d > 0) rest = w.variable("n", `Math.trunc(${rest} / ${lengths[d]!})`);
      }
    }
    body();
    w.line("}");
  }

  private bindIndex(v: Value, name: string): void {
    this.w.bind(v, { text: name, isVariable: true, lanes: "one", isKnown: true });
  }

  /** Iterations that never wait, one after the other: each is a strand. */
  private threads(op: Op): void {
    const { w, mode } = this;
    const call = w.outline(() => {
      w.inThreads = true;
      this.loop(op, () => {
        if (mode.isTraced) w.line("const s = (f.strand = T.strand(T.entity(f.rank, f.block), f.launch));");
        this.region(op.regions[0]!);
      });
      if (mode.isTraced) w.line("f.strand = null;");
      w.inThreads = false;
    });
    w.line(`${call};`);
  }

  /** Iterations that may wait, each a coroutine with a frame of its own. */
  private waitingThreads(op: Op): void {
    const { w, mode } = this;
    const all = w.variable("all", "[]");
    w.inThreads = true;
    this.loop(op, () => {
      const strand = mode.isTraced ? "T.strand(T.entity(f.rank, f.block), f.launch)" : "null";
      w.line(`${all}.push((function* (f) {`);
      if (mode.isTraced) w.line("const s = f.strand;");
      this.region(op.regions[0]!);
      w.line(`})({ ...f, strand: ${strand} }));`);
    });
    w.inThreads = false;
    w.line(`yield* inTurns(${all});`);
  }

  private fold(op: Op): void {
    const { w, mode } = this;
    const region = op.regions[0]!;
    const result = op.results[0]!;
    if (this.hasWait(region)) throw new InternalCompilerError("a wait inside a 'reduce'");
    const fn = op.attributes["fn"] as Reduction;
    const kind = scalarOf(result.type);
    const counts = mode.hasData || this.steering.deciding.has(result);
    const [low, high] = op.operands.map((v) => w.knownName(v, "the bound of a reduce"));
    const total = w.fresh("r");
    const index = w.fresh("i");
    if (counts) w.line(`let ${total} = ${literal(identityOf(fn, kind))};`);
    this.bindIndex(region.arguments[0]!, index);
    w.line(`for (let ${index} = ${low}; ${index} < ${high}; ${index}++) {`);
    this.region({ ...region, ops: region.ops.slice(0, -1) });
    const lanes = lanesOf(result.type) === 1 ? "one" : "either";
    let isKnown = false;
    if (counts) {
      const yielded = w.form(region.ops.at(-1)!.operands[0]!);
      isKnown = yielded.isKnown;
      const before = { text: total, isVariable: true, lanes, isKnown } as const;
      w.line(`${total} = ${binaryText(w, FOLD[fn], kind, before, yielded, mode.hasData).text};`);
    }
    w.line("}");
    if (counts) w.bind(result, { text: total, isVariable: true, lanes, isKnown });
  }
}

/**
 * Device-level IR to JavaScript: one generator function that is a block's coroutine.
 *
 * Vectors become one variable a lane. Loops over threads become plain functions with plain loops, since their
 * bodies do not synchronise; only where a body waits for a flag does each thread become a coroutine of its own,
 * as threads that wait for different peers do on a GPU.
 */
import {
  InternalCompilerError,
  lanesOf,
  printKernel,
  scalarOf,
  text,
  type Kernel,
  type Op,
  type Region,
} from "../../compiler/index.js";
import { emitMemory } from "./codegen-memory.js";
import { type CodeOptions, Emitter } from "./emitter.js";
import { binaryText, castText, compareText, foldFunction, identityOf, literal, unaryText } from "./expressions.js";
import type { Site } from "./faults.js";
import type { BinaryFunction, Comparison, Reduction, UnaryFunction } from "../numbers/functions.js";

export interface GeneratedCode {
  /** Body of a function of the names in `HELPERS` (see `compiled.ts`) that returns the block's generator function. */
  readonly text: string;
  readonly sites: readonly Site[];
}

/** Generates the program of a device-level kernel. Throws InternalCompilerError on what no device kernel holds. */
export function generate(kernel: Kernel, options: CodeOptions): GeneratedCode {
  if (kernel.level !== "device")
    throw new InternalCompilerError(
      `the cpu backend runs device-level IR, not ${kernel.level}-level`,
      printKernel(kernel),
    );
  const e = new Emitter(kernel, options);
  emitRegion(e, kernel.body, () => {});
  return { text: e.finish(), sites: e.sites };
}

/** What a `yield` of the region being emitted does with its operand's lanes. */
type OnYield = (lanes: readonly string[]) => void;

function emitRegion(e: Emitter, region: Region, onYield: OnYield): void {
  for (const op of region.ops) emitOp(e, op, onYield);
}

function emitOp(e: Emitter, op: Op, onYield: OnYield): void {
  const [a, b] = op.operands;
  const result = op.results[0];
  const fn = op.attributes["fn"] as string;
  switch (op.name) {
    case "const":
      e.bind(result!, [literal(scalarOf(result!.type), op.attributes["value"] as number)]);
      return;
    case "dim": {
      const name = text(op, "name");
      e.bind(result!, [e.hoist(`D${e.kernel.dims.indexOf(name)}`, `L.dims[${JSON.stringify(name)}]`)]);
      return;
    }
    case "rank":
    case "block":
      e.bind(result!, [e.use(op.name)]);
      return;
    case "grid":
      e.bind(result!, [e.hoist("grid", "L.grid")]);
      return;
    case "binary":
      checkDivisor(e, op);
      e.assign(result!, (i) => binaryText(fn as BinaryFunction, scalarOf(a!.type), e.lane(a!, i), e.lane(b!, i)));
      return;
    case "unary":
      e.assign(result!, (i) => unaryText(fn as UnaryFunction, scalarOf(a!.type), e.lane(a!, i)));
      return;
    case "compare":
      e.assign(result!, (i) => compareText(fn as Comparison, scalarOf(a!.type), e.lane(a!, i), e.lane(b!, i)));
      return;
    case "select":
      e.assign(result!, (i) => `(${e.lane(a!, i)}?${e.lane(b!, i)}:${e.lane(op.operands[2]!, i)})`);
      return;
    case "cast":
      e.assign(result!, (i) => castText(scalarOf(a!.type), scalarOf(result!.type), e.lane(a!, i)));
      return;
    case "splat":
      e.bind(result!, [e.lane(a!)]);
      return;
    case "for":
      return emitFor(e, op, onYield);
    case "if":
      e.line(`if(${e.lane(a!)}){`);
      emitRegion(e, op.regions[0]!, onYield);
      if (op.regions[1]!.ops.length > 0) e.line("}else{");
      emitRegion(e, op.regions[1]!, onYield);
      e.line("}");
      return;
    case "reduce":
      return emitReduce(e, op);
    case "yield":
      return onYield(Array.from({ length: lanesOf(a!.type) }, (_, i) => e.lane(a!, i)));
    default:
      if (!emitMemory(e, op))
        throw new InternalCompilerError(
          `'${op.name}' reached the cpu backend; an earlier pass expands it`,
          printKernel(e.kernel),
        );
  }
}

/** Integers must not be divided by zero, nor indices by what is not above zero: GPUs would give different nonsense. */
function checkDivisor(e: Emitter, op: Op): void {
  const fn = op.attributes["fn"];
  const [a, b] = op.operands;
  const kind = scalarOf(a!.type);
  if ((fn !== "div" && fn !== "rem") || !["index", "i32", "u32", "i8", "u8"].includes(kind)) return;
  for (let i = 0; i < lanesOf(a!.type); i++) {
    const x = e.lane(a!, i);
    const y = e.lane(b!, i);
    const known = /^[1-9]\d*$/.test(y);
    if (known) continue;
    const { id, who } = e.site(op);
    e.line(`if(${y}${kind === "index" ? "<=" : "==="}0)L.faults.arithmetic(${id},${who},${x},${y});`);
  }
}

function emitReduce(e: Emitter, op: Op): void {
  const fn = text(op, "fn") as Reduction;
  const type = op.results[0]!.type;
  const kind = scalarOf(type);
  const [low, high] = [e.lane(op.operands[0]!), e.lane(op.operands[1]!)];
  const totals = e.define(op.results[0]!);
  for (const t of totals) e.line(`let ${t}=${literal(kind, identityOf(fn, kind))};`);
  const region = op.regions[0]!;
  const variable = e.define(region.arguments[0]!)[0]!;
  e.line(`for(let ${variable}=${low};${variable}<${high};${variable}++){`);
  emitRegion(e, region, (lanes) =>
    totals.forEach((t, i) => {
      const next = lanes[lanes.length === 1 ? 0 : i]!;
      e.line(`${t}=${binaryText(foldFunction(fn), kind, t, next)};`);
    }),
  );
  e.line("}");
}

function emitFor(e: Emitter, op: Op, onYield: OnYield): void {
  const region = op.regions[0]!;
  const bounds = region.arguments.map(
    (_, d) => [e.lane(op.operands[2 * d]!), e.lane(op.operands[2 * d + 1]!)] as const,
  );
  const body = (): void => emitRegion(e, region, onYield);
  switch (text(op, "map")) {
    case "serial":
    case "ranks":
      return nestedLoops(e, region, bounds, false, body);
    case "blocks": {
      const block = e.use("block");
      const grid = e.hoist("grid", "L.grid");
      if (bounds.length > 1) return linearLoop(e, region, bounds, block, grid, body);
      const [low, high] = bounds[0]!;
      const v = e.define(region.arguments[0]!)[0]!;
      // The first index from `low` up that is this block's number modulo the grid.
      const first = /^0$/.test(low) ? block : `${low}+((${block}-${low})%${grid}+${grid})%${grid}`;
      e.line(`for(let ${v}=${first};${v}<${high};${v}+=${grid}){`);
      body();
      e.line("}");
      return;
    }
    case "threads":
      return emitThreads(e, op, bounds, body);
    default:
      throw new InternalCompilerError(`a loop over ${text(op, "map")} reached the cpu backend`, printKernel(e.kernel));
  }
}

type Bounds = readonly (readonly [string, string])[];

function nestedLoops(e: Emitter, region: Region, bounds: Bounds, reverse: boolean, body: () => void): void {
  bounds.forEach(([low, high], d) => {
    const v = e.define(region.arguments[d]!)[0]!;
    e.line(reverse ? `for(let ${v}=${high}-1;${v}>=${low};${v}--){` : `for(let ${v}=${low};${v}<${high};${v}++){`);
  });
  body();
  for (const _ of bounds) e.line("}");
}

/** A loop over every `step`-th iteration from number `first`, counted row-major over all variables. */
function linearLoop(e: Emitter, region: Region, bounds: Bounds, first: string, step: string, body: () => void): void {
  const counts = bounds.map(([low, high]) => {
    const n = e.fresh("n");
    e.line(`const ${n}=${high}>${low}?${high}-${low}:0;`);
    return n;
  });
  const q = e.fresh("q");
  e.line(`for(let ${q}=${first};${q}<${counts.join("*")};${q}+=${step}){`);
  bounds.forEach(([low], d) => {
    const v = e.define(region.arguments[d]!)[0]!;
    const inner = counts.slice(d + 1);
    const quotient = inner.length === 0 ? q : `floor(${q}/(${inner.join("*")}))`;
    e.line(`const ${v}=${low}+${d === 0 ? quotient : `${quotient}%${counts[d]}`};`);
  });
  body();
  e.line("}");
}

function emitThreads(e: Emitter, op: Op, bounds: Bounds, body: () => void): void {
  const region = op.regions[0]!;
  const iteration = (): void => e.iteration(body);
  e.preemption();
  if (!waits(region)) {
    if (!e.inGenerator) return nestedLoops(e, region, bounds, e.options.reverseThreads, iteration);
    const call = e.outline(false, [], () => {
      for (const bound of bounds.flat()) e.mention(bound);
      nestedLoops(e, region, bounds, e.options.reverseThreads, iteration);
    });
    e.line(`${call([])};`);
    return;
  }
  const call = e.outline(true, ["first", "step"], () => {
    for (const bound of bounds.flat()) e.mention(bound);
    linearLoop(e, region, bounds, "first", "step", iteration);
  });
  const total = bounds.map(([low, high]) => `max(${high}-${low},0)`).join("*");
  const threads = Math.max(e.kernel.blockThreads, 1);
  e.line(`yield* join(${total},${threads},(first,step)=>${call(["first", "step"])});`);
}

/** Whether a wait stands anywhere in the region. */
function waits(region: Region): boolean {
  return region.ops.some((op) => op.name === "wait" || op.regions.some(waits));
}

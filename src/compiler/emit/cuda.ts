/**
 * Device-level IR → CUDA C for NVRTC, without includes. One case an op, driven by types and attributes;
 * what a kernel is for is not known here.
 */
import { InternalCompilerError } from "../diagnostics/ice.js";
import {
  bufferOf,
  isRemote,
  type Kernel,
  memoryOperands,
  type Op,
  type Region,
  text,
  type Value,
} from "../ir/module.js";
import { printKernel } from "../ir/print.js";
import { REDUCE } from "../ir/functions.js";
import type { BinaryFunction, Comparison, Reduction, UnaryFunction } from "../ir/ops.js";
import { lanesOf, scalarOf, type Type } from "../ir/types.js";
import { walkKernel } from "../ir/visit.js";
import type { SourceFile } from "../source.js";
import { isDivision, type LaunchLengths, launchLengthsOf } from "./launch-lengths.js";
import { parameterTexts } from "./manifest.js";
import { fragmentBranch, fragmentBranchText, fragmentLoopText, fragmentThreads } from "./fragments.js";
import { apartText, endInTurns, type Turn, turnsText } from "./products.js";
import { fragmentLoadText, type FragmentElements, isAheadText, isPlaceText } from "./fragment-elements.js";
import { flagText, isWithPacket, packetLoadsText, packetStoreText } from "./flags.js";
import { IndexFacts, quotientText } from "./index-facts.js";
import { bufferName, dimName, scalarName, Names, symbolName } from "./names.js";
import { type PreludePart, preludeText } from "./prelude.js";
import { binaryText, C_TYPE, castText, choosesWords, compareText, literalText, unaryText } from "./scalars.js";
import { pieceText } from "./pieces.js";
import { meetText, rolesText, stageOf, turnText } from "./roles.js";
import { sharedLayout } from "./shared-layout.js";
import { tileText } from "./tiles.js";

export function emitCuda(kernel: Kernel, source: SourceFile | null): string {
  return new CudaEmitter(kernel, source).emit();
}

export class CudaEmitter {
  readonly lines: string[] = [];
  readonly names = new Names();
  readonly shared;
  private readonly used = new Set<PreludePart>(["types"]);
  private indent = "  ";
  private lastLine = 0;
  private readonly constants = new Map<Value, number>();
  /** Numbers of stages of rings, which have few. */
  private readonly stages = new Set<Value>();
  /** Functions that ops of this kernel need, by name, beside the prelude's. */
  private readonly helpers = new Map<string, string>();
  /** The threads that run the text, the block's or those of a role, and the number of the barrier that they meet at. */
  role: { readonly threads: number; readonly first: number; readonly barrier: number };
  fragment: FragmentElements | null = null;
  turn: Turn | null = null;
  /** Whether the compiler may not write loops out as it likes: where there are roles, that is most of what it takes time for. */
  private readonly isLong: boolean;
  /** Whether a loop over threads is around. */
  private isInThreads = false;
  readonly facts = new IndexFacts();
  /** For the row of a loop over blocks, a name for how many its block has taken before. */
  private readonly taken = new Map<Value, string>();
  /** What the launch computes, and the kernel takes for granted. */
  readonly launched: LaunchLengths;

  constructor(
    readonly kernel: Kernel,
    private readonly source: SourceFile | null,
  ) {
    this.shared = sharedLayout(kernel);
    this.launched = launchLengthsOf(kernel);
    this.role = { threads: kernel.blockThreads, first: 0, barrier: 0 };
    this.isLong = kernel.buffers.some((b) => b.role === "ring");
  }

  helper(name: string, definition: string): void {
    this.helpers.set(name, definition);
  }

  /** Prints a region as the text of some of the block's threads. */
  inRole(role: CudaEmitter["role"], region: Region): void {
    const outer = this.role;
    this.role = role;
    this.region(region);
    this.role = outer;
  }

  /** Prints the body of a loop over an accumulator's elements. */
  inFragment(elements: FragmentElements, region: Region): void {
    this.fragment = elements;
    this.region(region);
    this.fragment = null;
  }

  /** Prints ops of a stage whose sums are these. */
  inTurn(turn: Turn, region: Region): void {
    this.turn = turn;
    this.region(region);
    this.turn = null;
  }

  readonly use = (part: PreludePart): void => void this.used.add(part);

  emit(): string {
    const { kernel } = this;
    if (kernel.level !== "device")
      throw new InternalCompilerError("only device-level IR is printed as CUDA", printKernel(kernel));
    this.openings();
    this.region(kernel.body);
    const where = this.source === null ? "" : ` from ${this.source.name}`;
    const head = `// ${kernel.name}${where}, compiled by collc for ${kernel.world} rank${kernel.world === 1 ? "" : "s"}`;
    const flags =
      "// By hand, compile it with --fmad=false: ranks that hold one tensor round products and sums alike, one by one.";
    const signature = `extern "C" __global__ void __launch_bounds__(${kernel.blockThreads}, ${kernel.blocksEach ?? 1})\n${symbolName(kernel)}(${parameterTexts(kernel).join(", ")})`;
    const prelude = [preludeText(this.used), ...this.helpers.values()].join("\n");
    return `${head}\n${flags}\n${prelude}\n\n${signature} {\n${this.lines.join("\n")}\n}\n`;
  }

  line(s: string): void {
    this.lines.push(this.indent + s);
  }

  block(head: string, body: () => void, tail = "}"): void {
    this.line(head === "" ? "{" : `${head} {`);
    this.indented(body);
    this.line(tail);
  }

  /** Local views of peers' tables, shared memory, accumulators and the watch on waits. */
  private openings(): void {
    if (this.kernel.early === true)
      this.line('asm volatile("griddepcontrol.launch_dependents;\\n\\tgriddepcontrol.wait;" ::: "memory");');
    let waits = false;
    walkKernel(this.kernel, (op) => {
      waits ||= op.name === "wait" || op.name === "packet_load";
      const stage = stageOf(op, this.kernel);
      if (stage !== null) this.stages.add(stage);
      if (op.name === "const") this.constants.set(op.results[0]!, op.attributes["value"] as number);
    });
    if (waits) {
      this.use("signals");
      this.line("const Watch watch = {timeout, status, (u32)rank};");
    }
    if (this.shared.bytes > 0) this.line("extern __shared__ __align__(1024) unsigned char shared_memory[];");
    for (const b of this.kernel.buffers) {
      const type = C_TYPE[b.dtype];
      if (b.symmetric)
        this.line(`${type}* const ${bufferName(b.name)} = (${type}*)${bufferName(b.name)}_peers.p[rank];`);
      const place = this.shared.places.get(b.name);
      if (place !== undefined)
        this.line(`${type}* const ${bufferName(b.name)} = (${type}*)(shared_memory + ${place.offset});`);
      if (b.role === "register") this.line(`${type} ${bufferName(b.name)}[${b.shape.join(" * ")}];`);
      if (b.role === "fragment") {
        const elements = (b.shape as number[]).reduce((x, y) => x * y, 1) / fragmentThreads(this.kernel);
        this.line(`${type} ${bufferName(b.name)}[${elements}];`);
        const apart = apartText(b, this);
        apart?.names.forEach((name, i) => this.line(`float ${name}[${apart.counts[i]!}];`));
      }
    }
  }

  indented(body: () => void): void {
    const outer = this.indent;
    this.indent += "  ";
    body();
    this.indent = outer;
  }

  private region(region: Region): void {
    const ended = new Set<Op>();
    for (let i = 0; i < region.ops.length; i++) {
      const op = region.ops[i]!;
      if (ended.has(op)) continue;
      this.mark(op);
      const turn = op.name === "ring_acquire" ? turnText(region.ops.slice(i), this) : null;
      if (turn !== null) return this.block(`if (${turn})`, () => region.ops.slice(i).forEach((o) => this.op(o)));
      const end = op.name === "for" ? endInTurns(op, region.ops.slice(i + 1), this) : null;
      if (end !== null) {
        turnsText(op, end, this);
        ended.add(end);
      } else if (op.name !== "packet_load") this.op(op);
      else {
        const next = region.ops.slice(i).findIndex((o) => !isWithPacket(o, op));
        const together = region.ops.slice(i, next < 0 ? undefined : i + next);
        packetLoadsText(together, this);
        i += together.length - 1;
      }
    }
  }

  /** Says in a comment which source line the text comes from, when that changes. */
  private mark(op: Op): void {
    if (this.source === null || op.span.end === 0) return;
    const { line } = this.source.position(op.span.start);
    if (line === this.lastLine || op.name === "const") return;
    this.lastLine = line;
    const { start } = op.span;
    this.line(`// ${this.source.fileOf(start)}:${line}: ${this.source.line(line, start).trim()}`);
  }

  lineOf(op: Op): number {
    return this.source === null ? 0 : this.source.position(op.span.start).line;
  }

  name(v: Value): string {
    return this.names.of(v);
  }

  cType(type: Type): string {
    const lanes = lanesOf(type);
    const element = C_TYPE[scalarOf(type)];
    if (lanes === 1) return element;
    this.use("vector");
    return `Vec<${element}, ${lanes}>`;
  }

  /** Defines the op's result by a scalar expression, once a lane. */
  private define(op: Op, make: (operands: readonly string[]) => string): void {
    const result = op.results[0]!;
    const lanes = lanesOf(result.type);
    const name = this.name(result);
    if (lanes === 1) {
      this.line(`const ${this.cType(result.type)} ${name} = ${make(op.operands.map((v) => this.name(v)))};`);
      return;
    }
    const operands = op.operands.map((v) => (lanesOf(v.type) === 1 ? this.name(v) : `${this.name(v)}.v[l]`));
    this.line(`${this.cType(result.type)} ${name};`);
    this.line("#pragma unroll");
    this.line(`for (int l = 0; l < ${lanes}; l++) ${name}.v[l] = ${make(operands)};`);
  }

  /** Whether an op divides by what is not known before the launch, where registers are few, or once for all elements. */
  private isLongDivision(op: Op): boolean {
    if (!isDivision(op) || this.constants.has(op.operands[1]!) || scalarOf(op.results[0]!.type) !== "index")
      return false;
    return this.isLong || (!this.isInThreads && op.operands.every((v) => this.facts.isNatural(v)));
  }

  /** Whether a number that is not below zero is divided by another one. */
  private isCounted({ attributes: { fn }, operands: [a, b], results }: Op): boolean {
    const isIndex = scalarOf(results[0]!.type) === "index" && (fn === "div" || fn === "rem");
    return isIndex && this.facts.isNatural(a!) && this.facts.isNatural(b!);
  }

  /** A number of the launch: a name for it, or where it is to be taken anew, a register that nobody knows the value of. */
  private given(op: Op, value: string): void {
    if (op.attributes["near"] !== true) return void this.names.set(op.results[0]!, value);
    this.takenAnew(op.results[0]!, value);
  }

  private takenAnew(v: Value, value: string): void {
    const name = this.name(v);
    this.line(`i64 ${name} = ${value};`);
    this.line(`asm volatile("" : "+l"(${name}));`);
  }

  private op(op: Op): void {
    this.facts.note(op);
    if (this.launched.unused.has(op)) {
      const name = this.launched.names.get(op.results[0]!);
      if (name === undefined) return;
      if (scalarOf(op.results[0]!.type) === "bool")
        return void this.names.set(op.results[0]!, `(${dimName(name)} != 0)`);
      return this.takenAnew(op.results[0]!, dimName(name));
    }
    const fn = op.attributes["fn"];
    switch (op.name) {
      case "const": {
        const type = op.results[0]!.type;
        this.names.set(op.results[0]!, literalText(op.attributes["value"] as number, scalarOf(type), this.use));
        if (lanesOf(type) > 1) throw new InternalCompilerError("a literal is a scalar");
        return;
      }
      case "dim":
        return this.given(op, dimName(text(op, "name")));
      case "scalar":
        return this.names.set(op.results[0]!, scalarName(text(op, "name")));
      case "rank":
        return this.given(op, "(i64)rank");
      case "block":
        return this.names.set(op.results[0]!, "(i64)blockIdx.x");
      case "grid":
        return this.names.set(op.results[0]!, "(i64)gridDim.x");
      case "binary":
        if (this.fragment !== null && isPlaceText(op, this.fragment, this.constants, this)) return;
        if (this.stages.has(op.results[0]!) && fn === "rem" && this.constants.has(op.operands[1]!))
          return this.define(op, ([a]) => `(u32)${a!} % ${this.constants.get(op.operands[1]!)!}u`);
        if (this.facts.isTaken(op) && this.taken.has(op.operands[0]!))
          return this.names.set(op.results[0]!, this.taken.get(op.operands[0]!)!);
        if (this.isLongDivision(op)) return this.define(op, ([a, b]) => quotientText(op, a!, b!, this));
        if (this.isCounted(op)) return this.define(op, ([a, b]) => `(i64)((u64)${a!} ${fn === "div" ? "/" : "%"} (u64)${b!})`); // prettier-ignore
        return this.define(op, ([a, b]) => binaryText(fn as BinaryFunction, scalarOf(op.results[0]!.type), a!, b!));
      case "unary":
        return this.define(op, ([a]) => unaryText(fn as UnaryFunction, scalarOf(op.results[0]!.type), a!, this.use));
      case "compare":
        return this.define(op, ([a, b]) => compareText(fn as Comparison, a!, b!));
      case "select":
        if (!choosesWords(op)) return this.define(op, ([c, a, b]) => `${c} ? ${a} : ${b}`);
        this.use("choose");
        return this.line(`const ${this.cType(op.results[0]!.type)} ${this.name(op.results[0]!)} = choose(${op.operands.map((v) => this.name(v)).join(", ")});`); // prettier-ignore
      case "cast":
        if (op === this.fragment?.cast) return this.names.set(op.results[0]!, this.name(op.operands[0]!));
        return this.define(op, ([a]) =>
          castText(scalarOf(op.operands[0]!.type), scalarOf(op.results[0]!.type), a!, this.use),
        );
      case "splat":
        return this.define(op, ([a]) => a!);
      case "pack": {
        const elements = op.operands.map((v) => this.name(v)).join(", ");
        return this.line(`const ${this.cType(op.results[0]!.type)} ${this.name(op.results[0]!)} = {{${elements}}};`);
      }
      case "lane":
        return this.define(op, ([a]) => `${a}.v[${String(op.attributes["lane"])}]`);
      case "packet_store":
        return packetStoreText(op, this);
      case "for":
        return this.loop(op);
      case "if":
        return this.branch(op);
      case "reduce":
        return this.reduce(op);
      case "load":
        return this.load(op);
      case "store":
        return this.store(op);
      case "aligned": {
        const start = this.address(op, memoryOperands(op).peer);
        return this.define(op, () => `(u64)${start} % ${String(op.attributes["bytes"])} == 0`);
      }
      case "block_sync":
        return meetText(this);
      case "roles":
        return rolesText(op, this);
      case "signal":
      case "wait":
        return flagText(op, this);
      case "copy_tile":
      case "copy_commit":
      case "copy_wait":
      case "fragment_clear":
      case "mma":
      case "mma_wait":
      case "ring_acquire":
      case "ring_fill":
      case "ring_wait":
      case "ring_release":
      case "fragment_store":
        return tileText(op, this);
      case "fragment_put":
      case "fragment_add":
        return pieceText(op, this);
      default:
        throw new InternalCompilerError(`'${op.name}' cannot be printed as CUDA`, printKernel(this.kernel));
    }
  }

  private loop(op: Op): void {
    const i = this.name(op.regions[0]!.arguments[0]!);
    const [lo, hi] = op.operands.map((v) => this.name(v)) as [string, string];
    const [from, to] = op.operands.map((v) => this.constants.get(v));
    const around = this.isInThreads;
    const body = (): void => {
      this.isInThreads ||= op.attributes["map"] === "threads";
      this.region(op.regions[0]!);
      this.isInThreads = around;
    };
    const { threads, first: firstThread } = this.role;
    const thread = firstThread === 0 ? "threadIdx.x" : `(threadIdx.x - ${firstThread})`;
    const pragma = (): void => {
      const copies = op.attributes["unroll"] ?? (this.isLong ? 1 : undefined);
      if (copies !== undefined) this.line(`#pragma unroll ${String(copies)}`);
    };
    switch (op.attributes["map"]) {
      case "serial":
        pragma();
        return this.block(`for (i64 ${i} = ${lo}; ${i} < ${hi}; ${i}++)`, body);
      case "blocks": {
        const first = from === 0 ? "blockIdx.x" : this.firstRow(op.operands[0]!, lo);
        const counts = from === 0 && this.facts.countsTaken(op);
        if (counts) this.taken.set(op.regions[0]!.arguments[0]!, `(i64)${i}_before`);
        if (counts) this.line(`u32 ${i}_before = 0;`);
        pragma();
        return this.block(`for (i64 ${i} = ${first}; ${i} < ${hi}; ${i} += gridDim.x${counts ? `, ${i}_before++` : ""})`, body); // prettier-ignore
      }
      case "threads":
        if (from === 0 && to === threads)
          return this.block("", () => (this.line(`const i64 ${i} = ${thread};`), body()));
        if (from === 0 && to !== undefined && to < threads)
          return this.block(`if (${thread} < ${to})`, () => (this.line(`const i64 ${i} = ${thread};`), body()));
        if (this.facts.isWithin(op.operands[0]!, op.operands[1]!, threads))
          return this.block("", () => {
            this.line(`const i64 ${i} = ${from === 0 ? "" : `${lo} + `}${thread};`);
            this.block(`if (${i} < ${hi})`, body);
          });
        pragma();
        return this.block(
          `for (i64 ${i} = ${from === 0 ? "" : `${lo} + `}${thread}; ${i} < ${hi}; ${i} += ${threads})`,
          body,
        );
      case "fragment":
        return fragmentLoopText(op, this);
      default:
        throw new InternalCompilerError(
          `a loop over ${String(op.attributes["map"])} cannot be printed as CUDA`,
          printKernel(this.kernel),
        );
    }
  }

  /** Where the rows of a block begin in a loop from `lo` on: behind whole rounds of all blocks nothing has to be divided. */
  private firstRow(lo: Value, name: string): string {
    if (this.facts.isRound(lo)) return `${name} + blockIdx.x`;
    this.use("firstRow");
    return `first_row(${name})`;
  }

  private branch(op: Op): void {
    const [then, otherwise] = op.regions as [Region, Region];
    const condition = this.name(op.operands[0]!);
    const loops = fragmentBranch(op, this);
    if (loops !== null) {
      for (const o of [...then.ops, ...otherwise.ops]) if (o.name === "const") this.op(o);
      return fragmentBranchText(condition, loops, this);
    }
    if (otherwise.ops.length === 0) return this.block(`if (${condition})`, () => this.region(then));
    // What tensors that begin elsewhere take stands behind all else: a block fetches its instructions one after the other.
    const isUsual = this.facts.isUsual(op.operands[0]!);
    this.block(isUsual ? `if (__builtin_expect(${condition}, true))` : `if (${condition})`, () => this.region(then), "} else {"); // prettier-ignore
    this.indented(() => this.region(otherwise));
    this.line("}");
  }

  private reduce(op: Op): void {
    const result = op.results[0]!;
    const kind = scalarOf(result.type);
    const [body] = op.regions;
    const k = this.name(body!.arguments[0]!);
    const { fn, identity } = REDUCE[op.attributes["fn"] as Reduction];
    const lanes = lanesOf(result.type);
    const name = this.name(result);
    const at = lanes === 1 ? "" : ".v[l]";
    const each = (s: string): void => this.line(lanes === 1 ? s : `for (int l = 0; l < ${lanes}; l++) ${s}`);
    this.line(`${this.cType(result.type)} ${name};`);
    each(`${name}${at} = ${literalText(identity(kind), kind, this.use)};`);
    const [lo, hi] = op.operands.map((v) => this.name(v));
    if ("unroll" in op.attributes) this.line(`#pragma unroll ${String(op.attributes["unroll"])}`);
    this.block(`for (i64 ${k} = ${lo}; ${k} < ${hi}; ${k}++)`, () => {
      this.region({ arguments: [], ops: body!.ops.slice(0, -1) });
      each(
        `${name}${at} = ${binaryText(fn, kind, `${name}${at}`, `${this.name(body!.ops.at(-1)!.operands[0]!)}${at}`)};`,
      );
    });
  }

  /** Start of the buffer an op names: this rank's, or the peer's. */
  address(op: Op, peer: Value | null, key = "buffer"): string {
    const buffer = bufferOf(this.kernel, text(op, key));
    const name = bufferName(buffer.name);
    return isRemote(op) && peer !== null ? `((${C_TYPE[buffer.dtype]}*)${name}_peers.p[${this.name(peer)}])` : name;
  }

  private linear(op: Op, indices: readonly Value[]): string {
    const buffer = bufferOf(this.kernel, text(op, "buffer"));
    if (indices.length !== 1 && buffer.shape.length !== indices.length)
      throw new InternalCompilerError("an index was not linearised");
    return this.name(indices[0]!);
  }

  private load(op: Op): void {
    const { peer, indices } = memoryOperands(op);
    const result = op.results[0]!;
    if (bufferOf(this.kernel, text(op, "buffer")).role === "fragment") return fragmentLoadText(op, this.fragment, this);
    const at = `${this.address(op, peer)} + ${this.linear(op, indices)}`;
    const lanes = lanesOf(result.type);
    const element = C_TYPE[scalarOf(result.type)];
    if (this.fragment !== null && isAheadText(op, at, this.fragment, this)) return;
    // Whoever brings truth values may bring any byte: as `bool` itself, C takes it for 0 or 1 unseen.
    const isBool = element === C_TYPE.bool;
    const one = isBool ? `*(const u8*)(${at}) != 0` : `*(${at})`;
    if (isBool && lanes > 1) this.use("bools");
    const value = lanes === 1 ? one : isBool ? `load_bools<${lanes}>(${at})` : `load_vec<${element}, ${lanes}>(${at})`;
    this.line(`const ${this.cType(result.type)} ${this.name(result)} = ${value};`);
  }

  private store(op: Op): void {
    const { value, peer, indices } = memoryOperands(op);
    const at = `${this.address(op, peer)} + ${this.linear(op, indices)}`;
    const name = this.name(value!);
    this.cType(value!.type);
    this.line(lanesOf(value!.type) === 1 ? `*(${at}) = ${name};` : `store_vec(${at}, ${name});`);
  }
}

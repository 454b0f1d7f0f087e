/** Text of ops that touch memory, flags and tiles, with their traces. */
import { bufferOf, type Kernel, memoryOperands, type Op, text, type Value } from "../../ir/module.js";
import { lanesOf } from "../../ir/types.js";
import type { Steering } from "../steering.js";
import { READ, WRITE } from "../trace.js";
import type { Mode } from "./control.js";
import type { Writer } from "./writer.js";

export function writeAccess(w: Writer, kernel: Kernel, steering: Steering, mode: Mode, op: Op): void {
  const access = new Access(w, kernel, steering, mode, op);
  switch (op.name) {
    case "load":
      return access.load();
    case "store":
      return access.store();
    case "signal":
      return access.signal();
    case "wait":
      return access.wait();
    case "block_sync":
      if (w.inThreads) w.line(`refuse("a block synchronises inside a loop over threads");`);
      else if (mode.isTraced) w.line("T.endPhase(T.entity(f.rank, f.block));");
      return;
    case "copy_tile":
    case "copy_commit":
    case "copy_wait":
    case "fragment_clear":
    case "mma":
    case "fragment_store":
      return access.tile();
    default:
      w.line(`refuse("the prover does not know the op '${op.name}'");`);
  }
}

class Access {
  constructor(
    private readonly w: Writer,
    private readonly kernel: Kernel,
    private readonly steering: Steering,
    private readonly mode: Mode,
    private readonly op: Op,
  ) {}

  private get buffer(): { readonly name: string; readonly number: number; readonly role: string } {
    const buffer = bufferOf(this.kernel, text(this.op, "buffer"));
    return { name: buffer.name, number: this.kernel.buffers.indexOf(buffer), role: buffer.role };
  }

  /** Whether what a buffer holds is kept: it is data, or decides what happens. A register is a value that nobody else sees. */
  private hasValue(name: string, role: string): boolean {
    const decides = this.steering.inputs.has(name) || this.steering.carriers.has(name);
    return this.mode.hasData || role === "state" || role === "register" || decides;
  }

  /** Writes the test of where an access goes; gives the texts of the owner's rank and of the element's number. */
  private target(peer: Value | null, indices: readonly Value[], lanes: number): { owner: string; index: string } {
    const { w, op } = this;
    const { number } = this.buffer;
    const owner = peer === null ? w.use("rank") : w.knownName(peer, `the rank that a ${op.name} goes to`);
    const parts = indices.map((v) => w.knownName(v, `the address of a ${op.name}`));
    const tests = peer === null ? [] : [`${owner} >= 0 && ${owner} < ${this.kernel.world}`];
    let index = parts[0] ?? "0";
    if (parts.length > 1) {
      const lengths = parts.map((_, d) => w.constant(`S${number}_${d}`, `M.shapes[${number}][${d}]`));
      parts.forEach((part, d) => tests.push(`${part} >= 0 && ${part} < ${lengths[d]!}`));
      index = w.variable(
        "a",
        parts.reduce((sum, part, d) => `(${sum} * ${lengths[d]!} + ${part})`),
      );
    }
    const length = w.constant(`N${number}`, `M.lengths[${number}]`);
    tests.push(`${index} >= 0 && ${index} <= ${length} - ${lanes}`);
    if (lanes > 1) tests.push(`${index} % ${lanes} === 0`);
    w.line(
      `if (!(${tests.join(" && ")})) outside(M, f, ${w.op(op)}, ${number}, ${owner}, [${parts.join()}], ${lanes});`,
    );
    return { owner, index };
  }

  private get strand(): string {
    return this.w.inThreads ? "s" : "M.strandOf(f)";
  }

  private trace(owner: string, index: string, lanes: number, kind: number): void {
    const { w, op, mode } = this;
    const { number, role } = this.buffer;
    if (!mode.isTraced || role === "register") return;
    const traced = w.opInTrace(op);
    if (role === "shared") return w.line(`M.noteShared(f, ${traced}, ${number}, ${index}, ${lanes}, ${kind});`);
    const first = w.constant(`G${number}`, `M.memoryOf(${number}, 0)`);
    w.line(`T.access(${this.strand}, ${traced}, ${first} + ${owner}, ${index}, ${lanes}, ${kind});`);
  }

  /** Text of the elements that hold the values of a buffer. */
  private memory(owner: string): string {
    const { number, role } = this.buffer;
    if (role === "shared" || role === "register") return `f.own[${number}]`;
    return `${this.w.constant(`m${number}`, `M.memory[${number}]`)}[${owner}]`;
  }

  load(): void {
    const { w, op } = this;
    const { name, number, role } = this.buffer;
    const result = op.results[0]!;
    if (role === "signal" || role === "fragment") {
      w.line(`refuse(${JSON.stringify(`a load of '${name}' reads a flag without waiting for it`)});`);
      return w.bind(result, { text: "OPAQUE", isVariable: false, lanes: "one", isKnown: false });
    }
    const { peer, indices } = memoryOperands(op);
    const lanes = lanesOf(result.type);
    const { owner, index } = this.target(peer, indices, lanes);
    w.ran(op);
    this.trace(owner, index, lanes, READ);
    if (!this.hasValue(name, role))
      return w.bind(result, { text: "OPAQUE", isVariable: false, lanes: "one", isKnown: false });
    const memory = this.memory(owner);
    const unwritten = `unwritten(M, ${number}, ${owner}, ${index})`;
    if (lanes === 1) w.define(result, `${memory}[${index}] ?? ${unwritten}`, "one", false);
    else w.define(result, `lanesAt(M, ${memory}, ${number}, ${owner}, ${index}, ${lanes})`, "many", false);
  }

  store(): void {
    const { w, op } = this;
    const { name, role } = this.buffer;
    if (role === "signal" || role === "fragment")
      return w.line(`refuse(${JSON.stringify(`a plain store sets the flag '${name}'`)});`);
    const { value, peer, indices } = memoryOperands(op);
    const lanes = lanesOf(value!.type);
    const { owner, index } = this.target(peer, indices, lanes);
    w.ran(op);
    this.trace(owner, index, lanes, WRITE);
    if (!this.hasValue(name, role)) return;
    const held = w.formOf(value!)?.text ?? "OPAQUE";
    const memory = this.memory(owner);
    if (lanes === 1) w.line(`${memory}[${index}] = ${held};`);
    else w.line(`put(${memory}, ${index}, ${held}, ${lanes});`);
  }

  signal(): void {
    const { w, op } = this;
    const { name, number } = this.buffer;
    const { value, peer, indices } = memoryOperands(op);
    const { owner, index } = this.target(peer, indices, 1);
    w.ran(op);
    const amount = w.known(value!, "the value of a signal");
    const flag = `${number}, ${JSON.stringify(name)}, ${owner}, ${index}`;
    w.line(`signal(M, f, ${w.op(op)}, ${flag}, ${amount} >>> 0);`);
  }

  wait(): void {
    const { w, op } = this;
    const { name, number } = this.buffer;
    const [value, slot, peer] = op.operands;
    const { index } = this.target(null, [slot!], 1);
    w.ran(op);
    const wanted = w.known(value!, "the value of a wait");
    const expected = peer === undefined ? "-1" : w.known(peer, "the peer of a wait");
    const flag = `${number}, ${JSON.stringify(name)}, ${index}`;
    w.line(`yield* wait(M, f, ${w.op(op)}, ${flag}, ${wanted} >>> 0, ${expected});`);
  }

  tile(): void {
    const { w, op } = this;
    w.ran(op);
    const operands = op.operands.map((v) => w.form(v).text);
    const number = w.op(op);
    const step = w.constant(`step${number.slice(2, -1)}`, `tileStep(M, ${number})`);
    w.line(`${step}(${["f", ...operands].join(", ")});`);
  }
}

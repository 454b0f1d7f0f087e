/** Ops that touch memory. Every access is checked before it is made, and told to the observer. */
import { InternalCompilerError } from "../../diagnostics/ice.js";
import { bufferOf, isGlobal, memoryOperands, type Buffer, type Op, type Value } from "../../ir/module.js";
import type { OpOf } from "../../ir/typed.js";
import { lanesOf } from "../../ir/types.js";
import { READ, WRITE } from "../order/trace.js";
import type { Form } from "../setting.js";
import type { Writer } from "../writer.js";

/** Where an access goes, by texts that can be used more than once. */
export interface Place {
  readonly op: Op;
  readonly buffer: Buffer;
  /** The buffer's number in the kernel. */
  readonly number: number;
  /** The rank whose memory it is. */
  readonly owner: string;
  /** Linear index of the first element. */
  readonly index: string;
  /** The elements. */
  readonly memory: string;
  /** Who does it, for the observer; empty without one. */
  readonly strand: string;
}

/** Writes the checks of an access of `lanes` neighbouring elements, and says where it goes. */
export function place(
  w: Writer,
  op: Op,
  name: string,
  peer: Value | null,
  indices: readonly Value[],
  lanes: number,
): Place {
  const buffer = bufferOf(w.kernel, name);
  const number = w.kernel.buffers.indexOf(buffer);
  const at = `f,${w.op(op)},${number}`;
  let owner = w.use("rank");
  if (peer !== null) {
    if (!isGlobal(buffer)) throw new InternalCompilerError(`a remote access to '${name}', which is the block's own`);
    owner = w.known(peer, `the rank that a ${op.name} goes to`);
    w.line(`if(!(${w.reaches(owner)}))M.faults.peer(${at},${owner});`);
  }
  const parts = indices.map((v) => w.known(v, `the address of a ${op.name}`));
  let index = parts[0] ?? "0";
  if (parts.length === 1) {
    const n = w.length(number);
    w.line(`if(!(${index}>=0&&${index}<=${n}-${lanes}))M.faults.bounds(${at},${index},${lanes});`);
  } else {
    if (parts.length !== buffer.shape.length)
      throw new InternalCompilerError(`${parts.length} indices for '${name}' of ${buffer.shape.length} dimensions`);
    parts.forEach((part, d) => {
      const spare = d === parts.length - 1 && lanes > 1 ? `-${lanes - 1}` : "";
      w.line(`if(!(${part}>=0&&${part}<${w.dimension(number, d)}${spare}))M.faults.dimension(${at},${d},${part});`);
    });
    const linear = parts.reduce((sum, part, d) => (d === 0 ? part : `(${sum})*${w.dimension(number, d)}+${part}`), "0");
    index = w.variable("a", linear);
  }
  if (lanes > 1) {
    const offset = isGlobal(buffer) ? `${w.constant(`O${number}`, `M.offsets[${number}]`)}[${owner}]+` : "";
    w.line(`if((${offset}${index})%${lanes}!==0)M.faults.misaligned(${at},${index},${owner},${lanes});`);
  }
  const memory =
    peer === null
      ? ownMemory(w, buffer, number)
      : w.variable("m", `${w.constant(`B${number}`, `M.memory[${number}]`)}[${owner}]`);
  const strand = w.setting.observes ? w.strandName : "";
  return { op, buffer, number, owner, index, memory, strand };
}

/** Text of the elements that this rank, or this block, has of a buffer. */
export function ownMemory(w: Writer, buffer: Buffer, number: number): string {
  const name = `M${number}`;
  return isGlobal(buffer) ? w.constant(name, `M.memory[${number}][rank]`) : w.lookedUp(name, `f.own[${number}]`);
}

/** Tells the observer of an access; registers and fragments are nobody else's. */
export function observe(w: Writer, p: Place, kind: number, lanes: number): void {
  const { role } = p.buffer;
  if (!w.setting.observes || role === "register" || role === "fragment") return;
  // Nobody but the rank's own caller writes there, before the launch and after it.
  if (w.domain.isSymbolic && kind === READ && p.owner === "rank" && w.isUntouched(p.buffer)) return;
  const op = w.opInTrace(p.op);
  if (role === "shared")
    return w.line(`T.accessOwn(${p.strand},${op},f.memories[${p.number}],${p.number},${p.index},${lanes},${kind},0);`);
  const first = w.constant(`G${p.number}`, `T.memoryOf(${p.number},0)`);
  w.line(`T.access(${p.strand},${op},${first}+${p.owner},${p.index},${lanes},${kind},0);`);
}

/** Whether what a buffer holds is kept: it is data, or decides what happens. A register is a value that nobody else sees. */
export function keeps(w: Writer, { name, role }: Buffer): boolean {
  if (w.domain.hasData || role === "state" || role === "register") return true;
  return w.steering.inputs.has(name) || w.steering.carriers.has(name);
}

/** Text of the record of which elements were written; null where there is none. */
function written(w: Writer, p: Place): string | null {
  const { role } = p.buffer;
  if (!w.setting.detectsUnwritten) return null;
  if (role === "shared") return w.lookedUp(`W${p.number}`, `f.written[${p.number}]`);
  if (role !== "scratch" && role !== "output") return null;
  return `${w.constant(`W${p.number}`, `M.written[${p.number}]`)}[${p.owner}]`;
}

export const at = (index: string, lane: number): string => (lane === 0 ? index : `${index}+${lane}`);

const OPAQUE: Form = { text: "OPAQUE", isKnown: false };

/** Writes the loads of `lanes` elements; gives what was loaded. @param mustBeThere whether somebody must have written them */
export function readLanes(w: Writer, p: Place, lanes: number, mustBeThere = true): (lane: number) => Form {
  observe(w, p, READ, lanes);
  if (!keeps(w, p.buffer)) return () => OPAQUE;
  const record = mustBeThere ? written(w, p) : null;
  if (record !== null)
    for (let i = 0; i < lanes; i++) {
      const index = at(p.index, i);
      w.line(`if(${record}[${index}]===0)M.faults.unwritten(f,${w.op(p.op)},${p.number},${p.owner},${index});`);
    }
  return (i) => w.domain.load(w, p, i);
}

/** Writes which elements a message takes with it that somebody has written. */
function sent(w: Writer, p: Place, lanes: number, value: Value): void {
  const record = written(w, p);
  if (record === null) return;
  const marks = Array.from({ length: lanes }, (_, i) => w.variable("w", `${record}[${at(p.index, i)}]`));
  w.sent.set(value, marks);
}

/** Writes the stores of `lanes` elements. @param known texts of whether somebody has written what is stored */
export function writeLanes(
  w: Writer,
  p: Place,
  lanes: number,
  value: (lane: number) => string,
  known?: readonly string[],
): void {
  observe(w, p, WRITE, lanes);
  if (!keeps(w, p.buffer)) return;
  for (let i = 0; i < lanes; i++) w.domain.store(w, p, i, value(i));
  const record = written(w, p);
  if (record !== null) for (let i = 0; i < lanes; i++) w.line(`${record}[${at(p.index, i)}]=${known?.[i] ?? "1"};`);
}

/** Writes that what may hold data is used as something else, which only real numbers can follow. */
function refuse(w: Writer, why: string): void {
  w.line(`refuse(${JSON.stringify(why)},${w.op(w.current!)});`);
}

export function load(w: Writer, op: OpOf<"load">): void {
  const { buffer: name } = op.attributes;
  const { role } = bufferOf(w.kernel, name);
  const [result] = op.results;
  if (w.domain.isSymbolic && role === "signal") {
    refuse(w, `a load of '${name}' reads a flag without waiting for it`);
    return w.bind(result, [OPAQUE]);
  }
  const { peer, indices } = memoryOperands(op);
  const lanes = lanesOf(result.type);
  const p = place(w, op, name, peer, indices, lanes);
  w.ran(op);
  // What an asynchronous product will add to an accumulator is not there before it has been waited for.
  if (role === "fragment")
    w.line(`if(f.products.length>0)M.faults.unwritten(f,${w.op(op)},${p.number},${p.owner},${p.index});`);
  if (role === "fragment" && w.domain.isSymbolic && w.domain.hasData)
    return w.define(result, (i) => ({ text: `V.element(M,f,${p.number},${at(p.index, i)})`, isKnown: false }));
  const isSent = op.attributes.message === true;
  if (isSent) sent(w, p, lanes, result);
  const loaded = readLanes(w, p, lanes, !isSent);
  if (keeps(w, p.buffer)) w.define(result, loaded);
  else w.bind(result, [loaded(0)]);
}

export function store(w: Writer, op: OpOf<"store">): void {
  const { buffer: name } = op.attributes;
  const { role } = bufferOf(w.kernel, name);
  if (w.domain.isSymbolic && (role === "signal" || role === "fragment"))
    return refuse(w, `a plain store sets the flag '${name}'`);
  const { peer, indices } = memoryOperands(op);
  const [value] = op.operands;
  const lanes = lanesOf(value.type);
  const p = place(w, op, name, peer, indices, lanes);
  w.ran(op);
  writeLanes(w, p, lanes, (i) => w.formOf(value, i)?.text ?? OPAQUE.text, w.sent.get(value));
}

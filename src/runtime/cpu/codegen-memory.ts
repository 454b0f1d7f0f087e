/** JavaScript of ops that touch memory, flags and tiles. Every access is checked before it is made. */
import {
  DTYPES,
  InternalCompilerError,
  isRemote,
  lanesOf,
  memoryOperands,
  text,
  type Op,
  type Value,
  isGlobal,
} from "../../compiler/index.js";
import type { Emitter } from "./emitter.js";

/** Emits the op if it is one of this file's; says whether it was. */
export function emitMemory(e: Emitter, op: Op): boolean {
  switch (op.name) {
    case "load":
      emitLoad(e, op);
      return true;
    case "store":
      emitStore(e, op);
      return true;
    case "aligned":
      emitAligned(e, op);
      return true;
    case "signal":
      emitSignal(e, op);
      return true;
    case "wait":
      emitWait(e, op);
      return true;
    case "block_sync":
      if (e.options.hostile) e.line(`${e.watch}.sync(${e.site(op).id},K);`);
      e.preemption();
      return true;
    default:
      return emitTile(e, op);
  }
}

/** Where a memory op goes: texts of the array, the element index and the rank whose memory it is. */
interface Target {
  readonly buffer: number;
  readonly array: string;
  readonly index: string;
  readonly peer: string;
}

/** Emits all checks of an access of `lanes` elements. */
function target(e: Emitter, op: Op, peer: Value | null, indices: readonly Value[], lanes: number): Target {
  const name = text(op, "buffer");
  const j = e.buffer(name);
  const { role, shape } = e.kernel.buffers[j]!;
  const { id, who } = e.site(op, name);
  const world = e.kernel.world;
  const rank = e.use("rank");
  let array: string;
  let owner = rank;
  if (peer !== null) {
    if (!isGlobal(e.kernel.buffers[j]!))
      throw new InternalCompilerError(`a remote access to '${name}', which is the block's own`);
    owner = e.lane(peer);
    e.line(`if(!(${owner}>=0&&${owner}<${world}))L.faults.peer(${id},${who},${owner},${world});`);
    array = e.fresh("m");
    e.line(`const ${array}=${e.hoist(`B${j}`, `L.arrays[${j}]`)}[${owner}];`);
  } else array = localArray(e, j);
  const texts = indices.map((v) => e.lane(v));
  let index: string;
  if (texts.length === 1) {
    index = texts[0]!;
    const n = e.length(j);
    e.line(`if(!(${index}>=0&&${index}<=${n}-${lanes}))L.faults.bounds(${id},${who},${index},${n},${lanes});`);
  } else {
    if (texts.length !== shape.length)
      throw new InternalCompilerError(`${texts.length} indices for '${name}' of ${shape.length} dimensions`);
    texts.forEach((x, d) => {
      const n = e.dimension(j, d);
      const spare = d === texts.length - 1 && lanes > 1 ? `-${lanes - 1}` : "";
      e.line(`if(!(${x}>=0&&${x}<${n}${spare}))L.faults.dimension(${id},${who},${d},${x},${n});`);
    });
    index = e.fresh("i");
    const linear = texts.reduce((whole, x, d) => (d === 0 ? x : `(${whole})*${e.dimension(j, d)}+${x}`), "");
    e.line(`const ${index}=${linear === "" ? "0" : linear};`);
  }
  if (lanes > 1) {
    const offset = role === "shared" ? "0" : `${e.hoist(`O${j}`, `L.offsets[${j}]`)}[${owner}]`;
    e.line(`if((${offset}+${index})%${lanes}!==0)L.faults.misaligned(${id},${who},${index},${offset},${lanes});`);
  }
  return { buffer: j, array, index, peer: owner };
}

/** Text of this rank's, or this block's, array of a buffer. */
function localArray(e: Emitter, j: number): string {
  const own = !isGlobal(e.kernel.buffers[j]!);
  return e.hoist(`M${j}`, own ? `K.memory[${j}]` : `L.arrays[${j}][rank]`);
}

/** Whether accesses to this buffer go through the watch; registers and fragments are nobody else's. */
function isWatched(e: Emitter, j: number): boolean {
  const { role } = e.kernel.buffers[j]!;
  return e.options.hostile && role !== "register" && role !== "fragment";
}

/** Whether reads of this buffer are checked for having been written. */
function isTracked(e: Emitter, j: number): boolean {
  return e.options.detectUnwritten && ["scratch", "output", "shared"].includes(e.kernel.buffers[j]!.role);
}

function shadow(e: Emitter, t: Target, remote: boolean): string {
  const shared = e.kernel.buffers[t.buffer]!.role === "shared";
  if (remote) return `${e.hoist(`W${t.buffer}`, `L.shadows[${t.buffer}]`)}[${t.peer}]`;
  return e.hoist(`X${t.buffer}`, shared ? `K.shadows[${t.buffer}]` : `L.shadows[${t.buffer}][rank]`);
}

const at = (index: string, lane: number): string => (lane === 0 ? index : `${index}+${lane}`);

function emitLoad(e: Emitter, op: Op): void {
  const { peer, indices } = memoryOperands(op);
  const result = op.results[0]!;
  const lanes = lanesOf(result.type);
  const t = target(e, op, peer, indices, lanes);
  if (isWatched(e, t.buffer)) {
    const { id } = e.site(op, text(op, "buffer"));
    return e.assign(result, (i) => `${e.watch}.read(${id},K,${e.strand},${t.buffer},${t.peer},${at(t.index, i)})`);
  }
  if (isTracked(e, t.buffer)) {
    const { id, who } = e.site(op, text(op, "buffer"));
    const w = shadow(e, t, peer !== null);
    for (let i = 0; i < lanes; i++)
      e.line(`if(${w}[${at(t.index, i)}]===0)L.faults.unwritten(${id},${who},${t.peer},${at(t.index, i)});`);
  }
  e.assign(result, (i) => `${t.array}[${at(t.index, i)}]`);
}

function emitStore(e: Emitter, op: Op): void {
  const { value, peer, indices } = memoryOperands(op);
  const lanes = lanesOf(value!.type);
  const t = target(e, op, peer, indices, lanes);
  if (isWatched(e, t.buffer)) {
    const { id } = e.site(op, text(op, "buffer"));
    for (let i = 0; i < lanes; i++)
      e.line(`${e.watch}.write(${id},K,${e.strand},${t.buffer},${t.peer},${at(t.index, i)},${e.lane(value!, i)});`);
    return;
  }
  for (let i = 0; i < lanes; i++) e.line(`${t.array}[${at(t.index, i)}]=${e.lane(value!, i)};`);
  if (!isTracked(e, t.buffer)) return;
  const w = shadow(e, t, peer !== null);
  for (let i = 0; i < lanes; i++) e.line(`${w}[${at(t.index, i)}]=1;`);
}

function emitAligned(e: Emitter, op: Op): void {
  const j = e.buffer(text(op, "buffer"));
  const bytes = DTYPES[e.kernel.buffers[j]!.dtype].bytes;
  const offsets = e.hoist(`O${j}`, `L.offsets[${j}]`);
  const owner = isRemote(op) ? e.lane(op.operands[0]!) : e.use("rank");
  e.assign(op.results[0]!, () => `(${offsets}[${owner}]*${bytes}%${op.attributes["bytes"] as number}===0)`);
}

function emitSignal(e: Emitter, op: Op): void {
  const { value, peer, indices } = memoryOperands(op);
  const t = target(e, op, peer, indices, 1);
  const adds = text(op, "mode") === "add";
  if (e.options.hostile) {
    const { id } = e.site(op, text(op, "buffer"));
    const how = `${adds},${text(op, "scope") === "sys"},${text(op, "order") === "release"}`;
    e.line(`${e.watch}.signal(${id},K,${e.strand},${t.buffer},${t.peer},${t.index},${e.lane(value!)},${how});`);
  } else e.line(`${t.array}[${t.index}]${adds ? "+" : ""}=${e.lane(value!)};`); // a Uint32Array wraps by itself
  e.preemption();
}

function emitWait(e: Emitter, op: Op): void {
  if (!e.inGenerator) throw new InternalCompilerError("a wait where the cpu backend cannot suspend");
  const [value, slot, peer] = op.operands;
  const t = target(e, op, null, [slot!], 1);
  const { id, who } = e.site(op, text(op, "buffer"));
  const flag = `(${t.array}[${t.index}]-(${e.lane(value!)})|0)`;
  const expected = peer === undefined ? "-1" : e.lane(peer);
  const args = `${t.buffer},${t.index},${e.lane(value!)}`;
  const before = e.options.hostile ? `${e.watch}.blocks(${id},K,${args});` : "";
  e.line(
    `if(${flag}<0){${before}const w=L.wait(${id},${who},${t.array},${t.index},${e.lane(value!)},${expected});do yield w;while(${flag}<0);}`,
  );
  if (e.options.hostile) {
    const how = `${text(op, "scope") === "sys"},${text(op, "order") === "acquire"}`;
    e.line(`${e.watch}.acquire(${id},K,${e.strand},${args},${how});`);
  }
  e.preemption();
}

function emitTile(e: Emitter, op: Op): boolean {
  const number = (key: string): number => e.buffer(text(op, key));
  const operands = (): string => op.operands.map((v) => e.lane(v)).join(",");
  switch (op.name) {
    case "copy_tile": {
      const { id, who } = e.site(op, text(op, "from"));
      const peer = isRemote(op) ? "" : `${e.use("rank")},`;
      const { rows, end = null } = op.attributes;
      const copied = JSON.stringify({ site: id, from: number("from"), to: number("to"), rows, end });
      e.line(`tiles.copy(L,${e.use("K")},${copied},${who},${peer}${operands()});`);
      return true;
    }
    case "copy_commit":
      e.line(`tiles.commit(${e.use("K")});`);
      return true;
    case "copy_wait":
      e.line(`tiles.land(${e.use("L")},${e.use("K")},${op.attributes["pending"] as number});`);
      return true;
    case "fragment_clear":
      e.line(`${localArray(e, number("buffer"))}.fill(0);`);
      return true;
    case "mma": {
      const { id, who } = e.site(op, text(op, "a"));
      e.line(
        `tiles.multiply(L,${e.use("K")},${id},${who},${number("accumulator")},${number("a")},${number("b")},${JSON.stringify(op.attributes["transposed"] ?? "")},${operands()});`,
      );
      return true;
    }
    case "fragment_store":
      e.line(
        `tiles.storeFragment(${e.use("L")},${e.use("K")},${number("from")},${number("to")},${e.site(op, text(op, "to")).id});`,
      );
      return true;
    default:
      return false;
  }
}

/**
 * Packets: data that says itself that it is there. A slot is shown in two halves, each with a flag of its own, as 16 bytes
 * may be torn in the middle; a load waits for both flags, and learns of each half's elements and of nothing else.
 */
import { bufferOf, isRemote, type Value } from "../../ir/module.js";
import type { OpOf } from "../../ir/typed.js";
import { lanesOf, scalarOf } from "../../ir/types.js";
import { DTYPES, isDType } from "../../types/dtype.js";
import { WRITE } from "../order/trace.js";
import type { Writer } from "../writer.js";
import { keeps, observe, type Place, readLanes, writeLanes } from "./memory.js";

type Packet = OpOf<"packet_store"> | OpOf<"packet_load">;

/** Bytes of data in half a slot. */
const HALF = { epoch: 4, inverted: 8 };
const HALVES = [0, 1] as const;

/**
 * Lanes of the value that lie in a half; what lies in both belongs to the second. Nobody has it before both have arrived, and each
 * half carries its own bytes, so that it makes no difference which of them is said to bring it.
 */
function lanesIn(half: number, type: Value["type"], format: keyof typeof HALF): { from: number; count: number } {
  const kind = scalarOf(type);
  const bytes = isDType(kind) ? DTYPES[kind].bytes : 1;
  const before = (halves: number): number => Math.min(Math.floor((halves * HALF[format]) / bytes), lanesOf(type));
  return { from: before(half), count: before(half + 1) - before(half) };
}

/** Writes the same for either copy, behind the choice that the epoch makes. */
function inCopy(w: Writer, op: Packet, epoch: string, body: (name: string) => void): void {
  w.line(`if((${epoch}&1)===0){`);
  body(op.attributes.even);
  w.line("}else{");
  body(op.attributes.odd);
  w.line("}");
}

interface Slot {
  readonly number: number;
  /** Where the elements of a half lie. */
  readonly half: (from: number) => Place;
  /** Text of the list of this rank's flags, two for each slot, and of the number of a half's. */
  readonly flags: string;
  readonly flagOf: (half: number) => string;
  readonly owner: string;
}

function slotOf(w: Writer, op: Packet, name: string, slot: string, owner: string): Slot {
  const buffer = bufferOf(w.kernel, name);
  const number = w.kernel.buffers.indexOf(buffer);
  const across = w.dimension(number, 1);
  w.line(`if(!(${slot}>=0&&${slot}<${w.dimension(number, 0)}))M.faults.bounds(f,${w.op(op)},${number},${slot}*${across},1);`); // prettier-ignore
  const memory = w.variable("m", `${w.constant(`B${number}`, `M.memory[${number}]`)}[${owner}]`);
  const half = (from: number): Place => {
    const index = w.variable("a", `${slot}*${across}+${from}`);
    // A strand of its own, so that no more than the half goes along with its flag, and no more than it is learnt of it.
    const strand = w.setting.observes ? w.variable("s", "T.strand(f.entity,f.launch)") : "";
    return { op, buffer, number, owner, index, memory, strand };
  };
  return {
    number,
    half,
    owner,
    flags: w.variable("p", `packetFlags(${memory},${w.dimension(number, 0)})`),
    flagOf: (h) => `(${slot}*2+${h})`,
  };
}

const SHOWN = `{add:false,sys:true,hands:"itself"}`;
const SEEN = "{sys:true,acquire:true,isAside:true}";

export function packetStore(w: Writer, op: OpOf<"packet_store">): void {
  const [value, count, ...rest] = op.operands;
  const epoch = w.known(count, "the epoch of a packet");
  const slot = w.known(rest.at(-1)!, "the slot of a packet");
  const owner = isRemote(op) ? w.known(rest[0], "the rank that a packet goes to") : w.use("rank");
  const { format, even } = op.attributes;
  const number = w.kernel.buffers.findIndex((b) => b.name === even);
  w.line(`if(!(${w.reaches(owner)}))M.faults.peer(f,${w.op(op)},${number},${owner});`);
  w.ran(op);
  inCopy(w, op, epoch, (name) => {
    const at = slotOf(w, op, name, slot, owner);
    for (const half of HALVES) {
      const { from, count: lanes } = lanesIn(half, value.type, format);
      const p = at.half(from);
      if (lanes > 0) writeLanes(w, p, lanes, (i) => w.formOf(value, from + i)?.text ?? "OPAQUE");
      w.line(`${at.flags}[${at.flagOf(half)}]=${epoch};`);
      const flag = `T.flag(${JSON.stringify(name)},${owner},${at.flagOf(half)})`;
      if (w.setting.observes) w.line(`T.signal(${p.strand},${flag},${epoch},${w.op(op)},${SHOWN});`);
      w.preemption();
    }
  });
}

export function packetLoad(w: Writer, op: OpOf<"packet_load">): void {
  const [count, where, share] = op.operands;
  const epoch = w.known(count, "the epoch of a packet");
  const slot = w.known(where, "the slot of a packet");
  const peer = `floor(${slot}/${w.known(share, "the slots of a rank")})%${w.kernel.world}`;
  const { format } = op.attributes;
  const [result] = op.results;
  const lanes = lanesOf(result.type);
  const names = Array.from({ length: lanes }, () => w.fresh("v"));
  w.line(`let ${names.join(",")};`);
  w.ran(op);
  let isKept = true;
  let isKnown = true;
  inCopy(w, op, epoch, (name) => {
    const at = slotOf(w, op, name, slot, w.use("rank"));
    const halves = HALVES.map((half) => ({ half, ...lanesIn(half, result.type, format) }));
    const places = halves.map(({ from }) => at.half(from));
    for (const half of HALVES) {
      const flag = at.flagOf(half);
      const ready = format === "epoch" ? "arrived" : "isThere";
      const test = format === "epoch" ? `${at.flags}[${flag}]===${epoch}` : `${at.flags}[${flag}]!==0`;
      const blocked = `flags:${at.flags},slot:${flag},wanted:${epoch},ready:${ready}`;
      w.until(test, `{f,op:${w.op(op)},buffer:${at.number},peer:${peer},${blocked}}`);
      if (w.setting.observes)
        w.line(
          `T.wait(${places[half]!.strand},T.flag(${JSON.stringify(name)},rank,${flag}),${epoch},${w.op(op)},${SEEN});`,
        );
    }
    for (const { half, from, count: within } of halves) {
      if (within === 0) continue;
      const p = places[half]!;
      const loaded = readLanes(w, p, within);
      isKept = keeps(w, p.buffer);
      for (let i = 0; i < within; i++) {
        const form = loaded(i);
        isKnown &&= form.isKnown;
        w.line(`${names[from + i]}=${form.text};`);
      }
      if (format === "inverted") observe(w, p, WRITE, within);
    }
    if (format === "inverted") for (const half of HALVES) w.line(`${at.flags}[${at.flagOf(half)}]=0;`);
  });
  w.bind(result, isKept ? names.map((text) => ({ text, isKnown })) : [{ text: "OPAQUE", isKnown: false }]);
  w.preemption();
}

/** CUDA text of the ops by which ranks and blocks tell each other something: flags that are set and waited for, and packets. */
import { isGlobal, isRemote, memoryOperands, type Op, text } from "../ir/module.js";
import { lanesOf, sameType, scalarOf } from "../ir/types.js";
import type { CudaEmitter } from "./cuda.js";
import { bufferName } from "./names.js";
import { C_TYPE } from "./scalars.js";

const PACKETS: Readonly<Record<string, string>> = { epoch: "EpochPacket", inverted: "InvertedPacket" };

/** Whether two loads of packets can be waited for together. */
export function isWithPacket(op: Op, first: Op): boolean {
  return (
    op.name === "packet_load" &&
    op.operands[0] === first.operands[0] &&
    op.attributes["even"] === first.attributes["even"] &&
    sameType(op.results[0]!.type, first.results[0]!.type)
  );
}

/** Slots of the copy that an epoch has. */
function slotsText(op: Op, epoch: string, peer: string | null): string {
  const [even, odd] = ["even", "odd"].map((key) => {
    const name = bufferName(text(op, key));
    return peer === null ? name : `${name}_peers.p[${peer}]`;
  });
  return `((uint4*)((${epoch} & 1u) != 0 ? ${odd} : ${even}))`;
}

/** A packet, stored. */
export function packetStoreText(op: Op, out: CudaEmitter): void {
  out.use("packets");
  const [value, epoch, ...rest] = op.operands.map((v) => out.name(v));
  const { type } = op.operands[0]!;
  const slots = slotsText(op, epoch!, isRemote(op) ? rest[0]! : null);
  const [element, lanes] = [C_TYPE[scalarOf(type)], lanesOf(type)];
  out.use("vector");
  const data = lanes === 1 ? `Vec<${element}, 1>{{${value}}}` : value;
  out.line(`store_packet<${PACKETS[text(op, "format")]!}>(${slots} + ${rest.at(-1)}, ${data}, ${epoch});`);
}

/** Loads of packets that are waited for together. */
export function packetLoadsText(ops: readonly Op[], out: CudaEmitter): void {
  out.use("packets");
  out.use("vector");
  const [op] = ops as [Op];
  const [epoch, , share] = op.operands.map((v) => out.name(v));
  const { type } = op.results[0]!;
  const lanes = lanesOf(type);
  const names = ops.map((o) => out.name(o.results[0]!));
  const number = out.kernel.buffers.filter(isGlobal).findIndex((b) => b.name === op.attributes["even"]);
  const count = ops.length;
  out.line(`const i64 ${names[0]}_slots[${count}] = {${ops.map((o) => out.name(o.operands[1]!)).join(", ")}};`);
  out.line(`Vec<${C_TYPE[scalarOf(type)]}, ${lanes}> ${names[0]}_data[${count}];`);
  out.line(`load_packets<${PACKETS[text(op, "format")]!}>(${names[0]}_data, ${slotsText(op, epoch!, null)}, ${names[0]}_slots, ${epoch}, watch, ${number}u, ${share}, ${out.kernel.world}, ${out.lineOf(op)}u);`); // prettier-ignore
  names.forEach((name, i) =>
    out.line(`const ${out.cType(type)} ${name} = ${names[0]}_data[${i}]${lanes === 1 ? ".v[0]" : ""};`),
  );
}

/** A signal, or a wait. */
export function flagText(op: Op, out: CudaEmitter): void {
  const order = text(op, "order");
  const scope = text(op, "scope");
  const buffer = text(op, "buffer");
  if (op.name === "signal") {
    const { value, peer, indices } = memoryOperands(op);
    const at = `${out.address(op, peer)} + ${out.name(indices[0]!)}`;
    // The stream has seen to what earlier launches did.
    const how = order === "launch" ? "relaxed" : order;
    out.line(`signal_${text(op, "mode")}_${how}_${scope}(${at}, ${out.name(value!)});`);
    return;
  }
  const [value, slot, peer] = op.operands.map((v) => out.name(v));
  const number = out.kernel.buffers.filter(isGlobal).findIndex((b) => b.name === buffer);
  out.line(
    `wait_${order}_${scope}(${bufferName(buffer)} + ${slot}, ${value}, watch, (u32)(${peer ?? "rank"}), ${number}u, (u32)(${slot}), ${out.lineOf(op)}u);`,
  );
}

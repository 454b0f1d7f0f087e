/**
 * The IR's text form: complete and deterministic. It is the debug dump, the golden test and the bug report,
 * and `parse.ts` reads it back to an equal kernel.
 *
 *   %3 = load %1, %2 {buffer="x", remote=true} : bf16 loc(120:127)
 *   for %4, %5 {map="serial"} loc(90:140) (%6) {
 *     …
 *   }
 */
import type { SignatureTensor } from "../manifest.js";
import { printExtent } from "../types/extent.js";
import { type Layout, printLayout } from "../types/layout.js";
import type { Attribute, Buffer, Kernel, Op, Region, Value } from "./module.js";
import { printSpecifications } from "./print-specification.js";
import { printType } from "./types.js";

export interface PrintOptions {
  /** Leave out source places, for goldens a person reads. The text then parses, with empty spans. */
  readonly spans?: boolean;
}

export function printKernel(kernel: Kernel, options: PrintOptions = {}): string {
  const out: string[] = [
    `kernel ${kernel.name} level=${kernel.level} world=${kernel.world} threads=${kernel.blockThreads} blocks=${kernel.maxBlocks}${kernel.blocksEach === undefined ? "" : ` each=${kernel.blocksEach}`}${kernel.early === true ? " early" : ""} {`,
  ];
  for (const dim of kernel.dims) out.push(`  dim ${dim}`);
  for (const { name, dtype } of kernel.scalars) out.push(`  scalar ${name}: ${dtype}`);
  for (const [name, dtype] of Object.entries(kernel.dtypes)) out.push(`  dtype ${name} = ${dtype}`);
  for (const [role, tensors] of [
    ["in", kernel.inputs],
    ["out", kernel.outputs],
  ] as const)
    for (const t of tensors)
      out.push(
        `  ${role} ${t.name}: ${t.dtype}[${t.shape.map(printExtent).join(", ")}] ${printLayout(t.layout)} local [${t.localShape.map(printExtent).join(", ")}]${printLimits(t)}`,
      );
  for (const row of printSpecifications(kernel.specification)) out.push(`  ${row}`);
  for (const a of kernel.mesh) out.push(`  mesh ${a.name} ${a.size}`);
  for (const r of kernel.requirements)
    out.push(`  require ${printExtent(r.left)} ${r.relation} ${printExtent(r.right)} ${JSON.stringify(r.reason)}`);
  if (kernel.ranksPerDomain !== undefined) out.push(`  reach ${kernel.ranksPerDomain}`);
  for (const b of kernel.buffers) out.push(`  buffer ${printBuffer(b)}`);
  for (const w of kernel.work) out.push(`  work ${printExtent(w)}`);
  out.push("  body {");
  const names = new Map<Value, string>();
  printOps(kernel.body, "    ", out, names, options.spans ?? true);
  out.push("  }", "}");
  return out.join("\n") + "\n";
}

function printLimits({ values }: SignatureTensor): string {
  return values === undefined ? "" : ` values ${printExtent(values.from)} ${printExtent(values.to)}`;
}

function printBuffer(b: Buffer): string {
  return `${b.name}: ${b.role} ${b.dtype}[${b.shape.map(printExtent).join(", ")}]${b.symmetric ? " symmetric" : ""}${b.memory === undefined ? "" : ` memory ${JSON.stringify(b.memory)}`}`;
}

function printOps(region: Region, indent: string, out: string[], names: Map<Value, string>, spans: boolean): void {
  for (const op of region.ops) printOp(op, indent, out, names, spans);
}

function printOp(op: Op, indent: string, out: string[], names: Map<Value, string>, spans: boolean): void {
  const use = (v: Value): string => names.get(v) ?? "%undefined";
  const define = (v: Value): string => {
    const name = `%${names.size}`;
    names.set(v, name);
    return name;
  };
  const operands = op.operands.map(use).join(", ");
  const regionHeads: string[] = [];
  const results = op.results.map(define).join(", ");
  let line = `${results === "" ? "" : `${results} = `}${op.name}${operands === "" ? "" : ` ${operands}`}`;
  const attributes = Object.entries(op.attributes).flatMap(([k, v]) =>
    v === undefined ? [] : `${k}=${printAttribute(v)}`,
  );
  if (attributes.length > 0) line += ` {${attributes.join(", ")}}`;
  if (op.results.length > 0) line += ` : ${op.results.map((r) => printType(r.type)).join(", ")}`;
  if (spans) line += ` loc(${op.span.start}:${op.span.end})`;
  if (op.regions.length === 0) {
    out.push(indent + line);
    return;
  }
  op.regions.forEach((region, i) => {
    regionHeads.push(region.arguments.map(define).join(", "));
    out.push(indent + (i === 0 ? line : "}") + ` (${regionHeads[i]}) {`);
    printOps(region, indent + "  ", out, names, spans);
  });
  out.push(indent + "}");
}

function printAttribute(value: Attribute): string {
  if (typeof value === "object") return printLayout(value as Layout);
  return typeof value === "number" ? String(value) : JSON.stringify(value); // JSON has no infinities
}

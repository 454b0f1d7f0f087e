/**
 * First verifier: the shape of the IR. Every op is of the kernel's level, has the operands, attributes,
 * results and regions its row in the op table asks for, uses only values defined before it, names
 * buffers that exist, and its types fit together. Problems are returned, not thrown.
 */
import { isDType } from "../types/dtype.js";
import { type Attribute, type Kernel, memoryOperands, type Op, type Region, type Value } from "./module.js";
import { type AttributeKind, definitionOf } from "./ops.js";
import { lanesOf, printType, sameType, scalarOf } from "./types.js";

export interface Problem {
  readonly message: string;
  readonly op: Op | null;
}

export function verifyStructure(kernel: Kernel): Problem[] {
  const problems: Problem[] = [];
  const seen = new Set<string>();
  for (const b of kernel.buffers) {
    if (seen.has(b.name)) problems.push({ message: `two buffers are named '${b.name}'`, op: null });
    seen.add(b.name);
  }
  verifyRegion(kernel, kernel.body, new Set(), problems, false);
  return problems;
}

/** @param defined values in sight; those of the region are in it while the region is looked at. */
function verifyRegion(kernel: Kernel, region: Region, defined: Set<Value>, problems: Problem[], yields: boolean): void {
  const own: Value[] = [];
  const define = (v: Value): boolean => {
    if (defined.has(v)) return false;
    defined.add(v);
    own.push(v);
    return true;
  };
  region.arguments.forEach(define);
  region.ops.forEach((op, i) => {
    const report = (message: string): void => void problems.push({ message: `${op.name}: ${message}`, op });
    for (const v of op.operands) if (!defined.has(v)) report("uses a value that is not defined before it");
    verifyOp(kernel, op, report);
    if (region !== kernel.body && isOfTensors(op)) report("works on whole tensors inside a region");
    const isLast = i === region.ops.length - 1;
    if (op.name === "yield" && !(yields && isLast)) report("is not at the end of a reduce");
    for (const inner of op.regions) verifyRegion(kernel, inner, defined, problems, op.name === "reduce");
    for (const r of op.results) if (!define(r)) report("defines a value twice");
  });
  for (const v of own) defined.delete(v);
  if (yields && region.ops.at(-1)?.name !== "yield")
    problems.push({ message: "reduce: its region does not end in a yield", op: null });
}

function isOfTensors({ name, results }: Op): boolean {
  return name === "output" || results[0]?.type.kind === "tensor";
}

function verifyOp(kernel: Kernel, op: Op, report: (message: string) => void): void {
  const row = definitionOf(op.name);
  if (!row.levels.includes(kernel.level)) report(`is not an op of the ${kernel.level} level`);
  const [fewest, most] = row.operands;
  if (op.operands.length < fewest || op.operands.length > most)
    report(`has ${op.operands.length} operands, not ${fewest} to ${most}`);
  if (op.results.length !== row.results) report(`has ${op.results.length} results, not ${row.results}`);
  const known = { ...row.attributes, ...row.optional };
  for (const key of Object.keys(row.attributes ?? {}))
    if (!(key in op.attributes)) report(`lacks the attribute '${key}'`);
  for (const [key, value] of Object.entries(op.attributes)) {
    if (!Object.hasOwn(known, key)) report(`has an unknown attribute '${key}'`);
    else if (!fits(kernel, known[key]!, value)) report(`attribute '${key}' cannot be ${JSON.stringify(value)}`);
  }
  const count = row.regions?.count ?? 0;
  if (op.regions.length !== count) report(`has ${op.regions.length} regions, not ${count}`);
  const wanted = row.regions?.arguments === "pairs" ? op.operands.length / 2 : (row.regions?.arguments ?? 0);
  for (const region of op.regions)
    if (region.arguments.length !== wanted)
      report(`a region takes ${region.arguments.length} arguments, not ${wanted}`);
  verifyTypes(kernel, op, report);
}

function fits(kernel: Kernel, kind: AttributeKind, value: Attribute): boolean {
  if (typeof kind === "object") return typeof value === "string" && kind.includes(value);
  switch (kind) {
    case "int":
      return Number.isInteger(value);
    case "number":
      return typeof value === "number";
    case "string":
      return typeof value === "string";
    case "bool":
      return typeof value === "boolean";
    case "buffer":
      return kernel.buffers.some((b) => b.name === value);
    case "layout":
      return typeof value === "object";
  }
}

function verifyTypes(kernel: Kernel, op: Op, report: (message: string) => void): void {
  const types = op.operands.map((v) => v.type);
  const result = op.results[0]?.type;
  const indexFrom = (first: number, what: string): void => {
    for (const t of types.slice(first))
      if (printType(t) !== "index") report(`${what} has type ${printType(t)}, not index`);
  };
  switch (op.name) {
    case "binary":
      if (!types.every((t) => sameType(t, result!)))
        report(`operands ${types.map(printType).join(", ")} do not match the result ${printType(result!)}`);
      break;
    case "unary":
      if (!sameType(types[0]!, result!)) report("operand and result differ in type");
      break;
    case "compare":
      if (!sameType(types[0]!, types[1]!)) report("compares values of two types");
      if (scalarOf(result!) !== "bool") report("does not give bool");
      break;
    case "select":
      if (scalarOf(types[0]!) !== "bool") report("condition is not bool");
      if (!sameType(types[1]!, result!) || !sameType(types[2]!, result!))
        report("the two values and the result differ in type");
      break;
    case "for":
      indexFrom(0, "a bound");
      if (types.length % 2 !== 0) report("has a bound without a partner");
      break;
    case "if":
      if (printType(types[0]!) !== "bool") report("condition is not one bool");
      break;
    case "reduce": {
      indexFrom(0, "a bound");
      const yielded = op.regions[0]?.ops.at(-1)?.operands[0]?.type;
      if (yielded !== undefined && !sameType(yielded, result!)) report("yields another type than it gives");
      break;
    }
    case "load":
    case "store":
      verifyMemory(kernel, op, report);
      break;
    case "notify":
    case "await":
    case "copy_tile":
      indexFrom(0, "an operand");
      break;
  }
}

function verifyMemory(kernel: Kernel, op: Op, report: (message: string) => void): void {
  const buffer = kernel.buffers.find((b) => b.name === op.attributes["buffer"]);
  if (buffer === undefined) return;
  const { value, peer, indices } = memoryOperands(op);
  const element = op.name === "store" ? value!.type : op.results[0]!.type;
  if (scalarOf(element) !== buffer.dtype)
    report(`moves ${printType(element)} through '${buffer.name}', which holds ${buffer.dtype}`);
  if (!isDType(scalarOf(element))) report(`moves ${printType(element)}, which is no element`);
  if (lanesOf(element) > 1 && kernel.level !== "device") report("moves a vector above the device level");
  for (const v of [...(peer === null ? [] : [peer]), ...indices])
    if (printType(v.type) !== "index") report("has a peer or index that is not of type index");
  const linear = kernel.level === "device" && indices.length === 1;
  if (indices.length !== buffer.shape.length && !linear)
    report(`has ${indices.length} indices for '${buffer.name}' of ${buffer.shape.length} dimensions`);
}

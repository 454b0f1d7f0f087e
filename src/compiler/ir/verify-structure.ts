/**
 * First verifier: the shape of the IR. Every op is of the kernel's level, has the operands, attributes,
 * results and regions its row in the op table asks for, uses only values defined before it, names
 * buffers that exist, and its types fit together. Problems are returned, not thrown.
 *
 * It runs over every op after every pass, so it makes nothing on its way that only a problem would need.
 */
import { isDType } from "../types/dtype.js";
import { type Attribute, type Buffer, isRemote, type Kernel, type Op, type Region, type Value } from "./module.js";
import { type AttributeKind, definitionOf } from "./ops.js";
import { lanesOf, printType, sameType, scalarOf, type Type } from "./types.js";

export interface Problem {
  readonly message: string;
  readonly op: Op | null;
}

export function verifyStructure(kernel: Kernel): Problem[] {
  const problems: Problem[] = [];
  const buffers = new Map<string, Buffer>();
  for (const b of kernel.buffers) {
    if (buffers.has(b.name)) problems.push({ message: `two buffers are named '${b.name}'`, op: null });
    else buffers.set(b.name, b);
  }
  new StructureVerifier(kernel, buffers, problems).region(kernel.body, [0, 0]);
  return problems;
}

class StructureVerifier {
  /** Values in sight; those of a region are in it while the region is looked at. */
  private readonly defined = new Set<Value>();

  constructor(
    private readonly kernel: Kernel,
    private readonly buffers: ReadonlyMap<string, Buffer>,
    private readonly problems: Problem[],
  ) {}

  private report(op: Op, message: string): void {
    this.problems.push({ message: `${op.name}: ${message}`, op });
  }

  /** @param yields how many values it may end with; 0 for none */
  region(region: Region, yields: readonly [fewest: number, most: number]): void {
    const { defined } = this;
    const own: Value[] = [];
    const define = (v: Value): void => {
      own.push(v);
      defined.add(v);
    };
    const { arguments: args, ops } = region;
    for (const a of args) if (!defined.has(a)) define(a);
    const isInner = region !== this.kernel.body;
    for (let i = 0; i < ops.length; i++) {
      const op = ops[i]!;
      for (const v of op.operands) if (!defined.has(v)) this.report(op, "uses a value that is not defined before it");
      this.op(op);
      if (isInner && isOfTensors(op)) this.report(op, "works on whole tensors inside a region");
      const isFull = op.operands.length >= yields[0] && op.operands.length <= yields[1];
      if (op.name === "yield" && !(isFull && i === ops.length - 1))
        this.report(op, "is not at the end of a reduce or a contract, with as many values as it takes");
      for (const inner of op.regions) this.region(inner, yieldsOf(op));
      for (const r of op.results) {
        if (defined.has(r)) this.report(op, "defines a value twice");
        else define(r);
      }
    }
    for (const v of own) defined.delete(v);
    if (yields[0] > 0 && ops.at(-1)?.name !== "yield")
      this.problems.push({ message: "a region of a reduce or a contract does not end in a yield", op: null });
  }

  private op(op: Op): void {
    const row = definitionOf(op.name);
    if (!row.levels.includes(this.kernel.level)) this.report(op, `is not an op of the ${this.kernel.level} level`);
    const [fewest, most] = row.operands;
    const { length } = op.operands;
    if (length < fewest || length > most) this.report(op, `has ${length} operands, not ${fewest} to ${most}`);
    if (op.results.length !== row.results) this.report(op, `has ${op.results.length} results, not ${row.results}`);
    this.attributes(op, row.attributes ?? NONE, row.optional ?? NONE);
    const count = row.regions?.count ?? 0;
    if (op.regions.length !== count) this.report(op, `has ${op.regions.length} regions, not ${count}`);
    if (op.regions.length > 0) {
      const wanted = row.regions?.arguments === "pairs" ? Math.floor(length / 2) : (row.regions?.arguments ?? 0);
      for (const { arguments: args } of op.regions)
        if (args.length !== wanted) this.report(op, `a region takes ${args.length} arguments, not ${wanted}`);
    }
    this.types(op);
  }

  private attributes(op: Op, needed: AttributeKinds, optional: AttributeKinds): void {
    const { attributes } = op;
    for (const key in needed) if (!(key in attributes)) this.report(op, `lacks the attribute '${key}'`);
    for (const key in attributes) {
      const value = attributes[key]!;
      const kind = Object.hasOwn(needed, key) ? needed[key] : Object.hasOwn(optional, key) ? optional[key] : undefined;
      if (kind === undefined) this.report(op, `has an unknown attribute '${key}'`);
      else if (!this.fits(kind, value)) this.report(op, `attribute '${key}' cannot be ${JSON.stringify(value)}`);
    }
  }

  private fits(kind: AttributeKind, value: Attribute): boolean {
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
        return this.buffers.has(value as string);
      case "layout":
        return typeof value === "object";
    }
  }

  private types(op: Op): void {
    const { operands } = op;
    const result = op.results[0]?.type;
    switch (op.name) {
      case "binary":
        if (!operands.every((v) => sameType(v.type, result!))) {
          const types = operands.map((v) => printType(v.type)).join(", ");
          this.report(op, `operands ${types} do not match the result ${printType(result!)}`);
        }
        break;
      case "scalar": {
        const known = this.kernel.scalars.find((s) => s.name === op.attributes["name"]);
        if (known === undefined) this.report(op, "names no number of the launch");
        else if (result!.kind !== "tensor" && scalarOf(result!) !== known.dtype)
          this.report(op, `gives ${printType(result!)}, and the number is ${known.dtype}`);
        break;
      }
      case "unary":
        if (!sameType(operands[0]!.type, result!)) this.report(op, "operand and result differ in type");
        break;
      case "compare":
        if (!sameType(operands[0]!.type, operands[1]!.type)) this.report(op, "compares values of two types");
        if (scalarOf(result!) !== "bool") this.report(op, "does not give bool");
        break;
      case "select":
        if (scalarOf(operands[0]!.type) !== "bool") this.report(op, "condition is not bool");
        if (!sameType(operands[1]!.type, result!) || !sameType(operands[2]!.type, result!))
          this.report(op, "the two values and the result differ in type");
        break;
      case "for":
        this.indices(op, "a bound");
        if (operands.length % 2 !== ("limit" in op.attributes ? 1 : 0))
          this.report(op, "has a bound without a partner");
        if ("limit" in op.attributes && op.attributes["map"] !== "fragment")
          this.report(op, "has a limit of columns, and goes through no accumulator");
        this.twin(op, "fragment");
        break;
      case "if":
        if (!isScalar(operands[0]!.type, "bool")) this.report(op, "condition is not one bool");
        break;
      case "reduce": {
        this.indices(op, "a bound");
        const yielded = op.regions[0]?.ops.at(-1)?.operands[0]?.type;
        if (yielded !== undefined && !sameType(yielded, result!)) this.report(op, "yields another type than it gives");
        break;
      }
      case "contract":
        this.indices(op, "a bound");
        if (!op.regions[0]?.ops.at(-1)?.operands.every((v) => sameType(v.type, result!)))
          this.report(op, "yields values of another type than it gives");
        if ("run" in op.attributes && !((op.attributes["run"] as number) > 1))
          this.report(op, "has scales that do not stay for more than one term");
        break;
      case "load":
      case "store":
        this.memory(op);
        break;
      case "mma":
      case "mma_wait":
        this.twin(op, "accumulator");
        break;
      case "notify":
      case "await":
      case "copy_tile":
      case "fragment_put":
      case "fragment_add":
      case "tile_sent":
      case "await_tile":
      case "piece_put":
      case "await_pieces":
        this.indices(op, "an operand");
        break;
    }
  }

  private indices(op: Op, what: string): void {
    for (const { type } of op.operands)
      if (!isScalar(type, "index")) this.report(op, `${what} has type ${printType(type)}, not index`);
  }

  /** The accumulator of a second product is like that of the first. */
  private twin(op: Op, first: "accumulator" | "fragment"): void {
    if (op.attributes["twin"] === undefined) return;
    const { twin, async, a, b } = op.attributes;
    const kindOf = (name: Attribute | undefined): string => {
      const { role, dtype, shape } = this.buffers.get(name as string) ?? {};
      return [role, dtype, shape?.join()].join(" ");
    };
    if (kindOf(twin) !== kindOf(op.attributes[first])) this.report(op, "has a twin that is not like its accumulator");
    if (op.name !== "mma") return;
    if (async !== true) this.report(op, "has a twin, and is not asynchronous");
    const [stages, tiles] = [a, b].map((name) => this.buffers.get(name as string)?.shape[0] as number) as [
      number,
      number,
    ];
    if (tiles !== 2 * stages) this.report(op, "has a twin, but not two tiles of b for one of a");
  }

  private memory(op: Op): void {
    const buffer = this.buffers.get(op.attributes["buffer"] as string);
    if (buffer === undefined) return;
    const { operands } = op;
    const first = op.name === "store" ? 1 : 0;
    const element = (op.name === "store" ? operands[0]! : op.results[0]!).type;
    if (scalarOf(element) !== buffer.dtype)
      this.report(op, `moves ${printType(element)} through '${buffer.name}', which holds ${buffer.dtype}`);
    if (!isDType(scalarOf(element))) this.report(op, `moves ${printType(element)}, which is no element`);
    const isOnDevice = this.kernel.level === "device";
    if (lanesOf(element) > 1 && !isOnDevice) this.report(op, "moves a vector above the device level");
    for (let i = first; i < operands.length; i++)
      if (!isScalar(operands[i]!.type, "index")) this.report(op, "has a peer or index that is not of type index");
    const indices = operands.length - first - (isRemote(op) ? 1 : 0);
    if (indices !== buffer.shape.length && !(isOnDevice && indices === 1))
      this.report(op, `has ${indices} indices for '${buffer.name}' of ${buffer.shape.length} dimensions`);
  }
}

/** How many values a region of the op ends with, at least and at most: a contract has scales only if it says for how long each stays. */
function yieldsOf({ name, attributes }: Op): readonly [number, number] {
  if (name === "reduce") return [1, 1];
  if (name !== "contract") return [0, 0];
  return "run" in attributes ? [3, 4] : [2, 2];
}

type AttributeKinds = Readonly<Record<string, AttributeKind>>;
const NONE: AttributeKinds = {};

function isScalar(type: Type, kind: "index" | "bool"): boolean {
  return type.kind === "scalar" && type.scalar === kind;
}

function isOfTensors({ name, results }: Op): boolean {
  return name === "output" || results[0]?.type.kind === "tensor";
}

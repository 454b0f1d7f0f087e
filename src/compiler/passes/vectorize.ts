/**
 * vectorize: turns of a threads loop that touch neighbouring elements are taken several at a time.
 *
 * Lane l of a vector stands for iteration v·V + l. A value is uniform over the lanes, consecutive (an index that
 * grows by one a lane), or data (one element a lane). Loads and stores at consecutive indices become wide ones.
 * What must hold for that — addresses and starts that are multiples of the width — is tested by the kernel, once,
 * and the scalar loop stays for when it does not, and for the tail. A body that does not fit stays scalar.
 */
import { Builder } from "../ir/builder.js";
import {
  bufferOf,
  isGlobal,
  type Kernel,
  memoryOperands,
  type Op,
  type Region,
  text,
  type Value,
} from "../ir/module.js";
import { definitionOf } from "../ir/ops.js";
import { scalarOf, vector } from "../ir/types.js";
import { copyOp, rewriteOps, Substitution } from "../ir/visit.js";
import { DTYPES } from "../types/dtype.js";
import type { PassOptions } from "./options.js";
import { Definitions } from "./support/analysis.js";
import { type LaneFacts, laneFacts } from "./support/lanes.js";
import { vectorLanes } from "./support/vector-lanes.js";

export function vectorize(kernel: Kernel, options: Pick<PassOptions, "accessBytes">): Kernel {
  const lanes = vectorLanes(kernel, options);
  const definitions = new Definitions(kernel);
  const build = new Builder({ start: 0, end: 0 });
  rewriteOps(kernel.body.ops, build, new Substitution(), (op, b, values) => {
    if (op.name !== "for" || op.attributes["map"] !== "threads" || !touchesMemory(op)) return false;
    const facts = laneFacts(op, lanes, kernel, definitions);
    const turns = b.constantOf(values.get(op.operands[1]!));
    if (facts === null || (turns !== undefined && turns < lanes)) return false;
    const hasTail = !definitions.isMultiple(op.operands[1]!, lanes);
    emit(op, { lanes, facts, hasTail }, kernel, options, b, values);
    return true;
  });
  return { ...kernel, body: { arguments: [], ops: build.ops } };
}

function touchesMemory(op: Op): boolean {
  return op.name === "load" || op.name === "store" || op.regions.some((r) => r.ops.some(touchesMemory));
}

function emit(
  op: Op,
  { lanes, facts, hasTail }: { lanes: number; facts: LaneFacts; hasTail: boolean },
  kernel: Kernel,
  options: Pick<PassOptions, "accessBytes">,
  build: Builder,
  values: Substitution,
): void {
  const [body] = op.regions;
  const [lo, hi] = op.operands.map((v) => values.get(v)) as [Value, Value];
  const { map: _map, ...extra } = op.attributes;
  const variable = body!.arguments[0]!;
  const scalarLoop = (from: Value, to: Value): void =>
    build.for(
      "threads",
      [[from, to]],
      ([t]) => {
        const inner = new Substitution(values);
        inner.set(variable, t!);
        rewriteOps(body!.ops, build, inner);
      },
      extra,
    );
  const width = build.constant(lanes);
  const wide = (): void => {
    const vectors = build.div(hi, width);
    build.for(
      "threads",
      [[lo, vectors]],
      ([v]) => {
        const inner = new Substitution(values);
        inner.set(variable, build.mul(v!, width));
        new VectorBody(lanes, facts, build).region(body!, inner);
      },
      extra,
    );
    const covered = build.mul(vectors, width);
    if (hasTail) scalarLoop(covered, hi);
  };
  let possible: Value = build.bool(true);
  const require = (condition: Value): void => {
    possible = build.constantOf(possible) === 1 ? condition : build.binary("and", possible, condition);
  };
  for (const name of facts.buffers) {
    const buffer = bufferOf(kernel, name);
    const bytes = Math.min(options.accessBytes, lanes * DTYPES[buffer.dtype].bytes);
    // Symmetric buffers lie at one offset on all ranks, so the local address speaks for the peers'.
    if (isGlobal(buffer))
      require(build.op("aligned", [], { buffer: name, bytes }, { kind: "scalar", scalar: "bool" })!);
  }
  for (const v of facts.multiples) require(build.compare("eq", build.rem(values.get(v), width), build.constant(0)));
  build.if(possible, wide, () => scalarLoop(lo, hi));
}

class VectorBody {
  constructor(
    private readonly lanes: number,
    private readonly facts: LaneFacts,
    private readonly build: Builder,
  ) {}

  region(region: Region, values: Substitution): void {
    for (const op of region.ops) {
      this.build.span = op.span;
      this.op(op, values);
    }
  }

  private isData(v: Value): boolean {
    return this.facts.data.has(v);
  }

  /** The value as a vector, spread if it is one scalar for all lanes. */
  private asVector(v: Value, values: Substitution): Value {
    const now = values.get(v);
    return this.isData(v) ? now : this.build.op("splat", [now], {}, vector(scalarOf(now.type), this.lanes))!;
  }

  private op(op: Op, values: Substitution): void {
    const { build, lanes } = this;
    const result = op.results[0];
    if (op.name === "store") {
      const { value, peer, indices } = memoryOperands(op);
      const to = peer === null ? null : values.get(peer);
      build.store(
        text(op, "buffer"),
        this.asVector(value!, values),
        indices.map((i) => values.get(i)),
        to,
      );
    } else if (op.name === "load" && this.isData(result!)) {
      const { peer, indices } = memoryOperands(op);
      const type = vector(scalarOf(result!.type), lanes);
      values.set(
        result!,
        build.load(
          text(op, "buffer"),
          indices.map((i) => values.get(i)),
          type,
          peer === null ? null : values.get(peer),
        ),
      );
    } else if (result !== undefined && definitionOf(op.name).effect === "pure" && this.isData(result)) {
      const operands = op.operands.map((v) => this.asVector(v, values));
      values.set(result, build.op(op.name, operands, op.attributes, vector(scalarOf(result.type), lanes))!);
    } else if (op.regions.length > 0) {
      this.structured(op, values);
    } else {
      copyOp(op, build, values);
    }
  }

  private structured(op: Op, values: Substitution): void {
    const { build } = this;
    const operands = op.operands.map((v) => values.get(v));
    const regions = op.regions.map((region) =>
      build.region(region.arguments.length, (args) => {
        const inner = new Substitution(values);
        region.arguments.forEach((a, i) => inner.set(a, args[i]!));
        this.region(region, inner);
      }),
    );
    const result = op.results[0];
    const type =
      result === undefined ? null : this.isData(result) ? vector(scalarOf(result.type), this.lanes) : result.type;
    const made = build.op(op.name, operands, op.attributes, type, regions);
    if (made !== null) values.set(result!, made);
  }
}

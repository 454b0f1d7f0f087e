/**
 * vectorize: iterations of a threads loop that touch neighbouring elements are taken several at a time.
 *
 * Lane l of a vector stands for iteration v·V + l. A value is uniform over the lanes, consecutive (an index that
 * grows by one a lane), or data (one element a lane). Loads and stores at consecutive indices become wide ones.
 * What must hold for that — addresses and starts that are multiples of the width — is tested by the kernel, once,
 * and the scalar loop stays for when it does not, and for the tail. A body that does not fit stays scalar.
 */
import { InternalCompilerError } from "../diagnostics/ice.js";
import { Builder } from "../ir/builder.js";
import {
  type Attribute,
  bufferOf,
  isGlobal,
  type Kernel,
  memoryOperands,
  type Op,
  type Region,
  text,
  type Value,
} from "../ir/module.js";
import { definitionOf, type LoopMap } from "../ir/ops.js";
import { printKernel } from "../ir/print.js";
import { scalarOf, vector } from "../ir/types.js";
import { copyOp, rewriteOps, Substitution, walk } from "../ir/visit.js";
import { DTYPES } from "../types/dtype.js";
import type { PassOptions } from "./options.js";
import { Definitions } from "./support/analysis.js";
import { type LaneFacts, laneFacts } from "./support/lanes.js";
import { Packets } from "./support/packets.js";
import { vectorLanes } from "./support/vector-lanes.js";

export function vectorize(kernel: Kernel, options: Pick<PassOptions, "accessBytes">): Kernel {
  const lanes = vectorLanes(kernel, options);
  const definitions = new Definitions(kernel);
  const build = new Builder({ start: 0, end: 0 });
  const packets = new Packets(kernel, lanes, build);
  rewriteOps(kernel.body.ops, build, new Substitution(), (op, b, values) => {
    if (op.name !== "for" || !SPREAD.has(op.attributes["map"]!) || !touchesMemory(op)) return false;
    const isFragment = op.attributes["map"] === "fragment";
    if (isFragment && lanes > FRAGMENT_LANES) return false;
    const width = isFragment && !packets.areIn(op) ? fragmentLanes(op, lanes, kernel, options) : lanes;
    const facts = laneFacts(op, width, kernel, definitions);
    const iterations = b.constantOf(values.get(op.operands[1]!));
    const isFit = facts !== null && !(iterations !== undefined && iterations < width);
    if (!isFit && !packets.areIn(op)) return false;
    const hasTail = !definitions.isMultiple(op.operands[1]!, width);
    emit(op, { lanes: width, facts: isFit ? facts : null, hasTail, packets }, kernel, options, b, values);
    return true;
  });
  return { ...kernel, buffers: packets.buffers, body: { arguments: [], ops: build.ops } };
}

/** Loops whose iterations threads take in any order. */
const SPREAD: ReadonlySet<Attribute> = new Set<Attribute>(["threads", "fragment"]);
/** Most neighbours of a row that a thread takes of an accumulator. */
const FRAGMENT_LANES = 8;
/** Most bytes that a thread loads for these: with 128, of 8 ranks, ptxas spilled up to 76 beside an accumulator of 128 registers; with 80 none. */
const FRAGMENT_BYTES = 96;

/**
 * Elements of a row of an accumulator that a thread takes at once: no more than one access holds. Of two accesses side by side, each
 * store of a warp would fill half of every sector: a cut product of 512×2048×8192 takes 38 µs so, and 35 with one (H200, 2026-11).
 * Fewer where it adds up so many ranks' parts that they do not fit into the registers that the accumulator leaves: compilers load all first.
 */
function fragmentLanes(op: Op, lanes: number, kernel: Kernel, options: Pick<PassOptions, "accessBytes">): number {
  let widest = 1;
  let loaded = 0;
  walk(op.regions[0]!, (o) => {
    if (o.name !== "load" && o.name !== "store") return;
    const buffer = bufferOf(kernel, text(o, "buffer"));
    if (!isGlobal(buffer)) return;
    const { bytes } = DTYPES[buffer.dtype];
    widest = Math.max(widest, bytes);
    if (o.name === "load") loaded += bytes;
  });
  let width = Math.min(lanes, Math.max(1, options.accessBytes / widest));
  while (width > 1 && width * loaded > FRAGMENT_BYTES) width /= 2;
  return width;
}

function touchesMemory(op: Op): boolean {
  return op.name === "load" || op.name === "store" || op.regions.some((r) => r.ops.some(touchesMemory));
}

interface Widening {
  readonly lanes: number;
  /** Null where the body does not fit. */
  readonly facts: LaneFacts | null;
  readonly hasTail: boolean;
  readonly packets: Packets;
}

function emit(
  op: Op,
  { lanes, facts, hasTail, packets }: Widening,
  kernel: Kernel,
  options: Pick<PassOptions, "accessBytes">,
  build: Builder,
  values: Substitution,
): void {
  const [body] = op.regions;
  const [lo, hi, limit = null] = op.operands.map((v) => values.get(v)) as [Value, Value, Value?];
  const { map, ...extra } = op.attributes as Op["attributes"] & { readonly map: LoopMap };
  const counted = map === "fragment" ? { ...extra, lanes } : extra;
  const variable = body!.arguments[0]!;
  const scalarLoop = (from: Value, to: Value): void =>
    build.for(
      map,
      [[from, to]],
      ([t]) => {
        const inner = new Substitution(values);
        inner.set(variable, t!);
        rewriteOps(body!.ops, build, inner);
      },
      extra,
      limit,
    );
  const width = build.constant(lanes);
  const vectorLoop = (iteration: (first: Value) => void): Value => {
    const vectors = build.div(hi, width);
    build.for(map, [[lo, vectors]], ([v]) => iteration(build.mul(v!, width)), counted, limit);
    return build.mul(vectors, width);
  };
  const wideLoop = (known: LaneFacts): Value =>
    vectorLoop((first) => {
      const inner = new Substitution(values);
      inner.set(variable, first);
      new VectorBody(lanes, known, build, packets).region(body!, inner);
    });
  if (packets.areIn(op) && map === "fragment") {
    // Who puts packets into an accumulator's loop has made sure that its rows are whole packets, made of sums alone: all are one vector each.
    if (facts === null || hasTail)
      throw new InternalCompilerError("packets of an accumulator's rows are not whole", printKernel(kernel));
    wideLoop(facts);
    return;
  }
  if (packets.areIn(op)) {
    const gathered = (): void => void vectorLoop((first) => packets.gathered(body!, first, values));
    if (facts === null) gathered();
    else build.if(isPossible(), () => void wideLoop(facts), gathered);
    const covered = build.mul(build.div(hi, width), width);
    if (hasTail) build.for(map, [[covered, hi]], ([t]) => packets.single(body!, t!, covered, values), extra);
    return;
  }
  const wide = (): void => {
    const covered = wideLoop(facts!);
    if (hasTail) scalarLoop(covered, hi);
  };
  build.if(isPossible(), wide, () => scalarLoop(lo, hi));

  /** What must hold so that every access of the wide loop is aligned. */
  function isPossible(): Value {
    let possible: Value = build.bool(true);
    const require = (condition: Value): void => {
      possible = build.constantOf(possible) === 1 ? condition : build.binary("and", possible, condition);
    };
    for (const name of facts!.buffers) {
      if (packets.has(name)) continue;
      const buffer = bufferOf(kernel, name);
      const bytes = Math.min(options.accessBytes, lanes * DTYPES[buffer.dtype].bytes);
      // Symmetric buffers lie at one offset on all ranks, so the local address speaks for the peers'.
      if (isGlobal(buffer))
        require(build.op("aligned", [], { buffer: name, bytes }, { kind: "scalar", scalar: "bool" })!);
    }
    for (const v of facts!.multiples) require(build.compare("eq", build.rem(values.get(v), width), build.constant(0)));
    return possible;
  }
}

class VectorBody {
  constructor(
    private readonly lanes: number,
    private readonly facts: LaneFacts,
    private readonly build: Builder,
    private readonly packets: Packets,
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
    if (this.packets.isAccess(op)) {
      const { value, peer, indices } = memoryOperands(op);
      const slot = this.packets.slotOf(values.get(indices[0]!));
      if (op.name === "load") values.set(result!, this.packets.load(op, slot, lanes));
      else this.packets.store(op, this.asVector(value!, values), slot, peer === null ? null : values.get(peer));
    } else if (op.name === "store") {
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
          op.attributes["message"] === true,
        ),
      );
    } else if (result !== undefined && definitionOf(op.name).effect === "pure" && this.isData(result)) {
      // A choice that is one for all lanes stays one.
      const isOne = (v: Value, i: number): boolean => op.name === "select" && i === 0 && !this.isData(v);
      const operands = op.operands.map((v, i) => (isOne(v, i) ? values.get(v) : this.asVector(v, values)));
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

/**
 * Random device-level kernels: every scalar function, conversion and kind of loop that the printer writes, vectors, shared
 * memory, accesses to peers, and flags between ranks. What one schedule may do differently from another is left out, and
 * what the machine does not define: division by zero, and floats that no integer holds.
 */
import { UNARY } from "../../src/compiler/ir/functions.js";
import type { Kernel } from "../../src/compiler/ir/module.js";
import { parseKernel } from "../../src/compiler/ir/parse.js";
import { verify } from "../../src/compiler/ir/verify.js";
import type { DType } from "../../src/compiler/types/dtype.js";
import { randomKey, randomStream } from "../../src/runtime/numbers/index.js";

export const WORLD = 2;
export const BLOCKS = 2;
const THREADS = 8;

/** Functions that are not exact. */
const ROUNDED = Object.entries(UNARY).flatMap(([fn, { isExact }]) => (isExact === true ? [] : [fn]));

/** Dtypes of numbers; buffers of truth values stand beside them. */
const DTYPES: readonly Exclude<DType, "bool">[] = [
  "f32",
  "f16",
  "bf16",
  "f8e4m3",
  "f8e5m2",
  "i64",
  "i32",
  "u32",
  "i8",
  "u8",
];
const COMPUTE = { f32: "f32", f16: "f32", bf16: "f32", f8e4m3: "f32", f8e5m2: "f32", i64: "i64", i32: "i32", u32: "u32", i8: "i32", u8: "u32", bool: "bool" } as const; // prettier-ignore
type Compute = "f32" | "i64" | "i32" | "u32";

/** A value of the text that is being written. */
interface Written {
  readonly name: string;
  readonly kind: Compute | "index" | "bool";
}

class Text {
  readonly lines: string[] = [];
  private count = 0;
  private readonly random: () => number;
  /** Lanes of the values that are written now. */
  lanes = 1;

  constructor(seed: number) {
    this.random = randomStream(randomKey(seed, 77));
  }

  below(n: number): number {
    return this.random() % n;
  }

  pick<X>(all: readonly X[]): X {
    return all[this.below(all.length)]!;
  }

  type(kind: string): string {
    return this.lanes === 1 || kind === "index" ? kind : `vec<${this.lanes} x ${kind}>`;
  }

  define(kind: Written["kind"], what: string, type = this.type(kind)): Written {
    const name = `%v${this.count++}`;
    this.lines.push(`${name} = ${what} : ${type}`);
    return { name, kind };
  }

  index(value: number): Written {
    return this.define("index", `const {value=${value}}`, "index");
  }

  binary(fn: string, a: Written, b: Written): Written {
    return this.define(a.kind, `binary ${a.name}, ${b.name} {fn="${fn}"}`);
  }

  literal(kind: Compute): Written {
    const value =
      kind === "f32"
        ? this.pick([0.5, -1.25, 3, 0.1, -0, 1e-3, 7e4])
        : kind === "i64"
          ? this.pick([1, -3, 100, -(2 ** 31), 2 ** 40 + 1, 2 ** 53 - 1, -(2 ** 63)])
          : kind === "i32"
            ? this.pick([1, -3, 7, 100, -(2 ** 31), 2 ** 31 - 1])
            : this.pick([1, 3, 255, 2 ** 31, 2 ** 32 - 1]);
    const scalar = this.define(kind, `const {value=${Object.is(value, -0) ? "-0" : value}}`, kind);
    return this.lanes === 1 ? scalar : this.define(kind, `splat ${scalar.name}`);
  }

  /** A value of `kind` made from others. */
  value(kind: Compute, depth: number, leaves: readonly Written[]): Written {
    if (depth === 0) {
      const own = leaves.filter((v) => v.kind === kind);
      return own.length > 0 && this.below(5) > 0 ? this.pick(own) : this.literal(kind);
    }
    const inner = (k: Compute = kind): Written => this.value(k, depth - 1, leaves);
    switch (this.below(kind === "f32" ? 7 : 9)) {
      case 0: {
        const fns = kind === "u32" ? ["relu"] : ["neg", "abs", "relu"];
        const fn = this.pick(fns);
        return this.define(kind, `unary ${inner().name} {fn="${fn}"}`);
      }
      case 1: {
        const condition = this.condition(depth - 1, leaves);
        const [a, b] = [inner(), inner()];
        return this.define(kind, `select ${condition.name}, ${a.name}, ${b.name}`);
      }
      case 2:
        return this.converted(kind, inner(this.pick(["f32", "i64", "i32", "u32"])));
      case 3:
        return this.binary(this.pick(["min", "max"]), inner(), inner());
      case 4:
        if (kind === "f32") return this.binary("div", inner(), inner());
        // The divisor lies from 1 to 7.
        return this.binary(this.pick(["div", "rem"]), inner(), this.limited(kind, inner(), 1, 7));
      case 7:
        return this.binary(this.pick(["and", "or", "xor"]), inner(), inner());
      case 8:
        return this.binary(this.pick(["shl", "shr"]), inner(), this.limited(kind, inner(), 0, 15));
      default:
        return this.binary(this.pick(["add", "sub", "mul"]), inner(), inner());
    }
  }

  limited(kind: Compute, v: Written, least: number, most: number): Written {
    const bound = (value: number): Written => {
      const scalar = this.define(kind, `const {value=${value}}`, kind);
      return this.lanes === 1 ? scalar : this.define(kind, `splat ${scalar.name}`);
    };
    return this.binary("max", this.binary("min", v, bound(most)), bound(least));
  }

  converted(kind: Compute, v: Written): Written {
    if (v.kind === kind) return v;
    const from = v.kind === "f32" ? this.limited("f32", v, kind === "u32" ? 0 : -30000, 30000) : v;
    return this.define(kind, `cast ${from.name}`);
  }

  condition(depth: number, leaves: readonly Written[]): Written {
    const own = leaves.filter((v) => v.kind === "bool");
    if (own.length > 0 && this.below(3) === 0) return this.pick(own);
    const kind = this.pick<Compute>(["f32", "i64", "i32", "u32"]);
    const fn = this.pick(["eq", "ne", "lt", "le", "gt", "ge"]);
    const [a, b] = [this.value(kind, Math.max(0, depth - 1), leaves), this.value(kind, 0, leaves)];
    const c = this.define("bool", `compare ${a.name}, ${b.name} {fn="${fn}"}`);
    if (this.below(3) === 0) return this.define("bool", `unary ${c.name} {fn="not"}`);
    if (depth === 0 || this.below(2) === 0) return c;
    return this.binary(this.pick(["and", "or", "xor"]), c, this.condition(depth - 1, leaves));
  }

  /** An element of a buffer as it is computed with. */
  load(buffer: string, dtype: DType, at: Written, peer: Written | null = null): Written {
    const where = peer === null ? at.name : `${peer.name}, ${at.name}`;
    const remote = peer === null ? "" : ", remote=true";
    const v = this.define(COMPUTE[dtype], `load ${where} {buffer="${buffer}"${remote}}`, this.type(dtype));
    return dtype === COMPUTE[dtype] ? v : this.define(COMPUTE[dtype], `cast ${v.name}`);
  }

  store(buffer: string, dtype: DType, v: Written, at: Written, peer: Written | null = null): void {
    // Narrow floats have a largest value, beyond which the two differ by rule; so far out nothing is tested.
    let held = dtype.startsWith("f8") ? this.limited("f32", v, -400, 400) : v;
    held = dtype === held.kind ? held : this.define(held.kind, `cast ${held.name}`, this.type(dtype));
    const where = peer === null ? at.name : `${peer.name}, ${at.name}`;
    this.lines.push(`store ${held.name}, ${where} {buffer="${buffer}"${peer === null ? "" : ", remote=true"}}`);
  }
}

/** A kernel of one seed; `n`, its dimension, is to be `LENGTH`. */
export const LENGTH = 48;

export function randomKernel(seed: number): Kernel {
  const t = new Text(seed);
  const [da, db] = [t.pick(DTYPES), t.pick(DTYPES)];
  // One output of each kind that there is arithmetic of.
  const outputs = (["f32", "i64", "i32", "u32"] as const).map((kind) => ({
    name: `y_${kind}`,
    kind,
    dtype: t.pick(DTYPES.filter((d) => COMPUTE[d] === kind)),
  }));
  const lanes = t.pick([1, 1, 2, 4, 8]);
  const zero = t.index(0);
  const one = t.index(1);
  const threads = t.index(THREADS);
  const chunk = t.index(LENGTH / BLOCKS);
  const n = t.define("index", 'dim {name="n"}', "index");
  const me = t.define("index", "rank", "index");
  const world = t.index(WORLD);
  const peer = t.binary("rem", t.binary("add", me, one), world);
  const block = t.define("index", "block", "index");
  const begin = t.binary("mul", block, chunk);

  // Each thread: elements of this rank and of its peer, through any functions, to y.
  const strided = t.index(LENGTH / BLOCKS / lanes);
  const body = (i: Written): void => {
    const at = t.binary("add", begin, lanes === 1 ? i : t.binary("mul", i, t.index(lanes)));
    t.lanes = lanes;
    const leaves = [t.load("a", da, at), t.load("b", db, at, peer)];
    const masks = [t.load("m", "bool", at), t.load("m", "bool", at, peer)];
    const truth = t.condition(2, [...leaves, ...masks]);
    t.store("p", "bool", t.binary(t.pick(["and", "or", "xor", "min", "max"]), t.pick(masks), truth), at);
    for (const { name, kind, dtype } of outputs) {
      // What is loaded shows, whatever the value in front of it makes of it.
      const shown = leaves.map((leaf) => t.converted(kind, leaf));
      t.store(name, dtype, [...shown, t.define(kind, `cast ${truth.name}`)].reduce((sum, leaf) => t.binary("add", sum, leaf), t.value(kind, 3, [...leaves, ...masks, ...shown])), at); // prettier-ignore
    }
    // Functions that are rounded otherwise on each machine.
    const near = t.limited("f32", t.converted("f32", leaves[0]!), 0.25, 8);
    const fn = t.pick(ROUNDED);
    t.store("near", "f32", t.define("f32", `unary ${near.name} {fn="${fn}"}`), at);
    t.lanes = 1;
  };
  t.lines.push(`for ${zero.name}, ${strided.name} {map="threads"} (%i) {`);
  body({ name: "%i", kind: "index" });
  t.lines.push("}");

  // A reduction over indices, with a condition and arithmetic of 64 bits, by one loop over blocks.
  t.lines.push(
    `for ${zero.name}, ${n.name} {map="blocks"} (%q) {`,
    `for ${zero.name}, ${one.name} {map="threads"} (%u) {`,
  );
  const q: Written = { name: "%q", kind: "index" };
  const fn = t.pick(["sum", "min", "max", "prod"]);
  const k = { name: "%k", kind: "index" } as const;
  const from = t.lines.length;
  const term = t.load("a", da, t.binary("rem", t.binary("add", q, k), n));
  const mixed = t.value(COMPUTE[da], 1, [term]);
  t.lines.push(`yield ${mixed.name}`);
  const inside = t.lines.splice(from);
  const high = t.binary("min", t.index(t.pick([0, 1, 3])), n);
  t.lines.push(`%r = reduce ${zero.name}, ${high.name} {fn="${fn}"} : ${COMPUTE[da]} (%k) {`, ...inside, "}");
  t.store("z", da, { name: "%r", kind: COMPUTE[da] }, q);
  const odd = t.binary(t.pick(["and", "or", "xor"]), q, t.index(t.pick([1, 3, 6])));
  const shifted = t.binary(t.pick(["shl", "shr", "mul", "div", "max", "sub"]), odd, one);
  const test = t.define(
    "bool",
    `compare ${shifted.name}, ${t.index(5).name} {fn="${t.pick(["lt", "ge", "eq"])}"}`,
    "bool",
  );
  t.lines.push(`if ${test.name} () {`);
  t.store("w", "i32", t.define("i32", `cast ${shifted.name}`, "i32"), q);
  t.lines.push("} () {");
  t.store("w", "i32", t.define("i32", `cast ${q.name}`, "i32"), q);
  t.lines.push("}", "}", "}");

  // Threads of a block exchange elements through shared memory and through a register of their own.
  t.lines.push(`for ${zero.name}, ${threads.name} {map="threads"} (%t) {`);
  const thread: Written = { name: "%t", kind: "index" };
  const mine = t.load("a", da, t.binary("add", begin, thread));
  t.store("shared", "f32", mine.kind === "f32" ? mine : t.define("f32", `cast ${mine.name}`, "f32"), thread);
  t.lines.push("}", "block_sync loc(0:0)", `for ${zero.name}, ${threads.name} {map="threads"} (%s) {`);
  const other = t.binary("rem", t.binary("add", { name: "%s", kind: "index" }, t.index(3)), threads);
  const got = t.load("shared", "f32", other);
  // The peer gets it, and is told.
  t.store("box", "f32", got, t.binary("add", begin, { name: "%s", kind: "index" }), peer);
  t.lines.push("}", "block_sync loc(0:0)", `for ${zero.name}, ${one.name} {map="threads"} (%f) {`);
  const mode = t.pick(["set", "add"]);
  const epoch = t.define("u32", "const {value=1}", "u32");
  t.lines.push(
    `signal ${epoch.name}, ${peer.name}, ${block.name} {buffer="flags", mode="${mode}", scope="sys", order="release", remote=true}`,
    `wait ${epoch.name}, ${block.name}, ${peer.name} {buffer="flags", scope="sys", order="acquire"}`,
    "}",
    "block_sync loc(0:0)",
    `for ${zero.name}, ${threads.name} {map="threads"} (%g) {`,
  );
  const place = t.binary("add", begin, { name: "%g", kind: "index" });
  t.store("x", "f32", t.load("box", "f32", place), place);
  t.lines.push("}");

  const kernel = parseKernel(
    `kernel k${seed} level=device world=${WORLD} threads=${THREADS} blocks=${BLOCKS} {
dim n
buffer a: input ${da}[n]
buffer b: input ${db}[n] symmetric
buffer m: input bool[n] symmetric
buffer p: output bool[n]
${outputs.map(({ name, dtype }) => `buffer ${name}: output ${dtype}[n]`).join("\n")}
buffer z: output ${da}[n]
buffer w: output i32[n]
buffer x: output f32[n]
buffer near: output f32[n]
buffer box: scratch f32[n] symmetric
buffer flags: signal u32[${BLOCKS}] symmetric
buffer shared: shared f32[${THREADS}]
work ${BLOCKS}
body {
${t.lines.join("\n")}
}
}`,
  );
  verify(kernel, `the random kernel ${seed}`);
  return kernel;
}

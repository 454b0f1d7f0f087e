/** Hand-written device-level kernels for the tests of the CPU backend, and what is needed to run them. */
import type { Kernel } from "../../src/compiler/ir/module.js";
import { parseKernel } from "../../src/compiler/ir/parse.js";
import { verify } from "../../src/compiler/ir/verify.js";
import { manifestOf } from "../../src/compiler/emit/manifest.js";
import type { Manifest } from "../../src/compiler/manifest.js";
import { evaluateExtent } from "../../src/compiler/types/extent.js";
import { CpuGroup, type CpuOptions, type RankArguments } from "../../src/runtime/cpu/index.js";
import { allocate, fillPoison, type NumberArray, type TypedArray } from "../../src/runtime/numbers/index.js";
import { usualSeconds } from "../processor.js";

/** An array that is there, of a dtype whose elements are numbers of JavaScript. */
export function numbers(array: TypedArray | undefined): NumberArray {
  return array as NumberArray;
}

/** The manifest of a kernel of a test. */
export const manifestFor = (kernel: Kernel): Manifest => manifestOf(kernel, "sm_90a");

/** Parses, verifies and loads a kernel. */
export function load(text: string, options: CpuOptions = {}): CpuGroup {
  const kernel = parseKernel(text);
  verify(kernel, "in a test");
  return new CpuGroup(kernel, manifestFor(kernel), options);
}

/** Zeroed inputs and poisoned outputs of the kernel's input and output buffers, one set a rank. */
export function blank(group: CpuGroup, dims: Record<string, number>): RankArguments[] {
  return Array.from({ length: group.kernel.world }, () => {
    const made = { input: {} as Record<string, TypedArray>, output: {} as Record<string, TypedArray> };
    for (const b of group.kernel.buffers) {
      if (b.role !== "input" && b.role !== "output") continue;
      const length = b.shape.reduce<number>((a, e) => a * evaluateExtent(e, dims), 1);
      const array = allocate(b.dtype, length);
      made[b.role][b.name] = b.role === "output" ? fillPoison(array) : array;
    }
    return { inputs: made.input, outputs: made.output };
  });
}

/** A kernel of one rank without dimensions around a body. */
export function small(buffers: string, body: string, world = 1, threads = 32, blocks = 1): string {
  return `kernel k level=device world=${world} threads=${threads} blocks=${blocks} {\n${buffers}\nbody {\n${body}\n}\n}`;
}

/**
 * One-shot all-reduce as the compiler would emit it: a flag exchange with growing epochs per block, then
 * vector loads from all peers, f32 sums, one rounding, a scalar tail, and a closing exchange.
 */
export function oneShot(world: number, dtype = "bf16", lanes = 8, blocks = 16): string {
  const peers = Array.from({ length: world }, (_, p) => p);
  const vec = (kind: string): string => `vec<${lanes} x ${kind}>`;
  const sum = (index: string, type: (kind: string) => string): string =>
    peers
      .map(
        (p) => `
        %p${p} = const {value=${p}} : index
        %x${p} = load %p${p}, ${index} {buffer="x", remote=true} : ${type(dtype)}
        %f${p} = cast %x${p} : ${type("f32")}
        ${p === 0 ? "" : `%s${p} = binary ${p === 1 ? "%f0" : `%s${p - 1}`}, %f${p} {fn="add"} : ${type("f32")}`}`,
      )
      .join("") +
    `
        %r = cast ${world === 1 ? "%f0" : `%s${world - 1}`} : ${type(dtype)}
        store %r, ${index} {buffer="y"}`;
  const exchange = (epoch: string): string => `
    for %zero, %world {map="threads"} (%peer) {
      %up = binary %block, %world {fn="mul"} : index
      %there = binary %up, %rank {fn="add"} : index
      %here = binary %up, %peer {fn="add"} : index
      signal ${epoch}, %peer, %there {buffer="flags", mode="set", scope="sys", order="release", remote=true}
      wait ${epoch}, %here, %peer {buffer="flags", scope="sys", order="acquire"}
    }
    block_sync loc(0:0)`;
  return `kernel one_shot level=device world=${world} threads=256 blocks=${blocks} {
  dim n
  dtype T = ${dtype}
  in x: ${dtype}[n] partial(sum) local [n]
  out y: ${dtype}[n] replicated local [n]
  specify input(x)
  buffer x: input ${dtype}[n] symmetric
  buffer y: output ${dtype}[n]
  buffer flags: signal u32[${world * blocks}] symmetric
  buffer epoch: state u32[${blocks}]
  work ceildiv(n, ${256 * lanes})
  body {
    %zero = const {value=0} : index
    %one = const {value=1} : index
    %world = const {value=${world}} : index
    %lanes = const {value=${lanes}} : index
    %chunk = const {value=${256 * lanes}} : index
    %threads = const {value=256} : index
    %rank = rank : index
    %block = block : index
    %n = dim {name="n"} : index
    %old = load %block {buffer="epoch"} : u32
    %step = const {value=1} : u32
    %e1 = binary %old, %step {fn="add"} : u32
    %e2 = binary %e1, %step {fn="add"} : u32
    ${exchange("%e1")}
    %full = binary %n, %chunk {fn="div"} : index
    for %zero, %full {map="blocks"} (%tile) {
      %base = binary %tile, %chunk {fn="mul"} : index
      for %zero, %threads {map="threads"} (%t) {
        %off = binary %t, %lanes {fn="mul"} : index
        %i = binary %base, %off {fn="add"} : index
        ${sum("%i", vec)}
      }
    }
    %done = binary %full, %chunk {fn="mul"} : index
    %first = compare %block, %zero {fn="eq"} : bool
    if %first () {
      for %done, %n {map="threads"} (%j) {
        ${sum("%j", (kind) => kind)}
      }
    } () {
    }
    ${exchange("%e2")}
    for %zero, %one {map="threads"} (%t2) {
      store %e2, %block {buffer="epoch"}
    }
  }
}`;
}

/** Milliseconds of the fastest of three runs: what the code needs, whatever else the machine is doing. */
export function fastest(run: () => void): number {
  return 1000 * Math.min(...[0, 1, 2].map(() => usualSeconds(run)));
}

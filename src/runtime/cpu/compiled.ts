/** Turns generated text into the function that makes a block's coroutine, with its helpers bound. */
import type { Kernel } from "../../compiler/index.js";
import { ENCODERS, F32_WORD, I32_WORD, valuesOf } from "../numbers/formats.js";
import { FLOAT_FUNCTIONS, maximum, minimum } from "../numbers/functions.js";
import { generate } from "./codegen.js";
import type { CodeOptions } from "./emitter.js";
import type { Site } from "./faults.js";
import type { BlockState, Launch } from "./launch.js";
import { join, type Suspension } from "./scheduler.js";
import * as hostileTiles from "./hostile/tiles.js";
import * as tiles from "./tiles.js";

/** Makes the coroutine of one block of one rank. */
export type BlockProgram = (
  launch: Launch,
  state: BlockState,
  rank: number,
  block: number,
) => Generator<Suspension, void>;

export interface CompiledKernel {
  readonly program: BlockProgram;
  readonly sites: readonly Site[];
  /** The generated JavaScript, for debugging. */
  readonly text: string;
}

/** Bitwise functions of indices: 64-bit two's complement, quick where 32 bits do. */
const wide = {
  and: (a: number, b: number): number =>
    (a | 0) === a && (b | 0) === b ? a & b : Number(BigInt.asIntN(64, BigInt(a) & BigInt(b))),
  or: (a: number, b: number): number =>
    (a | 0) === a && (b | 0) === b ? a | b : Number(BigInt.asIntN(64, BigInt(a) | BigInt(b))),
  xor: (a: number, b: number): number =>
    (a | 0) === a && (b | 0) === b ? a ^ b : Number(BigInt.asIntN(64, BigInt(a) ^ BigInt(b))),
};

/** Float to integer towards zero; out of range saturates and NaN gives 0, as `cvt.rzi` does. */
function toI32(x: number): number {
  return x >= 2147483647 ? 2147483647 : x <= -2147483648 ? -2147483648 : x | 0;
}

function toU32(x: number): number {
  return x >= 4294967295 ? 4294967295 : x > 0 ? x >>> 0 : 0;
}

/** Compiles a device-level kernel for this process. */
export function compileForCpu(kernel: Kernel, options: CodeOptions): CompiledKernel {
  const { text, sites } = generate(kernel, options);
  const helpers: Record<string, unknown> = {
    F: F32_WORD,
    I: I32_WORD,
    fround: Math.fround,
    floor: Math.floor,
    trunc: Math.trunc,
    imul: Math.imul,
    max: Math.max,
    fmin: minimum,
    fmax: maximum,
    U: FLOAT_FUNCTIONS,
    wide,
    toI32,
    toU32,
    join,
    tiles: options.hostile ? hostileTiles : tiles,
  };
  for (const format of ["f16", "bf16", "f8e4m3", "f8e5m2"] as const) {
    helpers[`E_${format}`] = ENCODERS[format];
    if (text.includes(`V_${format}`)) helpers[`V_${format}`] = valuesOf(format);
  }
  // The text is made here from verified IR; nothing in it comes from a user but dimension names, quoted.
  const make = new Function(...Object.keys(helpers), `"use strict";\n${text}`);
  return { program: make(...Object.values(helpers)) as BlockProgram, sites, text };
}

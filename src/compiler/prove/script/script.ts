/**
 * A kernel as JavaScript. Each run of the prover takes the same kernel through many thousand accesses, at several shapes: a
 * program of its own, which V8 compiles once for all of them. Blocks are coroutines, which suspend where a flag is not
 * there yet.
 */
import type { Kernel, Op } from "../../ir/module.js";
import { countedOps } from "../counted-ops.js";
import type { Frame, Machine } from "../machine.js";
import { tileStep } from "../tile-ops.js";
import { binaryOf, castOf, compareOf, OPAQUE, selectOf, unaryOf } from "../values.js";
import { writeScript } from "./control.js";
import * as support from "./support.js";

/** Ready to start blocks of one run. */
export interface Script {
  readonly block: (f: Frame) => support.Running;
  /** Ops that ran, by number; see `countedOps`. */
  readonly executed: () => number[];
}

const HELPERS = {
  ...support,
  binaryOf,
  castOf,
  compareOf,
  OPAQUE,
  selectOf,
  tileStep,
  unaryOf,
};

/** M machine, T its trace, A its algebra, O ops by number, E a flag for each that ran. */
const PARAMETERS = ["M", "T", "A", "O", "E", ...Object.keys(HELPERS)];

type Make = (...parameters: unknown[]) => (f: Frame) => support.Running;

/** By kernel, and by what its runs ask. Runs share functions, and so what V8 has learned of them. */
const made = new WeakMap<Kernel, Map<string, { readonly make: Make; readonly ops: readonly Op[] }>>();

/** The script of a machine's kernel, about this machine. */
export function scriptOf(machine: Machine): Script {
  const { kernel, trace, algebra } = machine;
  const mode = { hasData: algebra !== null, isTraced: trace !== null };
  let modes = made.get(kernel);
  if (modes === undefined) made.set(kernel, (modes = new Map()));
  const key = JSON.stringify(mode);
  let script = modes.get(key);
  if (script === undefined) {
    const { text, ops } = writeScript(kernel, mode);
    // The text is made here from verified IR; nothing in it comes from a user but names, quoted or behind a prefix.
    const make = new Function(...PARAMETERS, `"use strict";\n${text}`) as Make;
    modes.set(key, (script = { make, ops }));
  }
  const { make, ops } = script;
  const ran = new Uint8Array(ops.length);
  return {
    block: make(machine, trace, algebra, ops, ran, ...Object.values(HELPERS)),
    executed: () => ops.flatMap((op, i) => (ran[i] === 1 ? (countedOps(kernel).get(op) ?? []) : [])),
  };
}

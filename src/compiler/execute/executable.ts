/**
 * A kernel as a JavaScript program, made once for each setting. Whoever runs it brings a machine; runs share functions, and
 * so what V8 has learned of them.
 */
import { InternalCompilerError } from "../diagnostics/ice.js";
import type { Kernel, Op } from "../ir/module.js";
import { printKernel } from "../ir/print.js";
import { READY, type Running, threads, together } from "./coroutines.js";
import { arrived, type Block, isThere, type Machine, packetFlags, reached } from "./machine.js";
import type { Trace } from "./order/trace.js";
import { region } from "./semantics/index.js";
import type { Setting } from "./setting.js";
import * as tiles from "./tiles.js";
import { Writer } from "./writer.js";

export interface Executable {
  readonly kernel: Kernel;
  /** The generated JavaScript, for debugging. */
  readonly text: string;
  /** Ops that the text speaks of, by number. */
  readonly ops: readonly Op[];
  /**
   * Gets ready for a run.
   * @param algebra what a symbolic domain computes with
   * @param ran set for each op, by number, that runs, if the setting counts them
   */
  readonly start: (
    machine: Machine,
    trace: Trace | null,
    values: tiles.TileValues | null,
    algebra?: unknown,
    ran?: Uint8Array,
  ) => (f: Block) => Running;
}

const COMMON = {
  READY,
  arrived,
  isThere,
  packetFlags,
  reached,
  threads,
  together,
  tiles,
  floor: Math.floor,
  trunc: Math.trunc,
  max: Math.max,
  min: Math.min,
};

const made = new WeakMap<Kernel, Map<string, Executable>>();

/** The program of a device-level kernel. Throws InternalCompilerError on what no device kernel holds. */
export function executableOf(kernel: Kernel, setting: Setting): Executable {
  let programs = made.get(kernel);
  if (programs === undefined) made.set(kernel, (programs = new Map()));
  let program = programs.get(setting.key);
  if (program === undefined) programs.set(setting.key, (program = make(kernel, setting)));
  return program;
}

function make(kernel: Kernel, setting: Setting): Executable {
  if (kernel.level !== "device")
    throw new InternalCompilerError(`device-level IR is executed, not ${kernel.level}-level`, printKernel(kernel));
  const w = new Writer(kernel, setting);
  const text = w.finish(() => region(w, kernel.body));
  const { ops } = w;
  const helpers = { ...COMMON, O: ops, ...setting.domain.helpers(text) };
  // The text is made here from verified IR; nothing in it comes from a user but names, quoted.
  const bind = new Function(...Object.keys(helpers), `"use strict";\n${text}`) as (...values: unknown[]) => Main;
  const main = bind(...Object.values(helpers));
  return {
    kernel,
    text,
    ops,
    start: (machine, trace, values, algebra, ran) => (f) => main(f, machine, trace, values, algebra, ran),
  };
}

/** The block's coroutine; the parameters are `RUN` of the writer. */
type Main = (f: Block, ...run: readonly unknown[]) => Running;

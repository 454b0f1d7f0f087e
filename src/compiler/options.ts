/** Options of a compilation, with their defaults. */
import type { ResolveImport } from "./link/link.js";
import type { DType } from "./types/dtype.js";
import { type Machine, machineFor } from "./machine/machines.js";
import { type PassOptions, passOptionsFor } from "./passes/options.js";

export interface CompileOptions {
  /** Name shown in diagnostics and comments; the file is not read. */
  readonly file?: string;
  /** Which collective of the file; may be left out when there is one. */
  readonly collective?: string;
  /** World size the kernel is compiled for, 1 or more. */
  readonly ranks: number;
  /** What dtype variables stand for, `{ T: "bf16" }`; a single dtype means every variable. */
  readonly dtype?: DType | Readonly<Record<string, DType>>;
  /** Finds imported files; see {@link ResolveImport}. Without it, imports are errors. */
  readonly resolve?: ResolveImport;
  /** Ranks along the axes of a mesh, `{ node: 2, gpu: 4 }`; those left out are as equal as can be. */
  readonly mesh?: Readonly<Record<string, number>>;
  /** Architecture of the cubin, such as `sm_90a`. Changes no semantics. */
  readonly arch?: string;
  /** What it is to run on; by default the machine of `MACHINES` that has the architecture and so many ranks. */
  readonly machine?: Machine;
  /** Knobs of the mapping to the machine. */
  readonly mapping?: Partial<PassOptions>;
  /** Stop after this pass; for looking into the compiler. */
  readonly stopAfter?: string;
  /** Run only the first N passes; for finding the one at fault. */
  readonly passLimit?: number;
}

export const DEFAULT_ARCH = "sm_90a";

export function machineOf({ machine, arch, ranks }: CompileOptions): Machine {
  return machine ?? machineFor(arch ?? DEFAULT_ARCH, ranks);
}

export function passOptions(options: CompileOptions): PassOptions {
  return { ...passOptionsFor(machineOf(options)), ...options.mapping };
}

/** The compiler from end to end: text in; diagnostics, IR, CUDA text and manifest out. Pure. */
import type { CheckedCollective } from "./check/checked.js";
import type { Diagnostic } from "./diagnostics/create.js";
import { emitCuda } from "./emit/cuda.js";
import { manifestOf } from "./emit/manifest.js";
import { checkCollective, parseProgram } from "./front-end.js";
import type { Kernel } from "./ir/module.js";
import { lowerCollective } from "./lower/lower-collective.js";
import type { Manifest } from "./manifest.js";
import { type CompileOptions, DEFAULT_ARCH, passOptions } from "./options.js";
import { PIPELINE } from "./passes/pipeline.js";
import { runPasses } from "./passes/runner.js";
import { SourceFile } from "./source.js";
import type { DType } from "./types/dtype.js";

/** The kernel after one pass, for looking into the compiler. */
export interface Snapshot {
  /** Pass that made it; `lower` for the kernel as it comes from the source. */
  readonly pass: string;
  readonly kernel: Kernel;
}

export interface CompileResult {
  /** Errors and warnings, in the order of their places. With an error, everything below is null or empty. */
  readonly diagnostics: readonly Diagnostic[];
  readonly source: SourceFile;
  readonly checked: CheckedCollective | null;
  readonly snapshots: readonly Snapshot[];
  /** The kernel as it is printed; what the cpu backend executes. Null when stopped before the device level. */
  readonly kernel: Kernel | null;
  readonly cuda: string | null;
  readonly manifest: Manifest | null;
}

/**
 * Compiles one collective of a Coll source text.
 *
 * @throws InternalCompilerError for a bug in the compiler; faults of the program are diagnostics.
 */
export function compile(text: string, options: CompileOptions): CompileResult {
  const source = new SourceFile(options.file ?? "<input>", text);
  const parsed = parseProgram(source);
  const failed = { source, checked: null, snapshots: [], kernel: null, cuda: null, manifest: null };
  if (parsed.diagnostics.some((d) => d.severity === "error")) return { ...failed, diagnostics: parsed.diagnostics };
  const dtypes = typeof options.dtype === "string" ? everyVariable(options.dtype) : (options.dtype ?? {});
  const { checked, diagnostics } = checkCollective(parsed.program, options.collective, {
    world: options.ranks,
    dtypes,
    file: source,
    ...(options.resolve === undefined ? {} : { resolve: options.resolve }),
    ...(options.mesh === undefined ? {} : { mesh: options.mesh }),
  });
  const all = [...parsed.diagnostics, ...diagnostics];
  if (checked === null || all.some((d) => d.severity === "error")) return { ...failed, diagnostics: all };
  const snapshots: Snapshot[] = [];
  const kernel = runPasses(lowerCollective(checked), PIPELINE, passOptions(options), {
    stopAfter: options.stopAfter,
    passLimit: options.passLimit,
    observe: (pass, k) => snapshots.push({ pass, kernel: k }),
  });
  const isWhole = kernel.level === "device" && snapshots.at(-1)!.pass === PIPELINE.at(-1)!.name;
  return {
    diagnostics: all,
    source,
    checked,
    snapshots,
    kernel: isWhole ? kernel : null,
    cuda: isWhole ? emitCuda(kernel, source) : null,
    manifest: isWhole ? manifestOf(kernel, options.arch ?? DEFAULT_ARCH) : null,
  };
}

/** One dtype for whatever variables there are. */
function everyVariable(dtype: DType): Readonly<Record<string, DType>> {
  return new Proxy({}, { get: (_target, key) => (typeof key === "string" ? dtype : undefined), has: () => true });
}

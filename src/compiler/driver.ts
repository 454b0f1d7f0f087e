/** The compiler from end to end: text in; diagnostics, IR, CUDA text and manifest out. Pure. */
import { UsageError } from "../errors.js";
import type { CheckedCollective } from "./check/checked.js";
import type { Diagnostic } from "./diagnostics/create.js";
import { emitCuda } from "./emit/cuda.js";
import { manifestOf } from "./emit/manifest.js";
import { checkCollective, parseProgram } from "./front-end.js";
import type { Kernel } from "./ir/module.js";
import { lowerCollective } from "./lower/lower-collective.js";
import type { Manifest } from "./manifest.js";
import {
  checkDTypeVariables,
  checkMapping,
  checkOptions,
  type CompileOptions,
  DEFAULT_ARCH,
  passOptions,
} from "./options.js";
import type { PassOptions } from "./passes/options.js";
import { PIPELINE } from "./passes/pipeline.js";
import { productWarnings } from "./passes/support/product-warnings.js";
import { continuePasses, type Pass, runPasses } from "./passes/runner.js";
import { shown } from "./rules.js";
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
  readonly options: CompileOptions;
}

/**
 * Compiles one collective of a Coll source text.
 *
 * @throws UsageError for options that are unknown or cannot be, InternalCompilerError for a bug in the compiler; faults of
 *   the program are diagnostics.
 */
export function compile(text: string, options: CompileOptions): CompileResult {
  if (typeof text !== "string") throw new UsageError(`a program is a text, not ${shown(text)}`);
  checkOptions(options);
  const source = new SourceFile(options.file ?? "<input>", text);
  const parsed = parseProgram(source);
  const failed = { options, source, checked: null, snapshots: [], kernel: null, cuda: null, manifest: null };
  if (parsed.diagnostics.some((d) => d.severity === "error")) return { ...failed, diagnostics: parsed.diagnostics };
  const named = parsed.program.collectives.filter((c) => [c.name.text, undefined].includes(options.collective));
  if (named.length === 1) checkDTypeVariables(named[0]!, options);
  const dtypes = typeof options.dtype === "string" ? everyVariable(options.dtype) : (options.dtype ?? {});
  const { checked, diagnostics: found } = checkCollective(parsed.program, options.collective, {
    world: options.ranks,
    dtypes,
    file: source,
    ...(options.resolve === undefined ? {} : { resolve: options.resolve }),
    ...(options.mesh === undefined ? {} : { mesh: options.mesh }),
  });
  const all = [...parsed.diagnostics, ...found];
  if (checked === null || all.some((d) => d.severity === "error")) return { ...failed, diagnostics: all };
  const snapshots: Snapshot[] = [];
  const kernel = runPasses(lowerCollective(checked), PIPELINE, passOptions(options), {
    stopAfter: options.stopAfter,
    passLimit: options.passLimit,
    observe: (pass, k) => snapshots.push({ pass, kernel: k }),
  });
  const diagnostics = [...all, ...productWarnings(kernel)];
  return compiledOf({ diagnostics, source, checked, snapshots, options }, kernel);
}

/**
 * What `compile` gives for the same program and options with another mapping. The passes before the first that the
 * difference can reach are not run again.
 *
 * @throws UsageError for a mapping that cannot be; RangeError for a compilation that was stopped on the way
 */
export function withMapping(compiled: CompileResult, mapping: Partial<PassOptions>): CompileResult {
  checkMapping(mapping);
  const options: CompileOptions = { ...compiled.options, mapping };
  const { checked, source, diagnostics } = compiled;
  if (checked === null) return { ...compiled, options };
  if (compiled.kernel === null) throw new RangeError("only what was compiled to the end can be mapped anew");
  const [old, now] = [passOptions(compiled.options), passOptions(options)];
  const isReached = (pass: Pass): boolean => (pass.reads ?? []).some((name) => old[name] !== now[name]);
  const first = PIPELINE.findIndex(isReached);
  const [same, rest] = first < 0 ? [PIPELINE, []] : [PIPELINE.slice(0, first), PIPELINE.slice(first)];
  const kept = new Set(["lower", ...same.map((pass) => pass.name)]);
  const snapshots = compiled.snapshots.filter(({ pass }) => kept.has(pass));
  const kernel = continuePasses(snapshots.at(-1)!.kernel, rest, now, {
    observe: (pass, k) => snapshots.push({ pass, kernel: k }),
  });
  return compiledOf({ diagnostics, source, checked, snapshots, options }, kernel);
}

/**
 * A program without errors. Its CUDA text and its manifest are made when somebody asks for them; properties of its own all
 * the same, so that a copy has them.
 * @param last what the last pass gave that ran
 */
function compiledOf(
  parts: Pick<CompileResult, "diagnostics" | "source" | "checked" | "snapshots" | "options">,
  last: Kernel,
): CompileResult {
  const kernel = last.level === "device" && parts.snapshots.at(-1)!.pass === PIPELINE.at(-1)!.name ? last : null;
  let cuda: string | null = null;
  let manifest: Manifest | null = null;
  return {
    ...parts,
    kernel,
    get cuda() {
      return kernel === null ? null : (cuda ??= emitCuda(kernel, parts.source));
    },
    get manifest() {
      return kernel === null ? null : (manifest ??= manifestOf(kernel, parts.options.arch ?? DEFAULT_ARCH));
    },
  };
}

/** One dtype for whatever variables there are. */
function everyVariable(dtype: DType): Readonly<Record<string, DType>> {
  return new Proxy({}, { get: (_target, key) => (typeof key === "string" ? dtype : undefined), has: () => true });
}

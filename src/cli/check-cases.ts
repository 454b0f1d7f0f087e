/** What `collc check` looks at: the collectives of a file, each on the numbers of ranks that it is for. */
import {
  type Answer,
  compile,
  type CompileResult,
  type Diagnostic,
  type DimValues,
  elementsOf,
  type Manifest,
  parseProgram,
  proveResidency,
  SourceFile,
} from "../compiler/index.js";
import { UsageError } from "../runtime/errors.js";
import { importsFromDisk, libraryFromDisk } from "../runtime/imports.js";
import { dtypesFor, isExcludedWorld } from "./collectives.js";
import { hasErrors } from "./diagnostics.js";
import { askedDims } from "./dims.js";
import { type MeshChoice, meshFor } from "./mesh.js";
import type { DTypeChoice } from "./options.js";
import { chosenReach } from "../runtime/reach.js";
import type { ProofRequest } from "./proofs.js";
import type { ProgramText } from "./source-file.js";
import { suggestion } from "./suggest.js";

export interface CaseOptions {
  readonly ranks: readonly number[];
  /** Nobody chose the ranks: a collective with a mesh is looked at on one whose axes differ, too. */
  readonly mayAddMesh?: boolean;
  readonly dtype?: DTypeChoice;
  readonly mesh?: MeshChoice;
  /** Which ranks share addresses, `2x4`; by default those that the environment says, or all. */
  readonly reach?: string;
  /** See `CompileOptions`. */
  readonly roundPartialSums?: boolean | undefined;
  /** Lengths to prove at. */
  readonly dims?: DimValues;
  /**
   * Hears of the cases of one number of ranks while others are still to be compiled.
   * @param about how many cases there will be
   */
  readonly onWorld?: (cases: readonly Case[], about: number) => void;
  /** The file is one of several, of which some have no mesh and other dimensions to choose. */
  readonly isOneOfMany?: boolean;
}

/** Along the first two axes. One axis taken for the other shows on one of them, but not on 1 × 2 and 2 × 2. */
const UNEVEN_MESHES = [
  [2, 3],
  [3, 2],
] as const;

/** Whether one axis of a mesh taken for another shows on it. */
function tellsAxes(sizes: readonly number[]): boolean {
  return new Set(sizes.filter((size) => size > 1)).size > 1;
}

/** One collective on one number of ranks; it compiles. */
export type Case = ProofRequest & {
  /** Whether all blocks of the kernel that ships are resident, as they must be. */
  readonly residency: Answer;
  /** As it ships. */
  readonly compiled: CompileResult;
};

/** A file, and what is wrong with it before anything is proved. */
export interface Diagnosis {
  /** With the imported files behind it, for places in them. */
  readonly source: SourceFile;
  /** Each once, in the order of their places. */
  readonly diagnostics: readonly Diagnostic[];
  readonly cases: readonly Case[];
  /** Numbers of ranks that were looked at. */
  readonly worlds: readonly number[];
  /** Numbers of ranks that a collective is not for, which are left out. */
  readonly skipped: readonly { readonly collective: string; readonly ranks: readonly number[] }[];
  /** Collectives with a mesh that were looked at where its axes are equal, or one of them is 1, and nowhere else. */
  readonly even: readonly { readonly collective: string; readonly meshes: readonly (readonly number[])[] }[];
  readonly hasCollectives: boolean;
}

/**
 * @param name the collective that is meant; undefined: all of them
 * @throws UsageError where the options do not go with the file
 */
export function diagnose(program: ProgramText, name: string | undefined, options: CaseOptions): Diagnosis {
  let source = new SourceFile(program.file, program.text);
  const parsed = parseProgram(source);
  const { collectives } = parsed.program;
  const found = new Map<string, Diagnostic>();
  const keep = (all: readonly Diagnostic[]): void => {
    for (const d of all) found.set(JSON.stringify([d.code, d.span, d.message]), d);
  };
  keep(parsed.diagnostics);
  const cases: Case[] = [];
  const worlds = new Set<number>();
  const dims = new Set<string>();
  const skipped: { collective: string; ranks: readonly number[] }[] = [];
  const even: { collective: string; meshes: readonly (readonly number[])[] }[] = [];
  if (!hasErrors(parsed.diagnostics)) {
    const names = collectives.map((collective) => collective.name.text);
    if (name !== undefined && !names.includes(name))
      throw new UsageError(`${source.name} has no collective '${name}'`, suggestion(name, names, "collectives"));
    const chosen = collectives.filter((c) => name === undefined || c.name.text === name);
    const mayLack = options.isOneOfMany === true || chosen.some((c) => c.mesh.length > 0);
    for (const collective of chosen) {
      // Of several, those without a mesh have nothing to choose.
      const mesh = mayLack && collective.mesh.length === 0 ? undefined : meshFor(collective, options.mesh);
      const dtype = dtypesFor(collective, options.dtype);
      const requestOf = (ranks: number): ProofRequest => ({
        ...{ collective: collective.name.text, ranks, dtype, mesh },
        reach: chosenReach(options.reach, ranks),
        roundPartialSums: options.roundPartialSums,
      });
      const isUneven = options.mayAddMesh === true && mesh === undefined && collective.mesh.length > 1;
      const requests = options.ranks.map(requestOf);
      if (isUneven)
        for (const sizes of UNEVEN_MESHES) {
          const axes = collective.mesh.map(({ text }, i) => [text, sizes[i] ?? 1] as const);
          requests.push({ ...requestOf(sizes[0] * sizes[1]), mesh: Object.fromEntries(axes) });
        }
      const tried = requests.map((request) => {
        const result = compile(program.text, {
          file: program.file,
          resolve: importsFromDisk,
          library: libraryFromDisk,
          ...request,
        });
        source = result.source;
        return { request, result };
      });
      const isExcluded = ({ result }: (typeof tried)[number]): boolean => isExcludedWorld(result.diagnostics);
      // Where none is left, the diagnostics say why.
      const used = tried.every(isExcluded) ? tried : tried.filter((t) => !isExcluded(t));
      for (const [i, { request, result }] of used.entries()) {
        keep(result.diagnostics);
        worlds.add(request.ranks);
        if (result.kernel === null) continue;
        for (const dim of result.manifest!.dims) dims.add(dim);
        const asked = askedDims(result.manifest!, options.dims);
        requireFeasible(result.manifest!, asked);
        const before = cases.length;
        // Every size takes exactly one kernel of the program, or there would be none: each of them is asked about.
        for (const { name: variant, compiled } of result.variants) {
          // Printed for nobody: what cannot be printed is wrong, too, however well it is proved.
          void compiled.cuda;
          const residency = proveResidency(compiled.kernel!);
          const chosen = result.variants.length === 1 ? request : { ...request, variant };
          cases.push({ ...chosen, residency, compiled, dims: asked });
        }
        if (i + 1 < used.length) options.onWorld?.(cases.slice(before), used.length * result.variants.length);
      }
      const meshes = used.map(({ result }) => (result.kernel?.mesh ?? []).map(({ size }) => size));
      if (collective.mesh.length > 1 && !meshes.some(tellsAxes))
        even.push({ collective: collective.name.text, meshes });
      if (used.length < tried.length)
        skipped.push({
          collective: collective.name.text,
          ranks: tried.filter(isExcluded).map((t) => t.request.ranks),
        });
    }
  }
  // Each has dimensions of its own, so it is enough that one of them has it.
  const unknown = Object.keys(options.dims ?? {}).find((dim) => !dims.has(dim));
  if (unknown !== undefined && cases.length > 0 && options.isOneOfMany !== true) {
    const subject = name ?? (collectives.length === 1 ? collectives[0]!.name.text : source.name);
    throw new UsageError(`${subject} has no dimension '${unknown}'`, suggestion(unknown, [...dims], "dimensions"));
  }
  const diagnostics = [...found.values()].sort((a, b) => a.span.start - b.span.start);
  return {
    source,
    diagnostics,
    cases,
    worlds: [...worlds].sort((a, b) => a - b),
    skipped,
    even,
    hasCollectives: collectives.length > 0,
  };
}

/**
 * Elements of all tensors on all ranks that are executed one by one: 2 ** 23 are about a minute and a half of processor and some gigabytes
 * (all_reduce/one_shot on 2 ranks, 2026-11).
 */
const MOST_ELEMENTS = 2 ** 23;

/** @throws UsageError for lengths at which a proof would not end in reasonable time */
function requireFeasible({ inputs, outputs, ranks, dims }: Manifest, asked: DimValues | undefined): void {
  if (asked === undefined) return;
  const given = { ...Object.fromEntries(dims.map((name) => [name, 1])), ...asked };
  const held = [...inputs, ...outputs].map((t) => elementsOf(t.localShape, given));
  const elements = ranks * held.reduce((sum, n) => sum + n, 0);
  if (elements <= MOST_ELEMENTS) return;
  const lengths = Object.entries(asked).map(([name, n]) => `${name}=${n}`);
  throw new UsageError(
    `with ${lengths.join(" ")} all ranks hold ${elements} elements, and collc check executes at most ${MOST_ELEMENTS}`,
    "ask for shorter lengths; what the summary says is proved for every length holds for this one, too",
  );
}

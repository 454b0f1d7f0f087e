/**
 * Collectives of the library as ways to do one conversion of a tensor: what `y = all_reduce(x)` is made of.
 *
 * Which files belong together is said by folder and signature: those of `kernels/all_reduce/` that turn the one layout into the
 * other are the ways of `all_reduce`. A way takes the place of the conversion with its parameters and dimensions renamed; of a
 * tensor with several dimensions it sees the elements, row by row. One that needs more of the sizes than the conversion does,
 * rounds on the way, or is made for a mesh where ranks are none of domains, is none; nor, where a tensor is changed in place, one that
 * would read what it has changed.
 */
import { CONVERSIONS } from "../check/functions.js";
import { checkCollective, parseIncluded } from "../front-end.js";
import { Builder } from "../ir/builder.js";
import { bufferOf, type Buffer, isParameter, type Kernel, type Op, text } from "../ir/module.js";
import { definitionOf } from "../ir/ops.js";
import { rewriteOps, Substitution } from "../ir/visit.js";
import type { ResolveImport } from "../link/link.js";
import { lowerCollective } from "../lower/lower-collective.js";
import type { Requirement, Signature, SignatureTensor } from "../manifest.js";
import type { LibraryCall, LibraryStep } from "../manifest-steps.js";
import type { SourceFile } from "../source.js";
import type { DType } from "../types/dtype.js";
import { extent, type Extent, extentNames, productOf, sameExtent } from "../types/extent.js";
import { printLayout } from "../types/layout.js";
import { divisorOf, isKnownMultiple, requirementHolds } from "../types/requirement.js";
import { mayBeInPlace } from "./in-place.js";

export interface LibraryFile {
  /** Path that diagnostics and comments show. */
  readonly file: string;
  readonly text: string;
}

/** The library's files for a conversion, `all_reduce`; none where it has none. */
export type Library = (conversion: string) => readonly LibraryFile[];

/** A way to do the conversion, with the signature of the kernel that does it. */
export interface Way {
  /** `all_reduce/two_shot` */
  readonly name: string;
  /** At rank level. */
  readonly kernel: Kernel;
}

/** Whether a tensor-level kernel is one conversion of a tensor and nothing else. */
function isConversion(kernel: Kernel): boolean {
  if (kernel.level !== "tensor" || kernel.inputs.length !== 1 || kernel.outputs.length !== 1) return false;
  const [input, convert, output, ...more] = kernel.body.ops;
  return more.length === 0 && input?.name === "input" && convert?.name === "convert" && output?.name === "output";
}

/** Whether it is one of a tensor that is changed in place. */
export function isConversionInPlace(kernel: Kernel): boolean {
  return isConversion(kernel) && kernel.inputs[0]!.name === kernel.outputs[0]!.name;
}

/** The conversion that a tensor-level kernel is, if it is one and nothing else; null if not. */
export function soleConversion(kernel: Kernel): string | null {
  if (!isConversion(kernel)) return null;
  if (kernel.inputs[0]!.dtype !== kernel.outputs[0]!.dtype || kernel.mesh.length > 0) return null;
  const [from, to] = [kernel.inputs[0]!.layout.kind, kernel.outputs[0]!.layout.kind];
  return [...CONVERSIONS].find(([, c]) => c.from === from && c.to === to)?.[0] ?? null;
}

/** What plans call NCCL's own collective, beside the library's ways. */
export const NCCL_WAY = "nccl";

/** Conversions that one call of NCCL does byte for byte. Those that reduce are none: between ranks NCCL rounds sums to their dtype. */
const CALLS: Readonly<Record<string, LibraryCall>> = { all_gather: "all_gather", broadcast: "broadcast" };

/** The call of NCCL that does the conversion on the tensors of a signature, as they lie; null if there is none. */
export function libraryStepOf(
  conversion: string,
  { inputs, outputs }: Pick<Signature, "inputs" | "outputs">,
): LibraryStep | null {
  const [input, output] = [inputs[0]!, outputs[0]!];
  const call = CALLS[conversion];
  const { layout } = input;
  // Of a tensor that is cut elsewhere, the parts of the ranks lie between each other.
  if (call === undefined || (layout.kind === "sharded" && layout.dim !== 0)) return null;
  const root = layout.kind === "on" ? layout.rank : 0;
  return { kind: "library", library: "nccl", call, input: input.name, output: output.name, root };
}

/**
 * The library's ways to do what the kernel does.
 * @param source of the kernel, behind which the library's texts are put
 * @param options.domains sizes of the mesh that a way for one is made for; null: none is a way
 */
export function waysOf(
  kernel: Kernel,
  conversion: string,
  library: Library,
  source: SourceFile,
  {
    resolve,
    domains = null,
    roundPartialSums,
  }: {
    readonly resolve?: ResolveImport;
    readonly domains?: readonly number[] | null;
    readonly roundPartialSums?: boolean;
  } = {},
): Way[] {
  return library(conversion).flatMap(({ file: path, text: own }) => {
    const { program, hasErrors } = parseIncluded({ name: path, text: own }, source);
    if (hasErrors) return [];
    return program.collectives.flatMap((collective): Way[] => {
      const { dtype } = kernel.inputs[0]!;
      if (collective.mesh.length !== 0 && collective.mesh.length !== domains?.length) return [];
      const mesh = Object.fromEntries(collective.mesh.map(({ text: axis }, i) => [axis, domains![i]!]));
      const { checked } = checkCollective(program, collective.name.text, {
        world: kernel.world,
        dtypes: everyVariable(dtype),
        file: source,
        path,
        mesh,
        roundPartialSums,
        ...(resolve === undefined ? {} : { resolve }),
      });
      if (checked === null) return [];
      const lowered = lowerCollective(checked);
      const fitted = lowered.level === "rank" ? fit(lowered, kernel, lowered.name) : null;
      return fitted === null ? [] : [{ name: `${conversion}/${lowered.name}`, kernel: fitted }];
    });
  });
}

/** One dtype for whatever variables there are. */
export function everyVariable(dtype: DType): Readonly<Record<string, DType>> {
  return new Proxy({}, { get: (_target, key) => (typeof key === "string" ? dtype : undefined), has: () => true });
}

/** The library's kernel under the signature of another; null if its own does not go with that. */
function fit(way: Kernel, kernel: Kernel, name: string): Kernel | null {
  if (way.inputs.length !== 1 || way.outputs.length !== 1) return null;
  const dims = unified(way, kernel);
  if (dims === null) return null;
  const within = (e: Extent): Extent => substituted(e, dims);
  if (!way.requirements.every((r) => isImplied({ ...r, left: within(r.left), right: within(r.right) }, kernel)))
    return null;
  const names = new Map([
    [way.inputs[0]!.name, kernel.inputs[0]!.name],
    [way.outputs[0]!.name, kernel.outputs[0]!.name],
  ]);
  for (const { name: own, role } of way.buffers) {
    if (isParameter({ role })) continue;
    let fresh = own;
    while ([...names.values()].includes(fresh)) fresh += "_";
    names.set(own, fresh);
  }
  const isInPlace = isConversionInPlace(kernel);
  if (isInPlace && !mayBeInPlace(way)) return null;
  const buffers = way.buffers
    .filter(({ role }) => !isInPlace || role !== "output")
    .map((b): Buffer => {
      const named = { ...b, name: names.get(b.name)! };
      if (!isParameter(b)) return { ...named, shape: b.shape.map(within) };
      return { ...named, shape: bufferOf(kernel, named.name).shape, role: isInPlace ? "inout" : b.role };
    });
  const flat = [way.inputs[0]!.localShape.length, kernel.inputs[0]!.localShape.length];
  // The body has one index where the buffer has several dimensions: all of them at once, in the same order.
  const shaped = flat[0] === flat[1] ? buffers : buffers.map((b) => ({ ...b, shape: flatShape(b) }));
  const build = new Builder(way.body.ops[0]?.span ?? { start: 0, end: 0 });
  rewriteOps(way.body.ops, build, new Substitution(), (op, b, values) => {
    if (op.name !== "dim") return false;
    values.set(op.results[0]!, b.extent(dims.get(text(op, "name"))!));
    return true;
  });
  const { world, dtypes, inputs, outputs, specification, mesh, requirements, clauses } = kernel;
  return {
    ...way,
    name: `${kernel.name}_${name}`,
    ...{ world, dtypes, dims: kernel.dims, inputs, outputs, specification, mesh, requirements, clauses },
    buffers: shaped,
    body: { arguments: [], ops: build.ops.map((op) => renamed(op, names)) },
  };
}

function flatShape({ role, shape }: Buffer): readonly Extent[] {
  return isParameter({ role }) ? [productOf(shape)] : shape;
}

/** What the way's dimensions are in terms of the kernel's; null if its tensors are no such tensors. */
function unified(way: Kernel, kernel: Kernel): Map<string, Extent> | null {
  const pairs: [SignatureTensor, SignatureTensor][] = [
    [way.inputs[0]!, kernel.inputs[0]!],
    [way.outputs[0]!, kernel.outputs[0]!],
  ];
  const found = new Map<string, Extent>();
  const take = (e: Extent, value: Extent): boolean => {
    if (typeof e !== "string") return sameExtent(e, value);
    const known = found.get(e);
    if (known === undefined) found.set(e, value);
    return known === undefined || sameExtent(known, value);
  };
  for (const [a, b] of pairs) {
    if (a.dtype !== b.dtype || printLayout(a.layout) !== printLayout(b.layout) || b.values !== undefined) return null;
    if (a.shape.length === b.shape.length) {
      if (!a.shape.every((e, d) => take(e, b.shape[d]!))) return null;
    } else {
      // Slices of the first dimension are neighbours in memory, and whatever is whole is so in any shape.
      const isWhole = b.layout.kind !== "sharded" || b.layout.dim === 0;
      if (a.shape.length !== 1 || !isWhole || !take(a.shape[0]!, productOf(b.shape))) return null;
    }
  }
  return way.dims.every((d) => found.has(d)) ? found : null;
}

function substituted(e: Extent, dims: ReadonlyMap<string, Extent>): Extent {
  if (typeof e === "number") return e;
  if (typeof e === "string") return dims.get(e) ?? e;
  return extent(e.op, substituted(e.a, dims), substituted(e.b, dims));
}

/** Whether it holds of lengths that are known, or the kernel asks for it already: for the same, or what makes a length such a multiple. */
function isImplied(r: Requirement, { requirements }: Kernel): boolean {
  const names = [r.left, r.right].flatMap((e) => [...extentNames(e)]);
  if (names.length === 0) return requirementHolds(r, {});
  const wanted = divisorOf(r);
  if (wanted !== null && isKnownMultiple(wanted.length, wanted.divisor, requirements)) return true;
  return requirements.some(
    (known) => known.relation === r.relation && sameExtent(known.left, r.left) && sameExtent(known.right, r.right),
  );
}

function renamed(op: Op, names: ReadonlyMap<string, string>): Op {
  const { attributes = {}, optional = {} } = definitionOf(op.name);
  const own = { ...op.attributes };
  for (const [key, kind] of Object.entries({ ...attributes, ...optional }))
    if (kind === "buffer" && typeof own[key] === "string") own[key] = names.get(own[key]) ?? own[key];
  const regions = op.regions.map((r) => ({ ...r, ops: r.ops.map((inner) => renamed(inner, names)) }));
  return { ...op, attributes: own, regions };
}

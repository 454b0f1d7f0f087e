/** The launch manifest of a device-level kernel. Parameter order here is the order of the printed signature. */
import { launchLengthsOf } from "./launch-lengths.js";
import { type Buffer, bufferOf, isGlobal, type Kernel } from "../ir/module.js";
import { walkKernel } from "../ir/visit.js";
import {
  type KernelManifest,
  type Manifest,
  type ManifestBuffer,
  type ManifestParameter,
  type Plan,
  planProblem,
  type ProgramMemory,
  type Signature,
} from "../manifest.js";
import { InternalCompilerError } from "../diagnostics/ice.js";
import { tableOf } from "../specification-table.js";
import { tensorMapName, tensorMapsOf } from "./roles.js";
import { C_TYPE } from "./scalars.js";
import { sharedLayout } from "./shared-layout.js";
import { bufferName, dimName, scalarName, symbolName } from "./names.js";
import { scalarOf } from "../ir/types.js";
import { type DType, DTYPES, isDType } from "../types/dtype.js";

/** The signature of a kernel's collective. */
export function signatureOf(kernel: Kernel): Signature {
  return {
    collective: kernel.name,
    ranks: kernel.world,
    dtypes: kernel.dtypes,
    dims: kernel.dims,
    scalars: kernel.scalars,
    inputs: kernel.inputs,
    outputs: kernel.outputs,
    inPlace: kernel.buffers.filter(({ role }) => role === "inout").map(({ name }) => name),
    specification: tableOf(kernel.specification),
    mesh: kernel.mesh,
    requirements: kernel.requirements,
  };
}

/** What a host needs to launch it. @param name of the way of doing it that this is */
export function kernelManifestOf(kernel: Kernel, name = kernel.name): KernelManifest {
  let waits = false;
  walkKernel(kernel, (op) => {
    if (op.name === "wait" || op.name === "packet_load") waits = true;
  });
  // Slots of packets are of four words, whatever they hold.
  const inMemory = (b: Buffer): Buffer => (b.role === "packet" ? { ...b, dtype: "u32", shape: [b.shape[0]!, 4] } : b);
  return {
    name,
    symbol: symbolName(kernel),
    buffers: kernel.buffers.filter(isGlobal).map(inMemory) as ManifestBuffer[],
    parameters: parametersOf(kernel),
    lengths: launchLengthsOf(kernel).lengths,
    blockThreads: kernel.blockThreads,
    grid: { work: kernel.work, maxBlocks: kernel.maxBlocks },
    sharedBytes: sharedLayout(kernel).bytes,
    cooperative: waits,
    early: kernel.early === true,
  };
}

/** The program of one kernel, launched at every size. */
export function manifestOf(kernel: Kernel, arch: string): Manifest {
  const choices = [{ below: null, steps: [{ kind: "launch" as const, kernel: 0, maxBlocks: kernel.maxBlocks }] }];
  return programOf(signatureOf(kernel), [{ kernel, name: kernel.name }], { by: 1, choices }, arch);
}

/**
 * The program of some kernels of one signature.
 * @throws InternalCompilerError for a plan that leaves a size without a choice, or gives it two
 */
export function programOf(
  signature: Signature,
  kernels: readonly { readonly kernel: Kernel; readonly name: string }[],
  plan: Plan,
  arch: string,
): Manifest {
  const manifests = kernels.map(({ kernel, name }) => kernelManifestOf(kernel, name));
  const parameters = [...new Set([...signature.inputs, ...signature.outputs].map((t) => t.name))];
  const copied = copiedOnPeers(plan);
  const isReached = (name: string): boolean =>
    copied.tensors.has(name) || manifests.some((k) => k.buffers.some((b) => b.name === name && b.symmetric));
  const memory = memoryOf(manifests, copied.memory);
  const ranksPerDomain = kernels[0]?.kernel.ranksPerDomain;
  const manifest: Manifest = {
    formatVersion: 5,
    ...signature,
    arch,
    roundings: [...new Set(kernels.flatMap(({ kernel }) => roundingsOf(kernel)))].sort(),
    symmetric: parameters.filter(isReached),
    kernels: manifests,
    ...(ranksPerDomain === undefined ? {} : { ranksPerDomain }),
    ...(memory.length === 0 ? {} : { memory }),
    plan,
  };
  const problem = planProblem(manifest);
  if (problem !== null) throw new InternalCompilerError(`the plan of ${signature.collective}: ${problem}`);
  return manifest;
}

/** Names of what copies reach on other ranks than the one that copies. */
function copiedOnPeers({ choices }: Plan): {
  readonly tensors: ReadonlySet<string>;
  readonly memory: ReadonlySet<string>;
} {
  const [tensors, memory] = [new Set<string>(), new Set<string>()];
  for (const step of choices.flatMap(({ steps }) => steps))
    for (const [rank, list] of (step.kind === "copy" ? step.copies : []).entries())
      for (const end of list.flatMap(({ from, to }) => [from, to]))
        if (end.rank !== rank) (end.isMemory === true ? memory : tensors).add(end.tensor);
  return { tensors, memory };
}

/** Memory that kernels share: symmetric where one of them, or a copy, reaches it on peers. */
function memoryOf(kernels: readonly KernelManifest[], reached: ReadonlySet<string>): ProgramMemory[] {
  const found = new Map<string, ProgramMemory>();
  for (const { memory: name, role, dtype, shape, symmetric } of kernels.flatMap(({ buffers }) => buffers)) {
    if (name === undefined) continue;
    const isReached = symmetric || reached.has(name) || (found.get(name)?.symmetric ?? false);
    const counts = role === "signal" || role === "state";
    found.set(name, { name, dtype, shape, symmetric: isReached, ...(counts && { counts }) });
  }
  return [...found.values()];
}

export function parametersOf(kernel: Kernel): ManifestParameter[] {
  const memory = kernel.buffers
    .filter(isGlobal)
    .map((b): ManifestParameter =>
      b.symmetric ? { kind: "peers", buffer: b.name, ranks: kernel.world } : { kind: "pointer", buffer: b.name },
    );
  const dims = kernel.dims.map((name): ManifestParameter => ({ kind: "dim", name }));
  const launched = launchLengthsOf(kernel);
  const taken = new Set([...launched.names.values(), ...[...launched.reciprocals.values()].map((r) => r.name)]);
  const lengths = launched.lengths
    .filter(({ name }) => taken.has(name))
    .map(({ name }): ManifestParameter => ({ kind: "length", name }));
  const scalars = kernel.scalars.map(({ name, dtype }): ManifestParameter => ({ kind: "scalar", name, dtype }));
  return [
    ...memory,
    ...dims,
    ...lengths,
    ...scalars,
    { kind: "rank" },
    { kind: "timeout" },
    { kind: "status" },
    ...tensorMapsOf(kernel),
  ];
}

/** The same as CUDA C. */
export function parameterTexts(kernel: Kernel): string[] {
  return parametersOf(kernel).map((p) => {
    switch (p.kind) {
      case "peers":
        return `const __grid_constant__ Peers<${p.ranks}> ${bufferName(p.buffer)}_peers`;
      case "pointer":
        return `${C_TYPE[bufferOf(kernel, p.buffer).dtype]}* ${bufferName(p.buffer)}`;
      case "dim":
      case "length":
        return `const i64 ${dimName(p.name)}`;
      case "scalar":
        return `const ${C_TYPE[p.dtype]} ${scalarName(p.name)}`;
      case "rank":
        return "const int rank";
      case "timeout":
        return "const u64 timeout";
      case "status":
        return "u32* const status";
      case "tensor-map":
        return `const __grid_constant__ ${p.ranks === 0 ? "TensorMap" : `TensorMaps<${p.ranks}>`} ${tensorMapName(p)}`;
    }
  });
}

/** Narrower float dtypes than the inputs' that some value is cast to. */
export function roundingsOf(kernel: Kernel): DType[] {
  const inputs = kernel.inputs.map((t) => DTYPES[t.dtype]).filter((d) => d.kind === "float");
  const coarsest = Math.max(0, ...inputs.map((d) => d.epsilon));
  const found = new Set<DType>();
  walkKernel(kernel, (op) => {
    const kind = op.name === "cast" ? scalarOf(op.results[0]!.type) : null;
    if (inputs.length > 0 && kind !== null && isDType(kind) && DTYPES[kind].epsilon > coarsest) found.add(kind);
  });
  // One rounding at the end, to an output's dtype, is in every tolerance already.
  for (const t of kernel.outputs) found.delete(t.dtype);
  return [...found].sort();
}

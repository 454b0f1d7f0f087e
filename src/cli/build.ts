/** `collc build`: kernels compiled ahead of time, for programs that do not have collc. */
import { createHash } from "node:crypto";
import { basename, dirname, extname, resolve } from "node:path";
import { Command } from "commander";
import { type KernelManifest, type Manifest, type PassOptions, printExtent } from "../compiler/index.js";
import { UsageError } from "../runtime/errors.js";
import { compileCuda } from "../runtime/program.js";
import { collcVersion } from "../runtime/version.js";
import {
  type Compiled,
  compileWhole,
  dtypesFor,
  isExcludedWorld,
  selectCollectives,
  tryCompile,
} from "./collectives.js";
import { bytes } from "../bench/format.js";
import { examples } from "./examples.js";
import { bytesOfBuffer, headerOf, parameterMeaning, programName } from "./header.js";
import { type Io, paletteOf } from "./io.js";
import { type MeshChoice, meshFor, ranksOfMesh } from "./mesh.js";
import { type DTypeChoice, shared } from "./options.js";
import { writeTogether } from "./output-folder.js";
import { withProgress } from "./progress.js";

interface BuildOptions {
  readonly ranks?: readonly number[];
  readonly mesh?: MeshChoice;
  readonly dtype?: DTypeChoice;
  readonly sms?: number;
  readonly mapping?: Partial<PassOptions>;
  readonly arch: string;
  readonly out: string;
}

/** One program to be built: a collective at one number of ranks. */
interface Unit {
  /** File name without its ending. */
  readonly name: string;
  readonly file: string;
  readonly compiled: Compiled;
}

/** The command, printing to `io`. */
export function buildCommand(io: Io): Command {
  return new Command("build")
    .description(
      "Compile collectives ahead of time: CUDA text, PTX, cubin, manifest and a C header for each. Needs NVRTC, no GPU.",
    )
    .argument("<files...>", "programs; every collective in them is built")
    .addOption(shared.rankList("(default: 4, or those of --mesh)"))
    .addOption(shared.mesh())
    .addOption(shared.dtype())
    .addOption(shared.sms())
    .addOption(shared.mapping())
    .addOption(shared.arch())
    .option("-o, --out <dir>", "folder to write to", "out")
    .addHelpText(
      "after",
      `
Writes NAME.cu, NAME.ptx, NAME.cubin and NAME.h for each program, and one manifest.json for all; of a program with several
kernels NAME_0.cu, NAME_1.cu, …. Files appear together when everything has worked; a build that fails leaves nothing.
` +
        examples(
          ["collc build my.coll --arch sm_90a --ranks 4 --dtype bf16 -o out", "one kernel"],
          ["collc build kernels/*/*.coll --ranks 2,4,8 -o out", "many, for three worlds"],
        ),
    )
    .action((files: readonly string[], options: BuildOptions) => build(io, files, options));
}

async function build(io: Io, files: readonly string[], options: BuildOptions): Promise<void> {
  const units = planned(io, files, options);
  const contents = new Map<string, Uint8Array | string>();
  const programs: unknown[] = [];
  let version = "";
  await withProgress(io, async (progress) => {
    for (const [i, { name, file, compiled }] of units.entries()) {
      progress.set(`compiling ${name} for ${options.arch} (${i + 1} of ${units.length})`);
      const built: BuiltKernel[] = [];
      for (const [k, variant] of compiled.variants.entries()) {
        const { cubin, ptx, nvrtcVersion } = await compileCuda(variant.compiled.cuda!, options.arch);
        version = nvrtcVersion;
        // Of several, each by its own symbol.
        const stem = compiled.variants.length === 1 ? name : `${name}_${k}`;
        const files = { cu: `${stem}.cu`, ptx: `${stem}.ptx`, cubin: `${stem}.cubin` };
        contents.set(files.cu, variant.compiled.cuda!);
        contents.set(files.ptx, ptx);
        contents.set(files.cubin, cubin);
        built.push({ files, cubin });
      }
      const header = `${name}.h`;
      contents.set(
        header,
        headerOf(
          compiled.manifest,
          built.map(({ files }) => files.cubin),
        ),
      );
      programs.push(entryOf(compiled.manifest, basename(file), header, built));
    }
    progress.set("writing");
    const manifest = { formatVersion: 3, collcVersion: collcVersion(), nvrtcVersion: version, programs };
    contents.set("manifest.json", JSON.stringify(manifest, null, 2) + "\n");
    await writeTogether(resolve(options.out), contents);
  });
  const c = paletteOf(io.out, io.env);
  for (const { name, compiled } of units) {
    const stems = compiled.variants.length === 1 ? [name] : compiled.variants.map((_, k) => `${name}_${k}`);
    const sizes = stems.map((stem) => (contents.get(`${stem}.cubin`) as Uint8Array).byteLength);
    const of = sizes.length === 1 ? "" : ` of ${sizes.length} kernels, by size`;
    io.out.write(`${c.green("✓")} ${name}  ${c.dim(`cubin ${bytes(sizes.reduce((a, b) => a + b, 0))}${of}`)}\n`);
  }
  io.out.write(`${units.length} program${units.length === 1 ? "" : "s"} for ${options.arch} in ${options.out}\n`);
}

/** Everything that can be wrong with the programs shows before NVRTC starts. */
function planned(io: Io, files: readonly string[], options: BuildOptions): Unit[] {
  const units: Unit[] = [];
  const chosen = files.map((path) => selectCollectives(io, path, null));
  const isOne = chosen.flatMap((selected) => selected.collectives).length === 1;
  for (const selected of chosen)
    for (const collective of selected.collectives) {
      // Of several collectives, those without a mesh have nothing to choose.
      const mesh = !isOne && collective.mesh.length === 0 ? undefined : meshFor(collective, options.mesh);
      const dtype = dtypesFor(collective, options.dtype);
      const worlds = options.ranks ?? [ranksOfMesh(options.mesh) ?? 4];
      for (const ranks of worlds) {
        const request = { ranks, dtype, mesh, arch: options.arch, sms: options.sms, mapping: options.mapping };
        const isRest = !isOne || worlds.length > 1;
        if (isRest && isExcludedWorld(tryCompile(selected, collective, request).diagnostics)) {
          io.err.write(`${collective.name.text} is not for ${ranks} ranks: left out\n`);
          continue;
        }
        const compiled = compileWhole(io, selected, collective, request);
        units.push({ name: programName(compiled.manifest), file: selected.file, compiled });
      }
    }
  if (units.length === 0)
    throw new UsageError("there is nothing to build", "name files with collectives, and numbers of ranks they are for");
  return distinct(units);
}

/** `all_gather/push` and `all_to_all/push` have one symbol; files of the same name get their folder's in front. */
function distinct(units: readonly Unit[]): Unit[] {
  const count = new Map<string, number>();
  for (const { name } of units) count.set(name, (count.get(name) ?? 0) + 1);
  const renamed = units.map((unit) => {
    if (count.get(unit.name) === 1) return unit;
    const folder = basename(dirname(resolve(unit.file)));
    return { ...unit, name: `${folder}_${basename(unit.file, extname(unit.file))}_${unit.name}` };
  });
  const names = renamed.map((unit) => unit.name);
  const twice = names.find((name, i) => names.indexOf(name) < i);
  if (twice !== undefined)
    throw new UsageError(`two kernels would both be called ${twice}`, "build them into different folders with -o");
  return renamed;
}

/** What became of one kernel of a program. */
interface BuiltKernel {
  readonly files: Readonly<Record<"cu" | "ptx" | "cubin", string>>;
  readonly cubin: Uint8Array;
}

/** The manifest with what a person or a build system wants to know besides. */
function entryOf(manifest: Manifest, source: string, header: string, built: readonly BuiltKernel[]): unknown {
  const kernels = manifest.kernels.map((kernel, i) => {
    const { files, cubin } = built[i]!;
    const signals = kernel.buffers.filter((b) => b.role === "signal");
    const workspace = kernel.buffers.filter((b) => b.role !== "input" && b.role !== "output");
    return {
      ...kernel,
      files,
      cubinSha256: createHash("sha256").update(cubin).digest("hex"),
      block: [kernel.blockThreads, 1, 1],
      parameters: kernel.parameters.map((p) => ({ ...p, meaning: parameterMeaning(kernel, p) })),
      symmetricBuffers: kernel.buffers.filter((b) => b.symmetric).map((b) => b.name),
      // Sizes are numbers, or expressions over the dimensions where they depend on them.
      signalSlots: Object.fromEntries(signals.map((b) => [b.name, b.shape.map(printExtent).join(" * ")])),
      workspaceBytes: Object.fromEntries(workspace.map((b) => [b.name, sizeOf(b)])),
    };
  });
  return { ...manifest, source, header, kernels };
}

function sizeOf(buffer: KernelManifest["buffers"][number]): number | string {
  const size = bytesOfBuffer(buffer);
  return typeof size === "number" ? size : printExtent(size);
}

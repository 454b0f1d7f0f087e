/** `collc build`: programs compiled ahead of time, for hosts that do not have collc. */
import { createHash } from "node:crypto";
import { existsSync, readFileSync } from "node:fs";
import { availableParallelism } from "node:os";
import { join, relative, resolve } from "node:path";
import { Command, Option } from "commander";
import { architectureOf, InternalCompilerError, type Manifest, type PassOptions } from "../compiler/index.js";
import { bytes } from "../bench/format.js";
import { ArchitectureError } from "../runtime/program.js";
import { UsageError } from "../runtime/errors.js";
import { writeFileAtomic } from "../runtime/atomic-file.js";
import { packageRoot } from "../runtime/native.js";
import { tuneFilePath } from "../runtime/tuned.js";
import { collcVersion } from "../runtime/version.js";
import { Compilers } from "./aot/compilers.js";
import { headerText, sourceText, tableTexts } from "./aot/c-text.js";
import {
  type ArtefactKernel,
  type ArtefactManifest,
  type ArtefactProgram,
  type Identity,
  MANIFEST_SCHEMA,
  merged,
  parseManifest,
  programName,
} from "./aot/manifest.js";
import { Sources } from "./aot/sources.js";
import {
  type Compiled,
  dtypesFor,
  isExcluded,
  type Selected,
  selectCollectives,
  tryCompile,
  withoutErrors,
} from "./collectives.js";
import { examples } from "./examples.js";
import { type Io, paletteOf } from "./io.js";
import { type MeshChoice, meshFor, ranksOfMesh } from "./mesh.js";
import { type DTypeChoice, listOf, parseArch, parseDTypes, shared, wholeNumber } from "./options.js";
import { lockFolder, writeTogether } from "./output-folder.js";
import { withProgress } from "./progress.js";

interface BuildOptions {
  readonly ranks?: readonly number[];
  readonly mesh?: MeshChoice;
  readonly dtype?: readonly DTypeChoice[];
  readonly maxBlocks?: number;
  readonly mapping?: Partial<PassOptions>;
  readonly arch: readonly string[];
  readonly out: string;
  readonly root?: string;
  readonly prefix: string;
  readonly embed?: boolean;
  readonly tuned: boolean;
  readonly depfile?: string;
  readonly json?: boolean;
}

/** One program for one architecture, through the compiler. */
interface Unit {
  readonly identity: Identity;
  readonly name: string;
  readonly arch: string;
  readonly sourceSha256: string;
  readonly manifest: Manifest;
  /** CUDA texts of the kernels. */
  readonly texts: readonly string[];
}

/** The command, printing to `io`. */
export function buildCommand(io: Io): Command {
  return new Command("build")
    .description("Compile collectives ahead of time for hosts that have neither collc nor Node. Needs NVRTC, no GPU.")
    .argument("[files...]", "programs; every collective in them is built")
    .addOption(shared.rankList("(default: 4, or those of --mesh)"))
    .addOption(shared.mesh())
    .option(
      "-t, --dtype <dtypes>",
      "what dtype variables stand for: bf16,f32 for one and the other, or T=f16,U=f32",
      parseDTypes,
    ) // prettier-ignore
    .option(
      "--max-blocks <n>",
      "most blocks of a kernel: for GPUs with fewer multiprocessors, or for work beside it",
      wholeNumber(1, 2 ** 16),
    ) // prettier-ignore
    .addOption(shared.mapping())
    .addOption(
      new Option("-a, --arch <archs>", "GPU architectures, such as sm_80,sm_90a")
        .argParser(listOf(parseArch))
        .default(["sm_90a"], "sm_90a"),
    )
    .option("-o, --out <dir>", "folder to write to; what is there stays, or is built anew", "out")
    .option("--root <dir>", "folder that the programs' paths begin at (default: the deepest that holds all of them)")
    .option("--prefix <name>", "what names in C begin with", parsePrefix, "coll")
    .option("--embed", "put the cubins into the C files")
    .option("--no-tuned", "plan by the model of the architecture, not by what `collc tune` has measured here")
    .option("--depfile <file>", "write what the build has read, as make and ninja understand it")
    .option("--json", "print what was built as JSON")
    .option("--schema", "print the JSON Schema of manifest.json, and build nothing")
    .addHelpText(
      "after",
      `
Writes NAME.h and NAME.c for each program, PREFIX_programs.h and .c with the table of all, collc.h and collc.c that load and launch
them, .cu, .ptx and .cubin of each kernel and architecture, and manifest.json. Files appear together when everything has worked.
` +
        examples(
          ["collc build my.coll --arch sm_80,sm_90a --ranks 4 --dtype bf16 -o out", "one program"],
          ["collc build kernels/*/*.coll --ranks 2,4,8 --dtype bf16,f32 -o out", "many"],
          ["collc build my.coll --embed --depfile out.d", "one C file a program holds everything"],
        ),
    )
    .action((files: readonly string[], options: BuildOptions & { readonly schema?: boolean }) => {
      if (options.schema === true) return io.out.write(JSON.stringify(MANIFEST_SCHEMA, null, 2) + "\n");
      if (files.length === 0) throw new UsageError("there is nothing to build", "name files with collectives");
      return build(io, files, options);
    });
}

function parsePrefix(text: string): string {
  if (/^[A-Za-z][A-Za-z0-9_]*$/.test(text)) return text;
  throw new UsageError(`'${text}' is no beginning of a name in C`, "write letters, digits and underscores");
}

async function build(io: Io, files: readonly string[], options: BuildOptions): Promise<void> {
  const chosen = files.map((path) => selectCollectives(io, path, null));
  const sources = new Sources(
    chosen.map((selected) => selected.file),
    options.root,
  );
  const folder = resolve(options.out);
  const built = await withProgress(io, async (progress) => {
    let done = 0;
    let begun = 0;
    const compilers = new Compilers(availableParallelism());
    const programs = new Map<string, ArtefactProgram>();
    const contents = new Map<string, Uint8Array | string>();
    const jobs: Promise<void>[] = [];
    const run = async (unit: Unit): Promise<void> => {
      programs.set(`${unit.name} ${unit.arch}`, await compiled(unit, options, contents, compilers));
      progress.set(`compiling: ${++done} of ${begun} and more`);
    };
    try {
      for (const unit of planned(io, chosen, sources, options)) {
        begun++;
        jobs.push(run(unit));
        jobs.at(-1)!.catch(() => {}); // told below, where all are waited for
        progress.now(`compiling ${unit.name} for ${unit.arch}`);
        // So that answers are heard.
        await new Promise((next) => setImmediate(next));
        if (compilers.hasFailed) break;
      }
      await Promise.all(jobs);
    } finally {
      compilers.close();
    }
    progress.now("writing");
    const release = await lockFolder(folder);
    try {
      const manifest = joinedWith(folder, [...programs.values()], options);
      for (const [name, data] of filesOf(folder, manifest, contents)) contents.set(name, data);
      await writeTogether(folder, contents);
    } finally {
      await release();
    }
    return [...programs.values()];
  });
  if (options.tuned && existsSync(tuneFilePath())) sources.read.add(tuneFilePath());
  if (options.depfile !== undefined) {
    const target = join(options.out, "manifest.json");
    await writeFileAtomic(resolve(options.depfile), depfile(target, [...sources.read].sort()));
  }
  report(io, built, options);
}

/** What is to be built, one after the other, as the compiler gets to it. @throws what is wrong with a program */
function* planned(io: Io, chosen: readonly Selected[], sources: Sources, options: BuildOptions): Generator<Unit> {
  const isOne = chosen.flatMap((selected) => selected.collectives).length === 1;
  const worlds = options.ranks ?? [ranksOfMesh(options.mesh) ?? 4];
  const dtypes = options.dtype ?? [undefined];
  const isRest = !isOne || worlds.length * dtypes.length > 1;
  const owners = new Map<string, string>();
  let count = 0;
  for (const selected of chosen)
    for (const collective of selected.collectives) {
      // Of several collectives, those without a mesh have nothing to choose.
      const mesh = !isOne && collective.mesh.length === 0 ? undefined : meshFor(collective, options.mesh);
      const source = sources.nameOf(selected.file);
      const file = { ...selected, file: source };
      for (const ranks of worlds)
        for (const choice of dtypes)
          for (const arch of options.arch) {
            const dtype = dtypesFor(collective, choice);
            const { resolve: imports, library } = sources;
            const request = {
              ...{
                ranks,
                dtype,
                mesh,
                arch,
                sms: options.maxBlocks,
                mapping: options.mapping,
                resolve: imports,
                library,
              },
              ...(options.tuned ? {} : { tuned: undefined }),
            };
            sources.begin();
            const result = tryCompile(file, collective, request);
            if (isRest && isExcluded(result.diagnostics)) {
              const what = Object.values(dtype).join(", ");
              io.err.write(
                `${collective.name.text} is not for ${ranks} ranks${what === "" ? "" : ` and ${what}`}: left out\n`,
              );
              break;
            }
            const { manifest, variants } = withoutErrors(io, result) as Compiled;
            const { maxBlocks = null, mapping = null } = options;
            const identity: Identity = {
              ...{ source, path: sources.pathOf(source), collective: manifest.collective, ranks },
              ...{ mesh: manifest.mesh, dtypes: manifest.dtypes, mapping, maxBlocks },
            };
            const name = programName(options.prefix, identity);
            const key = `${name} ${arch}`;
            const owner = JSON.stringify(identity);
            if (owners.get(key) === owner) continue; // it has no dtype variables
            if (owners.has(key))
              throw new UsageError(
                `two programs would both be called ${name}, one of them ${collective.name.text} of ${source}`,
                "build them into different folders with -o, or rename a file",
              );
            owners.set(key, owner);
            requireRoom(manifest, arch);
            count++;
            const sourceSha256 = sources.digestOf(selected.text);
            yield { identity, name, arch, sourceSha256, manifest, texts: variants.map((v) => v.compiled.cuda!) };
          }
    }
  if (count === 0)
    throw new UsageError("there is nothing to build", "name files with collectives, and numbers of ranks they are for");
}

/** What the architecture allows no kernel is an error now, not when it is loaded. @throws UsageError */
function requireRoom({ kernels, plan }: Manifest, arch: string): void {
  // Hosts have kernels alone; measured plans are asked for without libraries.
  if (plan.choices.some(({ steps }) => steps.some((step) => step.kind !== "launch")))
    throw new InternalCompilerError("a plan of a build calls a library");
  const { blockSharedBytes, maxBlockThreads } = architectureOf(arch);
  for (const { name, sharedBytes, blockThreads } of kernels) {
    if (sharedBytes > blockSharedBytes)
      throw new UsageError(
        `${name} needs ${sharedBytes} bytes of shared memory a block, and ${arch} has ${blockSharedBytes}`,
        `give it smaller tiles, as with --mapping '{"tile":{"m":64,"n":64,"k":64,"stages":2}}', or leave ${arch} out`,
      );
    if (blockThreads > maxBlockThreads)
      throw new UsageError(`${name} has blocks of ${blockThreads} threads, and ${arch} allows ${maxBlockThreads}`);
  }
}

/** One program for one architecture, through NVRTC; its files go into `contents`. */
async function compiled(
  { identity, name, arch, sourceSha256, manifest, texts }: Unit,
  options: BuildOptions,
  contents: Map<string, Uint8Array | string>,
  compilers: Compilers,
): Promise<ArtefactProgram> {
  const kernelOf = async (kernel: Manifest["kernels"][number], k: number): Promise<[ArtefactKernel, string]> => {
    const way = kernel.name
      .split("/")
      .at(-1)!
      .replace(/[^A-Za-z0-9]+/g, "_");
    const symbol = manifest.kernels.length === 1 ? name : `${name}_${way}`;
    const cuda = renamed(texts[k]!, kernel.symbol, symbol);
    const result = await compilers.compile(cuda, arch).catch((error: unknown) => {
      if (!(error instanceof ArchitectureError)) throw error;
      throw new UsageError(
        `${identity.collective} of ${identity.source} cannot be built for ${arch}: it needs ${error.feature}, which begins with ${error.least}`,
        `leave ${arch} out of --arch, or choose other dtypes`,
      );
    });
    const files = { cu: `${symbol}.${arch}.cu`, ptx: `${symbol}.${arch}.ptx`, cubin: `${symbol}.${arch}.cubin` };
    contents.set(files.cu, cuda).set(files.ptx, result.ptx).set(files.cubin, result.cubin);
    const cubinSha256 = createHash("sha256").update(result.cubin).digest("hex");
    const made = { ...kernel, symbol, files, cubinBytes: result.cubin.byteLength, cubinSha256 };
    return [made, result.nvrtcVersion];
  };
  const made = await Promise.all(manifest.kernels.map(kernelOf));
  const kernels = made.map(([kernel]) => kernel);
  const nvrtcVersion = made[0]![1];
  const { inputs, outputs, inPlace, dims, scalars, specification, requirements, symmetric, roundings, plan } = manifest;
  return {
    ...{
      name,
      ...identity,
      sourceSha256,
      dims,
      scalars,
      inputs,
      outputs,
      inPlace,
      specification,
      requirements,
      symmetric,
    },
    embedded: options.embed === true,
    files: { header: `${name}.h`, source: `${name}.c` },
    targets: [{ arch, collcVersion: collcVersion(), nvrtcVersion, roundings, plan, kernels }],
  };
}

/** The text with another symbol: that of the compiler is unique in a program alone. */
function renamed(cuda: string, from: string, to: string): string {
  return cuda.replace(new RegExp(`^${from}\\(`, "m"), `${to}(`);
}

/** What the folder holds afterwards. */
function joinedWith(folder: string, built: readonly ArtefactProgram[], options: BuildOptions): ArtefactManifest {
  const path = join(folder, "manifest.json");
  const before = existsSync(path) ? parseManifest(options.out, readFileSync(path, "utf8")) : null;
  return merged(before, byProgram(built), options.prefix, options.out);
}

/** Each program with all of the architectures that it was built for, which come one by one. */
function byProgram(built: readonly ArtefactProgram[]): ArtefactProgram[] {
  const all = new Map<string, ArtefactProgram>();
  for (const program of built) {
    const known = all.get(program.name);
    const symmetric = [...new Set([...(known?.symmetric ?? []), ...program.symmetric])];
    const targets = [...(known?.targets ?? []), ...program.targets].sort((a, b) => (a.arch < b.arch ? -1 : 1));
    const names = [...program.inputs, ...program.outputs].map((t) => t.name).filter((name) => symmetric.includes(name));
    all.set(program.name, { ...program, symmetric: names, targets });
  }
  return [...all.values()];
}

/** The files that are made of the manifest: anew for all programs, so that they agree with each other. */
function filesOf(
  folder: string,
  manifest: ArtefactManifest,
  cubins: ReadonlyMap<string, Uint8Array | string>,
): Map<string, string> {
  const read = (name: string): Uint8Array => {
    const made = cubins.get(name);
    if (made !== undefined) return made as Uint8Array;
    const path = join(folder, name);
    if (existsSync(path)) return readFileSync(path);
    throw new UsageError(
      `${path} is missing, which manifest.json names`,
      "build everything anew into another folder with -o",
    );
  };
  const files = new Map<string, string>();
  for (const program of manifest.programs) {
    files.set(program.files.header, headerText(program));
    files.set(program.files.source, sourceText(program, read));
  }
  const { header, source } = tableTexts(manifest);
  files.set(`${manifest.prefix}_programs.h`, header).set(`${manifest.prefix}_programs.c`, source);
  for (const name of ["collc.h", "collc.c"]) files.set(name, readFileSync(join(packageRoot(), "aot", name), "utf8"));
  return files.set("manifest.json", JSON.stringify(manifest, null, 2) + "\n");
}

/** `target: files`, as make reads it. */
function depfile(target: string, files: readonly string[]): string {
  const escaped = (path: string): string => path.replace(/[\\ #]/g, "\\$&").replaceAll("$", "$$$$");
  return `${escaped(target)}:${files.map((file) => ` \\\n  ${escaped(file)}`).join("")}\n`;
}

function report(io: Io, built: readonly ArtefactProgram[], options: BuildOptions): void {
  const sorted = [...built].sort((a, b) => (a.name < b.name ? -1 : a.name > b.name ? 1 : a.targets[0]!.arch < b.targets[0]!.arch ? -1 : 1)); // prettier-ignore
  const sizeOf = (program: ArtefactProgram): number =>
    program.targets[0]!.kernels.reduce((n, k) => n + k.cubinBytes, 0);
  if (options.json === true) {
    const programs = sorted.map((program) => {
      const { name, path, source, collective, ranks, mesh, dtypes, files, targets } = program;
      const kernels = targets[0]!.kernels.map(({ name: way, symbol, files: of, cubinBytes }) => ({ way, symbol, files: of, cubinBytes })); // prettier-ignore
      return { name, path, source, collective, ranks, mesh, dtypes, arch: targets[0]!.arch, files, kernels };
    });
    io.out.write(JSON.stringify({ folder: options.out, programs }, null, 2) + "\n");
    return;
  }
  const c = paletteOf(io.out, io.env);
  for (const program of sorted) {
    const { arch, kernels } = program.targets[0]!;
    const of = kernels.length === 1 ? "" : ` of ${kernels.length} kernels, by size`;
    io.out.write(`${c.green("✓")} ${program.name}  ${c.dim(`${arch}, cubin ${bytes(sizeOf(program))}${of}`)}\n`);
  }
  const count = new Set(sorted.map((program) => program.name)).size;
  const archs = options.arch.join(", ");
  const at = relative(process.cwd(), resolve(options.out)).startsWith("..") ? resolve(options.out) : options.out;
  io.out.write(`${count} program${count === 1 ? "" : "s"} for ${archs} in ${at}\n`);
}

/** From what the compiler has made to a folder of artefacts: NVRTC on all cores, and files that appear together. */
import { createHash } from "node:crypto";
import { existsSync, readFileSync } from "node:fs";
import { availableParallelism } from "node:os";
import { join, resolve } from "node:path";
import { architectureOf, InternalCompilerError, type Manifest } from "../../compiler/index.js";
import { UsageError } from "../../runtime/errors.js";
import { packageRoot } from "../../runtime/native.js";
import { ArchitectureError } from "../../runtime/program.js";
import { collcVersion } from "../../runtime/version.js";
import type { Io } from "../io.js";
import { lockFolder, writeTogether } from "../output-folder.js";
import { withProgress } from "../progress.js";
import { headerText, type ReadFile, sourceText, tableTexts } from "./c-text.js";
import { Compilers } from "./compilers.js";
import {
  type ArtefactKernel,
  type ArtefactManifest,
  type ArtefactProgram,
  type Identity,
  merged,
  parseManifest,
} from "./manifest.js";

/** One program for one architecture, through the compiler. */
export interface Unit {
  readonly identity: Identity;
  readonly name: string;
  readonly arch: string;
  readonly sourceSha256: string;
  readonly manifest: Manifest;
  /** CUDA texts of the kernels. */
  readonly texts: readonly string[];
}

export interface UnitOptions {
  /** Folder to write to. */
  readonly out: string;
  readonly prefix: string;
  readonly embed?: boolean;
}

/**
 * Compiles units as they come, and writes the folder when all of them have worked.
 *
 * @param others files besides, by name
 * @returns a program for each unit
 * @throws what is wrong with a unit; UsageError where the folder would lose something
 */
export async function buildUnits(
  io: Io,
  units: Iterable<Unit>,
  options: UnitOptions,
  others: ReadonlyMap<string, string> = new Map(),
): Promise<ArtefactProgram[]> {
  const folder = resolve(options.out);
  return withProgress(io, async (progress) => {
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
      for (const unit of units) {
        begun++;
        requireRoom(unit);
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
    const built = [...programs.values()];
    progress.now("writing");
    const release = await lockFolder(folder);
    try {
      const manifest = joinedWith(folder, built, options);
      for (const [name, data] of [...filesOf(folder, manifest, contents), ...others]) contents.set(name, data);
      await writeTogether(folder, contents);
    } finally {
      await release();
    }
    return built;
  });
}

/** What the architecture allows no kernel is an error now, not when it is loaded. @throws UsageError */
function requireRoom({ identity, manifest, arch }: Unit): void {
  const { kernels, plan } = manifest;
  // Hosts have no libraries; measured plans are asked for without them.
  if (plan.choices.some(({ steps }) => steps.some(({ kind }) => kind === "library")))
    throw new InternalCompilerError("a plan of a build calls a library");
  const { blockSharedBytes, maxBlockThreads } = architectureOf(arch);
  for (const { name: way, sharedBytes, blockThreads } of kernels) {
    const name = `${identity.collective} of ${identity.source}${way === identity.collective ? "" : `, done as ${way},`}`;
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
  options: UnitOptions,
  contents: Map<string, Uint8Array | string>,
  compilers: Compilers,
): Promise<ArtefactProgram> {
  const kernelOf = async (kernel: Manifest["kernels"][number], k: number): Promise<[ArtefactKernel, string]> => {
    const way = kernel.name
      .split("/")
      .at(-1)!
      .replace(/[^A-Za-z0-9]+/g, "_");
    // A way with steps between its kernels has several.
    const alike = manifest.kernels.filter((other) => other.name === kernel.name);
    const number = alike.length === 1 ? "" : `_${alike.indexOf(kernel)}`;
    const symbol = manifest.kernels.length === 1 ? name : `${name}_${way}${number}`;
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
  const { inputs, outputs, inPlace, dims, scalars, specification, requirements, symmetric, roundings, plan, memory } =
    manifest;
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
    targets: [
      {
        arch,
        collcVersion: collcVersion(),
        nvrtcVersion,
        roundings,
        plan,
        ...(memory === undefined ? {} : { memory }),
        kernels,
      },
    ],
  };
}

/** The text with another symbol: that of the compiler is unique in a program alone. */
function renamed(cuda: string, from: string, to: string): string {
  return cuda.replace(new RegExp(`^${from}\\(`, "m"), `${to}(`);
}

/** What the folder holds afterwards. */
function joinedWith(folder: string, built: readonly ArtefactProgram[], options: UnitOptions): ArtefactManifest {
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

/** What loads and launches any program: in every folder, as `aot/` has it. */
export const RUNTIME_FILES: readonly string[] = ["collc.h", "collc.c", "collc_copies.h", "collc_copies.c"];

/** The C files, which are made of the manifest, by name. @param read gives the cubins that are embedded */
export function textsOf(manifest: ArtefactManifest, read: ReadFile): Map<string, string> {
  const files = new Map<string, string>();
  for (const program of manifest.programs) {
    files.set(program.files.header, headerText(program));
    files.set(program.files.source, sourceText(program, read));
  }
  const { header, source } = tableTexts(manifest);
  files.set(`${manifest.prefix}_programs.h`, header).set(`${manifest.prefix}_programs.c`, source);
  for (const name of RUNTIME_FILES) files.set(name, readFileSync(join(packageRoot(), "aot", name), "utf8"));
  return files;
}

/** The files that are made of the manifest, and itself: anew for all programs, so that they agree with each other. */
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
    throw new UsageError(`${path} is missing, which manifest.json names`, "build everything anew into another folder");
  };
  return textsOf(manifest, read).set("manifest.json", JSON.stringify(manifest, null, 2) + "\n");
}

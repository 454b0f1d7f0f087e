/** `collc build`: programs compiled ahead of time, for hosts that do not have collc. */
import { existsSync } from "node:fs";
import { join, relative, resolve } from "node:path";
import { Command, Option } from "commander";
import type { PassOptions } from "../compiler/index.js";
import { bytes } from "../bench/format.js";
import { UsageError } from "../runtime/errors.js";
import { refuseTarget, writeOutput } from "../runtime/output-file.js";
import { tunedFromDisk, tuneFilePath } from "../runtime/tuned.js";
import { type ArtefactProgram, type Identity, MANIFEST_SCHEMA, programName } from "./aot/manifest.js";
import { Sources } from "./aot/sources.js";
import { buildUnits, type Unit } from "./aot/units.js";
import { verify } from "./aot/verify.js";
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
import { askedRanks, type MeshChoice, meshFor } from "./mesh.js";
import { type DTypeChoice, listOf, parseArch, parseDTypes, shared, wholeNumber } from "./options.js";
import { filesOf } from "./source-file.js";

interface BuildOptions {
  readonly ranks?: readonly number[];
  readonly mesh?: MeshChoice;
  readonly reach?: string;
  readonly dtype?: readonly DTypeChoice[];
  readonly maxBlocks?: number;
  readonly roundPartialSums?: boolean;
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

/** Measured plans, without libraries, which hosts without collc do not have. */
const tuned = tunedFromDisk();

/** The command, printing to `io`. */
export function buildCommand(io: Io): Command {
  return new Command("build")
    .description("Compile collectives ahead of time for hosts that have neither collc nor Node. Needs NVRTC, no GPU.")
    .argument("[files...]", "programs, or folders of them; every collective in them is built")
    .addOption(shared.rankList("(default: 4, or those of --mesh or --reach)"))
    .addOption(shared.mesh())
    .addOption(shared.reach())
    .option(
      "-t, --dtype <dtypes>",
      "what dtype variables stand for: bf16,f32 for one and the other, or T=f16,U=f32",
      parseDTypes,
    )
    .option(
      "--max-blocks <n>",
      "most blocks of a kernel: for GPUs with fewer multiprocessors, or for work beside it",
      wholeNumber(1, 2 ** 16),
    )
    .addOption(shared.roundPartialSums())
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
    .option("--verify <dir>", "say whether a folder is as a build has left it, and build nothing")
    .addHelpText(
      "after",
      `
Writes NAME.h and NAME.c for each program, PREFIX_programs.h and .c with the table of all, collc.h, collc.c and collc_copies.* that load and launch
them, .cu, .ptx and .cubin of each kernel and architecture, and manifest.json. Files appear together when everything has worked.
` +
        examples(
          ["collc build my.coll --arch sm_80,sm_90a --ranks 4 --dtype bf16 -o out", "one program"],
          ["collc build kernels/*/*.coll --ranks 2,4,8 --dtype bf16,f32 -o out", "many"],
          ["collc build my.coll --embed --depfile out.d", "one C file a program holds everything"],
          ["collc build my.coll --reach 2x8", "for two hosts, between which NCCL carries messages"],
          ["collc build --verify out", "manifest, files, sizes and digests of a folder"],
        ),
    )
    .action(
      (files: readonly string[], options: BuildOptions & { readonly schema?: boolean; readonly verify?: string }) => {
        if (options.verify !== undefined) {
          if (files.length > 0) throw new UsageError("--verify builds nothing, and files are named to build", `verify the folder alone: collc build --verify ${options.verify}`); // prettier-ignore
          return verify(io, options.verify, options.json === true);
        }
        if (options.schema === true) return io.out.write(JSON.stringify(MANIFEST_SCHEMA, null, 2) + "\n");
        if (files.length === 0) throw new UsageError("there is nothing to build", "name files with collectives");
        return build(io, files, options);
      },
    );
}

function parsePrefix(text: string): string {
  if (/^[A-Za-z][A-Za-z0-9_]*$/.test(text)) return text;
  throw new UsageError(`'${text}' is no beginning of a name in C`, "write letters, digits and underscores");
}

async function build(io: Io, files: readonly string[], options: BuildOptions): Promise<void> {
  if (options.depfile !== undefined) refuseTarget(options.depfile, "out.d");
  const chosen = filesOf(files, io).map((path) => selectCollectives(io, path, null));
  const sources = new Sources(
    chosen.map((selected) => selected.file),
    options.root,
  );
  const built = await buildUnits(io, planned(io, chosen, sources, options), options);
  if (options.tuned && existsSync(tuneFilePath())) sources.read.add(tuneFilePath());
  if (options.depfile !== undefined) {
    const target = join(options.out, "manifest.json");
    await writeOutput(options.depfile, depfile(target, [...sources.read].sort()));
  }
  report(io, built, options);
}

/** What is to be built, one after the other, as the compiler gets to it. @throws what is wrong with a program */
function* planned(io: Io, chosen: readonly Selected[], sources: Sources, options: BuildOptions): Generator<Unit> {
  const isOne = chosen.flatMap((selected) => selected.collectives).length === 1;
  const worlds = options.ranks ?? [askedRanks({ mesh: options.mesh, reach: options.reach }) ?? 4];
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
                broadcasts: false,
                reach: options.reach,
                roundPartialSums: options.roundPartialSums,
              },
              tuned: options.tuned ? tuned : undefined,
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
            const { manifest, kernels } = withoutErrors(io, result) as Compiled;
            const { maxBlocks = null, mapping = null } = options;
            const identity: Identity = {
              ...{ source, path: sources.pathOf(source), collective: manifest.collective, ranks },
              ...{ mesh: manifest.mesh, dtypes: manifest.dtypes, mapping, maxBlocks },
              ranksPerDomain: manifest.ranksPerDomain ?? null,
              ...(options.roundPartialSums === true ? { roundPartialSums: true as const } : {}),
            };
            const name = programName(options.prefix, identity);
            const key = `${name} ${arch}`;
            const owner = JSON.stringify(identity);
            if (owners.get(key) === owner) continue; // it has no dtype variables
            if (owners.has(key))
              throw new UsageError(
                `two programs would both be called ${name}, one of them ${collective.name.text} of ${source}`,
                "build them into different folders, or rename a file",
              );
            owners.set(key, owner);
            count++;
            const sourceSha256 = sources.digestOf(selected.text);
            yield { identity, name, arch, sourceSha256, manifest, texts: kernels.map(({ cuda }) => cuda) };
          }
    }
  if (count === 0)
    throw new UsageError("there is nothing to build", "name files with collectives, and numbers of ranks they are for");
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
    const { arch, kernels, plan } = program.targets[0]!;
    const chosen = plan.choices.length === 1 ? "" : ", by size";
    const of = kernels.length === 1 ? "" : ` of ${kernels.length} kernels${chosen}`;
    io.out.write(`${c.green("✓")} ${program.name}  ${c.dim(`${arch}, cubin ${bytes(sizeOf(program))}${of}`)}\n`);
  }
  const count = new Set(sorted.map((program) => program.name)).size;
  const archs = options.arch.join(", ");
  const at = relative(process.cwd(), resolve(options.out)).startsWith("..") ? resolve(options.out) : options.out;
  io.out.write(`${count} program${count === 1 ? "" : "s"} for ${archs} in ${at}\n`);
}

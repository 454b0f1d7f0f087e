/** `collc build --verify`: whether a folder is as a build has left it. */
import { createHash } from "node:crypto";
import { existsSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { exitCodes, messageOf, UsageError } from "../../runtime/errors.js";
import { reachText } from "../../runtime/reach.js";
import { collcVersion } from "../../runtime/version.js";
import { Exit, printFailure } from "../failure.js";
import { type Io, paletteOf } from "../io.js";
import type { ArtefactKernel, ArtefactManifest, ArtefactProgram } from "./manifest.js";
import { manifestProblems, type Problem } from "./manifest-problems.js";
import { RUNTIME_FILES, textsOf } from "./units.js";

/** What a look at a folder has found. */
export interface Verified {
  readonly folder: string;
  /** Of the manifest; null where it is none. */
  readonly manifest: ArtefactManifest | null;
  /** Files that were looked at. */
  readonly files: number;
  /** Versions of collc that have built something in it, where they are others than this one: then C files are not compared. */
  readonly otherVersions: readonly string[];
  readonly problems: readonly Problem[];
}

/** Problems that people are shown; `--json` has all of them. */
const MOST_SHOWN = 20;

/**
 * Looks at a folder: its manifest, by the schema and by what its parts say of each other; files that it names, their sizes and digests;
 * C files, which are made of the manifest, and say what it says.
 *
 * @throws UsageError where there is no manifest
 */
export function verifyFolder(folder: string): Verified {
  const path = join(folder, "manifest.json");
  if (!existsSync(path)) throw new UsageError(`${folder} holds no manifest.json`, existsSync(folder) ? "name a folder that `collc build` has written to" : "there is no such folder"); // prettier-ignore
  const none = { folder, manifest: null, files: 1, otherVersions: [] };
  let value: unknown;
  try {
    value = JSON.parse(readFileSync(path, "utf8"));
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
    return { ...none, problems: [{ file: "manifest.json", pointer: "", program: null, message: `is no JSON: ${messageOf(error)}`, help: "it was cut off or edited: build the folder anew" }] }; // prettier-ignore
  }
  const problems = manifestProblems(value);
  if (problems.length > 0) return { ...none, problems };
  const manifest = value as ArtefactManifest;
  const looked = new Looking(folder, manifest);
  for (const program of manifest.programs)
    for (const { arch, kernels } of program.targets) for (const kernel of kernels) looked.kernel(program, arch, kernel);
  const versions = new Set(manifest.programs.flatMap((p) => p.targets.map((t) => t.collcVersion)));
  versions.delete(collcVersion());
  looked.texts(versions.size === 0);
  return { folder, manifest, files: looked.files, otherVersions: [...versions], problems: looked.problems };
}

const kernelsOf = (program: ArtefactProgram): readonly ArtefactKernel[] => program.targets.flatMap((t) => t.kernels);
const cubinsOf = (program: ArtefactProgram): string[] => kernelsOf(program).map((k) => k.files.cubin);
const filesOf = (program: ArtefactProgram): string[] => [program, ...kernelsOf(program)].flatMap(({ files }) => Object.values(files)); // prettier-ignore

class Looking {
  readonly problems: Problem[] = [];
  files = 1;
  /** Files that are missing, or others than the manifest says. */
  private readonly wrong = new Set<string>();

  constructor(
    private readonly folder: string,
    private readonly manifest: ArtefactManifest,
  ) {}

  /** A file's bytes; null where it is not there, which is then a problem. */
  private read(file: string, help: string): Buffer | null {
    this.files++;
    const path = join(this.folder, file);
    const found = existsSync(path);
    if (found && statSync(path).isFile()) return readFileSync(path);
    this.say(file, found ? "is no file" : "is missing", help);
    return null;
  }

  private say(file: string, message: string, help: string): void {
    this.wrong.add(file);
    this.problems.push({
      file,
      pointer: "",
      program: this.manifest.programs.find((p) => filesOf(p).includes(file))?.name ?? null,
      message,
      help,
    });
  }

  /** The files of a kernel: all there, and the cubin that the manifest is of. */
  kernel(program: ArtefactProgram, arch: string, { files, cubinBytes, cubinSha256 }: ArtefactKernel): void {
    const help = `build it again: ${this.command(program, [arch])}`;
    for (const file of [files.cu, files.ptx])
      if (this.read(file, help)?.byteLength === 0) this.say(file, "is empty", help);
    const cubin = this.read(files.cubin, help);
    if (cubin === null) return;
    if (cubin.byteLength !== cubinBytes) {
      const what = cubin.byteLength < cubinBytes ? "was cut off, or is of another build" : "is of another build";
      return this.say(
        files.cubin,
        `has ${cubin.byteLength} bytes, and the manifest says ${cubinBytes}: it ${what}`,
        help,
      );
    }
    if (createHash("sha256").update(cubin).digest("hex") !== cubinSha256) this.say(files.cubin, "has another SHA-256 than the manifest says: it is of another build, or damaged", help); // prettier-ignore
  }

  /** @param areCompared whether this collc would write the C files so */
  texts(areCompared: boolean): void {
    const { prefix, programs } = this.manifest;
    const ofProgram = new Map(programs.flatMap((p) => Object.values(p.files).map((file) => [file, p] as const)));
    const names = [...ofProgram.keys(), `${prefix}_programs.h`, `${prefix}_programs.c`, ...RUNTIME_FILES];
    const [some] = programs;
    const helpOf = (file: string): string => {
      const program = ofProgram.get(file) ?? some;
      return program === undefined ? "build the folder anew" : `build it again: ${this.command(program, program.targets.map((t) => t.arch))}`; // prettier-ignore
    };
    const there = new Map(names.map((file) => [file, this.read(file, helpOf(file))]));
    if (!areCompared) return;
    // A C file is made of its cubins, too: what is wrong with one is not told twice.
    const unknown = new Set(programs.filter((p) => cubinsOf(p).some((file) => this.wrong.has(file))).map((p) => p.files.source)); // prettier-ignore
    const texts = textsOf(this.manifest, (file) => (this.wrong.has(file) ? new Uint8Array() : readFileSync(join(this.folder, file)))); // prettier-ignore
    for (const [file, bytes] of there)
      if (bytes !== null && !unknown.has(file) && !bytes.equals(Buffer.from(texts.get(file)!))) this.say(file, "is not what this collc makes of the manifest: it was edited, or is of another build", helpOf(file)); // prettier-ignore
  }

  /** The command that builds a program for architectures into the folder. */
  private command(program: ArtefactProgram, archs: readonly string[]): string {
    const { source, ranks, mesh, dtypes, mapping, maxBlocks, embedded, ranksPerDomain, roundPartialSums } = program;
    const quoted = (text: string): string => (/^[\w./=,+-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`);
    const named = Object.entries(dtypes).map(([variable, dtype]) => `${variable}=${dtype}`);
    const words = [
      ...["collc", "build", source],
      // What a program is called begins at the root.
      ...(source.includes("/") ? ["--root", "."] : []),
      ...["--ranks", `${ranks}`],
      ...(mesh.length === 0 ? [] : ["--mesh", mesh.map((axis) => `${axis.name}=${axis.size}`).join(",")]),
      ...(named.length === 0 ? [] : ["--dtype", named.join(",")]),
      ...(ranksPerDomain === null ? [] : ["--reach", reachText({ ranksPerDomain }, ranks)]),
      ...(roundPartialSums === true ? ["--round-partial-sums"] : []),
      ...(maxBlocks === null ? [] : ["--max-blocks", `${maxBlocks}`]),
      ...(mapping === null ? [] : ["--mapping", JSON.stringify(mapping)]),
      ...["--arch", archs.join(",")],
      ...(this.manifest.prefix === "coll" ? [] : ["--prefix", this.manifest.prefix]),
      ...(embedded ? ["--embed"] : []),
      ...["-o", this.folder],
    ];
    return words.map(quoted).join(" ");
  }
}

/**
 * Prints what a look at the folder has found.
 * @throws Exit with the code of a program that is wrong, where something is
 */
export function verify(io: Io, folder: string, asJson: boolean): void {
  const { manifest, files, otherVersions, problems } = verifyFolder(folder);
  const programs = manifest?.programs ?? [];
  const archs = [...new Set(programs.flatMap((p) => p.targets.map((t) => t.arch)))].sort();
  const isFine = problems.length === 0;
  if (asJson) {
    const names = programs.map((p) => p.name);
    io.out.write(JSON.stringify({ folder, isFine, programs: names, archs, files, otherVersions, problems }, null, 2) + "\n"); // prettier-ignore
  } else {
    const c = paletteOf(io.out, io.env);
    const count = (n: number, what: string): string => `${n} ${what}${n === 1 ? "" : "s"}`;
    const held = manifest === null ? "" : `${count(programs.length, "program")} for ${archs.join(", ")}`;
    if (isFine) io.out.write(`${c.green("✓")} ${folder}: ${held}, all ${files} files as they were built\n`);
    else io.out.write(`${c.red("✗")} ${folder}: ${count(problems.length, "problem")}${held === "" ? "" : ` in ${held}`}\n`); // prettier-ignore
    if (otherVersions.length > 0)
      io.out.write(`  built by collc ${otherVersions.join(", ")}: what C files say is not compared\n`);
    const shown = problems.slice(0, MOST_SHOWN);
    shown.forEach(({ file, pointer, program, message, help }, i) => {
      const place = pointer === "" ? "" : ` ${pointer}${program === null ? "" : ` of ${program}`}`;
      // What helps against several is said behind the last of them.
      const said = help === shown[i + 1]?.help || help === null ? undefined : help;
      printFailure(io, { message: `${join(folder, file)}${place} ${message}`, help: said, exitCode: exitCodes.program }); // prettier-ignore
    });
    if (problems.length > MOST_SHOWN) io.err.write(`… and ${problems.length - MOST_SHOWN} more, which --json has\n`);
  }
  if (!isFine) throw new Exit(exitCodes.program);
}

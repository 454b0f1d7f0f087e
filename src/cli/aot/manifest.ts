/**
 * What a folder of kernels compiled ahead of time holds, as its `manifest.json` says it: the type, the JSON Schema that is published
 * for it, what its programs are called, and how a build joins what is there.
 */
import { createHash } from "node:crypto";
import {
  DTYPE_NAMES,
  LAUNCH_DTYPES,
  type KernelManifest,
  type Manifest,
  type PassOptions,
  REDUCTION_OPS,
  type Signature,
} from "../../compiler/index.js";
import { checkOf } from "../../json-schema.js";
import { UsageError } from "../../runtime/errors.js";

/** A kernel with its files, which lie beside the manifest. */
export interface ArtefactKernel extends KernelManifest {
  readonly files: Readonly<Record<"cu" | "ptx" | "cubin", string>>;
  readonly cubinBytes: number;
  readonly cubinSha256: string;
}

/** The code of a program for one architecture. Kernels and plans differ from one to another. */
export interface ArtefactTarget {
  readonly arch: string;
  readonly collcVersion: string;
  readonly nvrtcVersion: string;
  readonly roundings: Manifest["roundings"];
  /** Steps are kernels and copies, and, of a program with domains, messages. */
  readonly plan: Manifest["plan"];
  /** What kernels, messages and copies share. */
  readonly memory?: NonNullable<Manifest["memory"]>;
  readonly kernels: readonly ArtefactKernel[];
}

/** What a program is compiled from and for, besides architectures: two programs of a folder differ in it. */
export interface Identity {
  /** File of the source, from the root of the build: the same in whatever folder that lies. */
  readonly source: string;
  /** The source without its ending: `all_reduce/one_shot`. */
  readonly path: string;
  readonly collective: string;
  readonly ranks: number;
  readonly mesh: Signature["mesh"];
  readonly dtypes: Signature["dtypes"];
  /** Knobs of the mapping, where any were given. */
  readonly mapping: Partial<PassOptions> | null;
  readonly maxBlocks: number | null;
  /** Ranks that share addresses, of a program that sends messages between others. */
  readonly ranksPerDomain: number | null;
  /** It was built with `--round-partial-sums`. */
  readonly roundPartialSums?: true;
}

export interface ArtefactProgram extends Identity, Signature {
  /** Its name in C, and what its files begin with. */
  readonly name: string;
  /** Digest of the text and of all that it imports. */
  readonly sourceSha256: string;
  /** Tensors that every rank's address is needed of, on some architecture. */
  readonly symmetric: readonly string[];
  /** Whether its C file holds the cubins. */
  readonly embedded: boolean;
  readonly files: Readonly<Record<"header" | "source", string>>;
  /** By architecture. */
  readonly targets: readonly ArtefactTarget[];
}

/** Number of the form of manifests: what reads one asks for it. */
export const FORMAT = 8;

export interface ArtefactManifest {
  readonly formatVersion: typeof FORMAT;
  /** What names in C begin with. */
  readonly prefix: string;
  /** By name. */
  readonly programs: readonly ArtefactProgram[];
}

/**
 * What a program is called in C: by what it was compiled from and for. Letters, digits and underscores; folders come last, after an
 * "of", so that `reduce/scatter` and `reduce_scatter` are two names.
 */
export function programName(prefix: string, identity: Identity): string {
  const { path, collective, ranks, mesh, dtypes, mapping, maxBlocks, ranksPerDomain, roundPartialSums } = identity;
  const parts = path.split("/").map((part) => part.replace(/[^A-Za-z0-9]+/g, "_"));
  const own = parts.at(-1) === collective ? [] : [collective];
  const grid = mesh.length === 0 ? [] : [mesh.map((axis) => `${axis.name}${axis.size}`).join("x")];
  const knobs = mapping === null && maxBlocks === null ? [] : [`m${digest([mapping, maxBlocks]).slice(0, 8)}`];
  const called = [...parts, ...own].reverse().join("_of_");
  const domains = ranksPerDomain === null ? [] : [`d${ranksPerDomain}`];
  const rounded = roundPartialSums === true ? ["rounded"] : [];
  return [prefix, called, `w${ranks}`, ...domains, ...grid, ...Object.values(dtypes), ...rounded, ...knobs].join("_");
}

/** SHA-256 of a value as JSON, in hexadecimal digits. */
export function digest(value: unknown): string {
  return createHash("sha256").update(JSON.stringify(value)).digest("hex");
}

/**
 * The programs of a folder after a build: what is there stays, or is made anew.
 * @param before null where there is none
 * @throws UsageError where something would be lost, or would no longer mean what it says.
 */
export function merged(
  before: ArtefactManifest | null,
  built: readonly ArtefactProgram[],
  prefix: string,
  folder: string,
): ArtefactManifest {
  if (before !== null && before.programs.length > 0 && before.prefix !== prefix)
    throw new UsageError(
      `${folder} holds programs whose names begin with ${before.prefix}_, and these would begin with ${prefix}_`,
      `build with --prefix ${before.prefix}, or into another folder`,
    );
  const programs = new Map(before?.programs.map((program) => [program.name, program]));
  for (const program of built) {
    const old = programs.get(program.name);
    programs.set(program.name, old === undefined ? program : joined(old, program));
  }
  const sorted = [...programs.values()].sort((a, b) => (a.name < b.name ? -1 : 1));
  return { formatVersion: FORMAT, prefix, programs: sorted };
}

function joined(old: ArtefactProgram, built: ArtefactProgram): ArtefactProgram {
  if (digest(identityOf(old)) !== digest(identityOf(built)))
    throw new UsageError(
      `two programs would both be called ${built.name}: ${old.collective} of ${old.source}, and ${built.collective} of ${built.source}`,
      "build them into different folders, or say with --root which folders their paths begin at",
    );
  const archs = new Set(built.targets.map((target) => target.arch));
  const kept = old.targets.filter((target) => !archs.has(target.arch));
  if (kept.length > 0 && old.sourceSha256 !== built.sourceSha256)
    throw new UsageError(
      `${built.name} was built for ${kept.map((target) => target.arch).join(", ")} from another text of ${built.source}`,
      `build all of its architectures together: --arch ${[...old.targets, ...built.targets].map((t) => t.arch).filter((arch, i, all) => all.indexOf(arch) === i).join(",")}`, // prettier-ignore
    );
  const isReached = new Set([...(kept.length > 0 ? old.symmetric : []), ...built.symmetric]);
  return {
    ...built,
    symmetric: [...built.inputs, ...built.outputs].map((t) => t.name).filter((name) => isReached.has(name)),
    embedded: old.embedded || built.embedded,
    targets: [...kept, ...built.targets].sort((a, b) => (a.arch < b.arch ? -1 : 1)),
  };
}

function identityOf(program: Identity): Identity {
  const { source, path, collective, ranks, mesh, dtypes, mapping, maxBlocks, ranksPerDomain } = program;
  const rounded = program.roundPartialSums === true ? { roundPartialSums: true as const } : {};
  return { source, path, collective, ranks, mesh, dtypes, mapping, maxBlocks, ranksPerDomain, ...rounded };
}

type Schema = Readonly<Record<string, unknown>>;

const text: Schema = { type: "string" };
const name: Schema = { type: "string", pattern: "^[A-Za-z_][A-Za-z0-9_]*$" };
const file: Schema = { type: "string", pattern: "^[A-Za-z0-9_.]+$" };
const sha256: Schema = { type: "string", pattern: "^[0-9a-f]{64}$" };
const count = (least: number): Schema => ({ type: "integer", minimum: least });
const listOf = (items: Schema, least = 0): Schema => ({ type: "array", items, minItems: least });
const orNull = (schema: Schema): Schema => ({ anyOf: [schema, { type: "null" }] });
const ref = (definition: string): Schema => ({ $ref: `#/$defs/${definition}` });
/** Exactly these members; a description of each is worth more than none. */
const record = (properties: Readonly<Record<string, Schema>>, optional: readonly string[] = []): Schema => ({
  type: "object",
  properties,
  required: Object.keys(properties).filter((key) => !optional.includes(key)),
  additionalProperties: false,
});
const said = (description: string, schema: Schema): Schema => ({ description, ...schema });
const kind = (of: string, rest: Readonly<Record<string, Schema>> = {}): Schema =>
  record({ kind: { const: of }, ...rest });

/** What a step of a plan may be: in place, so that what is wrong with one is told of its kind. */
const STEPS: Readonly<Record<"launch" | "messages" | "copies", Schema>> = {
  launch: record(
    {
      kind: { const: "launch" },
      kernel: count(0),
      maxBlocks: count(1),
      awaits: said("Number of the last step of messages beside kernels that must have ended before.", count(0)),
    },
    ["awaits"],
  ),
  messages: record(
    {
      kind: { const: "message" },
      beside: said("May go on beside kernels, up to one that awaits it; a host may as well wait for it at once.", {
        const: true,
      }),
      ranks: said(
        "What each rank sends and receives, all at once; the k-th that goes to a rank is the k-th that comes there.",
        listOf(record({ sends: listOf(ref("message")), receives: listOf(ref("message")) }), 1),
      ),
    },
    ["beside"],
  ),
  copies: record(
    {
      kind: { const: "copy" },
      beside: said(
        "A rank's copies come one after the other. They begin after all launches before the step, and go on beside those behind it, which wait for some of them, up to the end of the program. Else they are in any order, and everything behind the step comes after them.",
        { const: true },
      ),
      copies: said("What each rank copies: its copy engines, no kernel.", listOf(listOf(ref("copy")), 1)),
    },
    ["beside"],
  ),
};

/** The JSON Schema (2020-12) of `manifest.json`; `schemas/manifest.schema.json` is its text. */
export const MANIFEST_SCHEMA: Schema = {
  $schema: "https://json-schema.org/draft/2020-12/schema",
  title: "manifest.json of collc build",
  description: "Programs compiled ahead of time: what they compute, and all that a host needs to launch them.",
  ...record({
    formatVersion: { const: FORMAT },
    prefix: said("What names in C begin with.", name),
    programs: said("By name.", listOf(ref("program"))),
  }),
  $defs: {
    program: record(
      {
        name: said("Its name in C, and what its files begin with.", name),
        source: said("File of the source, from the root of the build.", text),
        path: said("The source without its ending.", text),
        sourceSha256: said("Digest of the text and of all that it imports.", sha256),
        collective: said("Its name in the source.", name),
        ranks: count(1),
        mesh: said("Axes of the grid of ranks, the outermost first.", listOf(record({ name, size: count(1) }))),
        dtypes: said("What dtype variables stand for.", { type: "object", additionalProperties: ref("dtype") }),
        mapping: said("Knobs of the mapping, where any were given.", orNull({ type: "object" })),
        maxBlocks: said("--max-blocks of the build.", orNull(count(1))),
        ranksPerDomain: said(
          "So many consecutive ranks share addresses, and get messages from all others; null: all share them.",
          orNull(count(1)),
        ),
        roundPartialSums: said("It was built with --round-partial-sums.", { const: true }),
        dims: said("Dimensions of a launch, in the order of the signature.", listOf(name)),
        scalars: said(
          "Numbers that are given at each launch, the same on every rank; 4 bytes each.",
          listOf(record({ name, dtype: ref("number") })),
        ),
        inputs: listOf(ref("tensor")),
        outputs: listOf(ref("tensor"), 1),
        inPlace: said(
          "Tensors that are input and output at once: one memory, which a launch changes. All other outputs have memory of their own.",
          listOf(name),
        ),
        specification: said(
          "What the outputs must be: `nodes` refer to nodes before them by number, `outputs` has one number per output, null where only the ordering of the body is specified.",
          record({
            nodes: listOf({ type: "object", required: ["kind"], properties: { kind: text } }),
            outputs: listOf(orNull(count(0))),
          }),
        ),
        requirements: said(
          "What the dimensions of a launch must fulfil.",
          listOf(
            record({
              left: ref("extent"),
              relation: { enum: ["eq", "ne", "lt", "le", "gt", "ge"] },
              right: ref("extent"),
              reason: text,
            }),
          ),
        ),
        symmetric: said("Tensors that every rank's address is needed of.", listOf(name)),
        embedded: said("Whether the C file holds the cubins.", { type: "boolean" }),
        files: record({ header: file, source: file }),
        targets: said(
          "By architecture; a host takes the most special one that its GPU runs.",
          listOf(ref("target"), 1),
        ),
      },
      ["roundPartialSums"],
    ),
    target: record(
      {
        arch: { type: "string", pattern: "^sm_\\d{2,3}[af]?$" },
        collcVersion: text,
        nvrtcVersion: text,
        roundings: said("Narrower dtypes through which a kernel sends values.", listOf(ref("dtype"))),
        plan: said(
          "Which steps a size takes: the first choice whose `below` is above the size; the last has null.",
          record({
            by: ref("extent"),
            choices: listOf(
              record({
                below: orNull(count(1)),
                steps: listOf({ anyOf: Object.values(STEPS) }, 1),
              }),
              1,
            ),
          }),
        ),
        memory: said(
          "Memory that kernels, messages and copies share, by name. Like the rest of the workspace it is zeroed before the first launch.",
          listOf(
            record(
              {
                name: text,
                dtype: ref("dtype"),
                shape: listOf(ref("extent")),
                symmetric: said("Peers access it.", { type: "boolean" }),
                counts: said("It must be 0 before the first launch, and after a recovery.", { const: true }),
              },
              ["counts"],
            ),
          ),
        ),
        kernels: listOf(ref("kernel"), 1),
      },
      ["memory"],
    ),
    message: record({
      peer: said("The rank at the other side.", count(0)),
      memory: text,
      offset: said("Of the first element.", ref("extent")),
      length: said("Number of elements; of none nothing goes.", ref("extent")),
    }),
    copy: said(
      "`rows` runs of `length` elements; none where either is not above 0.",
      record({ rows: ref("extent"), length: ref("extent"), from: ref("copyEnd"), to: ref("copyEnd") }),
    ),
    copyEnd: record(
      {
        tensor: text,
        isMemory: said("It is a memory of the target, else a tensor of the program.", { const: true }),
        rank: said("Whose it is.", count(0)),
        offset: said("Of the first element.", ref("extent")),
        pitch: said("Elements from the first of a row to the first of the next.", ref("extent")),
      },
      ["isMemory"],
    ),
    kernel: record({
      name: said("Which way of doing it this is.", text),
      symbol: said("Its name in the cubin.", name),
      files: record({ cu: file, ptx: file, cubin: file }),
      cubinBytes: count(1),
      cubinSha256: sha256,
      buffers: listOf(ref("buffer")),
      parameters: listOf(ref("parameter")),
      lengths: said(
        "What who launches it computes for it, in this order: of the dimensions, and of the lengths before.",
        listOf(record({ name, value: ref("extent") })),
      ),
      blockThreads: count(1),
      grid: said(
        "Blocks: the largest of `work`, at least 1, at most `maxBlocks` and what a step says; the same on all ranks.",
        record({ work: listOf(ref("extent")), maxBlocks: count(1) }),
      ),
      sharedBytes: said("Dynamic shared memory.", count(0)),
      cooperative: said("Blocks wait for each other: launch cooperatively.", { type: "boolean" }),
      early: said(
        "It waits by itself for the launch before it in its stream: launch it with programmatic stream serialization, or as any other.",
        { type: "boolean" },
      ),
    }),
    buffer: record(
      {
        name: text,
        role: said(
          "input, output, inout: tensors. The rest is the workspace: packet, signal and state are zeroed once, before the first launch on any rank, and never again.",
          { enum: ["input", "output", "inout", "scratch", "packet", "signal", "state"] },
        ),
        dtype: ref("dtype"),
        shape: listOf(ref("extent")),
        symmetric: said("Peers access it.", { type: "boolean" }),
        memory: said("The memory of the target that it is, which others have, too.", text),
      },
      ["memory"],
    ),
    parameter: said("Of the kernel, in order.", {
      anyOf: [
        said("64-bit addresses of all ranks, by value.", kind("peers", { buffer: text, ranks: count(1) })),
        said("64-bit address on this rank.", kind("pointer", { buffer: text })),
        said("64-bit length.", kind("dim", { name })),
        said("64 bits: one of the kernel's lengths.", kind("length", { name })),
        said("32 bits.", kind("scalar", { name, dtype: ref("number") })),
        said("32 bits.", kind("rank")),
        said("64 bits: nanoseconds that a wait may take, 0: for ever.", kind("timeout")),
        said(
          "64-bit address of 16 zeroed 32-bit words; the first is not zero after a wait that ran out.",
          kind("status"),
        ),
        said(
          "CUtensorMap by value, or with `ranks` above 0 one a rank.",
          kind("tensor-map", { buffer: text, ranks: count(0), box: listOf(count(1), 1) }),
        ),
      ],
    }),
    tensor: record(
      {
        name,
        dtype: ref("dtype"),
        layout: ref("layout"),
        shape: said("Of the whole.", listOf(ref("extent"))),
        localShape: said("Of what one rank holds.", listOf(ref("extent"))),
        values: said("Elements are at least `from`, below `to`.", record({ from: ref("extent"), to: ref("extent") })),
      },
      ["values"],
    ),
    layout: {
      type: "object",
      required: ["kind"],
      properties: {
        kind: said("grid: each of `parts` is of one axis of the mesh.", {
          enum: ["replicated", "sharded", "partial", "on", "local", "grid"],
        }),
        op: { enum: REDUCTION_OPS },
        parts: listOf(ref("layout"), 2),
      },
    },
    extent: said("A length: a number, a dimension, or an operation on two; divisions round down.", {
      anyOf: [
        { type: "integer" },
        name,
        record({
          op: { enum: ["add", "sub", "mul", "div", "ceildiv", "mod", "min", "max"] },
          a: ref("extent"),
          b: ref("extent"),
        }),
      ],
    }),
    dtype: { enum: DTYPE_NAMES },
    number: { enum: LAUNCH_DTYPES },
  },
};

const check = checkOf(() => MANIFEST_SCHEMA, { validateSchema: false });

/** What is wrong with a manifest, in words; null if it is one. */
export function manifestProblem(value: unknown): string | null {
  const [problem] = [...check(value)].sort((a, b) => b.instancePath.length - a.instancePath.length);
  if (problem === undefined) return null;
  return `${problem.instancePath === "" ? "it" : problem.instancePath} ${problem.message ?? "is wrong"}`;
}

/**
 * The manifest that a folder's text is.
 * @throws UsageError for anything else, among it manifests of other versions of collc
 */
export function parseManifest(folder: string, json: string): ArtefactManifest {
  const help = "build into another folder, or remove it";
  let value: unknown;
  try {
    value = JSON.parse(json);
  } catch {
    throw new UsageError(`${folder}/manifest.json is no JSON`, help);
  }
  const problem = manifestProblem(value);
  if (problem !== null)
    throw new UsageError(`${folder}/manifest.json is not of this version of collc: ${problem}`, help);
  return value as ArtefactManifest;
}

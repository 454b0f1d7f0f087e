/** `collc lower`: which parts of a compiler's graph become programs, and why the others do not. */
import { Command, Option } from "commander";
import { DEFAULT_ARCH, type Machine, machineFor, MACHINES, predictOperation } from "../compiler/index.js";
import {
  asFx,
  type FxGraph,
  lower,
  type Lowered,
  loweredToJson,
  partitionReport,
  shapeOf,
} from "../compiler/graph/index.js";
import { UsageError } from "../runtime/errors.js";
import { importsFromDisk, libraryFromDisk } from "../runtime/imports.js";
import { machineAtHand } from "../runtime/machine-at-hand.js";
import { conversionsFromDisk } from "../runtime/tuned.js";
import { digest, type Identity, programName } from "./aot/manifest.js";
import { buildUnits, type Unit } from "./aot/units.js";
import { examples } from "./examples.js";
import type { Io } from "./io.js";
import { listOf, parseArch, shared } from "./options.js";
import { readJson } from "./source-file.js";

interface LowerCommandOptions {
  readonly ranks?: number;
  readonly machine?: string;
  readonly arch: readonly string[];
  readonly build?: string;
  readonly measured?: string;
  readonly caller: "nodes" | "kernels";
  readonly fuse: "model" | "legal";
  readonly json?: boolean;
}

/** The command, printing to `io`. */
export function lowerCommand(io: Io): Command {
  return new Command("lower")
    .description("Partition an FX graph: what becomes one program, what stays with the caller, and why.")
    .argument("<file>", "FX graph as JSON (schemas/fx.schema.json), or - for standard input")
    .addOption(shared.ranks("(default: those of the graph's only process group)"))
    .addOption(
      new Option(
        "-m, --machine <name>",
        "machine to predict times on (default: that of the GPUs here, else the smallest of the architecture with so many)",
      ).choices(MACHINES.map((m) => m.name)),
    )
    .option(
      "--measured <file>",
      'seconds that you have measured, by node, as JSON: {"mm_1": 12e-6}; they go before the model',
    )
    .addOption(
      new Option("--fuse <what>", "what is predicted to be faster, or whatever can be one program")
        .choices(["model", "legal"])
        .default("model"),
    )
    .addOption(
      new Option(
        "--caller <what>",
        "how you run what stays with you: node by node, or elementwise operations in one kernel",
      )
        .choices(["nodes", "kernels"])
        .default("nodes"),
    )
    .option(
      "--build <dir>",
      "compile the programs into a folder, as `collc build` does, with the partition beside them",
    )
    .addOption(
      new Option("-a, --arch <arch>", "GPU architecture, such as sm_90a, of programs and of the machine; one at a time")
        .argParser(listOf(parseArch))
        .default([DEFAULT_ARCH], DEFAULT_ARCH),
    )
    .option("--json", "print all of it as JSON: graphs, texts, manifests, verdicts; times in seconds, sizes in bytes")
    .addHelpText(
      "after",
      examples(
        ["collc lower layer.json --ranks 4 --machine h200x4", "the partition, and why"],
        ["collc lower layer.json --fuse legal", "as much as can be in one program, whatever it takes"],
        [
          "collc lower layer.json --caller kernels --build out",
          "what a PyTorch pass asks for: partition.json and programs",
        ],
        ["collc lower layer.json --json | jq '.edges[] | select(.isFused | not)'", "what was not fused"],
      ),
    )
    .action((file: string, options: LowerCommandOptions) => run(io, file, options));
}

async function run(io: Io, file: string, options: LowerCommandOptions): Promise<void> {
  const fx = asFx(readJson(file, io, "an FX graph"));
  const sizes = [...new Set(Object.values(fx.groups))];
  if (options.ranks === undefined && sizes.length !== 1)
    throw new UsageError(`the graph's process groups have ${sizes.join(" and ")} ranks`, "say which: --ranks N");
  const ranks = options.ranks ?? sizes[0]!;
  const [arch = DEFAULT_ARCH, ...others] = options.arch;
  if (others.length > 0) throw new UsageError("a partition is of one architecture: its times are", "lower for each by itself"); // prettier-ignore
  const machine = machineToPlanFor(options.machine, arch, ranks);
  if (ranks > machine.ranks)
    throw new UsageError(`${machine.name} has ${machine.ranks} GPUs, not ${ranks}`, machinesWith(ranks));
  const common = { ranks, machine, fuse: options.fuse, caller: options.caller, library: libraryFromDisk, resolve: importsFromDisk }; // prettier-ignore
  const measured = options.measured === undefined ? {} : { measured: secondsByNode(io, options.measured, fx) };
  // Programs for hosts without collc have none of NCCL's broadcasts.
  const messages = options.build === undefined ? {} : { broadcasts: false };
  const found = conversionsFromDisk(machine);
  const conversions = found === null ? {} : { conversions: found };
  const lowered = lower(fx, { ...common, ...measured, ...conversions, ...messages, arch });
  if (options.build !== undefined) await build(io, lowered, machine, options.build, arch);
  io.out.write(
    options.json === true ? JSON.stringify(loweredToJson(lowered), null, 2) + "\n" : partitionReport(lowered),
  );
}

function machinesWith(ranks: number): string {
  const names = MACHINES.filter((m) => m.ranks >= ranks).map((m) => m.name);
  if (names.length > 0) return `machines with so many: ${names.join(", ")}`;
  return `no machine has more than ${Math.max(...MACHINES.map((m) => m.ranks))}: lower for a smaller process group`;
}

/** The machine of that name; where none is given, that of the GPUs at hand, if they are of the architecture. */
function machineToPlanFor(name: string | undefined, arch: string, ranks: number): Machine {
  if (name !== undefined) return MACHINES.find((m) => m.name === name)!;
  const here = machineAtHand(ranks);
  return here !== null && here.arch === arch && here.ranks >= ranks ? here : machineFor(arch, ranks);
}

/**
 * Compiles the programs, each once though several steps run it, and writes `partition.json` beside them: what `--json` prints, in
 * which each step names its program, and each tensor the program's parameter.
 */
async function build(io: Io, lowered: Lowered, machine: Machine, out: string, arch: string): Promise<void> {
  const known = new Map<string, { readonly unit: Unit; readonly part: Extract<Lowered["parts"][number], { kind: "program" }> }>(); // prettier-ignore
  const own = lowered.parts.map((part) => {
    if (part.kind !== "program") return null;
    const key = shapeOf(part.graph);
    const before = known.get(key);
    if (before !== undefined) return before;
    const { manifest, kernels, source } = part.compiled;
    const path = part.graph.name;
    const identity: Identity = { source: `${path}.coll`, path, collective: manifest!.collective, ranks: lowered.ranks, mesh: manifest!.mesh, dtypes: manifest!.dtypes, mapping: null, maxBlocks: null, ranksPerDomain: manifest!.ranksPerDomain ?? null }; // prettier-ignore
    const texts = kernels.map(({ cuda }) => cuda);
    const made = { part, unit: { identity, name: programName("coll", identity), arch, sourceSha256: digest(source.text), manifest: manifest!, texts } }; // prettier-ignore
    known.set(key, made);
    return made;
  });
  const json = loweredToJson(lowered) as { parts: Record<string, unknown>[] };
  const parts = lowered.parts.map((part, i) => {
    const made = own[i];
    if (part.kind !== "program" || made == null) return json.parts[i];
    const renamed = (side: "inputs" | "outputs"): unknown => part[side].map((b, j) => ({ ...b, name: made.part[side][j]!.name })); // prettier-ignore
    return { ...json.parts[i], program: made.unit.name, inputs: renamed("inputs"), outputs: renamed("outputs") };
  });
  // Whoever has a tensor elsewhere than where peers reach it copies it.
  const start = predictOperation({ loaded: 0, stored: 0, scalarOps: 0, tensorOps: 0 }, machine);
  const copy = { seconds: start, bytesPerSecond: machine.memory.value };
  const partition = JSON.stringify({ ...json, parts, copy, report: partitionReport(lowered) }, null, 2) + "\n";
  const others = new Map([["partition.json", partition]]);
  await buildUnits(io, [...known.values()].map((made) => made.unit), { out, prefix: "coll" }, others); // prettier-ignore
}

function secondsByNode(io: Io, file: string, { nodes }: FxGraph): Record<string, number> {
  const value = readJson(file, io, "seconds by node");
  const isTime = (s: unknown): boolean => typeof s === "number" && s > 0 && s < Infinity;
  const isFine = typeof value === "object" && value !== null && !Array.isArray(value) && Object.values(value).every(isTime); // prettier-ignore
  if (!isFine) throw new UsageError(`${file} holds no seconds by node`, 'write {"mm_1": 12e-6}');
  const unknown = Object.keys(value).filter((name) => !nodes.some((node) => node.name === name));
  if (unknown.length > 0) io.err.write(`warning: ${file} has times of what is no node of the graph: ${unknown.join(", ")}\n`); // prettier-ignore
  return value as Record<string, number>;
}

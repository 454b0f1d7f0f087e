/** `collc lower`: which parts of a compiler's graph become programs, and why the others do not. */
import { Command, Option } from "commander";
import { DEFAULT_ARCH, type Machine, machineFor, MACHINES } from "../compiler/index.js";
import { asFx, lower, loweredToJson, partitionReport } from "../compiler/graph/index.js";
import { UsageError } from "../runtime/errors.js";
import { importsFromDisk, libraryFromDisk } from "../runtime/imports.js";
import { examples } from "./examples.js";
import type { Io } from "./io.js";
import { shared } from "./options.js";
import { readProgram } from "./source-file.js";

interface LowerCommandOptions {
  readonly ranks?: number;
  readonly machine?: string;
  readonly arch?: string;
  readonly measured?: string;
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
        "machine to predict times on (default: the smallest with so many GPUs)",
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
    .option("--json", "print all of it as JSON: graphs, texts, manifests, verdicts; times in seconds, sizes in bytes")
    .addHelpText(
      "after",
      examples(
        ["collc lower layer.json --ranks 4 --machine h200x4", "the partition, and why"],
        ["collc lower layer.json --fuse legal", "as much as can be in one program, whatever it takes"],
        ["collc lower layer.json --json | jq '.edges[] | select(.isFused | not)'", "what was not fused"],
      ),
    )
    .action((file: string, options: LowerCommandOptions) => run(io, file, options));
}

function run(io: Io, file: string, options: LowerCommandOptions): void {
  const fx = asFx(json(io, file, "an FX graph"));
  const sizes = [...new Set(Object.values(fx.groups))];
  if (options.ranks === undefined && sizes.length !== 1)
    throw new UsageError(`the graph's process groups have ${sizes.join(" and ")} ranks`, "say which: --ranks N");
  const ranks = options.ranks ?? sizes[0]!;
  const machine: Machine = MACHINES.find((m) => m.name === options.machine) ?? machineFor(DEFAULT_ARCH, ranks);
  if (ranks > machine.ranks)
    throw new UsageError(`${machine.name} has ${machine.ranks} GPUs, not ${ranks}`, `use --ranks ${machine.ranks}`);
  const lowered = lower(fx, {
    ranks,
    machine,
    fuse: options.fuse,
    library: libraryFromDisk,
    resolve: importsFromDisk,
    ...(options.measured === undefined ? {} : { measured: secondsByNode(io, options.measured) }),
  });
  io.out.write(
    options.json === true ? JSON.stringify(loweredToJson(lowered), null, 2) + "\n" : partitionReport(lowered),
  );
}

function json(io: Io, file: string, what: string): unknown {
  const { file: shown, text } = readProgram(file, io);
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new UsageError(`${shown} is no JSON: ${(error as Error).message}`, `it must hold ${what}`);
  }
}

function secondsByNode(io: Io, file: string): Record<string, number> {
  const value = json(io, file, 'seconds by node: {"mm_1": 12e-6}');
  const isFine =
    typeof value === "object" && value !== null && Object.values(value).every((s) => typeof s === "number" && s > 0);
  if (!isFine) throw new UsageError(`${file} holds no seconds by node`, 'write {"mm_1": 12e-6}');
  return value as Record<string, number>;
}

/** `collc explain`: how a collective works and what it costs, for a person. */
import { Command, Option } from "commander";
import {
  DEFAULT_ARCH,
  type DimValues,
  explain,
  type Machine,
  machineFor,
  MACHINES,
  predictTime,
  type PassOptions,
} from "../compiler/index.js";
import { UsageError } from "../runtime/errors.js";
import { machineAtHand } from "../runtime/machine-at-hand.js";
import { chosenReach } from "../runtime/reach.js";
import { tunedFromDisk } from "../runtime/tuned.js";
import { compileWhole, dtypesFor, selectCollective } from "./collectives.js";
import { chooseDims } from "./dims.js";
import { examples } from "./examples.js";
import { type Comparison, explainReport } from "./explain-report.js";
import type { Io } from "./io.js";
import { measuredTimes } from "./measured.js";
import { askedRanks, type MeshChoice, meshFor } from "./mesh.js";
import { collectDims, type DTypeChoice, shared } from "./options.js";
import { rankRange, simulate } from "./simulate.js";

const DEFAULT_RANKS = 4;

interface ExplainOptions {
  readonly ranks?: readonly number[];
  readonly mesh?: MeshChoice;
  readonly dtype?: DTypeChoice;
  readonly reach?: string;
  readonly sms?: number;
  readonly roundPartialSums?: boolean;
  readonly mapping?: Partial<PassOptions>;
  readonly dim?: DimValues;
  readonly machine?: string;
  readonly json?: boolean;
}

/** The command, printing to `io`. */
export function explainCommand(io: Io): Command {
  return new Command("explain")
    .description("Say how a collective works and what it costs: layouts, bytes on the wire, synchronisation, time.")
    .argument("<file>", "program, or - for standard input")
    .argument("[name]", "collective, where the file has several")
    .addOption(
      new Option(
        "-n, --ranks <n>",
        `number of ranks (default: ${DEFAULT_RANKS}, or those of --mesh or --reach); 8..4096 is simulated`,
      ).argParser(rankRange),
    )
    .addOption(shared.mesh())
    .addOption(shared.dtype())
    .addOption(shared.reach())
    .addOption(shared.sms())
    .addOption(shared.roundPartialSums())
    .addOption(shared.mapping())
    .addOption(new Option("-d, --dim <name=n...>", "sizes to count for").argParser(collectDims))
    .addOption(
      new Option(
        "-m, --machine <name>",
        `machine to predict the time on: ${MACHINES.map((m) => m.name).join(", ")} (default: that of the GPUs at hand, else the smallest with so many); ` +
          "others, of several hosts, as `collc simulate` has them",
      ),
    )
    .option("--json", "print all of it as JSON; times in seconds, sizes in bytes")
    .addHelpText(
      "after",
      examples(
        ["collc explain my.coll", "4 ranks, bf16, a size of collc's choice"],
        ["collc explain my.coll --ranks 2 --dim n=1000000", "another size"],
        ["collc explain kernels/all_reduce/ring.coll", "compared with what was measured"],
        ["collc explain my.coll --mesh 2x2", "a collective with a mesh"],
        ["collc explain my.coll --machine dgx-h100 --ranks 8..4096", "its times on 1 to 512 hosts, and bytes on links"],
      ),
    )
    .action((file: string, name: string | undefined, options: ExplainOptions) => run(io, file, name, options));
}

async function run(io: Io, file: string, name: string | undefined, options: ExplainOptions): Promise<void> {
  const { machine: wanted, ranks: counts = [], dtype: chosen, json } = options;
  const known = MACHINES.find((m) => m.name === wanted);
  if (counts.length > 1 || (wanted !== undefined && known === undefined)) {
    const unused = (["mesh", "reach", "sms", "roundPartialSums", "mapping", "dim"] as const).find(
      (key) => options[key] !== undefined,
    );
    if (unused !== undefined)
      throw new UsageError(
        `--${unused.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)} changes nothing where times are simulated`,
        unused === "reach"
          ? "leave it out: hosts are those of the machine; one number of ranks without --machine, or on a machine of one host, is predicted with NCCL's messages for any --reach whose hosts are no larger"
          : "leave it out, or choose one number of ranks on a machine of one host",
      );
    return simulate(io, [file], {
      ...(wanted === undefined ? {} : { machine: wanted }),
      ...(counts.length === 0 ? {} : { ranks: counts }),
      ...(chosen === undefined ? {} : { dtype: chosen }),
      ...(json === undefined ? {} : { json }),
      ...(name === undefined ? {} : { collective: name }),
      naming: "FILE",
      links: true,
    });
  }
  const ranks = askedRanks({ ...options, ranks: counts[0] }) ?? DEFAULT_RANKS;
  // The machine is one host, of which there may be several.
  const near = Math.min(ranks, chosenReach(options.reach, ranks)?.ranksPerDomain ?? ranks);
  const machine = known ?? machineAtHand(near) ?? machineFor(DEFAULT_ARCH, near);
  if (near > machine.ranks)
    throw new UsageError(
      `${machine.name} has ${machine.ranks} GPUs, not ${near}`,
      `use --ranks ${machine.ranks}, give hosts of so many with --reach, or take a machine of several hosts: --machine dgx-h100`,
    );
  const selected = selectCollective(io, file, name);
  const dtype = dtypesFor(selected.collective, options.dtype);
  const mesh = meshFor(selected.collective, options.mesh);
  const compiled = compileWhole(io, selected, selected.collective, {
    ranks,
    dtype,
    mesh,
    machine,
    reach: options.reach,
    sms: options.sms,
    roundPartialSums: options.roundPartialSums,
    mapping: options.mapping,
    // What was measured here says nothing of a machine that is asked for by name.
    tuned: options.machine === undefined ? tunedFromDisk(undefined, { withLibraries: true }) : undefined,
  });
  const dims = chooseDims(compiled.manifest, options.dim ?? {}, false);
  const explanation = explain(compiled, dims, machine);
  // What was measured had all the blocks it wanted, and addresses of all ranks.
  const compared =
    options.sms === undefined && options.mapping === undefined && explanation.messages.length === 0
      ? comparisons(selected.file, compiled, machine, ranks)
      : [];
  if (options.json === true) io.out.write(JSON.stringify({ ...explanation, measured: compared }, null, 2) + "\n");
  else io.out.write(explainReport(io, selected.file, compiled, explanation, machine, compared));
}

/** What was measured of this kernel beside what is predicted for the same sizes. */
function comparisons(
  file: string,
  compiled: Parameters<typeof predictTime>[0],
  machine: Machine,
  ranks: number,
): Comparison[] {
  const dtypes = new Set(Object.values(compiled.manifest!.dtypes));
  if (dtypes.size !== 1) return [];
  return measuredTimes(file, ranks, [...dtypes][0]!, machine).map((m) => {
    const predictedUs = predictTime(compiled, m.dims, machine).total * 1e6;
    return { label: m.label, dims: m.dims, date: m.date, file: m.file, predictedUs, measuredUs: m.us };
  });
}

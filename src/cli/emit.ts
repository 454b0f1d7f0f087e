/** `collc emit`: what the compiler makes of a program, at any stage, as text on stdout. */
import { Command, Option } from "commander";
import {
  type CompileResult,
  type Kernel,
  parseProgram,
  PIPELINE,
  printKernel,
  printProgram,
  type PassOptions,
} from "../compiler/index.js";
import { UsageError } from "../runtime/errors.js";
import { compileCuda } from "../runtime/program.js";
import { compilePartly, dtypesFor, selectCollective } from "./collectives.js";
import { examples } from "./examples.js";
import type { Io } from "./io.js";
import { askedRanks, type MeshChoice, meshFor } from "./mesh.js";
import { type DTypeChoice, shared, wholeNumber } from "./options.js";
import { withProgress } from "./progress.js";
import { suggestion } from "./suggest.js";

const stages = ["ast", "tensor", "rank", "device", "cuda", "ptx"] as const;

interface EmitOptions {
  readonly stage: (typeof stages)[number];
  readonly after?: string;
  readonly passLimit?: number;
  readonly listPasses?: boolean;
  readonly ranks?: number;
  readonly mesh?: MeshChoice;
  readonly dtype?: DTypeChoice;
  readonly reach?: string;
  readonly sms?: number;
  readonly roundPartialSums?: boolean;
  readonly mapping?: Partial<PassOptions>;
  readonly variant?: string;
  readonly arch: string;
  readonly locations: boolean;
}

/** The command, printing to `io`. */
export function emitCommand(io: Io): Command {
  return new Command("emit")
    .description("Print a program at a stage of the compiler. The kernel stages print text that parses back.")
    .argument("[file]", "program, or - for standard input")
    .argument("[name]", "collective, where the file has several")
    .addOption(new Option("-s, --stage <stage>", "where to look").choices(stages).default("cuda"))
    .option("--after <pass>", "the kernel right after this pass, in place of a stage")
    .addOption(
      new Option("--pass-limit <n>", "run only the first n passes: finds the one at fault").argParser(
        wholeNumber(0, 1000),
      ),
    )
    .option("--list-passes", "print the passes in order")
    .addOption(shared.ranks("(default: 4, or those of --mesh or --reach)"))
    .addOption(shared.mesh())
    .addOption(shared.dtype())
    .addOption(shared.reach())
    .addOption(shared.sms())
    .addOption(shared.roundPartialSums())
    .addOption(shared.mapping())
    .option("--variant <name>", "of a program with several kernels, this one (default: that of the largest sizes)")
    .addOption(shared.arch())
    .option("--no-locations", "leave source places out of kernels")
    .addHelpText(
      "after",
      `
Stages:
  ast     the program as it was understood, printed as Coll
  tensor  the kernel as lowered from the source
  rank    the last kernel that speaks of ranks: synchronisation is explicit
  device  the final kernel, which the cpu backend executes and which is printed as CUDA
  cuda    CUDA C without includes
  ptx     what NVRTC makes of it
` +
        examples(
          ["collc emit my.coll", "CUDA text for 4 ranks, bf16"],
          ["collc emit my.coll --stage rank --no-locations", "where the barriers went"],
          ["collc emit my.coll --after vectorize", "the kernel right after a pass"],
          ["collc emit my.coll --stage ptx --arch sm_80", "PTX for Ampere; needs NVRTC"],
        ),
    )
    .action((file: string | undefined, name: string | undefined, options: EmitOptions) =>
      emit(io, file, name, options),
    );
}

async function emit(io: Io, file: string | undefined, name: string | undefined, options: EmitOptions): Promise<void> {
  if (options.listPasses === true) return io.out.write(listPasses());
  if (file === undefined) throw new UsageError("which program?", "collc emit FILE, or --list-passes");
  const passes = ["lower", ...PIPELINE.map((pass) => pass.name)];
  if (options.after !== undefined && !passes.includes(options.after)) {
    throw new UsageError(`there is no pass '${options.after}'`, suggestion(options.after, passes, "passes"));
  }
  const selected = selectCollective(io, file, name);
  const { collective } = selected;
  if (options.stage === "ast" && options.after === undefined) {
    const { program } = parseProgram(selected.source);
    const named = { ...program, collectives: program.collectives.filter((c) => c.name.text === collective.name.text) };
    return io.out.write(ended(printProgram(named)));
  }
  const result = compilePartly(io, selected, collective, {
    ranks: askedRanks(options) ?? 4,
    mesh: meshFor(collective, options.mesh),
    dtype: dtypesFor(collective, options.dtype),
    arch: options.arch,
    reach: options.reach,
    sms: options.sms,
    roundPartialSums: options.roundPartialSums,
    mapping: options.mapping,
    variant: options.variant,
    stopAfter: options.after === "lower" ? undefined : options.after,
    passLimit: options.after === "lower" ? 0 : options.passLimit,
  });
  io.out.write(ended(await textOf(io, result, options)));
}

async function textOf(io: Io, result: CompileResult, options: EmitOptions): Promise<string> {
  const print = (kernel: Kernel): string => printKernel(kernel, { spans: options.locations });
  const { snapshots } = result;
  if (options.after !== undefined) {
    const found = snapshots.find((snapshot) => snapshot.pass === options.after);
    if (found === undefined) {
      const skipped =
        options.passLimit === undefined
          ? "this program is beyond its level when it would run"
          : "--pass-limit stops before it";
      throw new UsageError(
        `'${options.after}' did not run: ${skipped}`,
        `passes that ran: ${snapshots.map((s) => s.pass).join(", ")}`,
      );
    }
    return print(found.kernel);
  }
  switch (options.stage) {
    case "tensor":
      return print(snapshots[0]!.kernel);
    case "rank":
      return print((snapshots.findLast((s) => s.kernel.level === "rank") ?? snapshots.at(-1)!).kernel);
    case "cuda":
    case "ptx": {
      const { cuda } = result;
      if (cuda === null)
        throw new UsageError(
          "the passes were cut short, so there is no CUDA text",
          "leave --pass-limit out, or use --stage device",
        );
      if (options.stage === "cuda") return cuda;
      return withProgress(io, async (progress) => {
        progress.set(`NVRTC compiles for ${options.arch}`);
        // A text is one kernel's: helpers that each brings with it would be there twice.
        const texts: string[] = [];
        for (const kernel of launchedOf(result)) texts.push((await compileCuda(kernel.cuda, options.arch)).ptx);
        return texts.join("\n");
      });
    }
    default:
      return print(snapshots.at(-1)!.kernel);
  }
}

/** What is launched of the kernel that is printed: several, where copy engines or messages have their part in it. */
function launchedOf({ kernel, kernels, variants }: CompileResult): CompileResult["kernels"] {
  return variants.find(({ compiled }) => compiled.kernel === kernel)?.compiled.kernels ?? kernels;
}

const ended = (text: string): string => (text.endsWith("\n") ? text : `${text}\n`);

function listPasses(): string {
  const width = Math.max(...PIPELINE.map((pass) => pass.name.length));
  return PIPELINE.map(
    (pass, i) =>
      `${String(i + 1).padStart(2)}  ${pass.name.padEnd(width)}  ${pass.from === pass.to ? pass.from : `${pass.from} → ${pass.to}`}\n`,
  ).join("");
}

#!/usr/bin/env node
/** The command `collc`: the tree of commands, one file each, and the way from what they throw to an exit code. */
import { realpathSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { Command } from "commander";
import { collcVersion } from "../runtime/version.js";
import { watchLauncher } from "../runtime/watch-launcher.js";
import { startEarly } from "./check-thread.js";
import { examples } from "./examples.js";
import { reportFailure } from "./failure.js";
import { type Io, processIo, paletteOf, written } from "./io.js";
import { expectShortRun } from "./short-run.js";
import { failAsRank, isSpawnedRank } from "./spawned-rank.js";

/** The commands, in the order of the help text. What one needs is loaded with it: all of them take a third of a second. */
const commands: Readonly<Record<string, (io: Io) => Promise<Command>>> = {
  run: async (io) => (await import("./run.js")).runCommand(io),
  check: async (io) => (await import("./check.js")).checkCommand(io),
  explain: async (io) => (await import("./explain.js")).explainCommand(io),
  simulate: async (io) => (await import("./simulate.js")).simulateCommand(io),
  emit: async (io) => (await import("./emit.js")).emitCommand(io),
  lower: async (io) => (await import("./lower.js")).lowerCommand(io),
  build: async (io) => (await import("./build.js")).buildCommand(io),
  bench: async (io) => (await import("./bench.js")).benchCommand(io),
  tune: async (io) => (await import("./tune.js")).tuneCommand(io),
  doctor: async (io) => (await import("./doctor.js")).doctorCommand(io),
  setup: async (io) => (await import("./setup.js")).setupCommand(io),
  fmt: async (io) => (await import("./fmt.js")).fmtCommand(io),
  lsp: async (io) => (await import("./lsp.js")).lspCommand(io),
};

const exitCodeHelp = `
Exit codes:
  0  fine
  1  the program, or its run, is wrong
  2  the command line is wrong
  3  the machine lacks something; the message says what and how to get it
  70 a bug in collc; the message names a file with what a report of it needs
`;

/** Whether results were asked for as JSON; errors then are, too. */
function wantsJson(argv: readonly string[]): boolean {
  const end = argv.indexOf("--");
  return argv.slice(0, end < 0 ? undefined : end).includes("--json");
}

/** The commands that a command line needs: the one it begins with, or all, for help and for suggestions. */
function neededBy([first]: readonly string[]): readonly string[] {
  if (first === "-V" || first === "--version") return [];
  return first !== undefined && Object.hasOwn(commands, first) ? [first] : Object.keys(commands);
}

/** A command line tree, with the commands that `argv` needs, which print to `io`. */
async function makeProgram(argv: readonly string[], io: Io): Promise<Command> {
  const program = new Command("collc")
    .description("Compiler and runtime for Coll, a small language of GPU collectives.")
    .version(collcVersion(), "-V, --version", "print the version")
    .helpOption("-h, --help", "print help")
    .helpCommand("help [command]", "print help of a command")
    .addHelpText(
      "after",
      examples(
        ["collc run kernels/all_reduce/one_shot.coll", "compile, run on emulated ranks, check"],
        ["collc run my.coll --ranks 4 --backend cuda", "the same on four GPUs"],
        ["collc check my.coll --ranks 2,4,8", "what is wrong with the program"],
        ["collc explain my.coll", "what moves, what waits, and how long it takes"],
        ["collc simulate my.coll --ranks 8..4096", "how long it takes on many hosts"],
        ["collc emit my.coll --stage cuda", "the CUDA text it becomes"],
        ["collc lower layer.json --ranks 4", "what of an FX graph becomes one program, and why"],
        ["collc build my.coll --arch sm_90a -o out", "cubin, manifest and C header"],
        ["collc doctor", "what this machine has and lacks"],
      ) + exitCodeHelp,
    );
  for (const name of neededBy(argv)) program.addCommand(await commands[name]!(io));
  const c = paletteOf(io.out, io.env);
  const configure = (command: Command): void => {
    command
      .exitOverride()
      .configureOutput({
        writeOut: (text) => io.out.write(text),
        writeErr: (text) => io.err.write(text),
        getOutHelpWidth: () => Math.min(io.out.columns, 110),
        getErrHelpWidth: () => Math.min(io.err.columns, 110),
        getOutHasColors: () => c.isColorSupported,
        getErrHasColors: () => false,
        outputError: (text, write) => write(text.replace(/^error: /, `${paletteOf(io.err, io.env).red("error:")} `)),
      })
      .configureHelp({ styleTitle: (title) => c.bold(title), showGlobalOptions: false })
      .showHelpAfterError(`(collc ${command === program ? "" : `${command.name()} `}--help says more)`)
      .showSuggestionAfterError(true);
    command.commands.forEach(configure);
  };
  configure(program);
  return program;
}

/**
 * Runs one command line.
 * @param argv arguments after `collc`.
 * @returns the exit code: 0 fine, 1 program, 2 command line, 3 machine, 70 a bug in collc.
 */
export async function main(argv: readonly string[], io: Io): Promise<number> {
  let exitCode = 0;
  try {
    const program = await makeProgram(argv, io);
    if (argv.length === 0) program.outputHelp();
    else await program.parseAsync([...argv], { from: "user" });
  } catch (error) {
    // A rank tells its launcher, which prints once for all.
    exitCode = isSpawnedRank(io) ? await failAsRank(error) : reportFailure(io, error, wantsJson(argv));
  }
  return exitCode;
}

/** True when this file is the program and not an import of a test. */
function isEntry(): boolean {
  const script = process.argv[1];
  return script !== undefined && realpathSync(script) === fileURLToPath(import.meta.url);
}

if (isEntry()) {
  // Before anything that takes time: a rank must not outlive the launcher that started it.
  watchLauncher();
  const [, , command, ...rest] = process.argv;
  // The language server runs for long.
  if (command !== "lsp") expectShortRun();
  if (command === "check" && !["--no-prove", "--help", "-h"].some((option) => rest.includes(option))) startEarly();
  // Handles of libraries may linger; when the command is done, so is the process.
  const exitCode = await main(process.argv.slice(2), processIo());
  await written();
  process.exit(exitCode);
}

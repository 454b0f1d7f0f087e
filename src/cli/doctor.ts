/** `collc doctor`: what this machine has, what it lacks, and what to do about it. */
import { Command, Option } from "commander";
import Table from "cli-table3";
import { exitCodes } from "../runtime/errors.js";
import { Exit } from "./failure.js";
import { inspectMachine, type Finding, type MachineReport } from "./inspect-machine.js";
import { gpuNotes, gpuTable, peerTable } from "./gpu-tables.js";
import { type Io, paletteOf } from "./io.js";
import { NO_LINES } from "./plain-table.js";
import { examples } from "./examples.js";
import { withProgress } from "./progress.js";

interface DoctorOptions {
  readonly json?: boolean;
  readonly require?: readonly ("cuda" | "nvrtc")[];
}

/** The command, printing to `io`. */
export function doctorCommand(io: Io): Command {
  return new Command("doctor")
    .description("Say what this machine has and lacks, and what to do next.")
    .option("--json", "print one JSON object")
    .addOption(new Option("--require <what...>", "exit with 3 unless this is there").choices(["cuda", "nvrtc"]))
    .addHelpText(
      "after",
      examples(
        ["collc doctor", "everything"],
        ["collc doctor --require nvrtc", "for scripts: can kernels be compiled here?"],
      ),
    )
    .action(async (options: DoctorOptions) => {
      const report = await withProgress(io, (progress) => {
        progress.set("looking around");
        return inspectMachine(io.env);
      });
      io.out.write(options.json === true ? JSON.stringify(report, null, 2) + "\n" : print(io, report));
      const missing = (options.require ?? []).filter((what) => !report[what].ok);
      if (missing.length === 0) return;
      if (options.json !== true)
        io.err.write(`${paletteOf(io.err, io.env).red("error:")} required, but missing: ${missing.join(", ")}\n`);
      throw new Exit(exitCodes.machine);
    });
}

function print(io: Io, report: MachineReport): string {
  const c = paletteOf(io.out, io.env);
  const mark = (finding: Finding): string => (finding.ok ? c.green("✓") : c.yellow("–"));
  const lines: string[] = [`\n${c.bold("collc")} ${report.collc}   node ${report.node}   ${report.platform}\n`];
  const table = new Table({
    style: { head: [], border: [], compact: true },
    chars: { ...NO_LINES, middle: " " },
    colWidths: [10, 3, null],
    wordWrap: false,
  });
  const findings = [
    ["addon", report.addon],
    ["cuda", report.cuda],
    ["nvrtc", report.nvrtc],
    ["nccl", report.nccl],
    ["nvshmem", report.nvshmem],
    ["cache", report.cache],
  ] as const;
  for (const [name, finding] of findings) table.push([c.bold(name), mark(finding), finding.summary]);
  lines.push(table.toString());
  if (report.cuda.gpus.length > 0) lines.push("", gpuTable(report));
  if (report.cuda.gpus.length > 1) lines.push("", peerTable(report));
  for (const note of gpuNotes(report)) lines.push(`  ${note}`);
  lines.push("", c.bold("NVRTC was looked for in"));
  for (const { where, path, outcome } of report.nvrtc.attempts)
    lines.push(
      `  ${outcome === "found" ? c.green("✓") : " "} ${where}: ${path}${outcome === "found" ? "" : c.dim(` (${outcome})`)}`,
    );
  if (report.nvrtc.attempts.length === 0) lines.push(`  ${c.dim("nowhere: the choice in COLLC_NVRTC is wrong")}`);
  lines.push("", c.bold("Environment"));
  const set = Object.entries(report.environment);
  for (const [name, value] of set) lines.push(`  ${name}=${value}`);
  if (set.length === 0) lines.push(c.dim("  no variable that collc knows is set"));
  const next = findings.filter(([, finding]) => finding.next !== null);
  if (next.length > 0) {
    lines.push("", c.bold("What to do next"));
    for (const [name, finding] of next) lines.push(`  ${name}: ${finding.next}`);
  } else lines.push("", c.green("Nothing is missing."));
  return lines.join("\n") + "\n\n";
}

/** `collc setup nvrtc`: fetches what collc needs and a machine lacks, when a person asks for it. */
import { Command } from "commander";
import { pinnedNvrtc, setupNvrtc } from "../runtime/nvrtc.js";
import { type Io, paletteOf } from "./io.js";
import { examples } from "./examples.js";
import { withProgress } from "./progress.js";

/** The command, printing to `io`. */
export function setupCommand(io: Io): Command {
  const setup = new Command("setup").description("Fetch libraries into collc's own cache folder.");
  setup
    .command("nvrtc")
    .description("Fetch NVIDIA's runtime compiler: its wheel, with pip, from the package index pip is configured for.")
    .option(
      "--package <requirement>",
      "what to fetch; only the default is checked against a known hash",
      pinnedNvrtc.requirement,
    )
    .addHelpText(
      "after",
      examples(
        ["collc setup nvrtc", "the version that collc was tested with"],
        ["collc setup nvrtc --package 'nvidia-cuda-nvrtc-cu12==12.8.*'", "one for an older driver"],
      ),
    )
    .action(async (options: { readonly package: string }) => {
      const found = await withProgress(io, (progress) => {
        progress.set(`fetching ${options.package}`);
        return setupNvrtc({ env: io.env, requirement: options.package, onProgress: (line) => progress.set(line) });
      });
      io.out.write(`${paletteOf(io.out, io.env).green("✓")} NVRTC is in ${found.path}\n`);
    });
  return setup;
}

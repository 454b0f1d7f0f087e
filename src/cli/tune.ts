/** `collc tune`: measures the library's ways of each conversion on this machine, and keeps which is the fastest at which size. */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { Command, Option } from "commander";
import {
  compile,
  DTYPE_NAMES,
  type DType,
  DTYPES,
  dimsOf,
  evaluateExtent,
  libraryStepOf,
  NCCL_WAY,
} from "../compiler/index.js";
import { significant } from "../bench/format.js";
import { machineFacts } from "../bench/machine.js";
import { backendNames } from "../runtime/backends.js";
import { MachineError, UsageError } from "../runtime/errors.js";
import type { BackendName, Group, Tensor } from "../runtime/group.js";
import { importsFromDisk, libraryFromDisk } from "../runtime/imports.js";
import { backendOptions } from "../runtime/machine-at-hand.js";
import { refuseTarget } from "../runtime/output-file.js";
import { requireWholeReach } from "../runtime/reach.js";
import { packageRoot } from "../runtime/native.js";
import { openNccl } from "../runtime/nccl/library.js";
import { choicesOf, libraryDigest, saveTuned, tuneFilePath, type TunedPlan } from "../runtime/tuned.js";
import { collcVersion } from "../runtime/version.js";
import { examples } from "./examples.js";
import { type Io, paletteOf } from "./io.js";
import { parseSingleDType, shared } from "./options.js";
import { choosePlace, distribute, type OnProgress, type Place } from "./place.js";
import { suggestion } from "./suggest.js";

interface TuneOptions {
  readonly ranks?: number;
  readonly backend?: BackendName | "auto";
  readonly dtype: DType;
  readonly out?: string;
  readonly json?: boolean;
}

/** Elements of the sizes that are measured, on GPUs and emulated. */
const SIZES = { gpu: [9, 12, 15, 17, 19, 21, 23, 26].map((bits) => 2 ** bits), cpu: [2 ** 8, 2 ** 12] };

/** The command, printing to `io`. */
export function tuneCommand(io: Io): Command {
  return new Command("tune")
    .description(
      "Measure the library's ways of each conversion on this machine, and keep which is the fastest at which size: run, bench and build plan by it.",
    )
    .argument("[conversions...]", `of ${conversions().join(", ")} (default: all)`)
    .addOption(shared.ranks())
    .addOption(new Option("-b, --backend <name>", "where to run").choices([...backendNames, "auto"]))
    .addOption(
      new Option("-t, --dtype <dtype>", `dtype: ${DTYPE_NAMES.join(", ")}`).argParser(parseSingleDType).default("bf16"),
    )
    .option("-o, --out <file>", "where to keep it (default: tune.json in collc's cache folder)")
    .option("--json", "print what was measured and planned as JSON")
    .addHelpText(
      "after",
      examples(
        ["collc tune", "everything, on all GPUs"],
        ["collc tune all_reduce --ranks 4 --dtype f32", "one conversion"],
      ),
    )
    .action((names: readonly string[], options: TuneOptions) => tune(io, names, options));
}

/** Conversions that the library has a program for. */
function conversions(): string[] {
  const files = readdirSync(join(packageRoot(), "kernels"), { withFileTypes: true });
  return files
    .flatMap((f) => (f.isFile() && f.name.endsWith(".coll") ? [f.name.slice(0, -".coll".length)] : []))
    .sort();
}

async function tune(io: Io, names: readonly string[], options: TuneOptions): Promise<void> {
  const known = conversions();
  const unknown = names.find((name) => !known.includes(name));
  if (unknown !== undefined)
    throw new UsageError(`there is no conversion '${unknown}'`, suggestion(unknown, known, "conversions"));
  const place = choosePlace(io, options);
  requireWholeReach(place.ranks);
  if (place.backend === "cpu" && options.out === undefined)
    throw new UsageError(
      "times of the emulation say nothing about a machine",
      "use --backend cuda; --out FILE writes a plan of the emulation all the same",
    );
  if (options.out !== undefined) refuseTarget(options.out, "tune.json");
  const chosen = names.length > 0 ? names : known;
  const plans = await distribute(
    io,
    place,
    () => rankArguments(chosen, options, place),
    (group, onProgress) => measureAll(group, chosen, options.dtype, onProgress),
  );
  if (plans === null || !place.speaks) return;
  const leftOut = chosen.filter((name) => !plans.some((plan) => plan.conversion === name)).join(", ");
  if (plans.length === 0)
    throw new UsageError(`of ${options.dtype}, there are no two ways to choose from: ${leftOut}`, "choose another --dtype"); // prettier-ignore
  if (leftOut !== "") io.err.write(`left out, for there are no two ways of ${options.dtype}: ${leftOut}\n`);
  const { gpus, cpu } = await machineFacts(place.backend);
  const path = options.out ?? tuneFilePath();
  const date = new Date().toISOString();
  const machine = gpus[0] ?? `emulated on ${cpu}`;
  await saveTuned(path, { formatVersion: 1, collcVersion: collcVersion(), machine, date, plans });
  if (options.json === true) {
    io.out.write(JSON.stringify({ path, machine, date, plans }) + "\n");
    return;
  }
  const c = paletteOf(io.out, io.env);
  for (const plan of plans) {
    io.out.write(`${c.bold(plan.conversion)}  ${plan.dtype}, ${plan.ranks} ranks\n`);
    for (const { below, way } of plan.choices)
      io.out.write(`  ${(below === null ? "above" : `below ${below}`).padEnd(16)} ${way}\n`);
    for (const [size, times] of Object.entries(plan.measured)) {
      const all = Object.entries(times).sort((a, b) => a[1] - b[1]);
      io.out.write(
        c.dim(`  ${size.padStart(10)}  ${all.map(([way, us]) => `${way} ${significant(us, 3)} µs`).join("  ")}\n`),
      );
    }
  }
  io.out.write(`kept in ${path}\n`);
}

/** Collective. Every rank comes to the same plans, for each time is the slowest rank's. */
async function measureAll(
  group: Group,
  names: readonly string[],
  dtype: DType,
  onProgress: OnProgress,
): Promise<TunedPlan[]> {
  const plans: TunedPlan[] = [];
  for (const name of names) {
    const plan = await measureOne(group, name, dtype, onProgress);
    if (plan !== null) plans.push(plan);
  }
  return plans;
}

async function measureOne(
  group: Group,
  conversion: string,
  dtype: DType,
  onProgress: OnProgress,
): Promise<TunedPlan | null> {
  const file = join(packageRoot(), "kernels", `${conversion}.coll`);
  const request = {
    ...{ file, ranks: group.world, dtype, resolve: importsFromDisk, library: libraryFromDisk },
    ...backendOptions(group.backend, group.world),
  };
  const text = readFileSync(file, "utf8");
  const { considered, manifest } = compile(text, request);
  // One way needs no plan.
  if (manifest === null || considered.length < 2) return null;
  const kernels = [];
  for (const { name, compiled } of considered) kernels.push({ name, kernel: await group.load(compiled) });
  if (libraryStepOf(conversion, manifest) !== null && (await hasNccl(group))) {
    const calls = compile(text, { ...request, tuned: () => [{ below: null, way: NCCL_WAY }] });
    kernels.push({ name: NCCL_WAY, kernel: await group.load(calls) });
  }
  const measured: Record<string, Record<string, number>> = {};
  for (const size of SIZES[group.backend === "cpu" ? "cpu" : "gpu"]) {
    onProgress(`${conversion}, ${(size * DTYPES[dtype].bytes) / 1024} KiB`, group.backend === "cpu");
    const dims = dimsOf(considered[0]!.compiled.kernel!, manifest.plan.by, size);
    const tensors: Record<string, Tensor> = {};
    for (const t of [...manifest.inputs, ...manifest.outputs])
      tensors[t.name] = await group.symmetric(
        t.dtype,
        t.localShape.map((e) => evaluateExtent(e, dims)),
      );
    const times: Record<string, number> = {};
    for (const { name, kernel } of kernels) {
      const { median } = await kernel.time(tensors, dims, { inner: 10, outer: group.backend === "cpu" ? 2 : 7 });
      times[name] = Math.round(median * 100) / 100;
    }
    measured[size] = times;
    for (const tensor of Object.values(tensors)) await tensor.free();
  }
  for (const { kernel } of kernels) await kernel.unload();
  return {
    ...{ conversion, dtype, ranks: group.world, library: libraryDigest(conversion) },
    choices: choicesOf(measured),
    measured,
  };
}

/** Whether all ranks have NCCL, and GPUs for it. Collective. */
async function hasNccl(group: Group): Promise<boolean> {
  if (group.backend === "cpu") return false;
  const isHere = await openNccl().then(
    () => true,
    (error: unknown) => {
      if (error instanceof MachineError) return false;
      throw error;
    },
  );
  return (await group.exchange("NCCL at hand", isHere)).every((has) => has);
}

/** What a rank process is started with. */
function rankArguments(names: readonly string[], options: TuneOptions, place: Place): string[] {
  return [
    ...["tune", ...names, "--backend", place.backend, "--ranks", String(place.ranks), "--dtype", options.dtype],
    ...(options.out === undefined ? [] : ["--out", options.out]),
    ...(options.json === true ? ["--json"] : []),
  ];
}

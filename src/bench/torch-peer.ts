/** PyTorch as a peer, by its symmetric memory and by NCCL: processes of their own, right after ours, on the same GPUs. */
import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { promisify } from "node:util";
import type { DType } from "../compiler/index.js";
import { MachineError, messageOf, RuntimeError } from "../runtime/errors.js";
import type { TimingOptions } from "../runtime/group.js";
import { packageRoot } from "../runtime/native.js";
import type { Cell, CellTiming } from "./cells.js";
import type { BenchRow } from "./measure.js";
import type { PeerName } from "./peers.js";
import type { BenchCase, SuiteName } from "./suites.js";

/** A script, the suites that it times, how it calls their cases, and its dtypes. */
interface Script {
  readonly file: string;
  readonly suites: readonly SuiteName[];
  readonly text: (one: TorchCase) => string;
  readonly dtypes: readonly DType[];
}

const folder = join(packageRoot(), "bench", "peers");
const scripts: readonly Script[] = [
  {
    file: "torch_collectives.py",
    suites: ["all_reduce", "reduce_scatter"],
    text: ({ size }) => String(size),
    dtypes: ["bf16", "f16", "f32"],
  },
  {
    file: "torch_matmul.py",
    suites: ["matmul_reduce_scatter", "all_gather_matmul", "matmul_all_reduce"],
    text: ({ dims }) => ["m", "n", "k"].map((name) => String(dims[name])).join("x"),
    dtypes: ["bf16", "f16"],
  },
];

/** PyTorch's version. @throws MachineError where python3 has no PyTorch. */
export async function torchVersion(python = "python3"): Promise<string> {
  try {
    // Python looks for modules in the folder it is started in: a folder of ours, not the user's.
    const { stdout } = await promisify(execFile)(python, ["-c", "import torch; print(torch.__version__)"], {
      cwd: folder,
    });
    return stdout.trim();
  } catch (error) {
    throw new MachineError(
      `PyTorch could not be imported by ${python}: ${messageOf(error).split("\n").at(-1)}`,
      "install it (pip install torch), or leave 'torch' out of --peers",
    );
  }
}

type TorchCase = Pick<BenchCase, "size" | "dims">;

export interface TorchOptions {
  readonly ranks: number;
  readonly dtype: DType;
  readonly timing: Required<TimingOptions>;
  readonly plan: readonly { readonly suite: SuiteName; readonly cases: readonly TorchCase[] }[];
  /** How long a script may say nothing. */
  readonly timeoutMs: number;
  readonly onProgress: (what: string) => void;
  readonly python?: string;
}

/** One line of a script. */
interface Line {
  readonly op: string;
  readonly case: string;
  readonly peer?: string;
  readonly us?: CellTiming;
  readonly problem?: string;
  readonly alone?: CellTiming;
}

interface TorchRow {
  readonly peers: Record<string, Cell>;
  alone?: CellTiming;
}

/** By suite and case, what PyTorch's peers took. */
export type TorchRows = Map<SuiteName, Map<string, TorchRow>>;

/** What the scripts said, and why one of them did not say all. */
export interface TorchTimes {
  readonly rows: TorchRows;
  readonly failure: RuntimeError | null;
}

/**
 * Starts the scripts that time some of the suites under torchrun, one after the other, and collects their lines. One that fails, or
 * says nothing for `timeoutMs`, ends it; what was said before counts.
 * @throws RuntimeError where a script has no kernels of the dtype
 */
export async function timeTorch(options: TorchOptions): Promise<TorchTimes> {
  const rows: TorchRows = new Map();
  for (const script of scripts) {
    const failure = await runScript(script, options, rows);
    if (failure !== null) return { rows, failure };
  }
  return { rows, failure: null };
}

async function runScript(script: Script, options: TorchOptions, rows: TorchRows): Promise<RuntimeError | null> {
  const { ranks, dtype, timing, timeoutMs, onProgress, python = "python3" } = options;
  const wanted = options.plan.filter(({ suite }) => script.suites.includes(suite));
  const cases = [...new Set(wanted.flatMap((p) => p.cases.map((one) => `${p.suite}:${script.text(one)}`)))];
  if (cases.length === 0) return null;
  if (!script.dtypes.includes(dtype))
    throw new RuntimeError(
      `PyTorch's peers are timed in ${script.dtypes.join(", ")}, not ${dtype}`,
      "leave 'torch' out of --peers",
    );
  const run = [
    "-m",
    "torch.distributed.run",
    "--standalone",
    "--nproc-per-node",
    String(ranks),
    join(folder, script.file),
  ];
  const args = ["--cases", cases.join(","), "--dtype", dtype];
  const times = ["--inner", String(timing.inner), "--outer", String(timing.outer)];
  const child = spawn(python, [...run, ...args, ...times], {
    cwd: folder,
    stdio: ["ignore", "pipe", "pipe"],
    // A group of its own, so that all of torchrun's processes end together.
    detached: true,
  });
  const stop = (): void => {
    try {
      if (child.pid !== undefined) process.kill(-child.pid, "SIGKILL");
    } catch {
      // It has ended.
    }
  };
  const timer = setTimeout(stop, timeoutMs);
  let last = "";
  process.once("exit", stop);
  let complaints = "";
  child.stderr.on("data", (text: Buffer) => (complaints = (complaints + text.toString()).slice(-4000)));
  createInterface({ input: child.stdout }).on("line", (text) => {
    const line = parseLine(text);
    if (line === null) return;
    timer.refresh();
    last = `${line.op}, ${line.case}: ${line.peer ?? "the product alone"}`;
    onProgress(last);
    const suite = rows.get(line.op as SuiteName) ?? new Map<string, TorchRow>();
    rows.set(line.op as SuiteName, suite);
    const row = suite.get(line.case) ?? { peers: {} };
    suite.set(line.case, row);
    if (line.alone !== undefined) row.alone = line.alone;
    if (line.peer !== undefined)
      row.peers[line.peer] =
        line.us !== undefined ? { us: line.us, maxError: null } : { problem: line.problem ?? "no time was given" };
  });
  try {
    const [code, signal] = (await once(child, "close")) as [number | null, string | null];
    if (code === 0) return null;
    const how = signal === null ? `code ${code}` : `${signal}, after ${timeoutMs / 1000} s without a word`;
    const after = last === "" ? "" : ` after ${last}`;
    return new RuntimeError(
      `PyTorch's peers ended with ${how}${after}: ${complaints.trim().split("\n").slice(-4).join(" | ")}`,
    );
  } finally {
    clearTimeout(timer);
    process.removeListener("exit", stop);
    stop();
  }
}

/** Null for what is no line of the script, such as a library's warning. */
function parseLine(text: string): Line | null {
  try {
    const line = JSON.parse(text) as Partial<Line>;
    const says = typeof line.peer === "string" || line.alone !== undefined;
    const { op, case: one } = line;
    return typeof op === "string" && typeof one === "string" && says ? { ...line, op, case: one } : null;
  } catch {
    return null;
  }
}

/** The rows with PyTorch's cells beside the others. */
export function withTorch(suite: SuiteName, rows: readonly BenchRow[], torch: TorchRows): readonly BenchRow[] {
  const script = scripts.find(({ suites }) => suites.includes(suite));
  return rows.map((row) => {
    const own = script && torch.get(suite)?.get(script.text(row));
    if (own === undefined) return row;
    return {
      ...row,
      peers: { ...row.peers, ...own.peers },
      ...(own.alone === undefined ? {} : { alone: own.alone }),
    };
  });
}

/** The peers that gave times for a suite. */
export function torchPeers(suite: SuiteName, torch: TorchRows, version: string): PeerName[] {
  const names = new Set([...(torch.get(suite)?.values() ?? [])].flatMap(({ peers }) => Object.keys(peers)));
  return [...names].map((name) => ({ name, version }));
}

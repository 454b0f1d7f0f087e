/** PyTorch's symmetric-memory collectives as a peer: processes of their own, right after ours, on the same GPUs. */
import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { dirname, join } from "node:path";
import { createInterface } from "node:readline";
import { promisify } from "node:util";
import type { DType } from "../compiler/index.js";
import { MachineError, messageOf, RuntimeError } from "../runtime/errors.js";
import type { TimingOptions } from "../runtime/group.js";
import { packageRoot } from "../runtime/native.js";
import type { Cell, Cells, CellTiming } from "./cells.js";
import type { BenchRow } from "./measure.js";
import type { PeerName } from "./peers.js";
import type { SuiteName } from "./suites.js";

const script = join(packageRoot(), "bench", "peers", "torch_collectives.py");
/** Collectives that the script times. */
const ops: readonly SuiteName[] = ["all_reduce", "reduce_scatter"];
const dtypes: readonly DType[] = ["bf16", "f16", "f32"];

/** PyTorch's version. @throws MachineError where python3 has no PyTorch. */
export async function torchVersion(python = "python3"): Promise<string> {
  try {
    // Python looks for modules in the folder it is started in: a folder of ours, not the user's.
    const { stdout } = await promisify(execFile)(python, ["-c", "import torch; print(torch.__version__)"], {
      cwd: dirname(script),
    });
    return stdout.trim();
  } catch (error) {
    throw new MachineError(
      `PyTorch could not be imported by ${python}: ${messageOf(error).split("\n").at(-1)}`,
      "install it (pip install torch), or leave 'torch' out of --peers",
    );
  }
}

export interface TorchOptions {
  readonly ranks: number;
  readonly dtype: DType;
  readonly timing: Required<TimingOptions>;
  /** Of the full tensor, in bytes. */
  readonly sizes: readonly number[];
  readonly suites: readonly SuiteName[];
  readonly timeoutMs: number;
  readonly onProgress: (what: string) => void;
  readonly python?: string;
}

/** One line of the script. */
interface Line {
  readonly op: string;
  readonly bytes: number;
  readonly peer: string;
  readonly us?: CellTiming;
  readonly problem?: string;
}

/** By suite and size, the cells of PyTorch's peers. */
export type TorchCells = ReadonlyMap<SuiteName, ReadonlyMap<number, Cells>>;

/**
 * Starts the script under torchrun and collects its lines.
 * @throws RuntimeError when it fails or takes longer than `timeoutMs`: with the last of what it said.
 */
export async function timeTorch(options: TorchOptions): Promise<TorchCells> {
  const { ranks, dtype, timing, sizes, timeoutMs, onProgress, python = "python3" } = options;
  const wanted = options.suites.filter((suite) => ops.includes(suite));
  const cells = new Map<SuiteName, Map<number, Record<string, Cell>>>();
  if (wanted.length === 0 || sizes.length === 0) return cells;
  if (!dtypes.includes(dtype))
    throw new RuntimeError(`PyTorch's peers are timed in ${dtypes.join(", ")}, not ${dtype}`, "leave 'torch' out");
  const run = ["-m", "torch.distributed.run", "--standalone", "--nproc-per-node", String(ranks), script];
  const args = ["--sizes", sizes.join(","), "--dtype", dtype, "--ops", wanted.join(",")];
  const times = ["--inner", String(timing.inner), "--outer", String(timing.outer)];
  const child = spawn(python, [...run, ...args, ...times], {
    cwd: dirname(script),
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
  process.once("exit", stop);
  let complaints = "";
  child.stderr.on("data", (text: Buffer) => (complaints = (complaints + text.toString()).slice(-4000)));
  createInterface({ input: child.stdout }).on("line", (text) => {
    const line = parseLine(text);
    if (line === null) return;
    onProgress(`${line.op}, ${line.bytes} bytes: ${line.peer}`);
    const suite = cells.get(line.op as SuiteName) ?? new Map<number, Record<string, Cell>>();
    cells.set(line.op as SuiteName, suite);
    const row = suite.get(line.bytes) ?? {};
    suite.set(line.bytes, row);
    row[line.peer] =
      line.us !== undefined ? { us: line.us, maxError: null } : { problem: line.problem ?? "no time was given" };
  });
  try {
    const [code, signal] = (await once(child, "close")) as [number | null, string | null];
    if (code !== 0) {
      const how = signal === null ? `code ${code}` : `${signal}, after at most ${timeoutMs / 1000} s`;
      throw new RuntimeError(
        `PyTorch's peers ended with ${how}: ${complaints.trim().split("\n").slice(-4).join(" | ")}`,
      );
    }
  } finally {
    clearTimeout(timer);
    process.removeListener("exit", stop);
    stop();
  }
  return cells;
}

/** Null for what is no line of the script, such as a library's warning. */
function parseLine(text: string): Line | null {
  try {
    const line = JSON.parse(text) as Partial<Line> | null;
    const isLine = typeof line?.op === "string" && typeof line.bytes === "number" && typeof line.peer === "string";
    return isLine ? (line as Line) : null;
  } catch {
    return null;
  }
}

/** The rows with PyTorch's cells beside the others. */
export function withTorch(suite: SuiteName, rows: readonly BenchRow[], cells: TorchCells): readonly BenchRow[] {
  const own = cells.get(suite);
  return own === undefined ? rows : rows.map((row) => ({ ...row, peers: { ...row.peers, ...own.get(row.size) } }));
}

/** The peers that gave times for a suite. */
export function torchPeers(suite: SuiteName, cells: TorchCells, version: string): PeerName[] {
  const names = new Set([...(cells.get(suite)?.values() ?? [])].flatMap((row) => Object.keys(row)));
  return [...names].map((name) => ({ name, version }));
}

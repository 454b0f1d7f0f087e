/**
 * Asks the Python interpreter that a person works with where its packages are. Asked once a process and
 * bounded in time: an interpreter on a slow network file system must not hold a compile up.
 */
import { type ExecFileException, execFile } from "node:child_process";
import { join } from "node:path";
import { type Environment, processEnvironment, readEnv } from "./env.js";
import { MachineError } from "./errors.js";

/** An interpreter and where it looks for packages. */
export interface PythonInfo {
  /** `sys.executable`. */
  readonly executable: string;
  /** `3.11.7`. */
  readonly version: string;
  /** Folders of packages in the order of `sys.path`, site-packages and the user's included; not all need exist. */
  readonly packageDirectories: readonly string[];
}

/** How long the interpreter may take to answer, in milliseconds. */
const answerMs = 10_000;

// The current folder leaves sys.path before anything is imported, so that a json.py lying there does not run.
const question = `import sys
sys.path[:] = [p for p in sys.path if p not in ("", ".")]
import json, site, sysconfig
paths = sys.path + [sysconfig.get_path("purelib"), sysconfig.get_path("platlib")]
if site.ENABLE_USER_SITE: paths.append(site.getusersitepackages())
print(json.dumps({"executable": sys.executable, "version": sys.version.split()[0],
  "packageDirectories": [p for p in dict.fromkeys(paths) if p and not p.endswith(".zip")]}))`;

/** Interpreters to try: COLLC_PYTHON alone if set, else that of the active environment, python3, python. */
export function pythonCandidates(env: Environment = processEnvironment()): string[] {
  const explicit = readEnv("COLLC_PYTHON", env);
  if (explicit !== undefined) return [explicit];
  const venv = readEnv("VIRTUAL_ENV", env);
  return [...(venv === undefined ? [] : [join(venv, "bin", "python3")]), "python3", "python"];
}

const answers = new Map<string, Promise<PythonInfo>>();

/**
 * The first interpreter that answers.
 * @throws MachineError when none does, saying what each one said.
 */
export function findPython(env: Environment = processEnvironment()): Promise<PythonInfo> {
  const candidates = pythonCandidates(env);
  const key = [...candidates, readEnv("PATH", env) ?? ""].join("\n");
  const known = answers.get(key);
  if (known) return known;
  const answer = askInTurn(candidates, env);
  answers.set(key, answer);
  return answer;
}

async function askInTurn(candidates: readonly string[], env: Environment): Promise<PythonInfo> {
  const failures: string[] = [];
  for (const command of candidates) {
    const { error, stdout, stderr } = await runPython(command, ["-c", question], { env, timeoutMs: answerMs });
    if (error === null) {
      try {
        return JSON.parse(stdout.trim().split("\n").at(-1)!) as PythonInfo;
      } catch {
        failures.push(`${command}: it answered ${JSON.stringify(stdout.slice(0, 80))}`);
      }
    } else failures.push(`${command}: ${describeFailure(error, stderr)}`);
  }
  throw new MachineError(
    `no Python interpreter answers (${failures.join("; ")})`,
    "install python3, or name one in COLLC_PYTHON",
  );
}

/** What a Python run printed; `error` is null when it exited with 0. */
export interface PythonRun {
  readonly error: ExecFileException | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs an interpreter; kills it after `timeoutMs`. Never rejects. `onLine` gets each line of stdout as it comes. */
export function runPython(
  command: string,
  args: readonly string[],
  options: { env?: Environment; timeoutMs: number; onLine?: (line: string) => void },
): Promise<PythonRun> {
  const { env = processEnvironment(), timeoutMs, onLine } = options;
  return new Promise((resolve) => {
    const child = execFile(
      command,
      [...args],
      { env: { ...env }, timeout: timeoutMs, killSignal: "SIGKILL", maxBuffer: 16 * 2 ** 20 },
      (error, stdout, stderr) => resolve({ error, stdout, stderr }),
    );
    if (!onLine) return;
    let rest = "";
    child.stdout?.on("data", (text: string) => {
      const lines = (rest + text).split(/[\r\n]+/);
      rest = lines.pop()!;
      lines.filter((line) => line.trim() !== "").forEach(onLine);
    });
  });
}

/** One line on why a run failed. */
export function describeFailure(error: ExecFileException, stderr: string): string {
  if (error.code === ("ENOENT" as never)) return "not found";
  if (error.killed) return "no answer in time";
  return stderr.trim().split("\n").at(-1) || `exit code ${error.code}`;
}

/** Ends of a process with a thread inside of NCCL, whose fake dies at exit() of such a thing as the real one does. */
import { execFile } from "node:child_process";
import path from "node:path";
import { pathToFileURL } from "node:url";
import { promisify } from "node:util";
import { expect, it } from "vitest";
import { packageRoot } from "../../src/runtime/native.js";

const root = packageRoot();
const release = path.join(root, "build/Release");
const env = {
  ...process.env,
  LD_LIBRARY_PATH: path.join(release, "fake-cuda"),
  COLLC_NCCL: path.join(release, "fake-nccl/libnccl.so.2"),
  FAKE_AT_EXIT: "1",
};
const from = (module: string): string => JSON.stringify(pathToFileURL(path.join(root, "dist/src", module)).href);

/** A process that waits in NCCL for a rank that never comes, and then does `end`. */
async function run(end: string): Promise<{ code: unknown; signal: unknown; stdout: string }> {
  const script = `
    import { NcclCommunicator, ncclUniqueId } from ${from("nccl.js")};
    import { openCuda } from ${from("runtime/cuda/index.js")};
    openCuda();
    const uniqueId = await ncclUniqueId();
    const error = await NcclCommunicator.create({ device: 0, rank: 0, world: 2, uniqueId, timeoutMs: 100 }).catch((e) => e);
    process.on("exit", (code) => console.log(error.code + ", listener: " + code));
    ${end}`;
  const done = promisify(execFile)(process.execPath, ["--input-type=module", "-e", script], { env, timeout: 500_000 });
  return done.then(
    ({ stdout }) => ({ code: 0, signal: null, stdout }),
    ({ code, signal, stdout }: { code: unknown; signal: unknown; stdout: string }) => ({ code, signal, stdout }),
  );
}

it.each([
  ["process.exit", "process.exit(5)", 5],
  ["process.exit(0)", "process.exit(0)", 0],
  ["an error that nobody catches", "throw new Error('nobody')", 1],
  ["an error that nobody catches, later", "setTimeout(() => { throw new Error('nobody') }, 5)", 1],
  ["the last of its work", "process.exitCode = 3", 3],
])("ends by %s: listeners run, destructors do not, and the code stays", async (_, end, code) => {
  expect(await run(end)).toEqual({ code, signal: null, stdout: `timeout, listener: ${code}\n` });
});

/** The runtime's door: chooses the backend and joins the group. */
import { type BackendName, backendNames, isBackend } from "./backends.js";
import { openCuda } from "./cuda/index.js";
import { defaultTimeoutMs, detectLauncher, readEnv } from "./env.js";
import { CollcError, UsageError } from "./errors.js";
import { EmulatedGroup } from "./group-cpu.js";
import type { ConnectOptions, Group } from "./group.js";

/** What this process connected with first. */
let used: BackendName | null = null;

/**
 * Joins, or for the cpu backend makes, the group of ranks that kernels run on. Once chosen, the backend is fixed for the
 * process: libraries that share a GPU's memory do not come and go.
 *
 * @throws UsageError for contradictory options, and for another backend than the one in use; MachineError where the
 *   machine lacks what the backend needs; RuntimeError `timeout` naming ranks that do not come.
 */
export async function connect(options: ConnectOptions = {}): Promise<Group> {
  const backend = chooseBackend(options);
  if (used !== null && used !== backend)
    throw new UsageError(
      `this process uses the ${used} backend and cannot switch to ${backend}`,
      "start another process for it, or name one backend for all",
    );
  const { signalPadBytes } = options;
  const timeoutMs = options.timeoutMs ?? defaultTimeoutMs();
  if (backend === "cpu") {
    used = backend;
    return new EmulatedGroup(options.ranks ?? 4, { ...options.cpu, timeoutMs, signalPadBytes });
  }
  openCuda();
  // The emulation needs none of the half of the runtime that is for GPUs and processes: it is loaded late.
  const [{ joinGroup }, { DeviceGroup }] = await Promise.all([import("./bootstrap.js"), import("./group-device.js")]);
  const boot = await joinGroup({ timeoutMs });
  used = backend;
  try {
    if (options.ranks !== undefined && options.ranks !== boot.world)
      throw new UsageError(`${options.ranks} ranks were asked for, but the launcher started ${boot.world}`);
    const allowOverlappingDevices =
      options.allowOverlappingDevices ?? readEnv("COLLC_ALLOW_OVERLAPPING_DEVICES") === "1";
    return await DeviceGroup.connect(boot, { backend, timeoutMs, signalPadBytes, allowOverlappingDevices });
  } catch (error) {
    boot.abort(error);
    await boot.close();
    throw error;
  }
}

/** The backend that options, environment and machine ask for. `auto` never fails: without a GPU it is cpu. */
export function chooseBackend(options: Pick<ConnectOptions, "backend">): BackendName {
  const asked = options.backend ?? readEnv("COLLC_BACKEND") ?? "auto";
  if (isBackend(asked)) return asked;
  if (asked !== "auto")
    throw new UsageError(`there is no backend '${asked}'`, `choose ${backendNames.join(", ")} or auto`);
  if (detectLauncher() === null) return "cpu";
  try {
    return openCuda().deviceCount > 0 ? "cuda" : "cpu";
  } catch (error) {
    if (error instanceof CollcError) return "cpu";
    throw error;
  }
}

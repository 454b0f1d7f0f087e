/** The runtime's door: chooses the backend and joins the group. */
import { joinGroup } from "./bootstrap.js";
import { openCuda } from "./cuda/index.js";
import { defaultTimeoutMs, detectLauncher, readEnv } from "./env.js";
import { CollcError, UsageError } from "./errors.js";
import { EmulatedGroup } from "./group-cpu.js";
import { ProcessGroup } from "./group-cuda.js";
import type { BackendName, ConnectOptions, Group } from "./group.js";

/**
 * Joins, or for the cpu backend makes, the group of ranks that kernels run on. Once chosen, the backend is fixed.
 *
 * @throws UsageError for contradictory options; MachineError where the machine lacks what the backend needs;
 *   RuntimeError `timeout` naming ranks that do not come.
 */
export async function connect(options: ConnectOptions = {}): Promise<Group> {
  if (chooseBackend(options) === "cpu") return new EmulatedGroup(options.ranks ?? 4, options.cpu);
  const timeoutMs = options.timeoutMs ?? defaultTimeoutMs();
  openCuda();
  const boot = await joinGroup({ timeoutMs });
  try {
    if (options.ranks !== undefined && options.ranks !== boot.world)
      throw new UsageError(`${options.ranks} ranks were asked for, but the launcher started ${boot.world}`);
    return await ProcessGroup.connect(boot, timeoutMs);
  } catch (error) {
    boot.abort(error);
    await boot.close();
    throw error;
  }
}

/** The backend that options, environment and machine ask for. `auto` never fails: without a GPU it is cpu. */
export function chooseBackend(options: Pick<ConnectOptions, "backend">): BackendName {
  const asked = options.backend ?? readEnv("COLLC_BACKEND") ?? "auto";
  if (asked === "cpu" || asked === "cuda") return asked;
  if (asked !== "auto") throw new UsageError(`there is no backend '${asked}'`, "choose cpu, cuda or auto");
  if (detectLauncher() === null) return "cpu";
  try {
    return openCuda().deviceCount > 0 ? "cuda" : "cpu";
  } catch (error) {
    if (error instanceof CollcError) return "cpu";
    throw error;
  }
}

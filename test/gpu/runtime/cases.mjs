// The cases of runtime.mjs. Each runs on every rank at once, on a group that others have used before.
import graphs from "./graphs.mjs";
import groups from "./groups.mjs";
import memory from "./memory.mjs";
import messages from "./messages.mjs";
import signals from "./signals.mjs";

export const cases = { ...memory, ...signals, ...groups, ...graphs, ...messages };

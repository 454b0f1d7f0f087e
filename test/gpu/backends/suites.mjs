// The suites of backends.mjs: what runs in which kind of processes.
import { cliqueCases } from "./clique.mjs";
import { commands } from "./command.mjs";
import { farCases } from "./far.mjs";
import { faults } from "./faults.mjs";
import { groupCases } from "./group.mjs";
import { ncclGroupCases } from "./nccl-group.mjs";
import { ncclCases } from "./nccl.mjs";
import { holdNvshmem, nvshmemCases } from "./nvshmem.mjs";

/** How long the parent lets a case, or the start of the processes, take before it kills them, in milliseconds. */
export const caseMs = 60_000;

/**
 * direct: cases of a provider, a process a rank; group: of a connected group; lists: one process with all GPUs;
 * faults: processes that one of them takes down; commands: `collc run`.
 * `env` is for its processes. `hold` makes what stays open for all cases, so that only those that ask for it begin anew.
 */
export const suites = {
  nvshmem: { kind: "direct", hold: holdNvshmem, cases: nvshmemCases },
  nccl: { kind: "direct", cases: ncclCases },
  "nccl lists": { kind: "lists", cases: cliqueCases },
  "group on cuda": { kind: "group", backend: "cuda", cases: groupCases },
  "group on nvshmem": { kind: "group", backend: "nvshmem", cases: groupCases },
  "group on nccl": { kind: "group", backend: "nccl", cases: groupCases },
  "nccl on cuda": { kind: "group", backend: "cuda", cases: ncclGroupCases },
  "nccl on nccl": { kind: "group", backend: "nccl", cases: ncclGroupCases },
  "far group on nvshmem": {
    kind: "group",
    backend: "nvshmem",
    env: { COLLC_PRETEND_UNREACHABLE: "1" },
    cases: farCases,
  },
  "command line": { kind: "commands", cases: commands },
  "faults on nvshmem": { kind: "faults", backend: "nvshmem", cases: faults },
  "faults on nccl": { kind: "faults", backend: "nccl", cases: faults },
};

/** The cpu backend: device-level kernels on ranks emulated in this process. */
export { CpuGroup, type CpuOptions, type RankArguments, type RunReport } from "./group.js";
export { PersistentMemory } from "./memory.js";
export { CpuFault, type CpuFaultKind, type FaultPlace } from "./faults.js";
export { type HostileFailure, type HostileOptions, type HostileReport, runHostile } from "./hostile/run.js";

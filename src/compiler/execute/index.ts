/**
 * The executor's door: device IR as JavaScript, for a domain of values and an observer. See README.md.
 */
export { blockedIn, isReady, READY, resumeAll, type Running, type Suspension, type Task } from "./coroutines.js";
export { CannotTell } from "./failures.js";
export { NUMBERS } from "./domains/numbers.js";
export { NUMBER_TILES } from "./domains/number-tiles.js";
export { type Block, type Blocked, type Elements, type Faults, type Machine, newBlock } from "./machine.js";
export { firstWhere, NEAR } from "./order/climbing.js";
export { Clocks } from "./order/clocks.js";
export { KnowledgeTable, NOTHING } from "./order/knowledge.js";
export { Races } from "./order/races.js";
export { type Flag, type SignalKind, type Strand, waitKind, type WaitKind, wordOf } from "./order/flags.js";
export { READ, Trace, WRITE } from "./order/trace.js";
export { type Executable, executableOf } from "./executable.js";
export { plainSetting, type Setting } from "./setting.js";
export type { TileValues } from "./tiles.js";

/** The cuda backend's building blocks: the driver, memory, launches. Nothing here knows the language. */
export * from "./device.js";
export * from "./fd-exchange.js";
export * from "./graph.js";
export * from "./kernel.js";
export * from "./launch.js";
export * from "./memory.js";
export * from "./primitives.js";
export * from "./status.js";
export * from "./symmetric.js";
export * from "./timer.js";

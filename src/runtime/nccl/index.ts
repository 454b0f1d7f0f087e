/** NCCL, opened at run time. */
export * from "./clique.js";
export * from "./communicator.js";
export * from "./discover.js";
export * from "./library.js";
export * from "./window-provider.js";

/** NCCL, opened at run time. */
export * from "./communicator.js";
export * from "./discover.js";

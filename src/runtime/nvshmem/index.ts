/** NVSHMEM, opened at run time. */
export * from "./discover.js";
export * from "./library.js";
export * from "./operations.js";
export * from "./provider.js";
export * from "./session.js";
export * from "./teams.js";

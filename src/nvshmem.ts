/**
 * NVSHMEM's own calls from TypeScript, on a group that `connect({ backend: "nvshmem" })` made.
 *
 *   import { nvshmemOf } from "collc/nvshmem";
 *   const calls = await nvshmemOf(group);
 */
export { type NvshmemLibrary, type NvshmemOperations, openNvshmem } from "./runtime/nvshmem/index.js";
export { nvshmemOf } from "./runtime/nvshmem/of-group.js";

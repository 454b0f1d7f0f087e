/**
 * NCCL from TypeScript: over a collc group and its tensors, over GPUs of one process, or bare.
 *
 *   import { ncclOf } from "collc/nccl";
 *   const nccl = await ncclOf(group);
 *   await nccl.allReduce(x, y, { op: "avg" });
 */
export {
  type GroupNccl,
  type NcclCallOptions,
  type NcclCalls,
  ncclOf,
  type NcclReduceOptions,
} from "./runtime/nccl/group-calls.js";
export {
  type NcclBuffer,
  NcclClique,
  NcclCommunicator,
  type NcclDType,
  ncclGroup,
  type NcclLibrary,
  type NcclListOptions,
  type NcclOp,
  ncclUniqueId,
  openNccl,
} from "./runtime/nccl/index.js";

// Prints one JSON object: the GPUs and what they can do together, and the versions of all libraries. A process of its
// own, because opening libraries can end one.
import { capabilities } from "../../../dist/src/runtime/capabilities/index.js";
import { openNccl } from "../../../dist/src/runtime/nccl/index.js";
import { openNvshmem } from "../../../dist/src/runtime/nvshmem/index.js";
import { findNvrtc } from "../../../dist/src/runtime/nvrtc.js";
import { native } from "../../../dist/src/runtime/native.js";

const asked = async (action) => {
  try {
    return await action();
  } catch (error) {
    return { error: error.message };
  }
};

const report = {
  node: process.version,
  capabilities: await asked(() => capabilities()),
  nvrtc: await asked(async () => {
    const { found } = await findNvrtc();
    const { major, minor } = native().openNvrtc(found.path, found.builtins ?? undefined);
    return { path: found.path, version: `${major}.${minor}` };
  }),
  nccl: await asked(() => openNccl()),
  nvshmem: await asked(() => openNvshmem()),
};
process.stdout.write(JSON.stringify(report) + "\n", () => process.exit(0));

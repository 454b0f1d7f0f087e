// A process for signals.test.ts, which signals it: `node signal-child.mjs ADDON JOB WHEN LISTEN [LIBRARY BUILTINS]`.
// JOB nvrtc, nccl or nvshmem; WHEN during or after; LISTEN none, or listen: then it says which signal came, and exits with 9.
import { createRequire } from "node:module";
import { writeSync } from "node:fs";

const [addonPath, job, when, listen, library, builtins] = process.argv.slice(2);
const addon = createRequire(import.meta.url)(addonPath);

function addListeners() {
  for (const name of ["SIGINT", "SIGTERM", "SIGUSR2"]) {
    process.on(name, () => {
      writeSync(1, `heard ${name}\n`);
      process.exit(9);
    });
  }
}

// Before the library is opened, or, for `late`, while it works.
if (listen === "listen") addListeners();

if (job === "nvrtc") {
  const kernels = Array.from(
    { length: when === "during" ? 60 : 1 },
    (_, i) => `extern "C" __global__ void k${i}(float* x) { for (int j = 0; j < 99; j++) x[j * ${i}] += x[j] * ${i}; }`,
  );
  addon.openNvrtc(library, builtins || undefined);
  const compile = () =>
    addon.nvrtcCompile(`${kernels.join("\n")} // ${when === "during" ? "slow" : ""}`, "k.cu", ["-arch=sm_90"]);
  if (when === "after") await Promise.all([compile(), compile()]);
  else {
    void Promise.all([compile(), compile()]).then(() => writeSync(1, "too late\n"));
    await new Promise((resolve) => setTimeout(resolve, 300));
    if (listen === "late") addListeners();
  }
} else {
  addon.openCuda([process.env.FAKE_DRIVER]);
  if (job === "nccl") {
    addon.openNccl([library], "off");
    await addon.ncclCommInit(0, 1, 0, addon.ncclUniqueId());
  } else {
    addon.openNvshmem([library], "off");
    await addon.nvshmemInit(0, 0, 1, addon.nvshmemUniqueId());
  }
}
writeSync(1, "ready\n");
setInterval(() => {}, 1000);

/**
 * Sees to NVRTC before the tests: it compiles without a GPU, so the tests compile every kernel for real. Where it is
 * nowhere to be found, it is fetched as `collc setup nvrtc` does, and said so; where that fails too, the tests that
 * need it skip loudly, and with CI=true fail.
 */
import { findNvrtc, setupNvrtc } from "../src/runtime/nvrtc.js";
import { messageOf } from "../src/runtime/errors.js";

export default async function setup(): Promise<void> {
  if ((await findNvrtc()).found !== null) return;
  console.log("NVRTC was not found: fetching NVIDIA's wheel with pip, as `collc setup nvrtc` does …");
  try {
    const { path } = await setupNvrtc({ timeoutMs: 300_000 });
    console.log(`NVRTC is at ${path}`);
  } catch (error) {
    console.warn(`*** NVRTC could not be had: ${messageOf(error)}`);
  }
}

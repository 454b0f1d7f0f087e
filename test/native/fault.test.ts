/** A kernel that dies, in a file of its own: the fault sticks to the process, as in the real driver. */
import { beforeAll, expect, it } from "vitest";

import { native } from "../../src/runtime/native.js";
import { fakeCubin, openFakeCuda } from "./support.js";

beforeAll(openFakeCuda);

it("is reported, with the driver's words, by whoever asks next", async () => {
  const stream = native().streamCreate(0);
  const memory = native().memoryAlloc(0, 4);
  const fn = native().functionGet(native().moduleLoad(0, fakeCubin("fake_fault params=")), "fake_fault");
  const launch = native().launchPrepare(fn, [1, 1, 1], [1, 1, 1], 0, false, new Uint8Array(0), []);
  const waiting = native().streamSynchronize(stream, 5000);
  expect(await waiting).toBe(true);
  native().launchPrepared(launch, stream);
  await expect(native().streamSynchronize(stream, 5000)).rejects.toMatchObject({
    library: "cuda",
    code: 700,
    codeName: "CUDA_ERROR_ILLEGAL_ADDRESS",
  });
  expect(() => native().memorySet(0, memory, 0, 4)).toThrow("an illegal memory access was encountered");
});

/** A GPU on which a kernel died, and what groups on it still do. The driver never recovers, so this file is a process of its own. */
import { expect, it } from "vitest";
import { native } from "../../src/runtime/native.js";
import { fakeCubin } from "../native/support.js";
import { connectRanks, useFakeMachine } from "./device-groups.js";
import { rejection } from "./helpers.js";

it("says what killed it wherever it is asked; freeing and leaving go through", async () => {
  useFakeMachine();
  const [group] = await connectRanks(1);
  const [kept, freed, local] = [
    await group!.symmetric("u32", [64]),
    await group!.symmetric("u32", [64]),
    group!.local("u32", [64]),
  ];
  const addon = native();
  const fn = addon.functionGet(addon.moduleLoad(0, fakeCubin("fake_fault params=")), "fake_fault");
  const launch = addon.launchPrepare(fn, [1, 1, 1], [1, 1, 1], 0, false, new Uint8Array(0), []);
  addon.launchPrepared(launch, group!.defaultStream.handle);

  expect((await rejection(kept.read())).message).toContain("CUDA_ERROR_ILLEGAL_ADDRESS");
  expect((await rejection(group!.putSignal(0))).message).toContain("CUDA_ERROR_ILLEGAL_ADDRESS");
  expect((await rejection(group!.symmetric("u32", [64]))).message).toContain("CUDA_ERROR_ILLEGAL_ADDRESS");
  // They tell, too, but the tensors are given back all the same.
  for (const tensor of [freed, local]) {
    expect((await rejection(tensor.free())).message).toContain("CUDA_ERROR_ILLEGAL_ADDRESS");
    expect((await rejection(tensor.read())).message).toContain("freed before");
  }
  await group!.close();
});

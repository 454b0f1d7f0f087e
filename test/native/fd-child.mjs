// Another process for fd.test.ts: `node fd-child.mjs ADDON JOB PATH PEER SECRET`, secret in hex.
import { createRequire } from "node:module";
import { readFileSync, writeSync } from "node:fs";

const [addonPath, job, socket, peer, secretText] = process.argv.slice(2);
const addon = createRequire(import.meta.url)(addonPath);
const secret = Buffer.from(secretText, "hex");
const channel = addon.fdChannelOpen(socket, secret);

if (job === "read") {
  // Answers with what the descriptor it receives holds.
  const { fd, sender } = await addon.fdChannelReceive(channel, 10_000);
  process.stdout.write(`from ${sender}: ${readFileSync(fd, "utf8")}`);
  addon.fdClose(fd);
}
if (job === "memory") {
  // Maps memory of another process's (fake) GPU and writes into it.
  addon.openCuda([process.env.FAKE_DRIVER]);
  const { fd } = await addon.fdChannelReceive(channel, 10_000);
  const bytes = 2 << 20;
  const physical = addon.physicalImport(1, fd);
  addon.fdClose(fd);
  const pointer = addon.memoryMap(physical, bytes, bytes, [1]);
  addon.physicalRelease(physical);
  const seen = new Uint32Array(4);
  addon.copyFromDevice(1, seen, pointer);
  addon.copyToDevice(
    1,
    pointer + 16n,
    seen.map((value) => value * 2),
  );
  addon.memoryUnmap(pointer);
  writeSync(1, "done");
}
if (job === "send") await addon.fdChannelSend(channel, peer, 3, 0, 0, 10_000);
addon.fdChannelClose(channel);

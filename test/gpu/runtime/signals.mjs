// Signals and barriers between ranks.
import assert from "node:assert/strict";
import { reduceOnce, throws } from "./support.mjs";

export default {
  "signals: channels and ranks are checked, the last channel works": {
    async run(group, rank) {
      const tensor = await group.symmetric("u32", [1]);
      const { channels, world } = group;
      await group.putSignal((rank + 1) % world, { channel: channels - 1 });
      await group.waitSignal((rank + world - 1) % world, { channel: channels - 1 });
      for (const channel of [channels, -1]) await throws(() => group.putSignal(0, { channel }), /no channel/);
      for (const peer of [-1, world]) await throws(() => group.waitSignal(peer), /no rank/);
      await throws(() => group.setSignalPadBytes(1024), /already/);
      await tensor.free();
    },
  },
  "signals: only the rank that waits in vain gets an error, and all go on": {
    least: 2,
    async run(group, rank) {
      const tensor = await group.symmetric("u32", [1]);
      if (rank === 0) {
        const error = await throws(
          () => group.waitSignal(1, { channel: 9, timeoutMs: 1000 }),
          /rank 0 waited 1000 ms for a signal of rank 1 on channel 9/,
        );
        assert.equal(error.code, "timeout");
      }
      if (rank !== group.world - 1)
        await throws(
          () => group.signalBarrier({ channel: 9, timeoutMs: 500 }),
          /waited 500 ms for rank \d+ at a barrier/,
        );
      await group.barrier();
      await group.signalBarrier({ channel: 9 });
      await reduceOnce(group);
      // The signal that was missing may still come.
      if (rank === 1) await group.putSignal(0, { channel: 9 });
      if (rank === 0) await group.waitSignal(1, { channel: 9, timeoutMs: 5000 });
      await tensor.free();
    },
  },
  "signals: a ring on two streams, host-driven ones at once": {
    async run(group, rank) {
      const { world } = group;
      const tensor = await group.symmetric("u32", [1]);
      const [next, previous] = [(rank + 1) % world, (rank + world - 1) % world];
      const [waits, puts] = [group.stream(), group.stream()];
      for (let i = 0; i < 50; i++) {
        await group.waitSignal(previous, { stream: waits, channel: i % 4 });
        await group.putSignal(next, { stream: puts, channel: i % 4 });
      }
      await waits.synchronize();
      await puts.synchronize();
      await Promise.all([group.waitSignal(previous, { channel: 4 }), group.putSignal(next, { channel: 4 })]);
      await waits.destroy();
      await puts.destroy();
      await tensor.free();
    },
  },
};

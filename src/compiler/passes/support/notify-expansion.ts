/**
 * notify and await as flags with a counter for each pair of ranks.
 *
 * Block b of rank r counts in sent[b, p] how often it told rank p, and sets user_flags[b, r] there to that number; in
 * seen[b, p] how often it took word from rank p, and waits for the flags of all of p's blocks to reach one more. All blocks
 * of a rank take the same path, so the rows of `sent` and `seen` agree.
 */
import type { Builder } from "../../ir/builder.js";
import { type Buffer, freshName, type Kernel, type Value } from "../../ir/module.js";
import { scalar } from "../../ir/types.js";

export class NotifyExpansion {
  private isUsed = false;
  private readonly names;

  constructor(
    private readonly kernel: Kernel,
    private readonly build: Builder,
    private readonly machine: { readonly block: Value; readonly grid: Value },
  ) {
    this.names = {
      flags: freshName(kernel, "user_flags"),
      sent: freshName(kernel, "sent"),
      seen: freshName(kernel, "seen"),
    };
  }

  notify(peer: Value): void {
    const { build } = this;
    const rank = build.rank();
    this.isUsed = true;
    this.sync();
    this.byOneThread(() => {
      const count = this.next(this.names.sent, peer);
      build.store(this.names.sent, count, [this.slot(this.machine.block, peer)]);
      build.op("signal", [count, peer, this.slot(this.machine.block, rank)], { buffer: this.names.flags, mode: "set", scope: "sys", order: "release", remote: true }, null); // prettier-ignore
    });
  }

  await(peer: Value): void {
    const { build } = this;
    this.isUsed = true;
    this.sync();
    build.for("threads", [[build.constant(0), this.machine.grid]], ([b]) => {
      build.op("wait", [this.next(this.names.seen, peer), this.slot(b!, peer), peer], { buffer: this.names.flags, scope: "sys", order: "acquire" }, null); // prettier-ignore
    });
    this.sync();
    this.byOneThread(() =>
      build.store(this.names.seen, this.next(this.names.seen, peer), [this.slot(this.machine.block, peer)]),
    );
  }

  /** Keeps rows for blocks that this launch does not have; gives the buffers that are in use. */
  finish(): Buffer[] {
    const { build, kernel } = this;
    if (!this.isUsed) return [];
    const { block, grid } = this.machine;
    const world = build.constant(kernel.world);
    this.sync();
    build.for("threads", [[build.constant(0), build.constant(kernel.maxBlocks * kernel.world)]], ([i]) => {
      const row = build.div(i!, world);
      const peer = build.rem(i!, world);
      const isSpare = build.binary(
        "and",
        build.compare("ge", row, grid),
        build.compare("eq", build.rem(row, grid), block),
      );
      build.if(isSpare, () => {
        for (const name of [this.names.sent, this.names.seen])
          build.store(name, build.load(name, [this.slot(block, peer)], scalar("u32")), [i!]);
      });
    });
    const shape = [kernel.maxBlocks, kernel.world];
    const counters = [this.names.sent, this.names.seen].map((name): Buffer => ({
      name,
      role: "state",
      dtype: "u32",
      shape,
      symmetric: false,
    }));
    return [{ name: this.names.flags, role: "signal", dtype: "u32", shape, symmetric: true }, ...counters];
  }

  private next(counter: string, peer: Value): Value {
    const { build } = this;
    const count = build.load(counter, [this.slot(this.machine.block, peer)], scalar("u32"));
    return build.add(count, build.constant(1, scalar("u32")));
  }

  private slot(block: Value, rank: Value): Value {
    return this.build.add(this.build.mul(block, this.build.constant(this.kernel.world)), rank);
  }

  private byOneThread(body: () => void): void {
    this.build.for("threads", [[this.build.constant(0), this.build.constant(1)]], body);
  }

  private sync(): void {
    this.build.op("block_sync", [], {}, null);
  }
}

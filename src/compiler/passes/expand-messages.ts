/**
 * expand-messages: the kernel as one, for those who look at it whole: each message is loops that blocks carry out, between two barriers.
 *
 * What is launched is cut at the messages before this (`program/steps.ts`). In the whole kernel a barrier before says that the receiver's inbox
 * is free, and one after that its elements have arrived, between just the ranks that send and receive: what the stream of each rank says
 * of a message, in words that the proof of a kernel knows. So does one of each rank alone at a `message_wait`, where a kernel ends. derive-sync has counted on those between ranks for nothing else.
 */
import { type Kernel, type Op, type Region } from "../ir/module.js";
import { RankPairs } from "../ir/rank-pairs.js";
import { AccessCollector } from "./support/accesses.js";
import { Definitions } from "./support/analysis.js";
import { RankValues } from "./support/rank-values.js";

export function expandMessages(kernel: Kernel): Kernel {
  if (!kernel.body.ops.some(({ name }) => name === "message")) return kernel;
  const { ranksPerDomain: _, ...whole } = kernel;
  const definitions = new Definitions(kernel);
  const collector = new AccessCollector(kernel);
  const ops = kernel.body.ops.flatMap((op) => {
    const barrier = (pairs: RankPairs): Op => {
      return {
        ...op,
        name: "barrier",
        regions: [],
        attributes: { scope: "grid", ranks: pairs.print(), message: true },
      };
    };
    // Beside messages goes on only what touches nothing of theirs, so that here each may end where it begins. A kernel ends at the wait.
    if (op.name === "message_wait") return [barrier(RankPairs.self(kernel.world))];
    if (op.name !== "message") return [op];
    const [senders, receivers] = [RankPairs.self(kernel.world), RankPairs.self(kernel.world)];
    const valuesOf = RankValues.ofEach(definitions);
    for (let r = 0; r < kernel.world; r++)
      for (const { writes, rank, owner } of collector.of(op, valuesOf(r))) {
        if (!writes) continue;
        senders.add(rank, owner);
        receivers.add(owner, rank);
      }
    return [barrier(receivers), ...marked(op.regions[0]!).ops, barrier(senders)];
  });
  return { ...whole, body: { arguments: [], ops } };
}

/** The loops of a message, whose loads say that they are one's: what nobody has written to an outbox is sent, too. */
function marked({ arguments: args, ops }: Region): Region {
  const mark = (op: Op): Op => {
    const attributes = op.name === "load" ? { ...op.attributes, message: true } : op.attributes;
    return { ...op, attributes, regions: op.regions.map(marked) };
  };
  return { arguments: args, ops: ops.map(mark) };
}

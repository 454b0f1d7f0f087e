/**
 * The least time that a schedule can take on a cluster, without its being played: no link does its part faster than if it never
 * waits, and no rank is further than if nothing but its own bytes were ever in its way. It takes a small part of the time of a play,
 * and tells which programs cannot be the fastest.
 */
import type { Cluster } from "../machine/cluster.js";
import { Fabric } from "./fabric.js";
import type { Flows } from "./flows.js";
import type { Followed } from "./followed.js";
import { Pipeline } from "./pipeline.js";
import type { StepTimes } from "./step-times.js";

export class Bound {
  /** Bytes of each message of the first `unit` ranks, NIC by NIC that sends them, at the schedule's own size. */
  private readonly sent: number[][] = [];
  /** Seconds that the busiest port, or NIC that receives, needs for a tensor of the schedule's own size. */
  private readonly ports: number;
  private readonly fabric: Fabric;
  private readonly pipeline: Pipeline;

  constructor(
    private readonly cluster: Cluster,
    world: number,
    follow: Followed,
    times: StepTimes,
  ) {
    const { unit, followed, nearLoads, nearStores } = follow;
    const { machine, nicRate } = cluster;
    this.fabric = new Fabric(cluster, world, followed);
    this.pipeline = new Pipeline(cluster, follow, times);
    const { nicOf, nics } = this.fabric;
    const zeros = (): Float64Array => new Float64Array(Math.max(unit, nics));
    const [portOut, portIn, nicIn] = [zeros(), zeros(), zeros()];
    for (const flows of [follow.firstPulls, follow.puts, follow.pulls])
      eachOf(flows, (step, p, bytes) => {
        (this.sent[nicOf[step % unit]!] ??= []).push(bytes);
        nicIn[nicOf[p % unit]!]! += bytes / nicRate.value;
      });
    eachOf(nearLoads, (step, p, bytes) => {
      portOut[p % unit]! += bytes / machine.serve.value;
      portIn[step % unit]! += bytes / machine.pull.value;
    });
    eachOf(nearStores, (step, p, bytes) => {
      portOut[step % unit]! += bytes / machine.push.value;
      portIn[p % unit]! += bytes / machine.push.value;
    });
    this.ports = [portOut, portIn, nicIn].flatMap((list) => [...list]).reduce((a, b) => Math.max(a, b), 0);
  }

  /**
   * Seconds below which no play ends.
   * @param scale bytes over those of the schedule
   * @param chunks passes that the tensor is divided into: all of their messages take their time
   */
  seconds(scale: number, chunks: number): number {
    let sending = 0;
    this.sent.forEach((messages) => {
      let busy = 0;
      for (const bytes of messages) busy += chunks * this.fabric.sending((bytes * scale) / chunks);
      sending = Math.max(sending, busy + this.cluster.latency.value);
    });
    const busiest = this.cluster.machine.launch.value + Math.max(sending, this.ports * scale);
    // Sums are in another order than those of a play, which takes no longer than this where nobody waits.
    return Math.max(this.pipeline.seconds(scale, chunks), busiest) * (1 - 1e-9);
  }
}

function eachOf({ at, ranks, bytes }: Flows, call: (step: number, rank: number, bytes: number) => void): void {
  for (let step = 0; step + 1 < at.length; step++)
    for (let k = at[step]!; k < at[step + 1]!; k++) call(step, ranks[k]!, bytes[k]!);
}

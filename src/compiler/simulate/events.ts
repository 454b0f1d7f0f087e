/** What is to happen, in order of time. */

export interface Event {
  time: number;
  /** What happens; of what happens at one time the lower number is first, so that a run is the same each time. */
  node: number;
  /** Whose message it is, of messages. */
  nic: number;
}

/** A binary heap of events. */
export class Events {
  size = 0;
  private readonly times: number[] = [];
  private readonly nodes: number[] = [];
  private readonly nics: number[] = [];
  private readonly first: Event = { time: 0, node: 0, nic: 0 };

  push(time: number, node: number, nic = -1): void {
    const { times, nodes } = this;
    let i = this.size++;
    while (i > 0) {
      const up = (i - 1) >> 1;
      const before = times[up]!;
      if (before < time || (before === time && nodes[up]! < node)) break;
      this.move(up, i);
      i = up;
    }
    this.put(i, time, node, nic);
  }

  /** Takes the first event away. @returns an object that the next call fills anew */
  pop(): Readonly<Event> {
    const { times, nodes, first } = this;
    [first.time, first.node, first.nic] = [times[0]!, nodes[0]!, this.nics[0]!];
    const last = --this.size;
    const [time, node, nic] = [times[last]!, nodes[last]!, this.nics[last]!];
    let i = 0;
    for (;;) {
      let down = 2 * i + 1;
      if (down >= last) break;
      const other = down + 1;
      if (
        other < last &&
        (times[other]! < times[down]! || (times[other] === times[down] && nodes[other]! < nodes[down]!))
      )
        down = other;
      const after = times[down]!;
      if (after > time || (after === time && nodes[down]! > node)) break;
      this.move(down, i);
      i = down;
    }
    this.put(i, time, node, nic);
    return first;
  }

  private move(from: number, to: number): void {
    this.put(to, this.times[from]!, this.nodes[from]!, this.nics[from]!);
  }

  private put(i: number, time: number, node: number, nic: number): void {
    this.times[i] = time;
    this.nodes[i] = node;
    this.nics[i] = nic;
  }
}

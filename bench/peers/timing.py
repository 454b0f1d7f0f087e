"""How the peers' calls are timed: as collc times kernels (src/runtime/time-graph.ts). All ranks call these together."""

import math

import torch
import torch.distributed as dist

# Microseconds of repetitions before any is timed, and of work before each that is: GPUs that stood idle run at a fraction of their clock,
# and the host's barrier alone leaves ranks tens of microseconds apart.
WARM_UP_US = 50_000
LEAD_IN_US = 100


def repeat(times, work):
    for _ in range(times):
        work()


def slowest(samples):
    """Of each rank the median, of the ranks the slowest; smallest and largest of that rank."""
    samples = sorted(samples)
    own = torch.tensor([samples[len(samples) // 2], samples[0], samples[-1]], device="cuda", dtype=torch.float64)
    every = [torch.empty_like(own) for _ in range(dist.get_world_size())]
    dist.all_gather(every, own)
    median, low, high = max((t.tolist() for t in every), key=lambda t: t[0])
    return dict(median=round(median, 3), min=round(low, 3), max=round(high, 3))


def timed(call, inner, outer, graph):
    """Microseconds of a call: `inner` of them, in the graph if there is one, again and again, `outer` times timed."""
    again = graph.replay if graph is not None else lambda: repeat(inner, call)
    start, stop = (torch.cuda.Event(enable_timing=True) for _ in range(2))

    def once():
        start.record()
        again()
        stop.record()
        torch.cuda.synchronize()
        return start.elapsed_time(stop) * 1e3

    again()
    torch.cuda.synchronize()
    # All ranks count alike, or they would wait for each other.
    longest = torch.tensor(max(1.0, once()), device="cuda")
    dist.all_reduce(longest, op=dist.ReduceOp.MAX)
    us = longest.item()
    repeat(math.ceil(WARM_UP_US / us), again)
    torch.cuda.synchronize()
    samples = []
    for _ in range(outer):
        dist.barrier()
        torch.cuda.synchronize()
        if us < LEAD_IN_US:
            repeat(math.ceil(LEAD_IN_US / us), again)
        else:
            repeat(math.ceil(LEAD_IN_US * inner / us), call)
        samples.append(once() / inner)
    return slowest(samples)

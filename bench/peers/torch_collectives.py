"""PyTorch's collectives on symmetric memory and its NCCL process group, timed as `collc bench` times kernels.

`collc bench collectives --peers torch` starts it; by hand, on 4 GPUs:

    torchrun --nproc-per-node 4 bench/peers/torch_collectives.py --cases all_reduce:1024,reduce_scatter:65536 --dtype bf16

A case is an op and a size. Prints one JSON object a line: {"op", "case", "peer", "us": {"median", "min", "max"}} or {..., "problem"}.
A size is the bytes of the full tensor: what all_reduce takes, what all_gather returns, what reduce_scatter takes;
for all_to_all it is one rank's part. Times are microseconds a call: graphs of `--inner` calls, replayed `--outer`
times, the ranks brought together by work that is not timed; of each rank the median, of the ranks the slowest.
The first call of each peer is compared with a float64 sum of all ranks' random data.
"""

import argparse
import json
import os

import torch
import torch.distributed as dist
import torch.distributed._symmetric_memory as symm

import timing

DTYPES = {"bf16": torch.bfloat16, "f16": torch.float16, "f32": torch.float32}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--cases", required=True)
    parser.add_argument("--dtype", choices=DTYPES, default="bf16")
    parser.add_argument("--inner", type=int, default=10)
    parser.add_argument("--outer", type=int, default=15)
    args = parser.parse_args()
    rank, world = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
    device = torch.device("cuda", int(os.environ.get("LOCAL_RANK", rank)))
    torch.cuda.set_device(device)
    dist.init_process_group("nccl", device_id=device)
    name = dist.group.WORLD.group_name
    dtype = DTYPES[args.dtype]
    width = dtype.itemsize
    sizes = {}
    for case in args.cases.split(","):
        op, size = case.split(":")
        sizes.setdefault(int(size), set()).add(op)
    generator = torch.Generator(device=device).manual_seed(1000 + rank)

    def microseconds(call):
        timing.repeat(3, call)
        torch.cuda.synchronize()
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            timing.repeat(args.inner, call)
        return timing.timed(call, args.inner, args.outer, graph)

    def say(**row):
        if rank == 0:
            print(json.dumps(row), flush=True)

    def report(op, size, peer, call, check):
        # A size that a peer refuses is a row with the reason; all ranks are refused alike.
        try:
            call()
            torch.cuda.synchronize()
            good = torch.tensor(1 if check() else 0, device=device)
            dist.all_reduce(good, op=dist.ReduceOp.MIN)
            if good.item() != 1:
                say(op=op, case=str(size), peer=peer, problem="wrong result")
            else:
                say(op=op, case=str(size), peer=peer, us=microseconds(call))
        except Exception as error:
            say(op=op, case=str(size), peer=peer, problem=str(error).splitlines()[0][:120])

    for size, wanted in sizes.items():
        n = max(world, round(size / width / world) * world)
        shard = n // world
        data = torch.rand(n, generator=generator, device=device).mul_(2).sub_(1).to(dtype)
        every = torch.empty(world * n, device=device, dtype=dtype) if size <= 1 << 24 else None
        if every is not None:
            dist.all_gather_into_tensor(every, data)
        held = every.view(world, n).double() if every is not None else None

        def near(got, wanted):
            # One rounding of the output and the roundings of a sum in whichever order.
            tolerance = 8 * torch.finfo(dtype).eps * max(1, world)
            return bool(((got.double() - wanted).abs() <= tolerance * (1 + wanted.abs())).all())

        def checker(get, want):
            return (lambda: near(get(), want())) if held is not None else (lambda: True)

        out = torch.empty(n, device=device, dtype=dtype)
        mine = slice(rank * shard, (rank + 1) * shard)
        x = symm.empty(n, dtype=dtype, device=device)
        symm.rendezvous(x, name)
        if "all_reduce" in wanted:
            total = checker(lambda: out, lambda: held.sum(0))
            x.copy_(data)

            def one_shot():
                torch.ops.symm_mem.one_shot_all_reduce_out(x, "sum", name, out)

            if size <= 4 << 20:
                report("all_reduce", size, "torch one_shot", one_shot, total)
            # In place: it adds up what it left behind, so only its first call is compared.
            x.copy_(data)
            dist.barrier()
            report(
                "all_reduce", size, "torch two_shot",
                lambda: torch.ops.symm_mem.two_shot_all_reduce_(x, "sum", name),
                checker(lambda: x, lambda: held.sum(0)),
            )  # fmt: skip
        if "reduce_scatter" in wanted and world in (2, 4, 8):
            x.copy_(data)
            dist.barrier()
            report(
                "reduce_scatter", size, "torch",
                lambda: torch.ops.symm_mem.reduce_scatter_out(x, name, False, out[:shard]),
                checker(lambda: out[:shard], lambda: held.sum(0)[mine]),
            )  # fmt: skip
        del x, data, every, held, out
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()

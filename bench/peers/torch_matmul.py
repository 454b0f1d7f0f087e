"""Products beside a collective as users of PyTorch run them: cuBLAS then NCCL, and PyTorch's fused (async-TP) ops.

`collc bench matmul --peers torch` starts it; by hand, on 4 GPUs:

    torchrun --nproc-per-node 4 bench/peers/torch_matmul.py --shapes 512x8192x8192,8192x8192x28672

Shapes are MxNxK of the whole product. matmul_reduce_scatter and matmul_all_reduce: A[M, K/W] @ B[K/W, N] of each rank, added
up over the ranks. all_gather_matmul: A[M/W, K] of each rank, gathered, @ B[K, N/W].
Prints one JSON object a line: {"op", "size", "peer", "us": {"median", "min", "max"}}, {..., "problem"}, or
{"op", "size", "alone": {"median", ...}}: a rank's product by itself. `size` is M·N·K. Times are microseconds a call: graphs
of `--inner` calls, replayed `--outer` times, the ranks brought together by work that is not timed; of each rank the median, of the
ranks the slowest. What cannot be captured in a graph is called by the host, and its peer's name says so.
The first call of each peer is compared with a float64 product, in some of its rows.
"""

import argparse
import json
import math
import os

import torch
import torch.distributed as dist
import torch.distributed._symmetric_memory as symm

import timing

DTYPES = {"bf16": torch.bfloat16, "f16": torch.float16}
OPS = ("matmul_reduce_scatter", "all_gather_matmul", "matmul_all_reduce")
CHECKED_ROWS = 16


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--shapes", required=True)
    parser.add_argument("--dtype", choices=DTYPES, default="bf16")
    parser.add_argument("--ops", default=",".join(OPS))
    parser.add_argument("--inner", type=int, default=10)
    parser.add_argument("--outer", type=int, default=15)
    args = parser.parse_args()
    rank, world = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
    device = torch.device("cuda", int(os.environ.get("LOCAL_RANK", rank)))
    torch.cuda.set_device(device)
    dist.init_process_group("nccl", device_id=device)
    name = dist.group.WORLD.group_name
    symm.enable_symm_mem_for_group(name)
    dtype = DTYPES[args.dtype]
    wanted = set(args.ops.split(","))
    generator = torch.Generator(device=device).manual_seed(1000 + rank)

    def agreed(yes):
        flag = torch.tensor(1 if yes else 0, device=device)
        dist.all_reduce(flag, op=dist.ReduceOp.MIN)
        return flag.item() == 1

    def captured(call):
        """A graph of the calls; None where some rank's PyTorch does not let them be captured."""
        graph = torch.cuda.CUDAGraph()
        try:
            with torch.cuda.graph(graph):
                timing.repeat(args.inner, call)
            is_captured = True
        except Exception:
            is_captured = False
        torch.cuda.synchronize()
        return graph if agreed(is_captured) else None

    def microseconds(call):
        """Of a call, and whether a graph holds them."""
        timing.repeat(3, call)
        torch.cuda.synchronize()
        graph = captured(call)
        return timing.timed(call, args.inner, args.outer, graph), graph is not None

    def say(**row):
        if rank == 0:
            print(json.dumps(row), flush=True)

    def report(op, size, peer, call, check):
        # A shape that a peer refuses is a row with the reason; all ranks are refused alike.
        try:
            got = call()
            torch.cuda.synchronize()
            if not agreed(check(got)):
                return say(op=op, size=size, peer=peer, problem="wrong result")
            us, in_graph = microseconds(call)
            say(op=op, size=size, peer=peer if in_graph else f"{peer}, by the host", us=us)
        except Exception as error:
            say(op=op, size=size, peer=peer, problem=str(error).splitlines()[0][:120])

    def random(*shape):
        return torch.rand(*shape, generator=generator, device=device).mul_(2).sub_(1).to(dtype)

    for shape in args.shapes.split(","):
        m, n, k = map(int, shape.split("x"))
        size = m * n * k
        if m % world or n % world or k % world:
            for op in wanted:
                say(op=op, size=size, peer="cuBLAS + NCCL", problem=f"{shape} does not divide by {world} ranks")
            continue

        def near(got, want):
            # A rounding of each rank's sum and of the result; terms are below 1, so that sums are about as large as sqrt(k).
            tolerance = 2 * torch.finfo(dtype).eps * (want.abs() + math.sqrt(k))
            return bool(((got.double() - want).abs() <= tolerance).all())

        if wanted & {"matmul_reduce_scatter", "matmul_all_reduce"}:
            a, b = random(m, k // world), random(k // world, n)
            c = torch.empty(m, n, device=device, dtype=dtype)
            shard = torch.empty(m // world, n, device=device, dtype=dtype)
            step = max(1, m // world // CHECKED_ROWS)
            # Rows 0, step, 2 step … of each rank's shard.
            rows = torch.arange(0, m // world, step, device=device)
            every = torch.cat([rows + r * (m // world) for r in range(world)])
            sums = a[every].double() @ b.double()
            dist.all_reduce(sums)
            own = sums[rank * len(rows) : (rank + 1) * len(rows)]
            alone, _ = microseconds(lambda: torch.mm(a, b, out=c))

            def then_scattered():
                torch.mm(a, b, out=c)
                dist.reduce_scatter_tensor(shard, c)
                return shard

            def then_reduced():
                torch.mm(a, b, out=c)
                dist.all_reduce(c)
                return c

            if "matmul_reduce_scatter" in wanted:
                op = "matmul_reduce_scatter"
                say(op=op, size=size, alone=alone)
                report(op, size, "cuBLAS + NCCL", then_scattered, lambda got: near(got[rows], own))
                report(
                    op, size, "torch fused",
                    lambda: torch.ops.symm_mem.fused_matmul_reduce_scatter(a, b, "sum", 0, name),
                    lambda got: near(got[rows], own),
                )  # fmt: skip
            if "matmul_all_reduce" in wanted:
                op = "matmul_all_reduce"
                say(op=op, size=size, alone=alone)
                report(op, size, "cuBLAS + NCCL", then_reduced, lambda got: near(got[every], sums))
            del a, b, c, shard, sums
        if "all_gather_matmul" in wanted:
            op = "all_gather_matmul"
            a, b = random(m // world, k), random(k, n // world)
            gathered = torch.empty(m, k, device=device, dtype=dtype)
            c = torch.empty(m, n // world, device=device, dtype=dtype)
            dist.all_gather_into_tensor(gathered, a)
            rows = torch.arange(0, m, max(1, m // (CHECKED_ROWS * world)), device=device)
            products = gathered[rows].double() @ b.double()
            alone, _ = microseconds(lambda: torch.mm(gathered, b, out=c))
            say(op=op, size=size, alone=alone)

            def after_gathering():
                dist.all_gather_into_tensor(gathered, a)
                torch.mm(gathered, b, out=c)
                return c

            report(op, size, "cuBLAS + NCCL", after_gathering, lambda got: near(got[rows], products))
            report(
                op, size, "torch fused",
                lambda: torch.ops.symm_mem.fused_all_gather_matmul(a, [b], 0, name),
                lambda got: near(got[1][0][rows], products),
            )  # fmt: skip
            del a, b, c, gathered, products
        torch.cuda.empty_cache()
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()

"""Products beside a collective as users of PyTorch run them: cuBLAS then NCCL, and PyTorch's fused (async-TP) ops.

`collc bench matmul --peers torch` starts it; by hand, on 4 GPUs:

    torchrun --nproc-per-node 4 bench/peers/torch_matmul.py --cases all_gather_matmul:512x8192x8192,matmul_all_reduce:1x8192x8192

A case is an op and MxNxK of the whole product. matmul_reduce_scatter and matmul_all_reduce: A[M, K/W] @ B[K/W, N] of each rank, added
up over the ranks. all_gather_matmul: A[M/W, K] of each rank, gathered, @ B[K, N/W].
Prints one JSON object a line: {"op", "case", "peer", "us": {"median", "min", "max"}}, {..., "problem"}, or
{"op", "case", "alone": {"median", ...}}: a rank's product by itself. Times are microseconds a call: graphs
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
    symm.enable_symm_mem_for_group(name)
    dtype = DTYPES[args.dtype]
    shapes = {}
    for case in args.cases.split(","):
        op, shape = case.split(":")
        if op not in OPS:
            parser.error(f"{op} is none of {', '.join(OPS)}")
        shapes.setdefault(shape, set()).add(op)
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

    def report(op, case, peer, call, check):
        # A shape that a peer refuses is a row with the reason; all ranks are refused alike.
        try:
            got = call()
            torch.cuda.synchronize()
            if not agreed(check(got)):
                return say(op=op, case=case, peer=peer, problem="wrong result")
            us, in_graph = microseconds(call)
            say(op=op, case=case, peer=peer if in_graph else f"{peer}, by the host", us=us)
        except Exception as error:
            say(op=op, case=case, peer=peer, problem=str(error).splitlines()[0][:120])

    def random(*shape):
        return torch.rand(*shape, generator=generator, device=device).mul_(2).sub_(1).to(dtype)

    for shape, ops in shapes.items():
        m, n, k = map(int, shape.split("x"))
        cut = {"matmul_reduce_scatter": (m, k), "all_gather_matmul": (m, n), "matmul_all_reduce": (k,)}
        wanted = {op for op in ops if all(length % world == 0 for length in cut[op])}
        for op in ops - wanted:
            say(op=op, case=shape, peer="cuBLAS + NCCL", problem=f"{shape} does not divide by {world} ranks")

        def near(got, want):
            # A rounding of each rank's sum and of the result; terms are below 1, so that sums are about as large as sqrt(k).
            tolerance = 2 * torch.finfo(dtype).eps * (want.abs() + math.sqrt(k))
            return bool(((got.double() - want).abs() <= tolerance).all())

        if wanted & {"matmul_reduce_scatter", "matmul_all_reduce"}:
            a, b = random(m, k // world), random(k // world, n)
            c = torch.empty(m, n, device=device, dtype=dtype)
            # Of each rank's shard the rows 0, step, 2 step …; where ranks have no equal shards, these of all rows.
            parts = world if m % world == 0 else 1
            rows = torch.arange(0, m // parts, max(1, m // parts // CHECKED_ROWS), device=device)
            every = torch.cat([rows + r * (m // parts) for r in range(parts)])
            shard = torch.empty(m // parts, n, device=device, dtype=dtype)
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
                say(op=op, case=shape, alone=alone)
                report(op, shape, "cuBLAS + NCCL", then_scattered, lambda got: near(got[rows], own))
                report(
                    op, shape, "torch fused",
                    lambda: torch.ops.symm_mem.fused_matmul_reduce_scatter(a, b, "sum", 0, name),
                    lambda got: near(got[rows], own),
                )  # fmt: skip
            if "matmul_all_reduce" in wanted:
                op = "matmul_all_reduce"
                say(op=op, case=shape, alone=alone)
                report(op, shape, "cuBLAS + NCCL", then_reduced, lambda got: near(got[every], sums))
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
            say(op=op, case=shape, alone=alone)

            def after_gathering():
                dist.all_gather_into_tensor(gathered, a)
                torch.mm(gathered, b, out=c)
                return c

            report(op, shape, "cuBLAS + NCCL", after_gathering, lambda got: near(got[rows], products))
            report(
                op, shape, "torch fused",
                lambda: torch.ops.symm_mem.fused_all_gather_matmul(a, [b], 0, name),
                lambda got: near(got[1][0][rows], products),
            )  # fmt: skip
            del a, b, c, gathered, products
        torch.cuda.empty_cache()
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()

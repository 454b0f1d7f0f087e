"""The operators of collc.pytorch beside torch.distributed, on the GPUs of one machine: run by torchrun, with a folder of artifacts.

    torchrun --nproc-per-node 4 test/gpu/pytorch_ops.py FOLDER [torch|collc]

Prints `ok NAME` or `FAIL NAME: why` on rank 0. test/gpu/aot.mjs builds the folder and calls it.
"""

import os
import sys

import torch
import torch.distributed as dist

import collc.pytorch as coll

folder, memory = sys.argv[1], sys.argv[2] if len(sys.argv) > 2 else "torch"
torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
dist.init_process_group("nccl")
rank, world = dist.get_rank(), dist.get_world_size()
group = coll.Collectives(folder, capacity=64 << 20, memory=memory)
device = group.device
failed = 0


def report(name: str, problem: str) -> None:
    """Fails where any rank does."""
    global failed
    problems = [None] * world
    dist.all_gather_object(problems, problem)
    found = [f"rank {r}: {p}" for r, p in enumerate(problems) if p]
    failed += bool(found)
    if rank == 0:
        print(f"FAIL {name}: {'; '.join(found)}" if found else f"ok {name}", flush=True)


def differs(ours: torch.Tensor, theirs: torch.Tensor) -> str:
    torch.cuda.synchronize()
    group.check()
    return "" if torch.equal(ours, theirs) else f"{(ours != theirs).sum().item()} of {ours.numel()} elements differ"


def whole(*shape: int, dtype: torch.dtype, seed: int) -> torch.Tensor:
    """Small whole numbers, whose sums are exact in every dtype here."""
    made = torch.Generator(device="cpu").manual_seed(1000 * seed + rank)
    return torch.randint(-8, 9, shape, generator=made).to(dtype).to(device)


def gathered(x: torch.Tensor) -> torch.Tensor:
    y = x.new_empty((world * x.shape[0], *x.shape[1:]))
    dist.all_gather_into_tensor(y, x)
    return y


def scattered(x: torch.Tensor) -> torch.Tensor:
    y = x.new_empty((x.shape[0] // world, *x.shape[1:]))
    dist.reduce_scatter_tensor(y, x)
    return y


def reduced(x: torch.Tensor) -> torch.Tensor:
    y = x.clone()
    dist.all_reduce(y)
    return y


pairs = {"all_gather": (coll.all_gather, gathered), "reduce_scatter": (coll.reduce_scatter, scattered), "all_reduce": (coll.all_reduce, reduced)}
for dtype in (torch.float32, torch.bfloat16):
    for name, (ours, theirs) in pairs.items():
        for rows in (1, 33, 4096):
            x = whole(rows * world, 48, dtype=dtype, seed=rows)
            report(f"{name}, {dtype}, {rows * world}x48", differs(ours(x, group.name), theirs(x)))

for name, backward in (("all_gather", scattered), ("reduce_scatter", gathered), ("all_reduce", reduced)):
    ours = pairs[name][0]
    x = whole(8 * world, 16, dtype=torch.float32, seed=3).requires_grad_()
    y = ours(x, group.name)
    grad = whole(*y.shape, dtype=torch.float32, seed=4)
    (found,) = torch.autograd.grad(y, x, grad)
    report(f"gradient of {name}", differs(found, backward(grad)))

x = whole(64 * world, 16, dtype=torch.bfloat16, seed=5)
compiled = torch.compile(lambda t: coll.all_reduce(coll.all_gather(coll.reduce_scatter(t * 2, group.name), group.name), group.name) + 1, fullgraph=True)
report("torch.compile(fullgraph=True)", differs(compiled(x), reduced(gathered(scattered(x * 2))) + 1))

static = x.clone()
coll.all_reduce(static, group.name)
torch.cuda.synchronize()
graph = torch.cuda.CUDAGraph()
with torch.cuda.graph(graph):
    captured = coll.all_reduce(static, group.name)
for seed in range(3):
    x = whole(*static.shape, dtype=static.dtype, seed=10 + seed)
    static.copy_(x)
    graph.replay()
    report(f"a replayed graph, {seed + 1}", differs(captured, reduced(x)))

if memory == "torch":
    x = group.empty(1024, dtype=torch.float32)
    x.copy_(whole(1024, dtype=torch.float32, seed=20))
    report("a tensor in symmetric memory", differs(coll.all_reduce(x, group.name), reduced(x)))
    torch.library.opcheck(coll.all_reduce, (x, group.name), test_utils=("test_schema", "test_faketensor"))

group.close()
dist.destroy_process_group()
sys.exit(1 if failed else 0)

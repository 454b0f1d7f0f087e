"""
Operators of collc on PyTorch's tensors: values, gradients, torch.compile, and a CUDA graph.

    collc build kernels/all_gather.coll kernels/reduce_scatter.coll --ranks 2 --dtype bf16 --arch sm_90a -o out
    torchrun --nproc-per-node 2 examples/pytorch/eager.py out
"""

import os
import sys

import torch
import torch.distributed as dist

import collc.pytorch as coll


def main(folder: str) -> None:
    group = coll.Collectives(folder, capacity=1 << 24)
    x = torch.full((256, 64), float(group.rank + 1), dtype=torch.bfloat16, device=group.device, requires_grad=True)

    rows = coll.all_gather(x, group.name)  # [256 * ranks, 64]
    total = coll.reduce_scatter(rows * 2, group.name)  # this rank's rows of the sum
    total.sum().backward()  # gradients go back the other way
    assert x.grad is not None

    compiled = torch.compile(lambda t: coll.reduce_scatter(coll.all_gather(t, group.name) * 2, group.name), fullgraph=True)
    assert torch.equal(compiled(x), total)

    with torch.no_grad():
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            captured = coll.all_gather(x, group.name)
        graph.replay()
    torch.cuda.synchronize()
    assert torch.equal(captured, rows)
    group.check()  # no wait ran out
    print(f"rank {group.rank}: {tuple(rows.shape)}, {total[0, 0].item():g}, gradient {x.grad[0, 0].item():g}")
    group.close()


if __name__ == "__main__":
    torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
    dist.init_process_group("nccl")
    main(sys.argv[1])
    dist.destroy_process_group()

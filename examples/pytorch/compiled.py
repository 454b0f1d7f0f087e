"""
collc in torch.compile: one line turns it on, and a report says what became of each graph, and why.

    torchrun --nproc-per-node 2 examples/pytorch/compiled.py
"""

import os

import torch
import torch.distributed as dist
from llama_layer import LLAMA_8B, LlamaLayer

import collc


def main(device: str, dtype: torch.dtype, sizes: "dict[str, int]", tokens: int, **options: object) -> None:
    layer = LlamaLayer(dist.group.WORLD, **sizes, dtype=dtype, device=device)
    x = torch.randn(tokens // dist.get_world_size(), sizes["hidden"], device=device).to(dtype)

    with collc.enable(**options):  # or without `with`, for good
        compiled = torch.compile(layer, fullgraph=True, dynamic=False)
        with torch.no_grad():
            found, expected = compiled(x), layer(x)

    error = float((found - expected).abs().max() / expected.abs().max())
    print(f"rank {dist.get_rank()}: {'as' if error < 0.05 else 'NOT as'} without collc")
    if dist.get_rank() == 0:
        print(collc.report())


if __name__ == "__main__":
    local = int(os.environ["LOCAL_RANK"])
    torch.cuda.set_device(local)
    dist.init_process_group("nccl", device_id=torch.device("cuda", local))
    main("cuda", torch.bfloat16, LLAMA_8B, 2048)
    collc.check()
    dist.destroy_process_group()

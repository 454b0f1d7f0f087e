"""One layer of a Llama, tensor-parallel, its tokens cut among the ranks between the products (sequence parallel)."""

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch.distributed._functional_collectives import all_gather_tensor, reduce_scatter_tensor
from torch.distributed._functional_collectives import all_gather_tensor_autograd, reduce_scatter_tensor_autograd

import collc

#: Sizes of Llama 3 8B.
LLAMA_8B = {"hidden": 4096, "heads": 32, "key_heads": 8, "inner": 14336}


class LlamaLayer(torch.nn.Module):
    """
    x: [tokens / world, hidden], this rank's rows, to the same. Weights are this rank's columns, or rows, of the model's; norms have all.

    With PyTorch's functional collectives alone; `collc.replicated` says of the norms' weights that every rank has the same, and does nothing
    where collc is not enabled.
    """

    def __init__(self, group: dist.ProcessGroup, *, hidden: int, heads: int, key_heads: int, inner: int, dtype: torch.dtype, device: str) -> None:
        super().__init__()
        world = dist.get_world_size(group)
        self.group, self.width = group, hidden // heads

        def weight(*shape: int, seed: int) -> torch.nn.Parameter:
            made = torch.Generator().manual_seed(seed)
            return torch.nn.Parameter((torch.randn(*shape, generator=made) / shape[0] ** 0.5).to(dtype).to(device))

        rank = dist.get_rank(group)
        q, kv, f = hidden // world, key_heads * self.width // world, inner // world
        self.attention_norm = torch.nn.Parameter(torch.linspace(0.5, 1.5, hidden).to(dtype).to(device))
        self.mlp_norm = torch.nn.Parameter(torch.linspace(1.5, 0.5, hidden).to(dtype).to(device))
        self.q, self.k, self.v = (weight(hidden, n, seed=10 * rank + i) for i, n in enumerate((q, kv, kv)))
        self.o = weight(q, hidden, seed=10 * rank + 3)
        self.gate, self.up = (weight(hidden, f, seed=10 * rank + i) for i in (4, 5))
        self.down = weight(f, hidden, seed=10 * rank + 6)

    def gather(self, x: torch.Tensor) -> torch.Tensor:
        return (all_gather_tensor_autograd if torch.is_grad_enabled() else all_gather_tensor)(x, 0, self.group)

    def scatter(self, x: torch.Tensor) -> torch.Tensor:
        return (reduce_scatter_tensor_autograd if torch.is_grad_enabled() else reduce_scatter_tensor)(x, "sum", 0, self.group)

    def norm(self, x: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
        return F.rms_norm(x, (x.shape[-1],), collc.replicated(weight), 1e-5)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        tokens = self.gather(self.norm(x, self.attention_norm))
        q, k, v = ((tokens @ w).view(tokens.shape[0], -1, self.width).transpose(0, 1)[None] for w in (self.q, self.k, self.v))
        attended = F.scaled_dot_product_attention(q, k, v, is_causal=True, enable_gqa=True)
        x = x + self.scatter(attended[0].transpose(0, 1).reshape(tokens.shape[0], -1) @ self.o)
        tokens = self.gather(self.norm(x, self.mlp_norm))
        return x + self.scatter((F.silu(tokens @ self.gate) * (tokens @ self.up)) @ self.down)

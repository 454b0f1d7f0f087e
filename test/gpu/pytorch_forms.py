"""Single forms that collc's pass takes out of PyTorch's graphs, on GPUs: what a layer of a Llama has none of. Run by torchrun.

    torchrun --nproc-per-node 2 test/gpu/pytorch_forms.py [--only scaled] [--out FILE]

Each form is compiled with `collc.enable(take="all")` and held against itself uncompiled, thrice on other data, within what products of its dtype
allow. Prints a line a form, `ok NAME: PROGRAMS` or `FAIL NAME: why`; ends with 1 where one fails, or has no program.
"""

import argparse
import json
import os
import sys
from typing import Any, Callable, List

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch.distributed._functional_collectives import all_gather_tensor, all_reduce, reduce_scatter_tensor

import collc

arguments = argparse.ArgumentParser()
arguments.add_argument("--only", default="")
arguments.add_argument("--out", default="")
options = arguments.parse_args()

torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
dist.init_process_group("nccl", device_id=torch.device("cuda", int(os.environ["LOCAL_RANK"])))
rank, world, WORLD = dist.get_rank(), dist.get_world_size(), dist.group.WORLD
E4M3 = torch.float8_e4m3fn
failed = 0


def made(*shape: int, seed: int, scale: float = 1.0) -> torch.Tensor:
    """Other data on every rank, for every seed."""
    generator = torch.Generator("cuda").manual_seed(1000 * seed + rank)
    return (torch.randn(*shape, device="cuda", generator=generator) * scale).bfloat16()


def by_row(x: torch.Tensor) -> Any:
    """In 8 bits, and a scale for each row."""
    scale = x.float().abs().amax(1, keepdim=True).clamp(min=1e-4) / 448
    return (x.float() / scale).to(E4M3), scale


def scaled_gather(x: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
    rows, scale = by_row(x)
    weight, of = by_row(w)
    whole, scales = all_gather_tensor(rows.view(torch.uint8), 0, WORLD).view(E4M3), all_gather_tensor(scale, 0, WORLD)
    return torch._scaled_mm(whole, weight.t(), scales, of.t(), out_dtype=torch.bfloat16)


def scaled_scatter(x: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
    rows, scale = by_row(x)
    weight, of = by_row(w)
    return reduce_scatter_tensor(torch._scaled_mm(rows, weight.t(), scale, of.t(), out_dtype=torch.bfloat16), "sum", 0, WORLD)


def one_gather_for_three(x: torch.Tensor, q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> List[torch.Tensor]:
    rows = all_gather_tensor(x, 0, WORLD)
    return [rows @ q, rows @ k, rows @ v]


def gated(x: torch.Tensor, gate: torch.Tensor, up: torch.Tensor) -> torch.Tensor:
    rows = all_gather_tensor(x, 0, WORLD)
    return F.silu(rows @ gate) * (rows @ up)


def stacked(x: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
    return all_reduce((x @ w).relu().square(), "sum", WORLD)


def sums_of_one_loop(x: torch.Tensor) -> List[torch.Tensor]:
    y = all_reduce(x, "sum", WORLD).float()
    return [(y - y.mean(1, keepdim=True)) * torch.rsqrt(y.var(1, unbiased=False, keepdim=True) + 1e-5), y.abs().amax(1)]


def largest(x: torch.Tensor) -> torch.Tensor:
    # Zeros of both signs among them.
    return all_reduce(x.clamp(max=0).float(), "max", WORLD)


#: Name, form, and shapes of its inputs, the first of which is each rank's own data; the others are weights.
FORMS: List[Any] = [
    ("gathered rows in f8, scaled by row", scaled_gather, [(512, 2048), (1024, 2048)]),
    ("products in f8, scaled by row, scattered", scaled_scatter, [(1024, 2048), (1024, 2048)]),
    ("three products of one gather, 1024 rows", one_gather_for_three, [(1024 // world, 4096), (4096, 2048), (4096, 512), (4096, 512)]),
    ("a gated pair of products, 1024 rows", gated, [(1024 // world, 4096), (4096, 2048), (4096, 2048)]),
    ("products that are no summands before they are added up", stacked, [(256, 1024), (1024, 512)]),
    ("several sums in one loop of rows", sums_of_one_loop, [(384, 4096)]),
    ("the largest of zeros of both signs", largest, [(3, 10_001)]),
]


def tried(name: str, form: Callable[..., Any], shapes: List[Any]) -> str:
    torch._dynamo.reset()
    with collc.enable(take="all", measure=False), torch.no_grad():
        compiled = torch.compile(form, fullgraph=True, dynamic=False)
        for seed in range(3):
            tensors = [made(*shape, seed=100 * seed + i, scale=1.0 if i == 0 else shape[0] ** -0.5) for i, shape in enumerate(shapes)]
            eager, found = form(*tensors), compiled(*tensors)
            # Values are rounded where they are stored; PyTorch stores between operations, and a program in fewer places.
            # Therefore both are held against the same in float32. Of bf16 two roundings are allowed besides: Inductor's
            # quotients are approximate, and those that lie between two numbers of 8 bits go to another one than eager's.
            exact = form(*[tensor.float() for tensor in tensors])
            torch.cuda.synchronize()
            collc.check()
            for a, b, c in zip(*[each if isinstance(each, list) else [each] for each in (eager, found, exact)]):
                largest, ours, theirs = (float(each.float().abs().max()) for each in (c, b.float() - c.float(), a.float() - c.float()))
                if not ours <= theirs + largest * (2.0**-6 if a.dtype == torch.bfloat16 else 2.0**-9):
                    raise AssertionError(f"off by {ours:.3g}, eager by {theirs:.3g}, where {largest:.3g} is the largest, round {seed}")
                if torch.isnan(b).any():
                    raise AssertionError("NaN in the result")
        steps = [step for about in collc.report().graphs for step in about.steps if step.taken]
        left = [about.left for about in collc.report().graphs if about.left]
    if not steps:
        raise AssertionError(f"no program: {left or collc.report()}")
    return ", ".join(" + ".join(step.nodes) for step in steps)


for name, form, shapes in FORMS:
    if options.only not in name:
        continue
    try:
        said, ok = tried(name, form, shapes), True
    except Exception as error:  # noqa: BLE001 - every failure is a line
        said, ok = f"{type(error).__name__}: {error}", False
    told: List[Any] = [None] * world
    dist.all_gather_object(told, (ok, said))
    ok, said = all(o for o, _ in told), next((s for o, s in told if not o), told[0][1])
    failed += not ok
    if rank == 0:
        print(f"{'ok' if ok else 'FAIL'} {name}: {said[:1500]}".replace("\n", " / "), flush=True)
        if options.out:
            with open(options.out, "a") as file:
                file.write(json.dumps({"suite": "pytorch forms", "ranks": world, "name": name, "ok": ok, "said": said[:300]}) + "\n")
collc.release()
dist.destroy_process_group()
sys.exit(1 if failed else 0)

"""A Llama's layer on the GPUs of one machine: eagerly, compiled, with torch's async tensor parallelism, and with collc. Run by torchrun.

    torchrun --nproc-per-node 2 test/gpu/pytorch_layer.py --tokens 64,2048 --out FOLDER

Each way's results are held against a float32 layer, and its forward pass, and forward and backward, are timed as they are called and as a
replayed CUDA graph: medians of the slowest rank, in microseconds. Writes rows.jsonl, reports.txt, and the graphs that collc was given.
"""

import argparse
import json
import os
import sys
import traceback
from pathlib import Path
from typing import Any, Callable, Dict, List

import torch
import torch.distributed as dist

sys.path.insert(0, str(Path(__file__).parents[2] / "examples" / "pytorch"))
from llama_layer import LLAMA_8B, LlamaLayer  # noqa: E402

import collc  # noqa: E402

arguments = argparse.ArgumentParser()
arguments.add_argument("--tokens", default="64,2048")
arguments.add_argument("--ways", default="eager,compiled,collc,collc all,async tp")
arguments.add_argument("--directions", default="forward,both")
arguments.add_argument("--sizes", choices=("8b", "small"), default="8b")
arguments.add_argument("--rounds", type=int, default=50)
arguments.add_argument("--out", type=Path, default=Path("."))
options = arguments.parse_args()
options.out.mkdir(parents=True, exist_ok=True)

#: Small ones are for graphs that tests evaluate on a CPU.
SIZES = LLAMA_8B if options.sizes == "8b" else {"hidden": 64, "heads": 4, "key_heads": 2, "inner": 128}

torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
dist.init_process_group("nccl", device_id=torch.device("cuda", int(os.environ["LOCAL_RANK"])))
rank, world = dist.get_rank(), dist.get_world_size()
WORLD = dist.group.WORLD
failed = 0


def say(row: Dict[str, Any]) -> None:
    if rank == 0:
        with (options.out / "rows.jsonl").open("a") as file:
            file.write(json.dumps(row) + "\n")
        print(json.dumps(row), flush=True)


def everybody(value: Any) -> List[Any]:
    values: List[Any] = [None] * world
    dist.all_gather_object(values, value)
    return values


def microseconds(call: Callable[[], Any]) -> Dict[str, Any]:
    """Of each call in a row of them, by CUDA's events; ranks begin together."""
    for _ in range(5):
        call()
    events = [torch.cuda.Event(enable_timing=True) for _ in range(options.rounds + 1)]
    torch.cuda.synchronize()
    dist.barrier()
    torch.cuda.synchronize()
    events[0].record()
    for event in events[1:]:
        call()
        event.record()
    torch.cuda.synchronize()
    times = sorted(1e3 * a.elapsed_time(b) for a, b in zip(events, events[1:]))
    at = lambda q: round(times[int(q * (len(times) - 1))], 2)  # noqa: E731
    slowest = max(everybody([at(0.5), at(0.1), at(0.9)]))
    return {"median": slowest[0], "p10": slowest[1], "p90": slowest[2]}


def captured(call: Callable[[], Any]) -> torch.cuda.CUDAGraph:
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        for _ in range(3):
            call()
    torch.cuda.current_stream().wait_stream(side)
    torch.cuda.synchronize()
    dist.barrier()
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph, capture_error_mode="thread_local"):
        call()
    return graph


def layer(dtype: torch.dtype) -> LlamaLayer:
    return LlamaLayer(WORLD, **SIZES, dtype=dtype, device="cuda")


def run(module: Any, x: torch.Tensor, grad: torch.Tensor, parameters: List[torch.Tensor], direction: str) -> List[torch.Tensor]:
    """The layer's result, and gradients of its input and parameters."""
    if direction == "forward":
        with torch.no_grad():
            return [module(x)]
    y = module(x)
    return [y.detach(), *torch.autograd.grad(y, [x, *parameters], grad)]


def worst(found: List[torch.Tensor], expected: List[torch.Tensor]) -> List[float]:
    """Of each tensor, the largest error in units of the largest element."""
    return [float((a.float() - b).abs().max() / b.abs().max()) for a, b in zip(found, expected)]


def one(way: str, tokens: int, direction: str, expected: List[torch.Tensor], module: LlamaLayer, x: torch.Tensor, grad: torch.Tensor) -> None:
    torch._dynamo.reset()
    torch._inductor.config._micro_pipeline_tp = way == "async tp"
    enabled = None
    if way == "async tp":
        from torch.distributed._symmetric_memory import enable_symm_mem_for_group

        enable_symm_mem_for_group(WORLD.group_name)
    if way.startswith("collc"):
        enabled = collc.enable(take="all" if way == "collc all" else "faster")
    row: Dict[str, Any] = {"way": way, "tokens": tokens, "direction": direction, "ranks": world}
    try:
        called = module if way == "eager" else torch.compile(module, fullgraph=True, dynamic=False)
        parameters = list(module.parameters())
        call = lambda: run(called, x, grad, parameters, direction)  # noqa: E731
        found = call()
        torch.cuda.synchronize()
        errors = [max(each) for each in zip(*everybody(worst(found, expected)))]
        row["errors"] = [float(f"{e:.3g}") for e in errors]
        row["called"] = microseconds(call)
        say({**row, "stage": "called"})
        graph = captured(call)
        row["replayed"] = microseconds(graph.replay)
        if enabled is not None:
            collc.check()
        say({**row, "stage": "replayed"})
    finally:
        if enabled is not None:
            enabled.disable()
            told = collc.report()
            if rank == 0:
                with (options.out / "reports.txt").open("a") as file:
                    file.write(f"== {way}, {tokens} tokens, {direction}\n{told}\n")
                    for about in told.graphs:
                        file.write(f"measured {about.measured}\n{about.partition}\n")
                for i, about in enumerate(told.graphs):
                    if about.dumped:
                        kind = ("forward", "backward")[i] if direction == "both" else "inference"
                        name = f"fx-{kind}-{options.sizes}-{tokens}-w{world}.json"
                        (options.out / name).write_text(json.dumps(about.dumped))


for tokens in map(int, options.tokens.split(",")):
    made = torch.Generator().manual_seed(tokens + rank)
    own = (tokens // world, SIZES["hidden"])
    x = torch.randn(own, generator=made).to(torch.bfloat16).cuda().requires_grad_()
    grad = torch.randn(own, generator=made).to(torch.bfloat16).cuda()
    module = layer(torch.bfloat16)
    exact = layer(torch.float32)
    exact.load_state_dict({k: v.float() for k, v in module.state_dict().items()})
    wide = x.detach().float().requires_grad_()
    references = {d: [t.detach() for t in run(exact, wide, grad.float(), list(exact.parameters()), d)] for d in options.directions.split(",")}
    for direction in options.directions.split(","):
        for way in options.ways.split(","):
            try:
                one(way, tokens, direction, references[direction], module, x, grad)
            except Exception as error:
                failed += 1
                say({"way": way, "tokens": tokens, "direction": direction, "failed": f"{type(error).__name__}: {error}"[:1500]})
                if rank == 0:
                    traceback.print_exc()

torch._dynamo.reset()
collc.release()
dist.destroy_process_group()
sys.exit(1 if failed else 0)

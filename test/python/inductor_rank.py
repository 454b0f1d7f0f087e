"""
One rank of the tests of collc.inductor where PyTorch is, and no GPU: `inductor_rank.py RANK WORLD RUN_DIR CACHE`.

PyTorch, its compiler, and collc's compiler are real. Programs are carried out by evaluating the FX nodes that they stand for on what lies
at the addresses that they are launched with, over gloo: so the graph's surgery, copies and places in memory are what is tried.
"""

import contextlib
import ctypes
import io
import operator
import sys
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist
from torch.distributed._functional_collectives import (
    all_gather_into_tensor_coalesced,
    all_gather_tensor,
    all_reduce,
    all_reduce_coalesced,
    reduce_scatter_tensor,
    reduce_scatter_tensor_coalesced,
)

import collc
from collc import artifacts, inductor, partition, regions, torch_memory

sys.path.insert(0, str(Path(__file__).parents[2] / "examples" / "pytorch"))
import compiled as compiled_example  # noqa: E402
from llama_layer import LlamaLayer  # noqa: E402

rank, world, (run, cache) = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3:5]
dist.init_process_group("gloo", init_method=f"file://{run}/store", rank=rank, world_size=world)


def at(address: int, binding: Any, dims: Any) -> torch.Tensor:
    shape = torch.Size(artifacts.evaluate(extent, dims) for extent in binding.declared)
    memory = (ctypes.c_uint8 * (shape.numel() * binding.dtype.itemsize)).from_address(address)
    return torch.frombuffer(memory, dtype=binding.dtype).view(shape)


class Program:
    """Evaluates the nodes of the first step that runs it."""

    launches = 0
    #: How often room was made.
    grown = 0

    def __init__(self, name: str) -> None:
        self.name, self.fingerprint = name, name.encode()

    def load(self, gpu: Any, *, shapes: Any, **_: Any) -> "Program":
        made = Program(self.name)
        made.keep(shapes)
        return made

    def keep(self, shapes: Any) -> None:
        self.shapes = shapes
        # As large as what it is for.
        self.symmetric_bytes = 640 + 64 * max(sum(dims.values()) for dims in shapes)

    def reserve(self, shapes: Any) -> None:
        Program.grown += 1
        self.keep(shapes)

    def fits(self, dims: Any) -> bool:
        return any(all(dims[name] <= size for name, size in shape.items()) for shape in self.shapes)

    def attach(self, pointers: list[int]) -> None:
        assert len(pointers) == world

    def reset(self, stream: int) -> None:
        pass

    def close(self) -> None:
        pass

    def prepare(self, dims: Any, addresses: dict[str, Any]) -> "Program":
        assert self.fits(dims)
        made = Program(self.name)
        made.addresses, made.dims = addresses, dims
        return made

    def launch(self, stream: int) -> None:
        Program.launches += 1
        # Layers have programs of the same name: what was compiled last is what runs.
        dumped, step, region = next(
            (about.dumped, step, region)
            for about, region in zip(reversed(taken()), reversed(regions.regions.values()))
            for step in region.steps.values()
            if step.program == self.name and {b.name for b in (*step.inputs, *step.outputs)} == set(self.addresses)
        )
        # Of two steps that run it, sizes of either are those of the launch.
        sizes = next(region.named(sizes) for sizes, launch in step.launches.items() if launch.dims == self.dims)
        values = {}
        for binding in (*step.inputs, *step.outputs):
            where = self.addresses[binding.name]
            assert isinstance(where, list) == binding.symmetric
            value = at(where[rank] if binding.symmetric else where, binding, self.dims)
            order = binding.order
            values[binding.node] = value if order is None else value.permute([order.index(d) for d in range(len(order))])
        inputs = {b.node: values[b.node].clone() for b in step.inputs}
        for b in step.outputs:
            values[b.node].copy_(evaluate(dumped, b.node, step.nodes, inputs, sizes).view_as(values[b.node]))


def evaluate(dumped: Any, name: str, inside: tuple[str, ...], known: dict[str, Any], sizes: Any) -> Any:
    nodes = {node["name"]: node for node in dumped["nodes"]}

    def value(a: Any) -> Any:
        if isinstance(a, dict) and "size" in a:
            return artifacts.evaluate(a["size"], sizes)
        if isinstance(a, dict):
            return evaluate(dumped, a["node"], inside, known, sizes)
        if isinstance(a, list):
            return [value(each) for each in a]
        return getattr(torch, a[6:]) if isinstance(a, str) and a.startswith("torch.") else a

    if name not in known:
        node = nodes[name]
        args = list(map(value, node["args"]))
        if node["target"] == "getitem":
            known[name] = operator.getitem(*args)
        else:
            space, op, overload = node["target"].split(".")
            known[name] = getattr(getattr(getattr(torch.ops, space), op), overload)(*args)
            if space == "_c10d_functional":
                wait = torch.ops._c10d_functional.wait_tensor
                known[name] = list(map(wait, known[name])) if isinstance(known[name], list) else wait(known[name])
    found = known[name]
    if "shape" not in nodes[name]:
        return found
    shape = torch.Size(artifacts.evaluate(extent, sizes) for extent in nodes[name]["shape"])
    return found.view(shape) if found.numel() == shape.numel() and found.is_contiguous() else found


def taken() -> list[Any]:
    return [about for about in collc.report().graphs if about.left is None]


class Memory(torch_memory.TorchMemory):
    """Tensors of the CPU, of which every rank has its own at the address that it is asked for."""

    def __init__(self, group: Any, *, kind: str) -> None:
        self.group, self.rank, self.world, self.device = group, rank, world, torch.device("cpu")
        self.gpu = object()
        self._exchange, self._blocks = None, []

    def allocate(self, count: int) -> torch.Tensor:
        made = torch.zeros(count + 256, dtype=torch.uint8)
        made = made[-made.data_ptr() % 256 :][:count]
        self._blocks.append(torch_memory.Block((made.data_ptr(),) * world, count, made))
        return made


class Stream:
    cuda_stream = 0


inductor.TorchMemory = Memory
inductor._arch = lambda: "sm_90a"
regions.open_artifacts = lambda folder: type("All", (), {"programs": [Program(p.name) for p in collc.open(folder).programs]})()
torch.cuda.current_stream = lambda device=None, only=Stream(): only
torch.cuda.is_current_stream_capturing = lambda: False
torch.cuda.synchronize = lambda device=None: None
torch.cuda.get_device_name = lambda device=None: "NVIDIA H200"

SIZES = {"hidden": 64, "heads": 4, "key_heads": 2, "inner": 128, "dtype": torch.float32, "device": "cpu"}


def tried(what: str, module: torch.nn.Module, *, grad: bool, programs: int, left: str = "", rounds: int = 3, **options: Any) -> None:
    """Compiled with collc, and eagerly: the same, in each round; and the report has so many programs, or says why there are none."""
    torch._dynamo.reset()
    with collc.enable(**{"cache": cache, "measure": False, "machine": "h200x4", **options}):
        compiled = torch.compile(module, fullgraph=True, dynamic=False)
        kept = []
        for round in range(rounds):
            x = torch.randn(32 // world, 64, generator=torch.Generator().manual_seed(7 * rank + round)).requires_grad_(grad)
            results = []
            for run_it in (module, compiled):
                x.grad = None
                module.zero_grad()
                with torch.set_grad_enabled(grad):
                    y = run_it(x)
                if grad:
                    (y * torch.arange(64)).sum().backward()
                found = [y.detach(), *([x.grad, *(p.grad for p in module.parameters())] if grad else [])]
                results.append([each.clone() for each in found])
            kept.append((found[0], results[1][0]))
            for expected, got in zip(*results):
                torch.testing.assert_close(got, expected, rtol=2e-4, atol=2e-4 * float(expected.abs().max()))
        # Results of earlier rounds are not what later rounds have written.
        assert all(torch.equal(*pair) for pair in kept)
    graphs = collc.report().graphs
    count = sum(step.taken for about in graphs if about.left is None for step in about.steps)
    assert count == programs, f"{count} programs\n{collc.report()}"
    assert all(left in (about.left or "") for about in graphs) and len(graphs) > 0, str(collc.report())
    print(what, flush=True)


def layers(count: int) -> torch.nn.Module:
    return torch.nn.Sequential(*(LlamaLayer(dist.group.WORLD, **SIZES) for _ in range(count)))


class Rows(torch.nn.Module):
    """Conversions and what is around them, on as many rows as there are."""

    def __init__(self, cut: bool) -> None:
        super().__init__()
        self.cut = cut
        self.weight = torch.nn.Parameter(torch.randn(64, 64, generator=torch.Generator().manual_seed(5)) / 8)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        rows = all_gather_tensor(x.relu(), 0, dist.group.WORLD) @ self.weight
        mine = reduce_scatter_tensor(rows, "sum", 0, dist.group.WORLD) + x
        total = all_reduce(mine * 2, "sum", dist.group.WORLD)
        return torch.cat([mine, (total[: x.shape[0] // 2] if self.cut else total).tanh()], 0)


def tried_sizes(what: str, module: torch.nn.Module, sizes: list[int], *, left: tuple[int, ...] = (), mark: bool = False, grad: bool = False, **options: Any) -> None:
    """Compiled once for all sizes, and as it is eagerly at each; of the sizes in `left` programs are not for, and the report says so."""
    torch._dynamo.reset()
    before = set(Path(cache, "regions").glob("*"))
    with collc.enable(**{"cache": cache, "measure": False, "machine": "h200x4", "take": "all", **options}):
        compiled = torch.compile(module, fullgraph=True, dynamic=None if mark else True)
        for size in sizes:
            x = torch.randn(size, 64, generator=torch.Generator().manual_seed(7 * rank + size)).requires_grad_(grad)
            if mark:
                torch._dynamo.mark_dynamic(x, 0, min=2, max=512)
            launches = Program.launches
            with torch.set_grad_enabled(grad):
                results = []
                for run_it in (module, compiled):
                    x.grad = None
                    y = run_it(x)
                    if grad:
                        y.square().sum().backward()
                    results.append([y.detach().clone(), *([x.grad.clone()] if grad else [])])
            for expected, got in zip(*results):
                torch.testing.assert_close(got, expected, rtol=2e-4, atol=2e-4 * float(expected.abs().max()))
            assert (Program.launches == launches) == (size in left), f"{Program.launches - launches} launches at {size}\n{collc.report()}"
    graphs = collc.report().graphs
    assert len(graphs) == (2 if grad else 1) and all(about.left is None for about in graphs), str(collc.report())
    # One folder for each graph, whatever the size.
    made = set(Path(cache, "regions").glob("*")) - before
    assert rank != 0 or len(made) <= len(graphs), made
    lines = str(collc.report()).count("  as without collc, ")
    assert lines == len(left) * len(graphs), str(collc.report())
    print(what, flush=True)


class Eights(partition.Partition):
    """Asks for more than torch's own guards do."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        for step in self.steps:
            step.guards = [*step.guards, {"left": {"op": "mod", "a": "n0", "b": 8}, "relation": "eq", "right": 0, "reason": "it goes by eights"}]


class Lists(torch.nn.Module):
    """Tensors that are exchanged together, as buckets of weights and of gradients are; one of them is a result itself."""

    def __init__(self) -> None:
        super().__init__()
        self.weight = torch.nn.Parameter(torch.randn(64 // world, 64, generator=torch.Generator().manual_seed(rank)) / 8)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        rows, weight = all_gather_into_tensor_coalesced([x.relu(), self.weight], dist.group.WORLD)
        mine, half = reduce_scatter_tensor_coalesced([rows @ weight, rows * 0.5], "sum", [0, 0], dist.group.WORLD)
        both, most = all_reduce_coalesced([mine + half, x.sin()], "sum", dist.group.WORLD)
        return torch.cat([torch.nn.functional.gelu(both), most, mine], 0)


class Sums(torch.nn.Module):
    """Folds of what is added up, with and without the dimension that they fold."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = all_reduce(x, "sum", dist.group.WORLD)
        return (y - y.mean(1, keepdim=True)) * y.abs().amax(1)[:, None] + y.sum(0)


class Different(torch.nn.Module):
    """Each rank's graph has another number in it."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return all_reduce(x * (rank + 1.5), "sum", dist.group.WORLD)


if __name__ == "__main__":
    tried("a layer", layers(1), grad=False, programs=4, take="all")
    tried("its gradients", layers(1), grad=True, programs=8, take="all")
    launched = Program.launches
    # Three of the four sums are no faster as programs of their own, what copies take counted.
    tried("two layers, what is faster", layers(2), grad=False, programs=5, rounds=2)
    assert Program.launches == launched + 10
    grown = Program.grown
    tried_sizes("sizes", Rows(True), [8, 12, 6, 4, 64, 100])
    assert Program.grown > grown
    tried_sizes("sizes within limits, and their gradients", Rows(False), [8, 16, 4], mark=True, grad=True)
    tried_sizes("sizes that there is no room for", Rows(True), [8, 300, 16], left=(300,), most_bytes=200_000)
    inductor.Partition = Eights
    tried_sizes("sizes that programs are not for", Rows(True), [8, 12, 16, 20, 24], left=(12, 20))
    tried_sizes("lists of tensors that programs are not for", Lists(), [8, 12, 16], left=(12,))
    inductor.Partition = partition.Partition
    tried_sizes("a layer of as many tokens as there are", layers(1), [16, 24, 8])
    tried("without a compiler", layers(1), grad=True, programs=0, left="/nowhere does not start", rounds=1, command=["/nowhere"])
    tried("tensors that are exchanged together", Lists(), grad=False, programs=3, take="all")
    tried("folds without their dimension", Sums(), grad=False, programs=1, take="all")
    tried("ranks that differ", Different(), grad=False, programs=0, left="rank 1 has another graph than rank 0", rounds=1)

    # What is not enabled is Inductor's alone, and what is enabled twice says so.
    with collc.enable(cache=cache):
        try:
            collc.enable()
            raise SystemExit("enabled twice")
        except collc.CollcError as error:
            assert "disable it first" in str(error)
    torch._dynamo.reset()
    with torch.no_grad():
        torch.compile(layers(1), fullgraph=True)(torch.ones(32 // world, 64))
    assert collc.report().graphs == () and "no graph" in str(collc.report())
    print("off again", flush=True)

    # The example, with this layer.
    said = io.StringIO()
    with contextlib.redirect_stdout(said):
        dtype, sizes = SIZES["dtype"], {k: v for k, v in SIZES.items() if k not in ("dtype", "device")}
        torch._dynamo.reset()
        compiled_example.main("cpu", dtype, sizes, 32, cache=cache, measure=False, machine="h200x4")
    assert said.getvalue().startswith(f"rank {rank}: as without collc\n"), said.getvalue()
    assert ("3 of 4 programs taken" in said.getvalue()) == (rank == 0), said.getvalue()
    print("the example", flush=True)

    collc.release()
    assert not regions.regions and not inductor._memories
    dist.destroy_process_group()

"""
One rank of the tests of collc.pytorch where PyTorch is, and no GPU: `torch_rank.py RANK WORLD RUN_DIR ARTIFACTS LIBCUDA`.

PyTorch is real: its dispatcher, autograd, fake tensors and compiler. The fake driver's device memory is host memory, so that CPU tensors
stand for CUDA's. It adds up for all_reduce; of the others the shapes are looked at.
"""

import ctypes
import dataclasses
import sys
from typing import Any

import torch
import torch.distributed as dist

import collc
import collc.pytorch as coll
from collc import torch_memory
from collc.gpu import Driver

rank, world, (run, folder, libcuda) = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3:6]
gpu = collc.Gpu(rank, driver=Driver(libcuda))


class Stream:
    cuda_stream = gpu.stream

    def wait_event(self, event: Any) -> None:
        pass


class Event:
    def record(self, stream: Stream) -> None:
        pass


class Cuda:
    Event = Event
    _stream = Stream()

    @staticmethod
    def current_device() -> int:
        return rank

    @staticmethod
    def current_stream(device: Any) -> Stream:
        return Cuda._stream

    @staticmethod
    def is_current_stream_capturing() -> bool:
        return False

    @staticmethod
    def synchronize(device: Any) -> None:
        gpu.synchronize()


class TorchOnFake:
    """torch, but for what asks for CUDA."""

    cuda = Cuda

    def __getattr__(self, name: str) -> Any:
        return getattr(torch, name)

    @staticmethod
    def device(*where: Any) -> torch.device:
        return torch.device("cpu")

    @staticmethod
    def as_tensor(memory: Any, device: Any) -> torch.Tensor:
        about = memory.__cuda_array_interface__
        return torch.frombuffer((ctypes.c_uint8 * about["shape"][0]).from_address(about["data"][0]), dtype=torch.uint8)


class Collectives(coll.Collectives):
    """Every tensor is staged, for the fake driver reaches no memory of PyTorch's; and launches are waited for, as streams would be."""

    def _program(self, path: str, dtype: torch.dtype) -> Any:
        is_new = (path, coll.DTYPES.get(dtype)) not in self._loaded
        loaded = super()._program(path, dtype)
        if is_new:
            tensors = loaded.program.tensors
            loaded.program.tensors = {n: dataclasses.replace(t, is_symmetric=True) for n, t in tensors.items()}
            launch = loaded.launch

            def launch_and_wait(*given: Any, **options: Any) -> None:
                launch(*given, **options)
                gpu.synchronize()

            loaded.launch = launch_and_wait
        return loaded


for module in (coll, torch_memory):
    module.torch = TorchOnFake()  # type: ignore[attr-defined]
torch_memory.Gpu = lambda device: gpu  # type: ignore[assignment, misc]
dist.init_process_group("gloo", init_method=f"file://{run}/store", rank=rank, world_size=world)
group = Collectives(folder, capacity=1 << 16, memory="collc", max_blocks=16)
name = group.name


def values(of: int, *shape: int) -> torch.Tensor:
    generator = torch.Generator().manual_seed(of)
    return torch.randint(-8, 9, shape, generator=generator).to(torch.float32)


def summed(*shape: int, seed: int = 0) -> torch.Tensor:
    return sum((values(seed + r, *shape) for r in range(world)), torch.zeros(shape))


def same(what: str, ours: torch.Tensor, theirs: torch.Tensor) -> None:
    group.check()
    assert torch.equal(ours, theirs), f"{what}: {ours} is not {theirs}"
    print(what)


x = values(rank, 4 * world, 5)
same("eager", coll.all_reduce(x, name), summed(4 * world, 5))
same("not contiguous", coll.all_reduce(x.t(), name), summed(4 * world, 5).t())

y = x.clone().requires_grad_()
grad = values(100 + rank, 4 * world, 5)
(found,) = torch.autograd.grad(coll.all_reduce(y, name), y, grad)
same("gradient", found, summed(4 * world, 5, seed=100))

for op, rows, back in ((coll.all_gather, 4 * world * world, 4 * world), (coll.reduce_scatter, 4, 4 * world)):
    out = op(y, name)
    assert out.shape == (rows, 5), out.shape
    (found,) = torch.autograd.grad(out, y, torch.ones_like(out))
    assert found.shape == (back, 5), found.shape
print("shapes and gradients' shapes")

compiled = torch.compile(lambda t: coll.all_reduce(t * 2, name) + 1, fullgraph=True, backend="aot_eager")
same("compiled, fullgraph", compiled(x), summed(4 * world, 5) * 2 + 1)
chain = torch.compile(lambda t: coll.all_gather(coll.reduce_scatter(t, name), name), fullgraph=True, backend="aot_eager")
assert chain(x).shape == x.shape
tests = ("test_schema", "test_autograd_registration", "test_faketensor", "test_aot_dispatch_static")
torch.library.opcheck(coll.all_reduce, (y, name), test_utils=tests)
print("opcheck")

for wrong, message in (
    (lambda: coll.all_reduce(torch.zeros(1 << 15), name), "more than the capacity"),
    (lambda: coll.all_reduce(torch.zeros(8, dtype=torch.float64), name), "no dtype for torch.float64"),
    (lambda: coll.all_reduce(x, "nobody"), "no Collectives called 'nobody'"),
    (lambda: coll.reduce_scatter(torch.zeros(2 * world + 1), name), "does not divide by"),
):
    try:
        wrong()
        raise SystemExit(f"refuses nothing: {message}")
    except (collc.CollcError, RuntimeError) as error:
        assert message in str(error), error
print("refusals")

group.recover()
same("after recovery", coll.all_reduce(x, name), summed(4 * world, 5))
group.close()
dist.destroy_process_group()

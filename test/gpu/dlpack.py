"""One rank of the DLPack cases on GPUs: `dlpack.py RANK WORLD RUN_DIR ARTIFACTS`. Prints a line a case, `ok NAME` or `FAIL NAME: why`.

Other libraries' tensors go into a program as they lie, and symmetric memory goes to the libraries as theirs. A library that is
not installed is left out, and named.
"""

import array
import gc
import sys
from typing import Any, Callable

import collc

rank, world, run, folder = int(sys.argv[1]), int(sys.argv[2]), *sys.argv[3:5]
n = 40_003


class OfTorch:
    def __init__(self) -> None:
        import torch

        torch.cuda.set_device(rank)
        self.torch = torch

    def make(self) -> Any:
        return self.torch.arange(n, device="cuda", dtype=self.torch.float32) % 97 + rank

    def take(self, given: Any) -> Any:
        return self.torch.from_dlpack(given)

    def write(self, tensor: Any) -> None:
        tensor.copy_(self.make())

    def is_sum(self, tensor: Any) -> bool:
        i = self.torch.arange(n, device="cuda", dtype=self.torch.float32)
        return bool((tensor == i % 97 * world + world * (world - 1) / 2).all())


class OfCupy:
    def __init__(self) -> None:
        import cupy

        cupy.cuda.Device(rank).use()
        self.cupy = cupy

    def make(self) -> Any:
        return self.cupy.arange(n, dtype=self.cupy.float32) % 97 + rank

    def take(self, given: Any) -> Any:
        return self.cupy.from_dlpack(given)

    def write(self, tensor: Any) -> None:
        tensor[...] = self.make()

    def is_sum(self, tensor: Any) -> bool:
        return bool((tensor == self.cupy.arange(n, dtype=self.cupy.float32) % 97 * world + world * (world - 1) / 2).all())


class OfJax:
    def __init__(self) -> None:
        import jax

        self.jax, self.device = jax, jax.local_devices(backend="gpu")[rank]

    def make(self) -> Any:
        with self.jax.default_device(self.device):
            return (self.jax.numpy.arange(n, dtype="float32") % 97 + rank).block_until_ready()

    def take(self, given: Any) -> Any:
        return self.jax.dlpack.from_dlpack(given)

    # JAX's arrays are never written to.
    write = None

    def is_sum(self, tensor: Any) -> bool:
        with self.jax.default_device(self.device):
            return bool((tensor == self.jax.numpy.arange(n, dtype="float32") % 97 * world + world * (world - 1) / 2).all())


def case(name: str, work: Callable[[], bool]) -> None:
    try:
        print(f"ok {name}" if work() else f"FAIL {name}: wrong result", flush=True)
    except Exception as error:  # noqa: BLE001 - every failure is a line
        print(f"FAIL {name}: {type(error).__name__}: {error}".replace("\n", " "), flush=True)


program = collc.open(folder).find("all_reduce/one_shot", ranks=world, dtypes={"T": "f32"})
with collc.Exchange(rank, world, run) as ranks:
    gpu = collc.Gpu(rank)
    x, y = (collc.SymmetricMemory(gpu, ranks, 4 * n) for _ in range(2))
    loaded = program.load(gpu, rank=rank, shapes=[{"n": n}], timeout=20.0)
    workspace = collc.connect(loaded, ranks)
    # Which of a program's tensors peers reach is the manifest's to say.
    symmetric = {buffer.name for kernel in program.targets[0].kernels for buffer in kernel.buffers if buffer.symmetric}

    def launch(mine: collc.DeviceTensor, out: collc.DeviceTensor) -> None:
        gpu.synchronize()
        ranks.meet()
        loaded.launch({"n": n}, {"x": mine, "y": out})
        gpu.synchronize()
        loaded.check()
        ranks.meet()

    for name, library in (("PyTorch", OfTorch), ("CuPy", OfCupy), ("JAX", OfJax)):
        try:
            other = library()
        except ImportError:
            print(f"left out: {name} is not installed", flush=True)
            continue

        def given() -> bool:
            """The program reads what the library wrote, its own tensor where peers do not read it, and writes into the library's."""
            mine = other.make()
            if "x" in symmetric:
                mine = x.tensor((n,), "f32")
                other.write(other.take(mine))
            out = other.make()
            launch(mine if "x" in symmetric else collc.from_dlpack(mine), collc.from_dlpack(out))
            return other.is_sum(out)

        def taken() -> bool:
            """The library reads what the program wrote to symmetric memory, for as long as it has the tensor."""
            x.write(array.array("f", [float(i % 97 + rank) for i in range(n)]))
            y.write(array.array("f", [0.0] * n))
            launch(x.tensor((n,), "f32"), y.tensor((n,), "f32"))
            held = other.take(y.tensor((n,), "f32"))
            gc.collect()
            return other.is_sum(held)

        if other.write is not None:
            case(f"{name}: its tensors go through a program", given)
        case(f"{name}: reads symmetric memory", taken)
    loaded.close()
    for memory in (workspace, y, x):
        if memory is not None:
            memory.close()

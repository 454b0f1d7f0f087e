"""
Collectives on PyTorch's tensors: differentiable custom operators over programs that collc has compiled ahead of time.

They have run with PyTorch 2.11 on 2 and 4 GPUs (test/gpu/pytorch_ops.py), on torch's symmetric memory and on collc's.
"""

# No postponed annotations here: custom_op reads them.
from typing import Any, Dict, List, Optional, Tuple

from .artifacts import open as open_artifacts
from .errors import CollcError, RequirementError
from .launch import LoadedProgram
from .torch_memory import TORCH_DTYPES, TorchMemory

import torch  # noqa: E402 - torch_memory says what is missing where there is none
import torch.distributed as dist  # noqa: E402

DTYPES: Dict[torch.dtype, str] = {dtype: name for name, dtype in TORCH_DTYPES.items()}

_groups: Dict[str, "Collectives"] = {}


class Collectives:
    """
    The programs of a folder on the ranks of a process group, for the operators of this module, which name it.

    All ranks make it, and call its operators, in the same order. Launches go to the current stream and are ordered after each other, also
    across streams. The first call of an operator for a dtype loads its program, which is collective and not for captures: call it once
    before you capture.
    """

    def __init__(
        self,
        folder: str,
        *,
        capacity: int,
        group: Optional[dist.ProcessGroup] = None,
        name: Optional[str] = None,
        memory: str = "torch",
        timeout: float = 10.0,
        max_blocks: int = 0,
    ) -> None:
        """
        `capacity`: bytes of the largest whole tensor: what all_gather returns, and the others are given. `memory`: "torch" for
        torch.distributed's symmetric memory, "collc" for collc's own, among processes of one machine. `timeout` and `max_blocks`: as
        `Program.load` has them.
        """
        self.artifacts = open_artifacts(folder)
        self.memory = TorchMemory(group, kind=memory)
        self.group, self.device = self.memory.group, self.memory.device
        self.rank, self.world = self.memory.rank, self.memory.world
        self.name = name if name is not None else f"collc{len(_groups)}"
        if self.name in _groups:
            raise ValueError(f"there are Collectives called {self.name!r} already")
        self.capacity = -(-capacity // 256) * 256
        self._timeout, self._max_blocks = timeout, max_blocks
        self._loaded: Dict[Tuple[str, str], LoadedProgram] = {}
        self._last: Optional[torch.cuda.Stream] = None
        self._done = torch.cuda.Event()  # type: ignore[no-untyped-call]
        # Where tensors that are not symmetric themselves are copied to, and from.
        self._staged_in = self.memory.allocate(self.capacity)
        self._staged_out = self.memory.allocate(self.capacity)
        _groups[self.name] = self

    def register(self, tensor: torch.Tensor) -> None:
        """
        Makes a tensor of torch's symmetric memory known, so that operators reach its peers without a copy. Collective.

        Raises RequirementError for another tensor.
        """
        self.memory.register(tensor)

    def empty(self, *size: int, dtype: torch.dtype) -> torch.Tensor:
        """A tensor in symmetric memory that operators need not copy. Collective."""
        return self.memory.empty(*size, dtype=dtype)

    def _program(self, path: str, dtype: torch.dtype) -> LoadedProgram:
        key = (path, DTYPES.get(dtype, ""))
        loaded = self._loaded.get(key)
        if loaded is not None:
            return loaded
        if key[1] == "":
            raise RequirementError(f"collc has no dtype for {dtype}")
        if torch.cuda.is_current_stream_capturing():
            raise CollcError(f"{path} of {key[1]} is not loaded yet, which no capture survives: call it once before")
        program = self.artifacts.find(path, ranks=self.world, dtypes={"T": key[1]})
        if len(program.dims) != 1 or program.numbers:
            raise RequirementError(f"{program.name} is no collective over one dimension")
        # A length that every rank's part divides.
        most = self.capacity // dtype.itemsize // self.world * self.world
        loaded = program.load(
            self.memory.gpu,
            rank=self.rank,
            shapes=[{program.dims[0]: most}],
            timeout=self._timeout,
            max_blocks=self._max_blocks,
        )
        everybody: List[Any] = [None] * self.world
        dist.all_gather_object(everybody, loaded.fingerprint, group=self.group)
        if any(fingerprint != loaded.fingerprint for fingerprint in everybody):
            raise CollcError("the ranks have different artifacts, GPUs or capacities")
        if loaded.symmetric_bytes > 0:
            workspace = self.memory.pointers(self.memory.allocate(loaded.symmetric_bytes))
            assert workspace is not None
            loaded.attach(workspace)
        else:
            loaded.attach([])
        loaded.reset(torch.cuda.current_stream(self.device).cuda_stream)
        dist.barrier(self.group)
        self._loaded[key] = loaded
        return loaded

    def run(self, path: str, n: int, x: torch.Tensor, y: torch.Tensor) -> None:
        """
        Enqueues a program of one input and one output over one dimension, of length `n`, on the current stream. Tensors are contiguous;
        those that must be symmetric and are not are copied, which `capacity` bounds.
        """
        if x.device != self.device or y.device != self.device:
            raise RequirementError(f"tensors are on {x.device} and {y.device}, and {self.name} is on {self.device}")
        loaded = self._program(path, x.dtype)
        stream = torch.cuda.current_stream(self.device)
        capturing = torch.cuda.is_current_stream_capturing()
        if self._last is not None and self._last != stream and not capturing:
            stream.wait_event(self._done)
        given: Dict[str, Any] = {}
        copy_out: Optional[torch.Tensor] = None
        for name, tensor in loaded.program.tensors.items():
            actual = y if tensor.is_output else x
            pointers = self.memory.pointers(actual)
            if pointers is None and tensor.is_symmetric:
                staging = self._staged_out if tensor.is_output else self._staged_in
                count = actual.numel() * actual.element_size()
                if count > self.capacity:
                    raise RequirementError(f"{count} bytes are more than the capacity of {self.name}, {self.capacity}")
                staged = staging[:count].view(actual.dtype).view(actual.shape)
                if tensor.is_output:
                    copy_out = staged
                else:
                    staged.copy_(actual)
                pointers = self.memory.pointers(staged)
            given[name] = pointers if pointers is not None else actual.data_ptr()
        loaded.launch({loaded.program.dims[0]: n}, given, stream=stream.cuda_stream)
        if copy_out is not None:
            y.copy_(copy_out)
        if not capturing:
            self._done.record(stream)
            self._last = stream

    def check(self) -> None:
        """Raises WaitTimeout if a wait has run out. Synchronise first."""
        for loaded in self._loaded.values():
            loaded.check()

    def recover(self) -> None:
        """After a WaitTimeout on any rank, on all ranks: waits for the GPU, and begins anew."""
        torch.cuda.synchronize(self.device)
        dist.barrier(self.group)
        for loaded in self._loaded.values():
            loaded.reset(torch.cuda.current_stream(self.device).cuda_stream)
        dist.barrier(self.group)

    def close(self) -> None:
        """Frees programs and memory. Collective."""
        torch.cuda.synchronize(self.device)
        for loaded in self._loaded.values():
            loaded.close()
        self._loaded = {}
        self.memory.close()
        _groups.pop(self.name, None)


def _named(name: str) -> Collectives:
    if name not in _groups:
        raise CollcError(f"there are no Collectives called {name!r}: make them before the operators")
    return _groups[name]


def _gathered(x: torch.Tensor, world: int) -> torch.Tensor:
    return x.new_empty((x.shape[0] * world, *x.shape[1:]))


def _scattered(x: torch.Tensor, world: int) -> torch.Tensor:
    torch._check(  # type: ignore[no-untyped-call]
        x.shape[0] % world == 0, lambda: f"dimension 0, of length {x.shape[0]}, does not divide by {world} ranks"
    )
    return x.new_empty((x.shape[0] // world, *x.shape[1:]))


@torch.library.custom_op("collc::all_gather", mutates_args=())
def all_gather(x: torch.Tensor, group: str) -> torch.Tensor:
    """All ranks' tensors, one behind the other along dimension 0. Its gradient is the reduce-scattered gradient."""
    at = _named(group)
    y = _gathered(x, at.world)
    at.run("all_gather", y.numel(), x.contiguous(), y)
    return y


@all_gather.register_fake
def _(x: torch.Tensor, group: str) -> torch.Tensor:
    return _gathered(x, _named(group).world)


@torch.library.custom_op("collc::reduce_scatter", mutates_args=())
def reduce_scatter(x: torch.Tensor, group: str) -> torch.Tensor:
    """This rank's slice, along dimension 0, of the sum of all ranks' tensors. Its gradient is the gathered gradient."""
    at = _named(group)
    y = _scattered(x, at.world)
    at.run("reduce_scatter", x.numel(), x.contiguous(), y)
    return y


@reduce_scatter.register_fake
def _(x: torch.Tensor, group: str) -> torch.Tensor:
    return _scattered(x, _named(group).world)


@torch.library.custom_op("collc::all_reduce", mutates_args=())
def all_reduce(x: torch.Tensor, group: str) -> torch.Tensor:
    """The sum of all ranks' tensors. Its gradient is the sum of all ranks' gradients, as in torch.distributed.nn."""
    y = x.new_empty(x.shape)
    _named(group).run("all_reduce", x.numel(), x.contiguous(), y)
    return y


@all_reduce.register_fake
def _(x: torch.Tensor, group: str) -> torch.Tensor:
    return x.new_empty(x.shape)


def _keep_group(ctx: Any, inputs: Tuple[Any, ...], output: torch.Tensor) -> None:
    ctx.group = inputs[1]


all_gather.register_autograd(lambda ctx, grad: (reduce_scatter(grad, ctx.group), None), setup_context=_keep_group)
reduce_scatter.register_autograd(lambda ctx, grad: (all_gather(grad, ctx.group), None), setup_context=_keep_group)
all_reduce.register_autograd(lambda ctx, grad: (all_reduce(grad, ctx.group), None), setup_context=_keep_group)

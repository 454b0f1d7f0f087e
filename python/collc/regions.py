"""
What `collc lower --build` has made of an FX graph, on the ranks of a process group: programs with their memory, and the operators that
stand for them in the graph.

    collc::region(Tensor[] inputs, str key, int step) -> Tensor[]       a program
    collc::product_into(Tensor? bias, Tensor a, Tensor b, str key, int slot) -> Tensor    a product that lies where peers reach it
    collc::replicated(Tensor x) -> Tensor                               x, of which the caller says that every rank has the same
"""

import hashlib
import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Dict, List, Mapping, Optional, Sequence, Tuple

from .artifacts import open as open_artifacts
from .errors import CollcError, FileError
from .launch import LoadedProgram, Prepared
from .torch_memory import TORCH_DTYPES, TorchMemory

import torch  # noqa: E402 - torch_memory says what is missing where there is none

_GRAIN = 256
_MOST_PREPARED = 32


@dataclass(frozen=True)
class Slot:
    """A place in the region's symmetric memory for one tensor; `offset` is the same on every rank."""

    #: Of the memory that steps share, one after the other, or of that behind it, where each tensor has its own.
    shared: bool
    offset: int
    shape: Tuple[int, ...]
    dtype: torch.dtype


@dataclass
class Binding:
    """A parameter of a step's program, and the FX node that it is."""

    name: str
    node: str
    shape: Tuple[int, ...]
    dtype: torch.dtype
    symmetric: bool
    #: Where it is put if it does not lie in symmetric memory; of an output, where peers store it.
    slot: Optional[Slot] = None
    #: Of an output with a slot: it stays there until the graph runs again. Else it is copied out.
    stays: bool = False
    #: The slot's memory, once there is some.
    place: Optional[torch.Tensor] = None

    @property
    def bytes(self) -> int:
        count = self.dtype.itemsize
        for extent in self.shape:
            count *= extent
        return count


@dataclass
class Step:
    """A program in its place."""

    index: int
    program: str
    nodes: Tuple[str, ...]
    inputs: List[Binding]
    outputs: List[Binding]
    seconds: float
    """Predicted."""
    baseline: float
    """The caller's own way: measured where it was, else predicted."""
    loaded: Optional[LoadedProgram] = None
    prepared: Dict[Tuple[int, ...], Prepared] = field(default_factory=dict)


def _binding(about: Mapping[str, Any]) -> Binding:
    dtype = TORCH_DTYPES.get(about["dtype"])
    if dtype is None:
        raise FileError(f"torch has no dtype for {about['dtype']}, which '{about['tensor']}' is of")
    return Binding(about["name"], about["tensor"], tuple(about["shape"]), dtype, about["isSymmetric"])


class Partition:
    """`partition.json` of a folder."""

    def __init__(self, folder: Path) -> None:
        """Raises FileError for what is no partition."""
        self.folder = folder
        try:
            text = (folder / "partition.json").read_bytes()
            about = json.loads(text)
            self.report: str = about["report"]
            #: Seconds by node that it was made with.
            self.measured: Dict[str, float] = json.loads((folder / "measured.json").read_bytes())
            self._copy_start, self._copy_rate = float(about["copy"]["seconds"]), float(about["copy"]["bytesPerSecond"])
            self.steps = [
                Step(
                    index, part["program"], tuple(part["nodes"]), [_binding(b) for b in part["inputs"]],
                    [_binding(b) for b in part["outputs"]], part["seconds"], part["baseline"],
                )
                for index, part in enumerate(about["parts"])
                if part["kind"] == "program"
            ]  # fmt: skip
        except (OSError, KeyError, TypeError, ValueError) as error:
            raise FileError(f"{folder} holds no partition of this version of collc: {error!r}") from None
        manifest = (folder / "manifest.json").read_bytes()
        self.digest = hashlib.sha256(text + manifest).hexdigest()

    def copy_seconds(self, count: int) -> float:
        """Predicted, of a copy of so many bytes within a GPU's memory."""
        return self._copy_start + 2 * count / self._copy_rate


class Region:
    """The steps of a partition that are taken. Between making it and the first launch, all ranks call `attach`."""

    def __init__(self, partition: Partition, steps: Sequence[Step], memory: TorchMemory, *, timeout: float) -> None:
        """
        Loads the programs on this rank's GPU. `timeout`: seconds that a wait in a kernel may take.

        Raises CollcError where the GPU cannot run them.
        """
        self.memory = memory
        self.steps = {step.index: step for step in steps}
        self.slots: List[Slot] = []
        #: What lies in each of them.
        self.products: List[torch.Tensor] = []
        self._size = self._shared = 0
        self._arena: Optional[torch.Tensor] = None
        self._last: Any = None
        artifacts = open_artifacts(partition.folder)
        programs = {program.name: program for program in artifacts.programs}
        self._loaded: Dict[str, LoadedProgram] = {}
        try:
            for step in steps:
                if step.program not in self._loaded:
                    program = programs.get(step.program)
                    if program is None:
                        raise FileError(f"{partition.folder} has no {step.program}: remove it, and it is made anew")
                    self._loaded[step.program] = program.load(memory.gpu, rank=memory.rank, shapes=[{}], timeout=timeout)
                step.loaded = self._loaded[step.program]
        except BaseException:
            self.close()
            raise

    @property
    def fingerprint(self) -> str:
        """Equal on ranks that run the same code."""
        return hashlib.sha256(b"".join(loaded.fingerprint for loaded in self._loaded.values())).hexdigest()

    @property
    def symmetric_bytes(self) -> int:
        """Of the region's memory on each rank, workspaces of programs included."""
        return self._shared + self._size + sum(_rounded(loaded.symmetric_bytes) for loaded in self._loaded.values())

    def own_slot(self, binding: Binding) -> Slot:
        """A place that is this tensor's alone."""
        slot = Slot(False, self._size, binding.shape, binding.dtype)
        self._size += _rounded(binding.bytes)
        self.slots.append(slot)
        return slot

    def share_slots(self, bindings: Sequence[Binding]) -> None:
        """Gives tensors of one step places that other steps use, too: steps run one after the other, and so do copies in and out."""
        offset = 0
        for binding in bindings:
            binding.slot = Slot(True, offset, binding.shape, binding.dtype)
            offset += _rounded(binding.bytes)
        self._shared = max(self._shared, offset)

    def attach(self) -> None:
        """Allocates, and lets the ranks meet. Collective; no slot is given afterwards."""
        total = self.symmetric_bytes
        if total > 0:
            self._arena = self.memory.allocate(total)
        at = self._shared + self._size
        for loaded in self._loaded.values():
            pointers: List[int] = []
            if loaded.symmetric_bytes > 0:
                assert self._arena is not None
                found = self.memory.pointers(self._arena[at : at + loaded.symmetric_bytes])
                assert found is not None
                pointers, at = found, at + _rounded(loaded.symmetric_bytes)
            loaded.attach(pointers)
        for step in self.steps.values():
            for binding in (*step.inputs, *step.outputs):
                binding.place = None if binding.slot is None else self.tensor_at(binding.slot)
        self.products = [self.tensor_at(slot) for slot in self.slots]
        self.reset()

    def reset(self) -> None:
        """Zeroes flags on all ranks, with nothing running. Collective."""
        self.memory.meet()
        stream = torch.cuda.current_stream(self.memory.device).cuda_stream
        for loaded in self._loaded.values():
            loaded.reset(stream)
        self.memory.meet()

    def tensor_at(self, slot: Slot) -> torch.Tensor:
        """What lies in a slot."""
        assert self._arena is not None
        start = slot.offset if slot.shared else self._shared + slot.offset
        count = slot.dtype.itemsize
        for extent in slot.shape:
            count *= extent
        return self._arena[start : start + count].view(slot.dtype).view(slot.shape)

    def ordered(self) -> torch.cuda.Stream:
        """The current stream, behind all that was enqueued on another one so far: the region's memory is one."""
        stream = torch.cuda.current_stream(self.memory.device)
        if not torch.cuda.is_current_stream_capturing():
            if self._last is not None and stream != self._last:
                stream.wait_stream(self._last)
            self._last = stream
        return stream

    def run(self, index: int, given: Sequence[torch.Tensor]) -> List[torch.Tensor]:
        """Enqueues a step on the current stream, with the copies that it needs."""
        step = self.steps[index]
        stream = self.ordered()
        tensors: List[torch.Tensor] = []
        for binding, x in zip(step.inputs, given):
            x = x.contiguous()
            place = binding.place
            if place is not None and x.data_ptr() != place.data_ptr() and self.memory.pointers(x) is None:
                x = place.copy_(x.view(binding.shape))
            tensors.append(x)
        outputs: List[torch.Tensor] = []
        for binding in step.outputs:
            place = binding.place
            outputs.append(torch.empty(binding.shape, dtype=binding.dtype, device=self.memory.device) if place is None else place)
        tensors += outputs
        key = tuple([tensor.data_ptr() for tensor in tensors])
        prepared = step.prepared.get(key)
        if prepared is None:
            prepared = self._prepare(step, key, tensors)
        self.memory.gpu.make_current()
        prepared.launch(stream.cuda_stream)
        return [y if b.place is None or b.stays else y.clone() for b, y in zip(step.outputs, outputs)]

    def _prepare(self, step: Step, key: Tuple[int, ...], tensors: Sequence[torch.Tensor]) -> Prepared:
        """Arguments for tensors at these addresses, which come again: PyTorch's allocator gives the same memory for the same requests."""
        if len(step.prepared) >= _MOST_PREPARED:
            step.prepared.clear()
        addresses: Dict[str, Any] = {}
        for binding, tensor in zip((*step.inputs, *step.outputs), tensors):
            addresses[binding.name] = self.memory.pointers(tensor) if binding.symmetric else tensor.data_ptr()
        assert step.loaded is not None
        prepared = step.prepared[key] = step.loaded.prepare({}, addresses)
        return prepared

    def check(self) -> None:
        """Raises WaitTimeout if a wait has run out. Synchronise first."""
        for loaded in self._loaded.values():
            loaded.check()

    def close(self) -> None:
        """Unloads programs; nothing may be running."""
        for loaded in self._loaded.values():
            loaded.close()
        self._loaded = {}
        self.steps, self.products, self._arena = {}, [], None


def _rounded(count: int) -> int:
    return -(-count // _GRAIN) * _GRAIN


#: Regions by key: what operators name.
regions: Dict[str, Region] = {}


def _named(key: str) -> Region:
    if key not in regions:
        raise CollcError(f"there is no region {key!r} in this process: a graph that another process has compiled cannot run here")
    return regions[key]


def _run(inputs: Sequence[torch.Tensor], key: str, step: int) -> List[torch.Tensor]:
    return _named(key).run(step, inputs)


def _run_fake(inputs: Sequence[torch.Tensor], key: str, step: int) -> List[torch.Tensor]:
    outputs = _named(key).steps[step].outputs
    return [inputs[0].new_empty(b.shape, dtype=b.dtype) for b in outputs]


def _product_into(bias: Optional[torch.Tensor], a: torch.Tensor, b: torch.Tensor, key: str, slot: int) -> torch.Tensor:
    region = _named(key)
    region.ordered()
    out = region.products[slot]
    return torch.mm(a, b, out=out) if bias is None else torch.addmm(bias, a, b, out=out)


def _product_fake(bias: Optional[torch.Tensor], a: torch.Tensor, b: torch.Tensor, key: str, slot: int) -> torch.Tensor:
    return a.new_empty((a.shape[0], b.shape[1]))


_library: Any = torch.library.Library("collc", "FRAGMENT")  # type: ignore[no-untyped-call]
_library.define("region(Tensor[] inputs, str key, int step) -> Tensor[]")
_library.define("product_into(Tensor? bias, Tensor a, Tensor b, str key, int slot) -> Tensor")
for _key in ("CUDA", "CPU"):
    _library.impl("region", _run, _key)
    _library.impl("product_into", _product_into, _key)
torch.library.register_fake("collc::region", _run_fake, lib=_library)
torch.library.register_fake("collc::product_into", _product_fake, lib=_library)


@torch.library.custom_op("collc::replicated", mutates_args=())
def replicated_op(x: torch.Tensor) -> torch.Tensor:
    return x.clone()


@replicated_op.register_fake
def _(x: torch.Tensor) -> torch.Tensor:
    return torch.empty_like(x)


replicated_op.register_autograd(lambda ctx, grad: grad)

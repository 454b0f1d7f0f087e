"""
Partitions on the ranks of a process group: programs with their memory, and the operators that stand for them in the graph. `sizes` are those
that only a launch knows, in the order of `Region.names`; none where all are known.

    collc::region(Tensor[] inputs, SymInt[] sizes, str key, int step) -> Tensor[]       a program
    collc::product_into(Tensor? bias, Tensor a, Tensor b, SymInt[] sizes, str key, int slot) -> Tensor    a product that lies where peers reach it
    collc::replicated(Tensor x) -> Tensor                               x, of which the caller says that every rank has the same
"""

import hashlib
from typing import Any, Dict, List, Optional, Sequence, Tuple

from .artifacts import Dims
from .artifacts import open as open_artifacts
from .errors import CollcError, FileError
from .launch import LoadedProgram
from .partition import Binding, Launch, Partition, Slot, Step
from .prepared import Prepared
from .torch_memory import TorchMemory

import torch  # noqa: E402 - torch_memory says what is missing where there is none

_GRAIN = 256
_MOST_PREPARED = 32
_MOST_KNOWN = 1024

Sizes = Tuple[int, ...]


class Region:
    """The steps of a partition that are taken. Between making it and the first launch, all ranks call `attach`."""

    def __init__(
        self, partition: Partition, steps: Sequence[Step], memory: TorchMemory, *, timeout: float, most_bytes: Optional[int] = None
    ) -> None:
        """
        Loads the programs on this rank's GPU. `timeout`: seconds that a wait in a kernel may take. `most_bytes`: of symmetric memory; for
        sizes that need more, the steps are carried out without collc.

        Raises CollcError where the GPU cannot run them.
        """
        self.memory = memory
        self.steps = {step.index: step for step in steps}
        #: Sizes of the graph that the steps need.
        self.names: Tuple[str, ...] = tuple(sorted({name for step in steps for name in step.names}))
        #: Why steps were carried out without collc, and how many launches.
        self.left: Dict[str, int] = {}
        self.slots: List[Slot] = []
        self._shared_by: List[List[Slot]] = []
        self._most_bytes = most_bytes
        #: Sizes that there is memory for, and the bytes of each slot.
        self._reserved: List[Sizes] = [tuple(partition.at[name] for name in self.names)]
        self._bytes: Dict[int, int] = {}
        self._refusals: Dict[Sizes, Optional[str]] = {}
        self._size = self._shared = 0
        self._is_attached = self._is_captured = False
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
                    shapes = self._shapes_of(step.program, self._reserved)
                    self._loaded[step.program] = program.load(memory.gpu, rank=memory.rank, shapes=shapes, timeout=timeout)
                step.loaded = self._loaded[step.program]
        except BaseException:
            self.close()
            raise

    def named(self, sizes: Sizes) -> Dict[str, int]:
        return dict(zip(self.names, sizes))

    def _shapes_of(self, program: str, reserved: Sequence[Sizes]) -> List[Dims]:
        """The dimensions of all steps that run a program."""
        return [step.dims_at(self.named(sizes)) for step in self.steps.values() if step.program == program for sizes in reserved]

    @property
    def fingerprint(self) -> str:
        """Equal on ranks that run the same code."""
        return hashlib.sha256(b"".join(loaded.fingerprint for loaded in self._loaded.values())).hexdigest()

    @property
    def symmetric_bytes(self) -> int:
        """Of the region's memory on each rank, workspaces of programs included."""
        return self._shared + self._size + sum(_rounded(loaded.symmetric_bytes) for loaded in self._loaded.values())

    # -- memory ------------------------------------------------------------------------------------

    def own_slot(self, binding: Binding) -> Slot:
        """A place that is this tensor's alone."""
        slot = Slot(False, binding)
        self.slots.append(slot)
        return slot

    def share_slots(self, bindings: Sequence[Binding]) -> None:
        """Gives tensors of one step places that other steps use, too: steps run one after the other, and so do copies in and out."""
        for binding in bindings:
            binding.slot = Slot(True, binding)
        self._shared_by.append([binding.slot for binding in bindings if binding.slot is not None])

    def _most_of(self, slot: Slot) -> int:
        return max(slot.binding.bytes(self.named(sizes)) for sizes in self._reserved)

    def _lay_out(self) -> None:
        """Gives slots their offsets, the same on every rank."""
        self._size = self._shared = 0
        self._bytes = {}
        for slots, own in (*((slots, False) for slots in self._shared_by), (self.slots, True)):
            offset = 0
            for slot in slots:
                slot.offset = offset
                self._bytes[id(slot)] = self._most_of(slot)
                offset += _rounded(self._bytes[id(slot)])
            if own:
                self._size = offset
            else:
                self._shared = max(self._shared, offset)

    def attach(self) -> None:
        """Allocates, and lets the ranks meet. Collective; no slot is given afterwards."""
        self._lay_out()
        self._allocate()
        if not self._is_attached:
            # Smaller sizes may do.
            self._refusals[self._reserved[0]] = self._too_much()

    def _keeps_to_limit(self) -> bool:
        return self._most_bytes is None or self.symmetric_bytes <= self._most_bytes

    def _allocate(self) -> None:
        self._is_attached = self._keeps_to_limit()
        if not self._is_attached:
            return
        total = self.symmetric_bytes
        self._arena = self.memory.allocate(total) if total > 0 else None
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
            step.launches.clear()
        self.reset()

    def reset(self) -> None:
        """Zeroes flags on all ranks, with nothing running. Collective."""
        self.memory.meet()
        stream = torch.cuda.current_stream(self.memory.device).cuda_stream
        for loaded in self._loaded.values():
            loaded.reset(stream)
        self.memory.meet()

    def tensor_at(self, slot: Slot, sizes: Sizes) -> torch.Tensor:
        """What lies in a slot."""
        assert self._arena is not None
        start = slot.offset if slot.shared else self._shared + slot.offset
        shape = slot.binding.shape_at(self.named(sizes))
        count = slot.binding.bytes(self.named(sizes))
        return self._arena[start : start + count].view(slot.binding.dtype).view(shape)

    # -- sizes -------------------------------------------------------------------------------------

    def refusal(self, sizes: Sizes) -> Optional[str]:
        """
        Why the steps are not for these sizes; None where they are. Makes room where there is none yet, for which ranks meet. All steps of a
        run and all ranks come to the same answer: it is made of sizes that they have in common.
        """
        if sizes in self._refusals:
            return self._refusals[sizes]
        why = self._why_not(sizes)
        if not torch.cuda.is_current_stream_capturing():
            if len(self._refusals) >= _MOST_KNOWN:
                self._refusals.clear()
            self._refusals[sizes] = why
        return why

    def _why_not(self, sizes: Sizes) -> Optional[str]:
        named = self.named(sizes)
        values = ", ".join(f"{name}={value}" for name, value in named.items())
        for step in self.steps.values():
            broken = step.broken(named)
            if broken is not None:
                return f"{values}: {broken}"
        if self._has_room(sizes):
            return None
        if torch.cuda.is_current_stream_capturing():
            return f"{values}: there is no room yet, and none is made while a CUDA graph is captured: run it once before"
        if self._is_captured:
            return f"{values}: there is no room, and none is made since a CUDA graph was captured, which has the memory: run it once before"
        # Twice as much, where that can be: sizes grow one by one.
        roomy = tuple(2 * size for size in sizes)
        wanted = [[sizes]] if any(step.broken(self.named(roomy)) for step in self.steps.values()) else [[roomy, sizes], [sizes]]
        if not self._grow(wanted):
            return f"{values}: {self._too_much()}"
        return None if self._has_room(sizes) else f"{values}: the room that was made is too small"

    def _too_much(self) -> str:
        return f"it takes more than the {self._most_bytes} bytes of symmetric memory that it may have"

    def _has_room(self, sizes: Sizes) -> bool:
        if not self._is_attached:
            return False
        named = self.named(sizes)
        slots = [*self.slots, *(slot for slots in self._shared_by for slot in slots)]
        return all(slot.binding.bytes(named) <= self._bytes[id(slot)] for slot in slots) and all(
            step.loaded is not None and step.loaded.fits(step.dims_at(named)) for step in self.steps.values()
        )

    def _grow(self, wanted: Sequence[Sequence[Sizes]]) -> bool:
        """
        Makes room for the first of these that keep to the limit, on all ranks, beside what there is room for already. What runs before
        have left is no longer there.
        """
        torch.cuda.synchronize(self.memory.device)
        self.memory.meet()
        before = self._reserved
        old, self._arena = self._arena, None
        if old is not None:
            self.memory.release(old)
        # Lengths may fall where sizes grow, so no sizes stand for smaller ones.
        kept = before if self._is_attached else []
        grown = any(self._reserve([*new, *(sizes for sizes in kept if sizes not in new)]) for new in wanted)
        if grown:
            self._refusals.clear()
        else:
            self._reserve(before)
        self._allocate()
        return grown

    def _reserve(self, reserved: List[Sizes]) -> bool:
        """Lays out what these sizes need. Returns whether it keeps to the limit."""
        self._reserved = reserved
        for name, loaded in self._loaded.items():
            loaded.reserve(self._shapes_of(name, reserved))
        self._lay_out()
        return self._keeps_to_limit()

    # -- launches ----------------------------------------------------------------------------------

    def ordered(self) -> torch.cuda.Stream:
        """
        The current stream, behind all that was enqueued on another one so far: the region's memory is one. What is captured keeps the
        addresses, so from then on the memory stays where it is.
        """
        stream = torch.cuda.current_stream(self.memory.device)
        if torch.cuda.is_current_stream_capturing():
            self._is_captured = True
            return stream
        if self._last is not None and stream != self._last:
            stream.wait_stream(self._last)
        self._last = stream
        return stream

    def run(self, index: int, given: Sequence[torch.Tensor], sizes: Sizes) -> List[torch.Tensor]:
        """Enqueues a step on the current stream, with the copies that it needs; or what stands for it, where it is not for the sizes."""
        step = self.steps[index]
        why = self.refusal(sizes)
        if why is not None:
            said = why if why in self.left or len(self.left) < _MOST_PREPARED else "so it was at other sizes"
            self.left[said] = self.left.get(said, 0) + 1
            return self._instead(step, given, sizes)
        stream = self.ordered()
        launch = step.launches.get(sizes) or self._launch(step, sizes)
        count = len(step.inputs)
        tensors: List[torch.Tensor] = []
        for x, shape, place in zip(given, launch.shapes, launch.places):
            x = x.contiguous()
            if place is not None and x.data_ptr() != place.data_ptr() and self.memory.pointers(x) is None:
                x = place.copy_(x.view(shape))
            tensors.append(x)
        for binding, shape, place in zip(step.outputs, launch.shapes[count:], launch.places[count:]):
            tensors.append(torch.empty(shape, dtype=binding.dtype, device=self.memory.device) if place is None else place)
        key = tuple([tensor.data_ptr() for tensor in tensors])
        prepared = launch.prepared.get(key)
        if prepared is None:
            prepared = self._prepare(step, launch, key, tensors)
        prepared.launch(stream.cuda_stream)
        places = launch.places[count:]
        return [y if place is None or b.stays else y.clone() for b, y, place in zip(step.outputs, tensors[count:], places)]

    def _launch(self, step: Step, sizes: Sizes) -> Launch:
        if len(step.launches) >= _MOST_PREPARED:
            step.launches.clear()
        bindings = (*step.inputs, *step.outputs)
        named = self.named(sizes)
        places = [None if b.slot is None else self.tensor_at(b.slot, sizes) for b in bindings]
        launch = step.launches[sizes] = Launch([b.shape_at(named) for b in bindings], places, step.dims_at(named))
        return launch

    def _prepare(self, step: Step, launch: Launch, key: Tuple[int, ...], tensors: Sequence[torch.Tensor]) -> Prepared:
        """Arguments for tensors at these addresses, which come again: PyTorch's allocator gives the same memory for the same requests."""
        if len(launch.prepared) >= _MOST_PREPARED:
            launch.prepared.clear()
        addresses: Dict[str, Any] = {}
        for binding, tensor in zip((*step.inputs, *step.outputs), tensors):
            if tensor.numel() == 0:
                # It lies nowhere, and nobody asks where.
                addresses[binding.name] = [0] * self.memory.world if binding.symmetric else 0
            else:
                addresses[binding.name] = self.memory.pointers(tensor) if binding.symmetric else tensor.data_ptr()
        assert step.loaded is not None
        prepared = launch.prepared[key] = step.loaded.prepare(launch.dims, addresses)
        return prepared

    def _instead(self, step: Step, given: Sequence[torch.Tensor], sizes: Sizes) -> List[torch.Tensor]:
        """The step's own nodes."""
        assert step.instead is not None
        inside = {x.untyped_storage().data_ptr() for x in given}
        found = [y.contiguous() for y in step.instead(given, self.named(sizes))]
        # An operator gives back memory of its own.
        return [y.clone() if y.untyped_storage().data_ptr() in inside else y for y in found]

    def check(self) -> None:
        """Raises WaitTimeout if a wait has run out. Synchronise first."""
        for loaded in self._loaded.values():
            loaded.check()

    def close(self) -> None:
        """Unloads programs; nothing may be running."""
        for loaded in self._loaded.values():
            loaded.close()
        self._loaded = {}
        self.steps, self.slots, self._arena = {}, [], None


def _rounded(count: int) -> int:
    return -(-count // _GRAIN) * _GRAIN


#: Regions by key: what operators name.
regions: Dict[str, Region] = {}


def _named(key: str) -> Region:
    if key not in regions:
        raise CollcError(f"there is no region {key!r} in this process: a graph that another process has compiled cannot run here")
    return regions[key]


def _run(inputs: Sequence[torch.Tensor], sizes: Sequence[int], key: str, step: int) -> List[torch.Tensor]:
    return _named(key).run(step, inputs, tuple(sizes))


def _run_fake(inputs: Sequence[torch.Tensor], sizes: Sequence[int], key: str, step: int) -> List[torch.Tensor]:
    region = _named(key)
    named = region.named(tuple(sizes))
    return [inputs[0].new_empty(b.shape_at(named), dtype=b.dtype) for b in region.steps[step].outputs]


def _product_into(
    bias: Optional[torch.Tensor], a: torch.Tensor, b: torch.Tensor, sizes: Sequence[int], key: str, slot: int
) -> torch.Tensor:
    region = _named(key)
    if region.refusal(tuple(sizes)) is not None:
        return torch.mm(a, b) if bias is None else torch.addmm(bias, a, b)
    region.ordered()
    out = region.tensor_at(region.slots[slot], tuple(sizes))
    return torch.mm(a, b, out=out) if bias is None else torch.addmm(bias, a, b, out=out)


def _product_fake(
    bias: Optional[torch.Tensor], a: torch.Tensor, b: torch.Tensor, sizes: Sequence[int], key: str, slot: int
) -> torch.Tensor:
    return a.new_empty((a.shape[0], b.shape[1]))


_library: Any = torch.library.Library("collc", "FRAGMENT")  # type: ignore[no-untyped-call]
_library.define("region(Tensor[] inputs, SymInt[] sizes, str key, int step) -> Tensor[]")
_library.define("product_into(Tensor? bias, Tensor a, Tensor b, SymInt[] sizes, str key, int slot) -> Tensor")
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

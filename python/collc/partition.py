"""What `collc lower --build` has made of an FX graph, as `partition.json` has it: programs, their tensors, and what must hold to launch them."""

import hashlib
import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Callable, Dict, List, Mapping, Optional, Sequence, Set, Tuple

from .artifacts import Dims, Extent, evaluate, holds, names_in, rule_text
from .errors import FileError
from .launch import LoadedProgram
from .prepared import Prepared
from .torch_memory import TORCH_DTYPES

import torch  # noqa: E402 - torch_memory says what is missing where there is none


@dataclass
class Slot:
    """A place in a region's symmetric memory for one tensor; `offset` is the same on every rank."""

    #: Of the memory that steps share, one after the other, or of that behind it, where each tensor has its own.
    shared: bool
    binding: "Binding"
    offset: int = 0


@dataclass
class Binding:
    """A parameter of a step's program, and the FX node that it is."""

    name: str
    node: str
    #: As the compiler has it, of the program's dimensions.
    declared: Tuple[Extent, ...]
    dtype: torch.dtype
    symmetric: bool
    #: As the graph has it, of the graph's sizes, and in the order of memory.
    shape: Tuple[Extent, ...] = ()
    #: The permutation of the node's dimensions that this is, of a placeholder whose memory is taken as it lies; None where it is the node.
    order: Optional[List[int]] = None
    #: Where it is put if it does not lie in symmetric memory; of an output, where peers store it.
    slot: Optional[Slot] = None
    #: Of an output with a slot: it stays there until the graph runs again. Else it is copied out.
    stays: bool = False

    def shape_at(self, sizes: Dims) -> Tuple[int, ...]:
        return tuple([evaluate(extent, sizes) for extent in self.shape])

    def bytes(self, sizes: Dims) -> int:
        count = self.dtype.itemsize
        for extent in self.shape_at(sizes):
            count *= extent
        return count


@dataclass
class Launch:
    """A step at certain sizes: shapes of its tensors, their places in symmetric memory, and arguments by addresses."""

    shapes: List[Tuple[int, ...]]
    places: List[Optional[torch.Tensor]]
    dims: Dims
    prepared: Dict[Tuple[int, ...], Prepared] = field(default_factory=dict)


@dataclass
class Step:
    """A program in its place."""

    index: int
    program: str
    nodes: Tuple[str, ...]
    inputs: List[Binding]
    outputs: List[Binding]
    #: By dimension of the program, what it is of the graph's sizes.
    dims: Mapping[str, Extent]
    #: What must hold of the graph's sizes.
    guards: Sequence[Mapping[str, Any]]
    seconds: float
    """Predicted."""
    baseline: float
    """The caller's own way: measured where it was, else predicted."""
    loaded: Optional[LoadedProgram] = None
    #: By sizes.
    launches: Dict[Tuple[int, ...], Launch] = field(default_factory=dict)
    #: The nodes themselves, of the step's inputs and of sizes: for sizes that the program is not for.
    instead: Optional[Callable[[Sequence[torch.Tensor], Dims], Sequence[torch.Tensor]]] = None

    @property
    def names(self) -> Set[str]:
        """Sizes of the graph that it depends on."""
        told = [each for rule in self.guards for each in (rule["left"], rule["right"])]
        return set().union(*(names_in(extent) for extent in (*self.dims.values(), *told)))

    def dims_at(self, sizes: Dims) -> Dict[str, int]:
        return {name: evaluate(extent, sizes) for name, extent in self.dims.items()}

    def broken(self, sizes: Dims) -> Optional[str]:
        """The first guard that does not hold, in words."""
        for rule in self.guards:
            if not holds(rule, sizes):
                return f"{rule_text(rule)} does not hold: {rule['reason']}"
        return None


def _binding(about: Mapping[str, Any]) -> Binding:
    dtype = TORCH_DTYPES.get(about["dtype"])
    if dtype is None:
        raise FileError(f"torch has no dtype for {about['dtype']}, which '{about['tensor']}' is of")
    return Binding(about["name"], about["tensor"], tuple(about["shape"]), dtype, about["isSymmetric"], order=about.get("order"))


class Partition:
    """`partition.json` of a folder."""

    def __init__(self, folder: Path) -> None:
        """Raises FileError for what is no partition."""
        self.folder = folder
        try:
            text = (folder / "partition.json").read_bytes()
            about = json.loads(text)
            self.report: str = about["report"]
            #: Sizes that only a launch knows, and those that times are for.
            self.at: Dims = about["at"]
            #: Seconds by node that it was made with.
            self.measured: Dict[str, float] = json.loads((folder / "measured.json").read_bytes())
            self._copy_start, self._copy_rate = float(about["copy"]["seconds"]), float(about["copy"]["bytesPerSecond"])
            self.steps = [
                Step(
                    index, part["program"], tuple(part["nodes"]), [_binding(b) for b in part["inputs"]],
                    [_binding(b) for b in part["outputs"]], part["dims"], part["guards"], part["seconds"], part["baseline"],
                )
                for index, part in enumerate(about["parts"])
                if part["kind"] == "program"
            ]  # fmt: skip
            manifest = (folder / "manifest.json").read_bytes()
        except (OSError, KeyError, TypeError, ValueError) as error:
            raise FileError(f"{folder} holds no partition of this version of collc: {error!r}") from None
        self.digest = hashlib.sha256(text + manifest).hexdigest()

    def copy_seconds(self, count: int) -> float:
        """Predicted, of a copy of so many bytes within a GPU's memory."""
        return self._copy_start + 2 * count / self._copy_rate

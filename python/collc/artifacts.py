"""The folder that `collc build` has written: its manifest, and what programs need for sizes that are known at the launch."""

from __future__ import annotations

import hashlib
import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Mapping, Sequence, Union

from .errors import FileError, RequirementError

if TYPE_CHECKING:
    from .gpu import Gpu
    from .launch import LoadedProgram

FORMAT_VERSION = 8

#: Bytes of an element, by dtype.
DTYPE_BYTES: Mapping[str, int] = {
    "f32": 4, "f16": 2, "bf16": 2, "f8e4m3": 1, "f8e5m2": 1, "i64": 8, "i32": 4, "u32": 4, "i8": 1, "u8": 1, "bool": 1,
}  # fmt: skip

#: A length as the manifest has it: a number, the name of a dimension, or an operation on two lengths.
Extent = Union[int, str, Mapping[str, Any]]
Dims = Mapping[str, int]


def evaluate(extent: Extent, dims: Dims) -> int:
    """The extent for these dimensions. Division rounds down."""
    if isinstance(extent, int):
        return extent
    if isinstance(extent, str):
        return dims[extent]
    a, b = evaluate(extent["a"], dims), evaluate(extent["b"], dims)
    op = extent["op"]
    if op == "add":
        return a + b
    if op == "sub":
        return a - b
    if op == "mul":
        return a * b
    if op == "div":
        return a // b if b else 0
    if op == "ceildiv":
        return -(-a // b) if b else 0
    if op == "mod":
        return a % b if b else 0
    if op == "min":
        return min(a, b)
    if op == "max":
        return max(a, b)
    raise FileError(f"there is no operation {op!r} on lengths: the manifest is of another version of collc")


def names_in(extent: Extent) -> set[str]:
    """The dimensions that a length is made of."""
    if isinstance(extent, Mapping):
        return names_in(extent["a"]) | names_in(extent["b"])
    return {extent} if isinstance(extent, str) else set()


def shown(extent: Extent) -> str:
    """The extent for people."""
    if not isinstance(extent, Mapping):
        return str(extent)
    signs = {"add": "+", "sub": "-", "mul": "*", "div": "/", "mod": "%"}
    a, b = shown(extent["a"]), shown(extent["b"])
    sign = signs.get(extent["op"])
    return f"{extent['op']}({a}, {b})" if sign is None else f"({a} {sign} {b})"


_HOLDS = {
    "eq": (lambda a, b: a == b, "=="),
    "ne": (lambda a, b: a != b, "!="),
    "lt": (lambda a, b: a < b, "<"),
    "le": (lambda a, b: a <= b, "<="),
    "gt": (lambda a, b: a > b, ">"),
    "ge": (lambda a, b: a >= b, ">="),
}  # type: Mapping[str, tuple[Any, str]]


def holds(rule: Mapping[str, Any], dims: Dims) -> bool:
    """Whether a requirement of a manifest, or a guard of a partition, holds for these dimensions."""
    compare, _ = _HOLDS[rule["relation"]]
    return bool(compare(evaluate(rule["left"], dims), evaluate(rule["right"], dims)))


def rule_text(rule: Mapping[str, Any]) -> str:
    """A requirement for people."""
    return f"{shown(rule['left'])} {_HOLDS[rule['relation']][1]} {shown(rule['right'])}"


@dataclass(frozen=True)
class Buffer:
    """Memory that a kernel works on."""

    name: str
    role: str
    dtype: str
    shape: tuple[Extent, ...]
    symmetric: bool
    #: Name of the target's memory that it is, which others have, too; None: the kernel's own.
    memory: str | None = None

    @property
    def is_tensor(self) -> bool:
        return self.role in ("input", "output", "inout")

    def bytes(self, dims: Dims) -> int:
        """Of one rank."""
        count = DTYPE_BYTES[self.dtype]
        for extent in self.shape:
            count *= evaluate(extent, dims)
        return count


@dataclass(frozen=True)
class Kernel:
    """One kernel of a program, for one architecture."""

    name: str
    symbol: str
    cubin: str
    cubin_sha256: str
    buffers: tuple[Buffer, ...]
    parameters: tuple[Mapping[str, Any], ...]
    #: Names and values, each of the dimensions and of those before it.
    lengths: tuple[tuple[str, Extent], ...]
    block_threads: int
    shared_bytes: int
    cooperative: bool
    #: Waits by itself for the launch before it in its stream.
    early: bool
    work: tuple[Extent, ...]
    max_blocks: int

    def buffer(self, name: str) -> Buffer:
        return next(buffer for buffer in self.buffers if buffer.name == name)

    def with_lengths(self, dims: Dims) -> Dims:
        """The dimensions of a launch, and what it computes of them for the kernel."""
        known = dict(dims)
        for name, value in self.lengths:
            known[name] = evaluate(value, known)
        return known


@dataclass(frozen=True)
class Target:
    """The code of a program for one architecture."""

    arch: str
    kernels: tuple[Kernel, ...]
    by: Extent
    choices: tuple[Mapping[str, Any], ...]
    #: What kernels and copies share.
    memories: tuple[Buffer, ...] = ()

    @property
    def capability(self) -> tuple[int, int, str]:
        """Major, minor and variant: `sm_90a` is (9, 0, "a")."""
        digits = self.arch[3:].rstrip("af")
        return int(digits[:-1]), int(digits[-1]), self.arch[3 + len(digits) :]

    def steps(self, dims: Dims) -> Sequence[Mapping[str, Any]]:
        """What the plan has for these dimensions."""
        size = evaluate(self.by, dims)
        for choice in self.choices:
            if choice["below"] is None or size < choice["below"]:
                steps: Sequence[Mapping[str, Any]] = choice["steps"]
                return steps
        raise FileError("the plan has no choice for every size: the manifest is damaged")


@dataclass(frozen=True)
class Tensor:
    """A tensor of a program's signature."""

    name: str
    dtype: str
    is_output: bool
    is_symmetric: bool
    """Every rank's address is needed, else this rank's alone."""
    local_shape: tuple[Extent, ...]

    def shape(self, dims: Dims) -> tuple[int, ...]:
        """Of one rank's part."""
        return tuple(evaluate(extent, dims) for extent in self.local_shape)


class Program:
    """A collective for one number of ranks, mesh and choice of dtypes."""

    def __init__(self, folder: Path, entry: Mapping[str, Any]) -> None:
        self.folder = folder
        self.name: str = entry["name"]
        self.path: str = entry["path"]
        self.collective: str = entry["collective"]
        self.ranks: int = entry["ranks"]
        # Of a program that sends messages: so many ranks share addresses.
        self.ranks_per_domain: int | None = entry["ranksPerDomain"]
        self.dtypes: Mapping[str, str] = entry["dtypes"]
        self.mesh: Mapping[str, int] = {axis["name"]: axis["size"] for axis in entry["mesh"]}
        self.dims: tuple[str, ...] = tuple(entry["dims"])
        self.numbers: Mapping[str, str] = {number["name"]: number["dtype"] for number in entry["scalars"]}
        self.requirements: Sequence[Mapping[str, Any]] = entry["requirements"]
        symmetric = set(entry["symmetric"])
        self.tensors: Mapping[str, Tensor] = {
            # What is changed in place is one tensor: an input that the outputs name again.
            t["name"]: Tensor(t["name"], t["dtype"], kind == "outputs", t["name"] in symmetric, tuple(t["localShape"]))
            for kind in ("inputs", "outputs")
            for t in entry[kind]
        }
        self.targets: tuple[Target, ...] = tuple(_target(target) for target in entry["targets"])

    def __repr__(self) -> str:
        return f"<collc.Program {self.name} for {', '.join(target.arch for target in self.targets)}>"

    def target_for(self, major: int, minor: int) -> Target | None:
        """The code for a GPU of this compute capability, the most special one first; None if there is none."""

        def score(target: Target) -> int:
            of_major, of_minor, variant = target.capability
            if of_major != major or of_minor > minor or (variant == "a" and of_minor != minor):
                return -1
            return {"a": 200, "f": 100, "": 0}[variant] + of_minor

        best = max(self.targets, key=score)
        return best if score(best) >= 0 else None

    def check(self, dims: Dims) -> None:
        """Raises RequirementError for dimensions that a launch may not have."""
        if set(dims) != set(self.dims):
            raise RequirementError(f"{self.name} has the dimensions {', '.join(self.dims)}; given are {', '.join(dims)}")
        for name, value in dims.items():
            if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= 1 << 48:
                raise RequirementError(f"{self.name}: {name}={value!r} is no length")
        for rule in self.requirements:
            if not holds(rule, dims):
                values = ", ".join(f"{name}={value}" for name, value in dims.items())
                raise RequirementError(f"{self.name} is not for {values}: {rule_text(rule)} must hold, because {rule['reason']}")

    def read_cubin(self, kernel: Kernel) -> bytes:
        """The kernel's code. Raises FileError where it is not what the manifest says."""
        path = self.folder / kernel.cubin
        try:
            code = path.read_bytes()
        except OSError as error:
            raise FileError(f"{path} cannot be read: {error.strerror}; build again") from None
        if hashlib.sha256(code).hexdigest() != kernel.cubin_sha256:
            raise FileError(f"{path} is not the file that manifest.json is of: build again")
        return code

    def load(
        self,
        gpu: Gpu,
        *,
        rank: int,
        shapes: Sequence[Dims],
        timeout: float = 0.0,
        max_blocks: int = 0,
    ) -> LoadedProgram:
        """Loads the program on a GPU. See `LoadedProgram`."""
        from .launch import LoadedProgram

        return LoadedProgram(self, gpu, rank=rank, shapes=shapes, timeout=timeout, max_blocks=max_blocks)


def _target(entry: Mapping[str, Any]) -> Target:
    kernels = tuple(
        Kernel(
            name=k["name"],
            symbol=k["symbol"],
            cubin=k["files"]["cubin"],
            cubin_sha256=k["cubinSha256"],
            buffers=tuple(
                Buffer(b["name"], b["role"], b["dtype"], tuple(b["shape"]), b["symmetric"], b.get("memory")) for b in k["buffers"]
            ),
            parameters=tuple(k["parameters"]),
            block_threads=k["blockThreads"],
            lengths=tuple((each["name"], each["value"]) for each in k["lengths"]),
            shared_bytes=k["sharedBytes"],
            cooperative=k["cooperative"],
            early=k["early"],
            work=tuple(k["grid"]["work"]),
            max_blocks=k["grid"]["maxBlocks"],
        )
        for k in entry["kernels"]
    )
    memories = tuple(Buffer(m["name"], "scratch", m["dtype"], tuple(m["shape"]), True) for m in entry.get("memory", ()))
    return Target(entry["arch"], kernels, entry["plan"]["by"], tuple(entry["plan"]["choices"]), memories)


class Artifacts:
    """All programs of a folder."""

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        self.folder = Path(folder)
        path = self.folder / "manifest.json"
        try:
            manifest = json.loads(path.read_text(encoding="utf-8"))
        except OSError as error:
            raise FileError(f"{path} cannot be read: {error.strerror}; make it with collc build -o {folder}") from None
        except ValueError:
            raise FileError(f"{path} is no JSON: build again") from None
        version = manifest.get("formatVersion") if isinstance(manifest, dict) else None
        if version != FORMAT_VERSION:
            raise FileError(f"{path} is of format {version}, and this package reads {FORMAT_VERSION}: take them from one version of collc")
        try:
            self.programs = tuple(Program(self.folder, entry) for entry in manifest["programs"])
        except (KeyError, TypeError, ValueError) as error:
            raise FileError(f"{path} is damaged: {error!r}; build again") from None

    def find(self, path: str, *, ranks: int, dtypes: Mapping[str, str] | None = None) -> Program:
        """
        The program of this path, collective or name for so many ranks; any dtypes where none are given. Of one that was built for ranks that
        share addresses and for hosts that send each other messages, the former.

        Raises FileError, with what there is, where there is none.
        """
        found = [
            program
            for program in self.programs
            if program.ranks == ranks
            and (dtypes is None or dict(program.dtypes) == dict(dtypes))
            and path in (program.path, program.collective, program.name)
        ]
        if found:
            return next((program for program in found if program.ranks_per_domain is None), found[0])
        known = ", ".join(program.name for program in self.programs) or "nothing"
        asked = "" if dtypes is None else " and " + ", ".join(f"{name}={dtype}" for name, dtype in dtypes.items())
        raise FileError(f"{self.folder} has no {path} for {ranks} ranks{asked}; it has {known}")


def open(folder: str | os.PathLike[str]) -> Artifacts:  # noqa: A001 - collc.open reads as what it does
    """The programs that `collc build -o FOLDER` has written. Raises FileError."""
    return Artifacts(folder)

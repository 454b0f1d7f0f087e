"""A program on one GPU: checked against the device, given a workspace, launched, and asked whether a wait ran out."""

from __future__ import annotations

import ctypes
import hashlib
from ctypes import byref, c_int, c_uint32, c_uint64, c_void_p
from dataclasses import dataclass, field
from typing import Any, Mapping, Sequence

from . import gpu as _gpu
from .artifacts import DTYPE_BYTES, Buffer, Dims, Kernel, Program, Tensor, evaluate
from .copies import Copies, CopyLanes, Step, prepare_copies
from .dlpack import DeviceTensor
from .errors import CollcError, DeviceError, RequirementError, WaitTimeout
from .gpu import Gpu, LaunchAttribute, LaunchConfig, SymmetricMemory, pointers_of
from .prepared import KernelCall, Prepared
from .tensor_maps import tensor_maps

_STATIC_SHARED, _DYNAMIC_SHARED = 1, 8  # CUfunction_attribute
_ALIGNMENT = 128
_STATUS_WORDS = 16
_NUMBERS: Mapping[str, Any] = {"f32": ctypes.c_float, "i32": ctypes.c_int32, "u32": ctypes.c_uint32}
_MOST_PLANS = 256


@dataclass
class _Loaded:
    """One kernel of the program."""

    kernel: Kernel
    module: c_void_p
    function: c_void_p
    #: Bytes reserved for each buffer of the workspace, and where it lies in the symmetric or in the local one.
    reserved: dict[str, int] = field(default_factory=dict)
    offsets: dict[str, int] = field(default_factory=dict)


class LoadedProgram:
    """
    A program on this rank's GPU.

    Between loading and the first launch: give `attach` symmetric memory of `symmetric_bytes` on every rank, have every rank `reset`, and
    let the ranks meet; `connect` does it over an Exchange. The rules for launches are those of collc.h: all ranks launch the same with the
    same dimensions and numbers in the same order, and launches of one LoadedProgram do not overlap.
    """

    def __init__(
        self,
        program: Program,
        gpu: Gpu,
        *,
        rank: int,
        shapes: Sequence[Dims],
        timeout: float = 0.0,
        max_blocks: int = 0,
    ) -> None:
        """
        `shapes`: dimensions that the workspace is reserved for, launches may be as large. `timeout`: seconds that a wait may take, 0 for
        ever. `max_blocks`: of a launch, the same on every rank; 0: as many as the program was built for.

        Raises DeviceError where the GPU cannot run it, FileError for a missing or another cubin, RequirementError for the arguments.
        """
        if not 0 <= rank < program.ranks:
            raise RequirementError(f"{program.name} has ranks 0 to {program.ranks - 1}, and {rank} is none of them")
        if program.ranks_per_domain is not None:
            raise RequirementError(
                f"{program.name} sends messages between hosts, which this package does not carry: launch it with collc.h, or build it without --reach"
            )
        if not shapes and program.dims:
            raise RequirementError(f"{program.name} must know the dimensions to reserve its workspace for: give at least one of shapes")
        if max_blocks < 0 or timeout < 0:
            raise RequirementError("max_blocks and timeout are 0 or more")
        for dims in shapes:
            program.check(dims)
        major, minor = gpu.attribute(_gpu.MAJOR), gpu.attribute(_gpu.MINOR)
        target = program.target_for(major, minor)
        if target is None:
            archs = ", ".join(each.arch for each in program.targets)
            raise DeviceError(
                f"{program.name} was built for {archs}; GPU {gpu.device} is sm_{major}{minor}: build with --arch sm_{major}{minor}, too"
            )
        self.program = program
        self.gpu = gpu
        self.rank = rank
        self.target = target
        self.max_blocks = max_blocks
        self._timeout_ns = c_uint64(round(timeout * 1e9))
        self._rank = ctypes.c_int32(rank)
        self._kernels: list[_Loaded] = []
        self._plans: dict[tuple[int, ...], list[tuple[int, int] | Step]] = {}
        self._lanes: CopyLanes | None = None
        #: Bytes reserved for what kernels and copies share, and where it lies in the symmetric workspace.
        self._memories: dict[str, tuple[int, int]] = {}
        self._workspace: Sequence[int] | None = None
        self._local = self._status_host = 0
        self.symmetric_bytes = self._local_bytes = 0
        try:
            for index, kernel in enumerate(target.kernels):
                self._load(index, kernel)
            self._lanes = CopyLanes(gpu, target, rank, program.ranks)
            self.reserve(shapes or [{}])
            status_bytes = 4 * _STATUS_WORDS * len(target.kernels)
            self._status_host, self._status = gpu.allocate_host(status_bytes)
            self._words = (c_uint32 * (_STATUS_WORDS * len(target.kernels))).from_address(self._status_host)
            ctypes.memset(self._status_host, 0, status_bytes)
        except BaseException:
            self.close()
            raise

    def _load(self, index: int, kernel: Kernel) -> None:
        gpu, driver = self.gpu, self.gpu.call
        symbol, device = kernel.symbol, gpu.device
        threads, shared = gpu.attribute(_gpu.MAX_THREADS), gpu.attribute(_gpu.MAX_SHARED)
        if kernel.block_threads > threads:
            raise DeviceError(f"{symbol} has blocks of {kernel.block_threads} threads; GPU {device} allows {threads}")
        if kernel.cooperative and not gpu.attribute(_gpu.COOPERATIVE):
            raise DeviceError(f"GPU {device} cannot launch cooperatively, which {symbol} needs")
        self._require_shared(kernel, kernel.shared_bytes, shared)
        code = self.program.read_cubin(kernel)
        loaded = _Loaded(kernel, c_void_p(), c_void_p())
        driver("cuModuleLoadData", byref(loaded.module), code)
        self._kernels.append(loaded)
        driver("cuModuleGetFunction", byref(loaded.function), loaded.module, symbol.encode())
        used, resident = c_int(), c_int()
        driver("cuFuncGetAttribute", byref(used), _STATIC_SHARED, loaded.function)
        self._require_shared(kernel, kernel.shared_bytes + used.value, shared)
        if kernel.shared_bytes > 0:
            driver("cuFuncSetAttribute", loaded.function, _DYNAMIC_SHARED, kernel.shared_bytes)
        driver(
            "cuOccupancyMaxActiveBlocksPerMultiprocessor",
            byref(resident), loaded.function, kernel.block_threads, kernel.shared_bytes,
        )  # fmt: skip
        holds = resident.value * gpu.attribute(_gpu.MULTIPROCESSORS)
        if holds == 0:
            raise DeviceError(f"{symbol} does not fit on GPU {device}: not one block of {kernel.block_threads} threads")
        steps = [step for choice in self.target.choices for step in choice["steps"] if step.get("kernel") == index]
        blocks = max((step["maxBlocks"] for step in steps), default=1)
        blocks = min(blocks, self.max_blocks or blocks)
        if kernel.cooperative and blocks > holds:
            raise DeviceError(
                f"{symbol} launches up to {blocks} blocks that wait for each other; GPU {device} holds {holds} at once: "
                f"set max_blocks to {holds} on every rank, or build with --max-blocks {holds}"
            )

    def _require_shared(self, kernel: Kernel, needed: int, there: int) -> None:
        if needed > there:
            raise DeviceError(
                f"{kernel.symbol} needs {needed} bytes of shared memory a block; GPU {self.gpu.device} has {there}: "
                "build with smaller tiles, or for this architecture"
            )

    def reserve(self, shapes: Sequence[Dims]) -> None:
        """
        Makes the workspace as large as launches with these dimensions need. Nothing may be running; `attach` and `reset` come next, on
        every rank.
        """
        self.symmetric_bytes = self._local_bytes = 0
        self._workspace = None
        self._plans.clear()
        for memory in self.target.memories:
            reserved = max(memory.bytes(dims) for dims in shapes)
            self._memories[memory.name] = (reserved, self.symmetric_bytes)
            self.symmetric_bytes += _rounded(reserved)
        for loaded in self._kernels:
            self._place(loaded, shapes)
        if self._local:
            self.gpu.free(self._local)
            self._local = 0
        if self._local_bytes > 0:
            self._local = self.gpu.allocate(self._local_bytes)

    def fits(self, dims: Dims) -> bool:
        """Whether the workspace is large enough for launches with these dimensions."""
        return all(memory.bytes(dims) <= self._memories[memory.name][0] for memory in self.target.memories) and all(
            self._holds(loaded, dims) for loaded in self._kernels
        )

    def _holds(self, loaded: _Loaded, dims: Dims) -> bool:
        """Whether the kernel's own buffers are large enough."""
        return all(buffer.bytes(dims) <= loaded.reserved[buffer.name] for buffer in loaded.kernel.buffers if buffer.name in loaded.reserved)

    def _place(self, loaded: _Loaded, shapes: Sequence[Dims]) -> None:
        for buffer in loaded.kernel.buffers:
            if buffer.is_tensor or buffer.memory is not None:
                continue
            reserved = max(buffer.bytes(dims) for dims in shapes)
            loaded.reserved[buffer.name] = reserved
            if buffer.symmetric:
                loaded.offsets[buffer.name] = self.symmetric_bytes
                self.symmetric_bytes += _rounded(reserved)
            else:
                loaded.offsets[buffer.name] = self._local_bytes
                self._local_bytes += _rounded(reserved)

    @property
    def fingerprint(self) -> bytes:
        """Equal on all ranks that run the same code, reserved for the same shapes: 32 bytes."""
        parts = [self.program.name, self.target.arch, str(self.max_blocks), *(str(size) for size, _ in self._memories.values())]
        for loaded in self._kernels:
            parts += [loaded.kernel.cubin_sha256, *(str(size) for size in loaded.reserved.values())]
        return hashlib.sha256("\n".join(parts).encode()).digest()

    def attach(self, workspace: SymmetricMemory | Sequence[int]) -> None:
        """Hands over `symmetric_bytes` of symmetric memory: rank p's address, as mapped here."""
        pointers = list(pointers_of(workspace))
        if self.symmetric_bytes > 0 and len(pointers) != self.program.ranks:
            raise RequirementError(f"the workspace has addresses of {len(pointers)} ranks, not {self.program.ranks}")
        for rank, pointer in enumerate(pointers):
            if pointer == 0 or pointer % _ALIGNMENT != 0:
                raise RequirementError(f"rank {rank}'s workspace is not at a multiple of {_ALIGNMENT}")
        self._workspace = pointers

    def reset(self, stream: int | None = None) -> None:
        """Zeroes this rank's flags, packets and counters. Nothing may be running on any rank; let the ranks meet before they launch."""
        workspace = self._attached()
        if self.symmetric_bytes > 0:
            self.gpu.zero(workspace[self.rank], self.symmetric_bytes, stream)
        if self._local_bytes > 0:
            self.gpu.zero(self._local, self._local_bytes, stream)
        self.gpu.synchronize(stream)
        ctypes.memset(self._status_host, 0, ctypes.sizeof(self._words))

    def _attached(self) -> Sequence[int]:
        if self._workspace is None:
            raise CollcError(f"{self.program.name} has no workspace: call attach, or collc.connect")
        return self._workspace

    def _plan(self, dims: Dims) -> list[tuple[int, int] | Step]:
        """Kernels and their blocks for these dimensions, which are checked once, and copies between them."""
        key = tuple(dims.get(name, -1) for name in self.program.dims)
        known = self._plans.get(key)
        if known is not None and len(dims) == len(key):
            return known
        self.program.check(dims)
        plan: list[tuple[int, int] | Step] = []
        steps = self.target.steps(dims)
        launches = [self._kernels[step["kernel"]] for step in steps if step["kind"] == "launch"]
        shared = (memory.bytes(dims) <= self._memories[memory.name][0] for memory in self.target.memories)
        if not all(shared) or not all(self._holds(loaded, dims) for loaded in launches):
            values = ", ".join(f"{name}={value}" for name, value in dims.items())
            raise RequirementError(f"{self.program.name} has no room for {values}: give these dimensions to load as one of shapes")
        for step in steps:
            if step["kind"] == "copy":
                plan.append(step)
                continue
            work = max([1, *(evaluate(extent, dims) for extent in self._kernels[step["kernel"]].kernel.work)])
            plan.append((step["kernel"], min(work, step["maxBlocks"], self.max_blocks or work)))
        if len(self._plans) >= _MOST_PLANS:
            self._plans.clear()
        self._plans[key] = plan
        return plan

    def launch(
        self,
        dims: Dims,
        tensors: Mapping[str, int | DeviceTensor | SymmetricMemory | Sequence[int]],
        *,
        numbers: Mapping[str, float] | None = None,
        stream: int | None = None,
    ) -> None:
        """
        Enqueues what the plan has for these dimensions.

        `tensors`: of a symmetric one the addresses of all ranks, as mapped here, or SymmetricMemory; of another one this rank's address, or
        the same. DeviceTensor, whose dtype and shape are held against the program's, does for either. `numbers`: those of the signature.
        `stream`: a CUstream; default the GPU's own.

        Raises RequirementError for what does not fit the program.
        """
        self.prepare(dims, tensors, numbers=numbers).launch(self.gpu.stream if stream is None else stream)

    def prepare(
        self,
        dims: Dims,
        tensors: Mapping[str, int | DeviceTensor | SymmetricMemory | Sequence[int]],
        *,
        numbers: Mapping[str, float] | None = None,
    ) -> Prepared:
        """As `launch`, but for the launch: what has been checked and put together once can be launched many times."""
        workspace = self._attached()
        plan = self._plan(dims)
        given = self._addresses(tensors, dims)
        values = numbers or {}
        if set(values) != set(self.program.numbers):
            raise RequirementError(f"{self.program.name} takes the numbers {', '.join(self.program.numbers) or 'none'}")
        assert self._lanes is not None
        calls: list[KernelCall | Copies] = []
        for step in plan:
            if not isinstance(step, tuple):
                calls.append(self._copies(step, given, dims, workspace))
                continue
            index, blocks = step
            loaded = self._kernels[index]
            kernel = loaded.kernel
            known = kernel.with_lengths(dims)
            held = [self._argument(index, parameter, given, known, values, workspace) for parameter in kernel.parameters]
            arguments = (c_void_p * len(held))(*(ctypes.addressof(each) for each in held))
            calls.append(KernelCall(loaded.function, self._config(kernel, blocks), arguments, held))
        return Prepared(self.gpu, tuple(calls), self._lanes)

    def _copies(self, step: Step, given: Mapping[str, Sequence[int]], dims: Dims, workspace: Sequence[int]) -> Copies:
        """What this rank copies in a step."""
        assert self._lanes is not None
        dtypes = {name: tensor.dtype for name, tensor in self.program.tensors.items()}
        dtypes.update((memory.name, memory.dtype) for memory in self.target.memories)

        def place(end: Step) -> int:
            name, rank = end["tensor"], end["rank"]
            return workspace[rank] + self._memories[name][1] if end.get("isMemory") else given[name][rank]

        return prepare_copies(step, self.rank, self.program.ranks, dtypes, place, dims, self._lanes.most_pitch)

    def _config(self, kernel: Kernel, blocks: int) -> LaunchConfig:
        """Grid, blocks and attributes of a launch; the stream is each launch's own."""
        ids = [_gpu.COOPERATIVE_LAUNCH] if kernel.cooperative else []
        # Graphs keep what a captured launch says of the one before it since CUDA 12.3.
        if kernel.early and self.gpu.driver.version >= 12030:
            ids.append(_gpu.PROGRAMMATIC_STREAM_SERIALIZATION)
        attributes = (LaunchAttribute * len(ids))(*(LaunchAttribute(id=each, value=1) for each in ids))
        return LaunchConfig((blocks, 1, 1), (kernel.block_threads, 1, 1), kernel.shared_bytes, None, attributes, len(ids))

    def _addresses(self, tensors: Mapping[str, Any], dims: Dims) -> dict[str, Sequence[int]]:
        """By tensor: addresses of all ranks, or in every place this rank's."""
        program = self.program
        if set(tensors) != set(program.tensors):
            raise RequirementError(f"{program.name} has the tensors {', '.join(program.tensors)}; given are {', '.join(tensors)}")
        given: dict[str, Sequence[int]] = {}
        for name, tensor in program.tensors.items():
            value = tensors[name]
            if isinstance(value, DeviceTensor):
                self._require(tensor, value, dims)
                value = value.pointer if value.pointers is None else value.pointers
            pointers = [value] * program.ranks if isinstance(value, int) else list(pointers_of(value))
            if tensor.is_symmetric and isinstance(value, int) and program.ranks > 1:
                raise RequirementError(f"'{name}' must be symmetric: give the addresses of all ranks")
            if len(pointers) != program.ranks:
                raise RequirementError(f"'{name}' has addresses of {len(pointers)} ranks, not {program.ranks}")
            given[name] = pointers
            # Of a tensor without elements no address is used.
            if 0 in tensor.shape(dims):
                continue
            own = pointers[self.rank]
            for rank in range(program.ranks) if tensor.is_symmetric else [self.rank]:
                if pointers[rank] == 0 or pointers[rank] % DTYPE_BYTES[tensor.dtype] != 0:
                    raise RequirementError(f"'{name}' of rank {rank} is at {pointers[rank]:#x}, which is no address of {tensor.dtype}")
                if (pointers[rank] ^ own) % 16 != 0:
                    raise RequirementError(
                        f"'{name}' is aligned differently on rank {self.rank} ({own:#x}) and on rank {rank} ({pointers[rank]:#x}): "
                        "addresses must be equal modulo 16"
                    )
        return given

    def _require(self, tensor: Tensor, given: DeviceTensor, dims: Dims) -> None:
        """Raises RequirementError for elements of another dtype or shape, elsewhere, or not one after the other."""
        shape = tensor.shape(dims)
        if (given.dtype, given.shape) != (tensor.dtype, shape):
            raise RequirementError(f"'{tensor.name}' is {tensor.dtype}{list(shape)}; given is {given.dtype}{list(given.shape)}")
        if given.device != self.gpu.device:
            raise RequirementError(f"'{tensor.name}' is on GPU {given.device}, and the program on GPU {self.gpu.device}")
        if not given.is_row_major:
            raise RequirementError(f"'{tensor.name}' has the strides {list(given.strides)}: its elements must lie row by row")

    def _argument(
        self,
        index: int,
        parameter: Mapping[str, Any],
        given: Mapping[str, Sequence[int]],
        dims: Dims,
        numbers: Mapping[str, float],
        workspace: Sequence[int],
    ) -> Any:
        kind = parameter["kind"]
        if kind in ("dim", "length"):
            return ctypes.c_int64(dims[parameter["name"]])
        if kind == "scalar":
            return _NUMBERS[parameter["dtype"]](numbers[parameter["name"]])
        if kind == "rank":
            return self._rank
        if kind == "timeout":
            return self._timeout_ns
        if kind == "status":
            return c_uint64(self._status + 4 * _STATUS_WORDS * index)
        loaded = self._kernels[index]
        buffer = loaded.kernel.buffer(parameter["buffer"])
        pointers = self._pointers(loaded, buffer, given, workspace)
        if kind == "peers":
            return (c_uint64 * len(pointers))(*pointers)
        if kind == "pointer":
            return c_uint64(pointers[self.rank])
        if kind == "tensor-map":
            return tensor_maps(self.gpu, pointers[self.rank], buffer, parameter, pointers, dims)
        raise CollcError(f"there is no parameter of kind {kind!r}: the manifest is of another version of collc")

    def _pointers(
        self, loaded: _Loaded, buffer: Buffer, given: Mapping[str, Sequence[int]], workspace: Sequence[int]
    ) -> Sequence[int]:
        if buffer.is_tensor:
            return given[buffer.name]
        if buffer.memory is not None:
            return [start + self._memories[buffer.memory][1] for start in workspace]
        offset = loaded.offsets[buffer.name]
        starts = workspace if buffer.symmetric else [self._local] * self.program.ranks
        return [start + offset for start in starts]

    def check(self) -> None:
        """Raises WaitTimeout if a wait has run out. Synchronise the stream first."""
        for index, loaded in enumerate(self._kernels):
            failed, rank, peer, place, slot, wanted, seen, line = self._words[
                _STATUS_WORDS * index : _STATUS_WORDS * index + 8
            ]
            if not failed:
                continue
            buffers = loaded.kernel.buffers
            buffer = buffers[place].name if place < len(buffers) else "?"
            raise WaitTimeout(
                f"rank {rank} waited too long for rank {peer} in {loaded.kernel.name} "
                f"(line {line}, {buffer}[{slot}]: wanted {wanted}, saw {seen})",
                rank,
                peer,
                loaded.kernel.name,
            )

    def close(self) -> None:
        """Frees what loading made; the workspace is the caller's. Nothing may be running."""
        while self._kernels:
            self.gpu.call("cuModuleUnload", self._kernels.pop().module)
        if self._lanes is not None:
            self._lanes.close()
        if self._local:
            self.gpu.free(self._local)
        if self._status_host:
            self.gpu.free_host(self._status_host)
        self._local = self._status_host = 0


def _rounded(count: int) -> int:
    return -(-count // _ALIGNMENT) * _ALIGNMENT

"""Symmetric memory as PyTorch's tensors: on a process group, from torch.distributed or of collc's own."""

import os
import tempfile
from dataclasses import dataclass
from typing import Any, Dict, List, Optional, Tuple

try:
    import torch
    import torch.distributed as dist
    import torch.distributed._symmetric_memory as symm_mem
except ImportError as error:
    raise ImportError(
        "this part of collc needs PyTorch with torch.distributed, 2.9 or newer: pip install torch. `import collc` does not."
    ) from error

from .errors import RequirementError
from .exchange import Exchange
from .gpu import Gpu, SymmetricMemory

#: torch's dtypes by collc's names.
TORCH_DTYPES: Dict[str, torch.dtype] = {
    "f32": torch.float32, "f16": torch.float16, "bf16": torch.bfloat16, "f8e4m3": torch.float8_e4m3fn, "f8e5m2": torch.float8_e5m2,
    "i64": torch.int64, "i32": torch.int32, "i8": torch.int8, "u8": torch.uint8, "bool": torch.bool,
}  # fmt: skip


@dataclass(frozen=True)
class Block:
    """Symmetric memory: where every rank's begins, as mapped here, and what keeps it."""

    pointers: Tuple[int, ...]
    bytes: int
    owner: Any


class _DeviceBytes:
    """Bytes at a device address, for torch.as_tensor."""

    def __init__(self, pointer: int, count: int) -> None:
        self.__cuda_array_interface__ = {"shape": (count,), "typestr": "|u1", "data": (pointer, False), "version": 3}


class TorchMemory:
    """What the ranks of a process group share, and the GPU of this one. All ranks make it, and call what allocates, in the same order."""

    def __init__(self, group: Optional[dist.ProcessGroup] = None, *, kind: str = "torch") -> None:
        """`kind`: "torch" for torch.distributed's symmetric memory, "collc" for collc's own, among processes of one machine."""
        if kind not in ("torch", "collc"):
            raise ValueError(f"memory is 'torch' or 'collc', not {kind!r}")
        default = dist.group.WORLD
        if group is None and default is None:
            raise RequirementError("there is no process group: call torch.distributed.init_process_group first")
        self.group: dist.ProcessGroup = group if group is not None else default  # type: ignore[assignment]
        self.rank = dist.get_rank(self.group)
        self.world = dist.get_world_size(self.group)
        self.device = torch.device("cuda", torch.cuda.current_device())
        torch.empty(0, device=self.device)  # makes the context
        self.gpu = Gpu(self.device.index)
        self._exchange = self._connect() if kind == "collc" else None
        self._blocks: List[Block] = []

    def _connect(self) -> Exchange:
        made = [tempfile.mkdtemp(prefix="collc-") if self.rank == 0 else None]
        dist.broadcast_object_list(made, group_src=0, group=self.group)
        folder = str(made[0])
        try:
            return Exchange(self.rank, self.world, folder)
        finally:
            dist.barrier(self.group)
            if self.rank == 0:
                os.rmdir(folder)

    def allocate(self, count: int) -> torch.Tensor:
        """Zeroed symmetric bytes, whose peers `pointers` knows. Collective."""
        if self._exchange is not None:
            memory = SymmetricMemory(self.gpu, self._exchange, count)
            self._blocks.append(Block(tuple(memory.pointers), count, memory))
            return torch.as_tensor(_DeviceBytes(memory.pointer, count), device=self.device)
        tensor = symm_mem.empty(count, dtype=torch.uint8, device=self.device)
        self.register(tensor)
        tensor.zero_()
        torch.cuda.synchronize(self.device)
        self.meet()
        return tensor

    def release(self, tensor: torch.Tensor) -> None:
        """Gives back what `allocate` has made, on every rank; nothing may be using it."""
        start = tensor.data_ptr()
        for block in [b for b in self._blocks if b.pointers[self.rank] == start]:
            self._blocks.remove(block)
            if isinstance(block.owner, SymmetricMemory):
                block.owner.close()

    def meet(self) -> None:
        """Nobody returns before everybody has called."""
        dist.barrier(self.group)

    def register(self, tensor: torch.Tensor) -> None:
        """Makes a tensor of torch's symmetric memory known. Collective. Raises RequirementError for another tensor."""
        handle = symm_mem.rendezvous(tensor, self.group)
        if handle is None:
            raise RequirementError("the tensor does not lie in symmetric memory: allocate it with symm_mem.empty")
        offset = tensor.data_ptr() - handle.buffer_ptrs[handle.rank]
        pointers = tuple(pointer + offset for pointer in handle.buffer_ptrs)
        count = int(tensor.untyped_storage().nbytes() - tensor.storage_offset() * tensor.element_size())
        self._blocks.append(Block(pointers, count, (tensor, handle)))

    def empty(self, *size: int, dtype: torch.dtype) -> torch.Tensor:
        """A tensor in symmetric memory. Collective."""
        count = dtype.itemsize
        for each in size:
            count *= each
        return self.allocate(max(1, count))[:count].view(dtype).view(size)

    def pointers(self, tensor: torch.Tensor) -> Optional[List[int]]:
        """Every rank's address of what lies in a symmetric block, at the same place on each; None for other tensors."""
        start, count = tensor.data_ptr(), tensor.numel() * tensor.element_size()
        for block in self._blocks:
            offset = start - block.pointers[self.rank]
            if 0 <= offset and offset + count <= block.bytes:
                return [pointer + offset for pointer in block.pointers]
        return None

    def close(self) -> None:
        """Frees it. Collective; nothing may be using it."""
        for block in self._blocks:
            if isinstance(block.owner, SymmetricMemory):
                block.owner.close()
        self._blocks = []
        if self._exchange is not None:
            self._exchange.close()

"""Tensor maps: what the hardware that copies tiles is told of a matrix."""

from __future__ import annotations

import ctypes
from ctypes import c_uint32, c_uint64
from typing import Any, Mapping, Sequence

from .artifacts import DTYPE_BYTES, Buffer, Dims, evaluate
from .gpu import Gpu

_MAP_BYTES, _MAP_GRAIN = 128, 16
_MAP_TYPES = {"f16": 6, "bf16": 9, "f8e4m3": 0, "f8e5m2": 0, "i8": 0, "u8": 0}  # CUtensorMapDataType


def tensor_maps(gpu: Gpu, own: int, buffer: Buffer, parameter: Mapping[str, Any], pointers: Sequence[int], dims: Dims) -> Any:
    """One map a rank, or one of `own`, this rank's address; of what no map can describe it stays zero, which kernels know to avoid."""
    sizes = [evaluate(extent, dims) for extent in reversed(buffer.shape)]
    strides, stride = [], DTYPE_BYTES[buffer.dtype]
    for size in sizes[:-1]:
        stride *= size
        strides.append(stride)
    starts = pointers if parameter["ranks"] > 0 else [own]
    memory = (ctypes.c_uint8 * (_MAP_BYTES * len(starts) + 64))()
    aligned = -(-ctypes.addressof(memory) // 64) * 64
    # Keeps the memory.
    maps = (ctypes.c_uint8 * (_MAP_BYTES * len(starts))).from_buffer(memory, aligned - ctypes.addressof(memory))
    if 0 in sizes or any(each % _MAP_GRAIN for each in strides):
        return maps
    rank, box = len(sizes), list(reversed(parameter["box"]))
    for place, start in enumerate(starts):
        if start % _MAP_GRAIN:
            continue
        # No interleaving, swizzle of 128 bytes, promotion to 256 bytes, zeros beyond the ends.
        gpu.call(
            "cuTensorMapEncodeTiled",
            aligned + _MAP_BYTES * place, _MAP_TYPES[buffer.dtype], rank, start, (c_uint64 * rank)(*sizes),
            (c_uint64 * rank)(*strides), (c_uint32 * rank)(*box), (c_uint32 * rank)(*([1] * rank)), 0, 3, 3, 0,
        )  # fmt: skip
    return maps

"""
Tensors on GPUs that other libraries have, or shall have of collc: by DLPack, without copies, and without either library knowing the other.

`from_dlpack` takes what PyTorch, CuPy, JAX and others have, for `LoadedProgram.launch`; their `from_dlpack` takes a `DeviceTensor`, such as
`SymmetricMemory.tensor` gives.
"""

from __future__ import annotations

import ctypes
import weakref
from ctypes import POINTER, Structure, c_char_p, c_int32, c_int64, c_uint8, c_uint16, c_uint64, c_void_p, py_object
from typing import TYPE_CHECKING, Any, Sequence

from .artifacts import DTYPE_BYTES
from .errors import DeviceError, RequirementError

if TYPE_CHECKING:
    from .gpu import Gpu

_CUDA, _CUDA_MANAGED = 2, 13
_LEGACY_STREAM, _NO_SYNCHRONISATION = 1, -1

#: DLDataTypeCode and bits of each dtype, as DLPack 1.1 numbers them.
_TYPES = {
    "i8": (0, 8), "i32": (0, 32), "i64": (0, 64), "u8": (1, 8), "u32": (1, 32), "bool": (6, 8),
    "f16": (2, 16), "f32": (2, 32), "bf16": (4, 16), "f8e4m3": (10, 8), "f8e5m2": (12, 8),
}  # fmt: skip


class _Device(Structure):
    _fields_ = [("kind", c_int32), ("id", c_int32)]


class _DataType(Structure):
    _fields_ = [("code", c_uint8), ("bits", c_uint8), ("lanes", c_uint16)]


class _Tensor(Structure):
    _fields_ = [
        ("data", c_void_p),
        ("device", _Device),
        ("ndim", c_int32),
        ("dtype", _DataType),
        ("shape", POINTER(c_int64)),
        ("strides", POINTER(c_int64)),
        ("byte_offset", c_uint64),
    ]


_Deleter = ctypes.CFUNCTYPE(None, c_void_p)


class _Managed(Structure):
    _fields_ = [("tensor", _Tensor), ("context", c_void_p), ("deleter", _Deleter)]


# Of its own: others may declare the arguments of these functions otherwise.
_python = ctypes.PyDLL(None)
_python.PyCapsule_New.restype = py_object
_python.PyCapsule_New.argtypes = (c_void_p, c_char_p, c_void_p)
_python.PyCapsule_SetName.argtypes = (py_object, c_char_p)
# By address, as a capsule that is about to end must not be counted as used.
_python.PyCapsule_IsValid.argtypes = (c_void_p, c_char_p)
_python.PyCapsule_GetPointer.restype = c_void_p
_python.PyCapsule_GetPointer.argtypes = (c_void_p, c_char_p)

#: Capsules keep the addresses of their names.
_NAME, _USED = b"dltensor", b"used_dltensor"

#: By address, what others have until they call its deleter: the structure, and all that its addresses are of.
_given: dict[int, Any] = {}


@_Deleter
def _forget(address: int) -> None:
    _given.pop(address, None)


@ctypes.PYFUNCTYPE(None, c_void_p)
def _end(capsule: int) -> None:
    # Nobody has taken what is in it.
    if _python.PyCapsule_IsValid(capsule, _NAME):
        _given.pop(_python.PyCapsule_GetPointer(capsule, _NAME), None)


class DeviceTensor:
    """
    Elements in a GPU's memory, by their address. It keeps alive what the memory is of, if it knows.

    `pointers`: of memory that all ranks have, the addresses by rank, as mapped here; else None. `strides`: in elements.
    """

    def __init__(
        self,
        pointer: int,
        shape: Sequence[int],
        dtype: str,
        *,
        device: int = 0,
        strides: Sequence[int] | None = None,
        pointers: Sequence[int] | None = None,
        gpu: Gpu | None = None,
        owner: Any = None,
        kind: int = _CUDA,
    ) -> None:
        """
        `gpu`: whose own stream may still be writing there when another library asks. `owner`: kept for as long as this lives, and as what
        others have of it. Raises RequirementError for a dtype that collc has not.
        """
        if dtype not in _TYPES:
            raise RequirementError(f"there is no dtype {dtype!r}; there are {', '.join(_TYPES)}")
        self.pointer, self.shape, self.dtype, self.device = pointer, tuple(shape), dtype, device
        self.strides = _row_major(self.shape) if strides is None else tuple(strides)
        self.pointers = pointers
        self._gpu, self._owner, self._kind = gpu, owner, kind

    @property
    def is_row_major(self) -> bool:
        """Whether elements lie one after the other, as programs have them."""
        if 0 in self.shape:
            return True
        wanted = _row_major(self.shape)
        return all(length == 1 or a == b for length, a, b in zip(self.shape, self.strides, wanted))

    def __repr__(self) -> str:
        return f"DeviceTensor({self.dtype}{list(self.shape)} at {self.pointer:#x} on GPU {self.device})"

    def __dlpack_device__(self) -> tuple[int, int]:
        return self._kind, self.device

    def __dlpack__(
        self,
        *,
        stream: int | None = None,
        max_version: tuple[int, int] | None = None,
        dl_device: tuple[int, int] | None = None,
        copy: bool | None = None,
    ) -> Any:
        """
        A capsule of this memory. What the GPU's own stream does by now is done when it is given, unless `stream` is -1; what other streams
        do, their owner sees to. Raises BufferError for a copy, or for another device.
        """
        if copy or (dl_device is not None and tuple(dl_device) != self.__dlpack_device__()):
            raise BufferError("collc gives memory as it lies: make the copy in your own library")
        if self._gpu is not None and stream != _NO_SYNCHRONISATION:
            self._gpu.synchronize()
        count = len(self.shape)
        shape, strides = (c_int64 * count)(*self.shape), (c_int64 * count)(*self.strides)
        code, bits = _TYPES[self.dtype]
        # Without elements there is nothing to point to.
        data = None if 0 in self.shape else self.pointer
        described = _Tensor(data, _Device(self._kind, self.device), count, _DataType(code, bits, 1), shape, strides, 0)
        managed = _Managed(described, None, _forget)
        address = ctypes.addressof(managed)
        _given[address] = (managed, shape, strides, self)
        return _python.PyCapsule_New(address, _NAME, ctypes.cast(_end, c_void_p))


def from_dlpack(x: Any, *, stream: int | None = None) -> DeviceTensor:
    """
    The tensor of another library, without a copy; it lives for as long as what is returned.

    `stream`: the CUstream that collc will use it on (1: the legacy default stream, which None means, too); the library sees to it that what
    it does to the tensor is done there first. Raises DeviceError for what lies on no GPU of CUDA, RequirementError for a dtype that collc
    has not.
    """
    kind, device = (int(each) for each in x.__dlpack_device__())
    if kind not in (_CUDA, _CUDA_MANAGED):
        raise DeviceError(f"the tensor is on DLPack's device {kind}, which is no GPU of CUDA: move it there first")
    capsule = x.__dlpack__(stream=_LEGACY_STREAM if stream is None else stream)
    if not _python.PyCapsule_IsValid(id(capsule), _NAME):
        raise RequirementError(f"{type(x).__name__}.__dlpack__ gives no capsule called 'dltensor'")
    address = _python.PyCapsule_GetPointer(id(capsule), _NAME)
    managed = _Managed.from_address(address)
    described = managed.tensor
    found = [name for name, about in _TYPES.items() if about == (described.dtype.code, described.dtype.bits)]
    if not found or described.dtype.lanes != 1:
        raise RequirementError(f"collc has no dtype of DLPack's code {described.dtype.code} with {described.dtype.bits} bits and {described.dtype.lanes} lanes")
    shape = [described.shape[d] for d in range(described.ndim)]
    strides = [described.strides[d] for d in range(described.ndim)] if described.strides else None
    made = DeviceTensor((described.data or 0) + described.byte_offset, shape, found[0], device=device, strides=strides, kind=kind)
    # From here on it is ours to end.
    _python.PyCapsule_SetName(capsule, _USED)
    weakref.finalize(made, _release, address)
    return made


def _release(address: int) -> None:
    deleter = _Managed.from_address(address).deleter
    if deleter:
        deleter(address)


def _row_major(shape: Sequence[int]) -> tuple[int, ...]:
    strides = []
    size = 1
    for length in reversed(shape):
        strides.insert(0, size)
        size *= max(1, length)
    return tuple(strides)


def bytes_of(shape: Sequence[int], dtype: str) -> int:
    """Of a row-major tensor. Raises RequirementError for a dtype that collc has not."""
    if dtype not in _TYPES:
        raise RequirementError(f"there is no dtype {dtype!r}; there are {', '.join(_TYPES)}")
    count = DTYPE_BYTES[dtype]
    for length in shape:
        count *= length
    return count

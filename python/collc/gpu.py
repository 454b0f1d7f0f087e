"""A GPU over the CUDA driver's interface, by ctypes, and symmetric memory over its virtual memory management."""

from __future__ import annotations

import ctypes
import os
from ctypes import POINTER, byref, c_char_p, c_int, c_size_t, c_uint, c_uint8, c_uint32, c_uint64, c_ulonglong, c_void_p
from typing import Any, Sequence

from .dlpack import DeviceTensor, bytes_of
from .errors import DeviceError, DriverError
from .exchange import Exchange


class _Location(ctypes.Structure):
    _fields_ = [("type", c_int), ("id", c_int)]


class _AllocationProperties(ctypes.Structure):
    _fields_ = [
        ("type", c_int),
        ("handle_types", c_int),
        ("location", _Location),
        ("windows", c_void_p),
        ("flags", c_uint8 * 8),
    ]


class _Access(ctypes.Structure):
    _fields_ = [("location", _Location), ("flags", c_int)]


_PINNED = _DESCRIPTOR = _ON_DEVICE = _RECOMMENDED = NON_BLOCKING = 1
DISABLE_TIMING, UNIFIED = 2, 4  # CUevent_flags, CUmemorytype
_READ_WRITE = 3
_PORTABLE_AND_MAPPED = 1 | 2

# CUdevice_attribute
MAX_THREADS, MAX_PITCH, MULTIPROCESSORS, MAJOR, MINOR, COOPERATIVE, MAX_SHARED = 1, 11, 16, 75, 76, 95, 97
_VMM_SUPPORTED, _DESCRIPTORS_SUPPORTED = 102, 103


class LaunchAttribute(ctypes.Structure):
    """CUlaunchAttribute, of which a launch has the first word of the value alone."""

    _fields_ = [("id", c_uint), ("padding", c_uint), ("value", c_int), ("rest", c_uint8 * 60)]


# CUlaunchAttributeID
COOPERATIVE_LAUNCH, PROGRAMMATIC_STREAM_SERIALIZATION = 2, 6


class LaunchConfig(ctypes.Structure):
    """CUlaunchConfig"""

    _fields_ = [
        ("grid", c_uint * 3), ("block", c_uint * 3), ("shared_bytes", c_uint), ("stream", c_void_p),
        ("attributes", POINTER(LaunchAttribute)), ("attribute_count", c_uint),
    ]  # fmt: skip


class RowsCopy(ctypes.Structure):
    """CUDA_MEMCPY2D_v2"""

    _fields_ = [
        ("source_x", c_size_t), ("source_y", c_size_t), ("source_type", c_int), ("source_host", c_void_p),
        ("source", c_uint64), ("source_array", c_void_p), ("source_pitch", c_size_t),
        ("target_x", c_size_t), ("target_y", c_size_t), ("target_type", c_int), ("target_host", c_void_p),
        ("target", c_uint64), ("target_array", c_void_p), ("target_pitch", c_size_t),
        ("width", c_size_t), ("height", c_size_t),
    ]  # fmt: skip


_CALLS: dict[str, list[Any]] = {
    "cuInit": [c_uint],
    "cuDriverGetVersion": [POINTER(c_int)],
    "cuGetErrorName": [c_int, POINTER(c_char_p)],
    "cuGetErrorString": [c_int, POINTER(c_char_p)],
    "cuDeviceGetCount": [POINTER(c_int)],
    "cuDeviceGetAttribute": [POINTER(c_int), c_int, c_int],
    "cuDevicePrimaryCtxRetain": [POINTER(c_void_p), c_int],
    "cuCtxGetCurrent": [POINTER(c_void_p)],
    "cuCtxSetCurrent": [c_void_p],
    "cuStreamCreate": [POINTER(c_void_p), c_uint],
    "cuStreamDestroy_v2": [c_void_p],
    "cuStreamSynchronize": [c_void_p],
    "cuStreamWaitEvent": [c_void_p, c_void_p, c_uint],
    "cuStreamGetCaptureInfo_v2": [c_void_p, POINTER(c_int), POINTER(c_uint64), c_void_p, c_void_p, c_void_p],
    "cuEventCreate": [POINTER(c_void_p), c_uint],
    "cuEventDestroy_v2": [c_void_p],
    "cuEventRecord": [c_void_p, c_void_p],
    "cuModuleLoadData": [POINTER(c_void_p), c_char_p],
    "cuModuleUnload": [c_void_p],
    "cuModuleGetFunction": [POINTER(c_void_p), c_void_p, c_char_p],
    "cuFuncGetAttribute": [POINTER(c_int), c_int, c_void_p],
    "cuFuncSetAttribute": [c_void_p, c_int, c_int],
    "cuOccupancyMaxActiveBlocksPerMultiprocessor": [POINTER(c_int), c_void_p, c_int, c_size_t],
    "cuLaunchKernelEx": [POINTER(LaunchConfig), c_void_p, POINTER(c_void_p), POINTER(c_void_p)],
    "cuTensorMapEncodeTiled": [
        c_void_p, c_int, c_uint32, c_void_p, POINTER(c_uint64), POINTER(c_uint64), POINTER(c_uint32), POINTER(c_uint32),
        c_int, c_int, c_int, c_int,
    ],
    "cuMemAlloc_v2": [POINTER(c_uint64), c_size_t],
    "cuMemFree_v2": [c_uint64],
    "cuMemsetD8Async": [c_uint64, c_uint8, c_size_t, c_void_p],
    "cuMemcpyHtoDAsync_v2": [c_uint64, c_void_p, c_size_t, c_void_p],
    "cuMemcpyDtoHAsync_v2": [c_void_p, c_uint64, c_size_t, c_void_p],
    "cuMemcpyDtoDAsync_v2": [c_uint64, c_uint64, c_size_t, c_void_p],
    "cuMemcpy2DAsync_v2": [POINTER(RowsCopy), c_void_p],
    "cuMemHostAlloc": [POINTER(c_void_p), c_size_t, c_uint],
    "cuMemFreeHost": [c_void_p],
    "cuMemHostGetDevicePointer_v2": [POINTER(c_uint64), c_void_p, c_uint],
    "cuMemGetAllocationGranularity": [POINTER(c_size_t), POINTER(_AllocationProperties), c_int],
    "cuMemCreate": [POINTER(c_uint64), c_size_t, POINTER(_AllocationProperties), c_ulonglong],
    "cuMemRelease": [c_uint64],
    "cuMemExportToShareableHandle": [c_void_p, c_uint64, c_int, c_ulonglong],
    "cuMemImportFromShareableHandle": [POINTER(c_uint64), c_void_p, c_int],
    "cuMemAddressReserve": [POINTER(c_uint64), c_size_t, c_size_t, c_uint64, c_ulonglong],
    "cuMemAddressFree": [c_uint64, c_size_t],
    "cuMemMap": [c_uint64, c_size_t, c_size_t, c_uint64, c_ulonglong],
    "cuMemUnmap": [c_uint64, c_size_t],
    "cuMemSetAccess": [c_uint64, c_size_t, POINTER(_Access), c_size_t],
}  # fmt: skip


class Driver:
    """libcuda. One a process is enough; `Gpu` opens it."""

    def __init__(self, path: str | None = None) -> None:
        """`path`: the library's file; default the system's. Raises DriverError where it is missing, too old, or finds no GPU."""
        try:
            library = ctypes.CDLL(path or "libcuda.so.1")
        except OSError as error:
            raise DriverError(f"there is no NVIDIA driver here: {error}") from None
        self._calls: dict[str, Any] = {}
        for name, arguments in _CALLS.items():
            try:
                call = getattr(library, name)
            except AttributeError:
                raise DriverError(f"the NVIDIA driver has no {name}: it is too old") from None
            call.argtypes, call.restype = arguments, c_int
            self._calls[name] = call
        self("cuInit", 0)
        version = c_int()
        self("cuDriverGetVersion", byref(version))
        #: 13000 for CUDA 13.0.
        self.version = version.value

    def try_call(self, name: str, *arguments: Any) -> int:
        """The CUresult."""
        code: int = self._calls[name](*arguments)
        return code

    def __call__(self, name: str, *arguments: Any) -> None:
        """Calls a function of the driver. Raises DriverError when it refuses."""
        code = self.try_call(name, *arguments)
        if code == 0:
            return
        text = c_char_p()
        words = []
        for what in ("cuGetErrorName", "cuGetErrorString"):
            if self.try_call(what, code, byref(text)) == 0 and text.value is not None:
                words.append(text.value.decode())
        raise DriverError(f"{name.split('_v')[0]}: {': '.join(words) or 'an error'} ({code})", code)


class Gpu:
    """
    A device with its primary context, and a stream of its own. Which context is current in the calling thread makes no difference, and stays
    as it is: other libraries have theirs.

    PyTorch uses the same context: with it, leave the stream alone and pass `torch.cuda.current_stream().cuda_stream`.
    """

    def __init__(self, device: int = 0, *, driver: Driver | None = None) -> None:
        """Raises DriverError without a driver, DeviceError without such a device."""
        self.driver = driver or Driver()
        self.device = device
        count = c_int()
        self.driver("cuDeviceGetCount", byref(count))
        if not 0 <= device < count.value:
            raise DeviceError(f"there is no GPU {device}: the driver has {count.value}")
        self._context = c_void_p()
        self.driver("cuDevicePrimaryCtxRetain", byref(self._context), device)
        self._stream: c_void_p | None = None

    def call(self, name: str, *arguments: Any) -> None:
        """Calls a function of the driver in the device's context. Raises DriverError when it refuses."""
        current = c_void_p()
        self.driver("cuCtxGetCurrent", byref(current))
        if current.value == self._context.value:
            return self.driver(name, *arguments)
        self.driver("cuCtxSetCurrent", self._context)
        try:
            self.driver(name, *arguments)
        finally:
            self.driver("cuCtxSetCurrent", current)

    @property
    def stream(self) -> int:
        """A stream, made when it is first asked for."""
        if self._stream is None:
            self._stream = c_void_p()
            self.call("cuStreamCreate", byref(self._stream), NON_BLOCKING)
        return self._stream.value or 0

    def attribute(self, which: int) -> int:
        value = c_int()
        self.call("cuDeviceGetAttribute", byref(value), which, self.device)
        return value.value

    def synchronize(self, stream: int | None = None) -> None:
        self.call("cuStreamSynchronize", self.stream if stream is None else stream)

    def zero(self, pointer: int, count: int, stream: int | None = None) -> None:
        """Enqueues zeros for so many bytes."""
        self.call("cuMemsetD8Async", pointer, 0, count, self.stream if stream is None else stream)

    def allocate(self, count: int) -> int:
        pointer = c_uint64()
        self.call("cuMemAlloc_v2", byref(pointer), count)
        return pointer.value

    def free(self, pointer: int) -> None:
        self.call("cuMemFree_v2", pointer)

    def allocate_host(self, count: int) -> tuple[int, int]:
        """Pinned host memory: its addresses for this process and for kernels."""
        host, pointer = c_void_p(), c_uint64()
        self.call("cuMemHostAlloc", byref(host), count, _PORTABLE_AND_MAPPED)
        try:
            self.call("cuMemHostGetDevicePointer_v2", byref(pointer), host, 0)
        except DriverError:
            self.call("cuMemFreeHost", host)
            raise
        return host.value or 0, pointer.value

    def free_host(self, host: int) -> None:
        self.call("cuMemFreeHost", host)


class SymmetricMemory:
    """So many zeroed bytes on every rank's GPU, mapped by all ranks. Made, and closed, by all ranks together."""

    def __init__(self, gpu: Gpu, ranks: Exchange, count: int) -> None:
        """Raises DeviceError where the GPU cannot share memory, DriverError for what the driver refuses."""
        if count <= 0:
            raise ValueError(f"cannot allocate {count} bytes")
        if not gpu.attribute(_VMM_SUPPORTED) or not gpu.attribute(_DESCRIPTORS_SUPPORTED):
            raise DeviceError(f"GPU {gpu.device} cannot share memory between processes")
        self.gpu = gpu
        self.bytes = count
        self._ranks = ranks
        self._mapped: list[int] = []
        driver = gpu.call
        properties = _AllocationProperties(_PINNED, _DESCRIPTOR, _Location(_ON_DEVICE, gpu.device))
        granularity, physical = c_size_t(), c_uint64()
        driver("cuMemGetAllocationGranularity", byref(granularity), byref(properties), _RECOMMENDED)
        self._size = -(-count // granularity.value) * granularity.value
        driver("cuMemCreate", byref(physical), self._size, byref(properties), 0)
        descriptors: list[int] = []
        try:
            own = self._map(physical)
            # Zeroed before anybody else has it.
            gpu.zero(own, self._size)
            gpu.synchronize()
            descriptor = c_int(-1)
            driver("cuMemExportToShareableHandle", byref(descriptor), physical, _DESCRIPTOR, 0)
            try:
                descriptors = ranks.gather_descriptors(descriptor.value)
            finally:
                os.close(descriptor.value)
            #: Rank p's memory, as mapped here.
            self.pointers: list[int] = [
                own if peer == ranks.rank else self._import(descriptors[peer]) for peer in range(ranks.world)
            ]
        except BaseException:
            self._unmap()
            raise
        finally:
            for each in descriptors:
                if each >= 0:
                    os.close(each)
            driver("cuMemRelease", physical)

    def _map(self, physical: c_uint64) -> int:
        driver = self.gpu.call
        pointer = c_uint64()
        access = _Access(_Location(_ON_DEVICE, self.gpu.device), _READ_WRITE)
        driver("cuMemAddressReserve", byref(pointer), self._size, 0, 0, 0)
        try:
            driver("cuMemMap", pointer, self._size, 0, physical, 0)
        except DriverError:
            driver("cuMemAddressFree", pointer, self._size)
            raise
        self._mapped.append(pointer.value)
        driver("cuMemSetAccess", pointer, self._size, byref(access), 1)
        return pointer.value

    def _import(self, descriptor: int) -> int:
        physical = c_uint64()
        self.gpu.call("cuMemImportFromShareableHandle", byref(physical), c_void_p(descriptor), _DESCRIPTOR)
        try:
            return self._map(physical)
        finally:
            # The mapping keeps the memory.
            self.gpu.call("cuMemRelease", physical)

    def _unmap(self) -> None:
        while self._mapped:
            pointer = self._mapped.pop()
            self.gpu.call("cuMemUnmap", pointer, self._size)
            self.gpu.call("cuMemAddressFree", pointer, self._size)

    @property
    def pointer(self) -> int:
        """This rank's own."""
        return self.pointers[self._ranks.rank]

    def write(self, data: bytes | bytearray | memoryview, offset: int = 0) -> None:
        """Copies bytes into this rank's memory, and waits for it."""
        view = memoryview(data).cast("B")
        self._inside(offset, view.nbytes)
        staged = (ctypes.c_char * view.nbytes).from_buffer_copy(view)
        self.gpu.call("cuMemcpyHtoDAsync_v2", self.pointer + offset, staged, view.nbytes, self.gpu.stream)
        self.gpu.synchronize()

    def read(self, count: int | None = None, offset: int = 0) -> bytes:
        """Bytes of this rank's memory, once the GPU's own stream is done."""
        count = self.bytes - offset if count is None else count
        self._inside(offset, count)
        staged = (ctypes.c_char * count)()
        self.gpu.call("cuMemcpyDtoHAsync_v2", staged, self.pointer + offset, count, self.gpu.stream)
        self.gpu.synchronize()
        return bytes(staged)

    def tensor(self, shape: Sequence[int], dtype: str, offset: int = 0) -> DeviceTensor:
        """
        Elements from an offset in bytes on, which programs and, by DLPack, other libraries take: `torch.from_dlpack(memory.tensor((n,), "f32"))`.
        Nothing may use them once the memory is closed.

        Raises ValueError for what is not within it, RequirementError for a dtype that collc has not.
        """
        self._inside(offset, bytes_of(shape, dtype))
        pointers = [pointer + offset for pointer in self.pointers]
        return DeviceTensor(self.pointer + offset, shape, dtype, device=self.gpu.device, pointers=pointers, gpu=self.gpu, owner=self)

    def _inside(self, offset: int, count: int) -> None:
        if offset < 0 or count < 0 or offset + count > self.bytes:
            raise ValueError(f"bytes {offset} to {offset + count} are not within {self.bytes}")

    def close(self) -> None:
        """Unmaps it; nobody does before everybody has called. Nothing may be using it."""
        self._ranks.meet()
        self._unmap()


def pointers_of(memory: SymmetricMemory | Sequence[int]) -> Sequence[int]:
    """Addresses by rank."""
    return memory.pointers if isinstance(memory, SymmetricMemory) else memory

// The part of the CUDA driver API that collc uses, declared here so that building needs no CUDA.
// ABI of CUDA 12 and 13; sizes and offsets were checked against cuda.h 13.0 and are asserted below.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace collc::cuda {

using CUresult = int;
using CUdevice = int;
using CUdeviceptr = std::uint64_t;
using CUmemHandle = std::uint64_t;
using CUcontext = struct CUctx_st*;
using CUmodule = struct CUmod_st*;
using CUfunction = struct CUfunc_st*;
using CUstream = struct CUstream_st*;
using CUevent = struct CUevent_st*;
using CUgraph = struct CUgraph_st*;
using CUgraphExec = struct CUgraphExec_st*;
using CUgraphNode = struct CUgraphNode_st*;

enum : int { SUCCESS = 0, ERROR_NOT_READY = 600 };
enum : int {
  DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK = 1,
  DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT = 16,
  DEVICE_ATTRIBUTE_CAN_MAP_HOST_MEMORY = 19,
  DEVICE_ATTRIBUTE_PCI_BUS_ID = 33,
  DEVICE_ATTRIBUTE_PCI_DEVICE_ID = 34,
  DEVICE_ATTRIBUTE_PCI_DOMAIN_ID = 50,
  DEVICE_ATTRIBUTE_CC_MAJOR = 75,
  DEVICE_ATTRIBUTE_CC_MINOR = 76,
  DEVICE_ATTRIBUTE_COOPERATIVE_LAUNCH = 95,
  DEVICE_ATTRIBUTE_MAX_SHARED_OPTIN = 97,
  DEVICE_ATTRIBUTE_VMM_SUPPORTED = 102,
  DEVICE_ATTRIBUTE_POSIX_FD_SUPPORTED = 103,
  DEVICE_ATTRIBUTE_FABRIC_SUPPORTED = 128,
  DEVICE_ATTRIBUTE_MULTICAST_SUPPORTED = 132,
};
enum : int {
  FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK = 0,
  FUNC_ATTRIBUTE_SHARED_SIZE_BYTES = 1,
  FUNC_ATTRIBUTE_CONST_SIZE_BYTES = 2,
  FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES = 3,
  FUNC_ATTRIBUTE_NUM_REGS = 4,
  FUNC_ATTRIBUTE_BINARY_VERSION = 6,
  FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES = 8,
};
enum : unsigned { LAUNCH_ATTRIBUTE_COOPERATIVE = 2, LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION = 6 };
enum : unsigned { STREAM_NON_BLOCKING = 1, EVENT_DEFAULT = 0, EVENT_DISABLE_TIMING = 2 };
enum : unsigned { MEMHOSTALLOC_PORTABLE = 1, MEMHOSTALLOC_DEVICEMAP = 2 };
enum : int { MEM_LOCATION_TYPE_DEVICE = 1, MEM_ALLOCATION_TYPE_PINNED = 1 };
enum : int {
  MEM_HANDLE_TYPE_NONE = 0,
  MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR = 1,
  MEM_HANDLE_TYPE_FABRIC = 8,
};
/// How the copy engine sees a tensor: the driver fills it, kernels take it by value.
struct alignas(64) CUtensorMap {
  std::uint64_t opaque[16];
};
static_assert(sizeof(CUtensorMap) == 128);
enum : int {
  TENSOR_MAP_INTERLEAVE_NONE = 0,
  TENSOR_MAP_SWIZZLE_128B = 3,
  TENSOR_MAP_L2_PROMOTION_L2_256B = 3,
  TENSOR_MAP_FLOAT_OOB_FILL_NONE = 0,
};
constexpr std::uint32_t kMostTensorDimensions = 5;
/// CUmemFabricHandle.
constexpr std::size_t kFabricHandleBytes = 64;
enum : int { MEM_GRANULARITY_MINIMUM = 0, MEM_GRANULARITY_RECOMMENDED = 1 };
enum : int { MEM_ACCESS_READWRITE = 3 };
enum : int { CAPTURE_MODE_GLOBAL = 0, CAPTURE_MODE_THREAD_LOCAL = 1, CAPTURE_MODE_RELAXED = 2 };

struct CUmemLocation {
  int type;
  int id;
};
struct CUmemAccessDesc {
  CUmemLocation location;
  int flags;
};
struct CUmemAllocationProp {
  int type;
  int requestedHandleTypes;
  CUmemLocation location;
  void* win32HandleMetaData;
  struct {
    unsigned char compressionType;
    unsigned char gpuDirectRDMACapable;
    unsigned short usage;
    unsigned char reserved[4];
  } allocFlags;
};
enum : int { MEMORYTYPE_UNIFIED = 4 };
/// Rows of bytes from one pitch to another.
struct CUDA_MEMCPY2D {
  std::size_t srcXInBytes, srcY;
  int srcMemoryType;
  const void* srcHost;
  CUdeviceptr srcDevice;
  void* srcArray;
  std::size_t srcPitch;
  std::size_t dstXInBytes, dstY;
  int dstMemoryType;
  void* dstHost;
  CUdeviceptr dstDevice;
  void* dstArray;
  std::size_t dstPitch;
  std::size_t WidthInBytes, Height;
};
static_assert(sizeof(CUDA_MEMCPY2D) == 128 && offsetof(CUDA_MEMCPY2D, WidthInBytes) == 112, "CUDA_MEMCPY2D_v2");
static_assert(sizeof(CUmemLocation) == 8, "CUmemLocation_v1");
static_assert(sizeof(CUmemAccessDesc) == 12 && offsetof(CUmemAccessDesc, flags) == 8, "CUmemAccessDesc_v1");
static_assert(sizeof(CUmemAllocationProp) == 32, "CUmemAllocationProp_v1");
static_assert(offsetof(CUmemAllocationProp, requestedHandleTypes) == 4, "CUmemAllocationProp_v1");
static_assert(offsetof(CUmemAllocationProp, location) == 8, "CUmemAllocationProp_v1");
static_assert(offsetof(CUmemAllocationProp, win32HandleMetaData) == 16, "CUmemAllocationProp_v1");
static_assert(offsetof(CUmemAllocationProp, allocFlags) == 24, "CUmemAllocationProp_v1");

/// CUDA_KERNEL_NODE_PARAMS_v2: what a kernel node of a graph launches.
struct KernelNodeParams {
  CUfunction func;
  unsigned grid[3];
  unsigned block[3];
  unsigned shared_bytes;
  void** parameters;
  void** extra;
  void* kernel;
  void* context;
};
static_assert(sizeof(KernelNodeParams) == 72 && offsetof(KernelNodeParams, parameters) == 40, "CUDA_KERNEL_NODE_PARAMS_v2");

/// CUlaunchAttribute, of which a launch has the first word of the value alone.
struct LaunchAttribute {
  unsigned id;
  unsigned padding;
  int value;
  unsigned char rest[60];
};
static_assert(sizeof(LaunchAttribute) == 72 && offsetof(LaunchAttribute, value) == 8, "CUlaunchAttribute");

struct LaunchConfig {
  unsigned grid[3];
  unsigned block[3];
  unsigned shared_bytes;
  CUstream stream;
  LaunchAttribute* attributes;
  unsigned attribute_count;
};
static_assert(sizeof(LaunchConfig) == 56 && offsetof(LaunchConfig, stream) == 32, "CUlaunchConfig");

// X(name here, exported symbol, parameter types...): the symbol carries the version that cuda.h's macros choose.
#define COLLC_CUDA_SYMBOLS(X)                                                                                     \
  X(Init, "cuInit", unsigned)                                                                                     \
  X(DriverGetVersion, "cuDriverGetVersion", int*)                                                                 \
  X(GetErrorName, "cuGetErrorName", CUresult, const char**)                                                       \
  X(GetErrorString, "cuGetErrorString", CUresult, const char**)                                                   \
  X(DeviceGet, "cuDeviceGet", CUdevice*, int)                                                                     \
  X(DeviceGetCount, "cuDeviceGetCount", int*)                                                                     \
  X(DeviceGetName, "cuDeviceGetName", char*, int, CUdevice)                                                       \
  X(DeviceGetAttribute, "cuDeviceGetAttribute", int*, int, CUdevice)                                              \
  X(DeviceTotalMem, "cuDeviceTotalMem_v2", std::size_t*, CUdevice)                                                \
  X(DeviceCanAccessPeer, "cuDeviceCanAccessPeer", int*, CUdevice, CUdevice)                                       \
  X(DeviceGetP2PAttribute, "cuDeviceGetP2PAttribute", int*, int, CUdevice, CUdevice)                               \
  X(DevicePrimaryCtxRetain, "cuDevicePrimaryCtxRetain", CUcontext*, CUdevice)                                     \
  X(DevicePrimaryCtxRelease, "cuDevicePrimaryCtxRelease_v2", CUdevice)                                            \
  X(CtxSetCurrent, "cuCtxSetCurrent", CUcontext)                                                                  \
  X(CtxSynchronize, "cuCtxSynchronize", void)                                                                     \
  X(MemGetInfo, "cuMemGetInfo_v2", std::size_t*, std::size_t*)                                                    \
  X(MemAlloc, "cuMemAlloc_v2", CUdeviceptr*, std::size_t)                                                         \
  X(MemFree, "cuMemFree_v2", CUdeviceptr)                                                                         \
  X(PointerGetAttribute, "cuPointerGetAttribute", void*, int, CUdeviceptr)                                        \
  X(MemHostAlloc, "cuMemHostAlloc", void**, std::size_t, unsigned)                                                \
  X(MemFreeHost, "cuMemFreeHost", void*)                                                                          \
  X(MemHostGetDevicePointer, "cuMemHostGetDevicePointer_v2", CUdeviceptr*, void*, unsigned)                       \
  X(MemcpyHtoDAsync, "cuMemcpyHtoDAsync_v2", CUdeviceptr, const void*, std::size_t, CUstream)                     \
  X(MemcpyDtoHAsync, "cuMemcpyDtoHAsync_v2", void*, CUdeviceptr, std::size_t, CUstream)                           \
  X(MemcpyDtoDAsync, "cuMemcpyDtoDAsync_v2", CUdeviceptr, CUdeviceptr, std::size_t, CUstream)                     \
  X(Memcpy2DAsync, "cuMemcpy2DAsync_v2", const CUDA_MEMCPY2D*, CUstream)                                          \
  X(MemcpyPeerAsync, "cuMemcpyPeerAsync", CUdeviceptr, CUcontext, CUdeviceptr, CUcontext, std::size_t, CUstream)  \
  X(MemsetD8Async, "cuMemsetD8Async", CUdeviceptr, unsigned char, std::size_t, CUstream)                          \
  X(MemsetD32Async, "cuMemsetD32Async", CUdeviceptr, unsigned, std::size_t, CUstream)                             \
  X(MemCreate, "cuMemCreate", CUmemHandle*, std::size_t, const CUmemAllocationProp*, unsigned long long)          \
  X(MemRelease, "cuMemRelease", CUmemHandle)                                                                      \
  X(MemRetainAllocationHandle, "cuMemRetainAllocationHandle", CUmemHandle*, void*)                                 \
  X(MemAddressReserve, "cuMemAddressReserve", CUdeviceptr*, std::size_t, std::size_t, CUdeviceptr,                \
    unsigned long long)                                                                                           \
  X(MemAddressFree, "cuMemAddressFree", CUdeviceptr, std::size_t)                                                 \
  X(MemMap, "cuMemMap", CUdeviceptr, std::size_t, std::size_t, CUmemHandle, unsigned long long)                   \
  X(MemUnmap, "cuMemUnmap", CUdeviceptr, std::size_t)                                                             \
  X(MemSetAccess, "cuMemSetAccess", CUdeviceptr, std::size_t, const CUmemAccessDesc*, std::size_t)                \
  X(MemGetAllocationGranularity, "cuMemGetAllocationGranularity", std::size_t*, const CUmemAllocationProp*, int)  \
  X(MemExportToShareableHandle, "cuMemExportToShareableHandle", void*, CUmemHandle, int, unsigned long long)      \
  X(MemImportFromShareableHandle, "cuMemImportFromShareableHandle", CUmemHandle*, void*, int)                     \
  X(ModuleLoadData, "cuModuleLoadData", CUmodule*, const void*)                                                   \
  X(ModuleUnload, "cuModuleUnload", CUmodule)                                                                     \
  X(ModuleGetFunction, "cuModuleGetFunction", CUfunction*, CUmodule, const char*)                                 \
  X(FuncGetAttribute, "cuFuncGetAttribute", int*, int, CUfunction)                                                \
  X(FuncSetAttribute, "cuFuncSetAttribute", CUfunction, int, int)                                                 \
  X(OccupancyMaxActiveBlocksPerMultiprocessor, "cuOccupancyMaxActiveBlocksPerMultiprocessor", int*, CUfunction,   \
    int, std::size_t)                                                                                             \
  X(LaunchKernelEx, "cuLaunchKernelEx", const LaunchConfig*, CUfunction, void**, void**)                          \
  X(TensorMapEncodeTiled, "cuTensorMapEncodeTiled", CUtensorMap*, int, std::uint32_t, void*, const std::uint64_t*,  \
    const std::uint64_t*, const std::uint32_t*, const std::uint32_t*, int, int, int, int)                          \
  X(StreamCreate, "cuStreamCreate", CUstream*, unsigned)                                                          \
  X(StreamDestroy, "cuStreamDestroy_v2", CUstream)                                                                \
  X(StreamSynchronize, "cuStreamSynchronize", CUstream)                                                           \
  X(StreamQuery, "cuStreamQuery", CUstream)                                                                       \
  X(StreamIsCapturing, "cuStreamIsCapturing", CUstream, int*)                                                     \
  X(StreamWaitEvent, "cuStreamWaitEvent", CUstream, CUevent, unsigned)                                            \
  X(StreamWriteValue32, "cuStreamWriteValue32_v2", CUstream, CUdeviceptr, std::uint32_t, unsigned)                \
  X(StreamBeginCapture, "cuStreamBeginCapture_v2", CUstream, int)                                                 \
  X(StreamEndCapture, "cuStreamEndCapture", CUstream, CUgraph*)                                                   \
  X(StreamGetCaptureInfo, "cuStreamGetCaptureInfo_v2", CUstream, int*, std::uint64_t*, CUgraph*,                   \
    const CUgraphNode**, std::size_t*)                                                                            \
  X(EventCreate, "cuEventCreate", CUevent*, unsigned)                                                             \
  X(EventDestroy, "cuEventDestroy_v2", CUevent)                                                                   \
  X(EventRecord, "cuEventRecord", CUevent, CUstream)                                                              \
  X(EventQuery, "cuEventQuery", CUevent)                                                                          \
  X(EventSynchronize, "cuEventSynchronize", CUevent)                                                              \
  X(EventElapsedTime, "cuEventElapsedTime", float*, CUevent, CUevent)                                             \
  X(GraphInstantiateWithFlags, "cuGraphInstantiateWithFlags", CUgraphExec*, CUgraph, unsigned long long)          \
  X(GraphGetNodes, "cuGraphGetNodes", CUgraph, CUgraphNode*, std::size_t*)                                        \
  X(GraphExecKernelNodeSetParams, "cuGraphExecKernelNodeSetParams_v2", CUgraphExec, CUgraphNode,                  \
    const KernelNodeParams*)                                                                                      \
  X(GraphLaunch, "cuGraphLaunch", CUgraphExec, CUstream)                                                          \
  X(GraphDestroy, "cuGraphDestroy", CUgraph)                                                                      \
  X(GraphExecDestroy, "cuGraphExecDestroy", CUgraphExec)

struct Api {
#define COLLC_MEMBER(name, symbol, ...) CUresult (*name)(__VA_ARGS__) = nullptr;
  COLLC_CUDA_SYMBOLS(COLLC_MEMBER)
#undef COLLC_MEMBER
};

/// Opens the first driver library of `candidates` that loads and initialises it. Later calls return at once: a
/// process has one driver. Returns the library's path. Throws NativeError; DLOPEN_FAILED lists every attempt.
std::string Open(const std::vector<std::string>& candidates);

/// The open driver; throws if `Open` has not succeeded.
const Api& Get();

/// Throws NativeError("cuda", call, …) unless `result` is success.
void Check(CUresult result, const char* call);

}  // namespace collc::cuda

/// Calls a driver function and throws on failure: `CU(MemFree, pointer)`.
#define CU(name, ...) ::collc::cuda::Check(::collc::cuda::Get().name(__VA_ARGS__), "cu" #name)

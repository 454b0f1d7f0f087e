// Every function the addon exports. addon.cc registers them; src/runtime/native.ts documents them.
#pragma once

#include <napi.h>

// X(name in JavaScript, function here); P for those that return promises.
#define COLLC_EXPORTS(X, P)                           \
  /* device.cc */                                    \
  X("openCuda", OpenCuda)                            \
  X("deviceCount", DeviceCount)                      \
  X("describeDevice", DescribeDevice)                \
  X("deviceAttribute", DeviceAttribute)              \
  X("canAccessPeer", CanAccessPeer)                  \
  X("peerAttribute", PeerAttribute)                  \
  X("memoryInfo", MemoryInfo)                        \
  /* memory.cc */                                    \
  X("memoryAlloc", MemoryAlloc)                      \
  X("memoryFree", MemoryFree)                        \
  X("hostAlloc", HostAlloc)                          \
  X("hostFree", HostFree)                            \
  /* vmm.cc */                                       \
  X("memoryGranularity", MemoryGranularity)          \
  X("physicalCreate", PhysicalCreate)                \
  X("physicalExport", PhysicalExport)                \
  X("physicalExportFabric", PhysicalExportFabric)    \
  X("physicalRetain", PhysicalRetain)                \
  X("physicalImport", PhysicalImport)                \
  X("physicalImportFabric", PhysicalImportFabric)    \
  X("physicalRelease", PhysicalRelease)              \
  X("memoryRange", MemoryRange)                      \
  X("memoryMap", MemoryMap)                          \
  X("memoryUnmap", MemoryUnmap)                      \
  /* copy.cc */                                      \
  X("copyToDevice", CopyToDevice)                    \
  X("copyFromDevice", CopyFromDevice)                \
  P("copyToDeviceAsync", CopyToDeviceAsync)          \
  P("copyFromDeviceAsync", CopyFromDeviceAsync)      \
  X("copyOnDevice", CopyOnDevice)                    \
  X("copyRowsOnDevice", CopyRowsOnDevice)            \
  X("copyPeer", CopyPeer)                            \
  X("memorySet", MemorySet)                          \
  X("memorySetAsync", MemorySetAsync)                \
  X("memorySet32Async", MemorySet32Async)            \
  X("streamWriteValue32", StreamWriteValue32)        \
  /* stream.cc */                                    \
  X("streamCreate", StreamCreate)                    \
  X("streamBorrow", StreamBorrow)                    \
  X("streamIsCapturing", StreamIsCapturing)          \
  X("streamDestroy", StreamDestroy)                  \
  X("streamQuery", StreamQuery)                      \
  P("streamSynchronize", StreamSynchronize)          \
  X("streamSynchronizeBlocking", StreamSynchronizeBlocking) \
  X("streamPointer", StreamPointer)                  \
  X("streamWaitEvent", StreamWaitEvent)              \
  X("eventCreate", EventCreate)                      \
  X("eventDestroy", EventDestroy)                    \
  X("eventRecord", EventRecord)                      \
  X("eventQuery", EventQuery)                        \
  X("eventElapsedMs", EventElapsedMs)                \
  /* graph.cc */                                     \
  X("captureBegin", CaptureBegin)                    \
  X("captureEnd", CaptureEnd)                        \
  X("graphNodeCount", GraphNodeCount)                \
  X("graphInstantiate", GraphInstantiate)            \
  X("graphDestroy", GraphDestroy)                    \
  X("captureNode", CaptureNode)                      \
  X("graphLaunch", GraphLaunch)                      \
  X("graphExecDestroy", GraphExecDestroy)            \
  X("graphExecBorrow", GraphExecBorrow)              \
  X("graphExecPointer", GraphExecPointer)            \
  /* nvrtc.cc */                                     \
  X("openNvrtc", OpenNvrtc)                          \
  X("nvrtcVersion", NvrtcVersion)                    \
  X("nvrtcSupportedArchs", NvrtcSupportedArchs)      \
  X("fixAddresses", FixAddresses)                    \
  P("nvrtcCompile", NvrtcCompile)                    \
  /* program.cc */                                   \
  X("moduleLoad", ModuleLoad)                        \
  X("moduleUnload", ModuleUnload)                    \
  X("functionGet", FunctionGet)                      \
  X("functionAttributes", FunctionAttributes)        \
  X("functionSetMaxDynamicShared", FunctionSetMaxDynamicShared) \
  X("functionOccupancy", FunctionOccupancy)          \
  /* launch.cc */                                    \
  X("launchPrepare", LaunchPrepare)                  \
  X("launchUpdate", LaunchUpdate)                    \
  X("launchPrepared", LaunchPrepared)                \
  X("launchIntoGraph", LaunchIntoGraph)              \
  X("launchRelease", LaunchRelease)                  \
  X("tensorMapEncode", TensorMapEncode)              \
  /* fd_channel.cc */                                \
  X("fdChannelOpen", FdChannelOpen)                  \
  P("fdChannelSend", FdChannelSend)                  \
  P("fdChannelReceive", FdChannelReceive)            \
  X("fdChannelClose", FdChannelClose)                \
  X("fdClose", FdClose)                              \
  /* process_exit.cc */                              \
  X("skipDestructors", SkipDestructors)              \
  /* nccl.cc */                                      \
  X("openNccl", OpenNccl)                            \
  X("ncclSymbols", NcclSymbols)                      \
  X("ncclUniqueId", NcclUniqueId)                    \
  P("ncclCommInit", NcclCommInit)                    \
  P("ncclCommFinalize", NcclCommFinalize)            \
  P("ncclCommDestroy", NcclCommDestroy)              \
  P("ncclCommAbort", NcclCommAbort)                  \
  X("ncclCommAsyncError", NcclCommAsyncError)        \
  X("ncclAllReduce", NcclAllReduce)                  \
  X("ncclAllGather", NcclAllGather)                  \
  X("ncclReduceScatter", NcclReduceScatter)          \
  X("ncclBroadcast", NcclBroadcast)                  \
  X("ncclReduce", NcclReduce)                        \
  X("ncclSend", NcclSend)                            \
  X("ncclRecv", NcclRecv)                            \
  X("ncclGroupStart", NcclGroupStart)                \
  X("ncclGroupEnd", NcclGroupEnd)                    \
  X("ncclAllToAll", NcclAllToAll)                    \
  X("ncclMemAlloc", NcclMemAlloc)                    \
  X("ncclMemFree", NcclMemFree)                      \
  P("ncclWindowRegister", NcclWindowRegister)        \
  P("ncclWindowDeregister", NcclWindowDeregister)    \
  X("ncclPeerPointer", NcclPeerPointer)              \
  /* nvshmem.cc */                                   \
  X("openNvshmem", OpenNvshmem)                      \
  X("nvshmemUniqueId", NvshmemUniqueId)              \
  P("nvshmemInit", NvshmemInit)                      \
  P("nvshmemFinalize", NvshmemFinalize)              \
  P("nvshmemAllocate", NvshmemAllocate)              \
  P("nvshmemFree", NvshmemFree)                      \
  X("nvshmemPeerPointer", NvshmemPeerPointer)        \
  P("nvshmemTeamSplit", NvshmemTeamSplit)            \
  X("nvshmemTeamUniqueId", NvshmemTeamUniqueId)      \
  P("nvshmemTeamCreate", NvshmemTeamCreate)          \
  P("nvshmemTeamDestroy", NvshmemTeamDestroy)        \
  X("nvshmemTeamSize", NvshmemTeamSize)              \
  X("nvshmemPut", NvshmemPut)                        \
  X("nvshmemGet", NvshmemGet)                        \
  X("nvshmemPutSignal", NvshmemPutSignal)            \
  X("nvshmemSignal", NvshmemSignal)                  \
  X("nvshmemWaitSignal", NvshmemWaitSignal)          \
  X("nvshmemQuiet", NvshmemQuiet)                    \
  X("nvshmemBarrier", NvshmemBarrier)                \
  X("nvshmemBroadcast", NvshmemBroadcast)            \
  X("nvshmemAllToAll", NvshmemAllToAll)              \
  X("nvshmemAllGather", NvshmemAllGather)            \
  /* nvml.cc */                                      \
  X("openNvml", OpenNvml)                            \
  X("nvmlDevice", NvmlDevice)

namespace collc {

#define COLLC_DECLARE(name, function) Napi::Value function(const Napi::CallbackInfo& info);
COLLC_EXPORTS(COLLC_DECLARE, COLLC_DECLARE)
#undef COLLC_DECLARE

}  // namespace collc

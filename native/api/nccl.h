// The part of NCCL that collc uses: its collectives, and windows of symmetric memory. Values as in nccl.h 2.30; those of
// the required part have not changed since 2.10.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "api/cuda.h"

namespace collc::nccl {

using ncclResult_t = int;
using ncclComm_t = struct ncclComm*;
using ncclWindow_t = struct ncclWindow_vidmem*;
using Stream = cuda::CUstream;  // cudaStream_t is the same pointer
struct ncclUniqueId {
  char internal[128];
};
static_assert(sizeof(ncclUniqueId) == 128, "NCCL_UNIQUE_ID_BYTES");

enum : int { SUCCESS = 0, IN_PROGRESS = 7 };
/// ncclDataType_t runs from int8 = 0 to float8e5m2 = 11, ncclRedOp_t from sum = 0 to avg = 4.
enum : int { DATA_TYPE_COUNT = 12, RED_OP_COUNT = 5 };

// X(name here, exported symbol, parameter types...)
#define COLLC_NCCL_SYMBOLS(X)                                                                                       \
  X(GetVersion, "ncclGetVersion", int*)                                                                             \
  X(GetUniqueId, "ncclGetUniqueId", ncclUniqueId*)                                                                  \
  X(CommInitRank, "ncclCommInitRank", ncclComm_t*, int, ncclUniqueId, int)                                          \
  X(CommDestroy, "ncclCommDestroy", ncclComm_t)                                                                     \
  X(CommAbort, "ncclCommAbort", ncclComm_t)                                                                         \
  X(CommGetAsyncError, "ncclCommGetAsyncError", ncclComm_t, ncclResult_t*)                                          \
  X(AllReduce, "ncclAllReduce", const void*, void*, std::size_t, int, int, ncclComm_t, Stream)                      \
  X(AllGather, "ncclAllGather", const void*, void*, std::size_t, int, ncclComm_t, Stream)                           \
  X(ReduceScatter, "ncclReduceScatter", const void*, void*, std::size_t, int, int, ncclComm_t, Stream)              \
  X(Broadcast, "ncclBroadcast", const void*, void*, std::size_t, int, int, ncclComm_t, Stream)                      \
  X(Reduce, "ncclReduce", const void*, void*, std::size_t, int, int, int, ncclComm_t, Stream)                       \
  X(Send, "ncclSend", const void*, std::size_t, int, int, ncclComm_t, Stream)                                       \
  X(Recv, "ncclRecv", void*, std::size_t, int, int, ncclComm_t, Stream)                                             \
  X(GroupStart, "ncclGroupStart", void)                                                                             \
  X(GroupEnd, "ncclGroupEnd", void)

// Came later, each checked before use: memory with 2.19, finalising with 2.14, windows with 2.27, all-to-all with 2.28,
// peers' pointers on the host with 2.29.
#define COLLC_NCCL_OPTIONAL_SYMBOLS(X)                                                                  \
  X(CommFinalize, "ncclCommFinalize", ncclComm_t)                                                       \
  X(MemAlloc, "ncclMemAlloc", void**, std::size_t)                                                      \
  X(MemFree, "ncclMemFree", void*)                                                                      \
  X(CommWindowRegister, "ncclCommWindowRegister", ncclComm_t, void*, std::size_t, ncclWindow_t*, int)   \
  X(CommWindowDeregister, "ncclCommWindowDeregister", ncclComm_t, ncclWindow_t)                         \
  X(GetPeerDevicePointer, "ncclGetPeerDevicePointer", ncclWindow_t, std::size_t, int, void**)           \
  X(AlltoAll, "ncclAlltoAll", const void*, void*, std::size_t, int, ncclComm_t, Stream)

enum : int { WIN_COLL_SYMMETRIC = 1 };

struct Api {
#define COLLC_MEMBER(name, symbol, ...) ncclResult_t (*name)(__VA_ARGS__) = nullptr;
  COLLC_NCCL_SYMBOLS(COLLC_MEMBER)
  COLLC_NCCL_OPTIONAL_SYMBOLS(COLLC_MEMBER)
#undef COLLC_MEMBER
  const char* (*GetErrorString)(ncclResult_t) = nullptr;
  const char* (*GetLastError)(ncclComm_t) = nullptr;
};

/// Opens the first library that loads; returns its path. Later calls return at once.
std::string Open(const std::vector<std::string>& candidates);

const Api& Get();

[[noreturn]] void RefuseMissing(const char* symbol, const char* since);

/// Throws unless an optional function was found; `since` is the first version with it.
template <typename Function>
void Require(Function function, const char* symbol, const char* since) {
  if (!function) RefuseMissing(symbol, since);
}

void Check(ncclResult_t result, const char* call);

}  // namespace collc::nccl

/// Calls an NCCL function and throws on failure.
#define NCCL(name, ...) ::collc::nccl::Check(::collc::nccl::Get().name(__VA_ARGS__), "nccl" #name)

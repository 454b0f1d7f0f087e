// The part of NCCL that collc uses, as a peer in benchmarks. Values as in nccl.h 2.30; they have not changed since 2.10.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "api/cuda.h"

namespace collc::nccl {

using ncclResult_t = int;
using ncclComm_t = struct ncclComm*;
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

struct Api {
#define COLLC_MEMBER(name, symbol, ...) ncclResult_t (*name)(__VA_ARGS__) = nullptr;
  COLLC_NCCL_SYMBOLS(COLLC_MEMBER)
#undef COLLC_MEMBER
  const char* (*GetErrorString)(ncclResult_t) = nullptr;
  const char* (*GetLastError)(ncclComm_t) = nullptr;
};

/// Opens the first library that loads; returns its path. Later calls return at once.
std::string Open(const std::vector<std::string>& candidates);

const Api& Get();

void Check(ncclResult_t result, const char* call);

}  // namespace collc::nccl

/// Calls an NCCL function and throws on failure.
#define NCCL(name, ...) ::collc::nccl::Check(::collc::nccl::Get().name(__VA_ARGS__), "nccl" #name)

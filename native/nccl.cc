// NCCL, opened at run time: communicators and collectives. nccl_window.cc has its symmetric memory.
#include "api/nccl.h"

#include <cstring>

#include "convert.h"
#include "exports.h"
#include "multicast.h"
#include "nccl_comm.h"
#include "signals.h"
#include "stream.h"
#include "worker.h"

namespace collc {
namespace {

const void* Source(const Napi::Value& value) { return reinterpret_cast<const void*>(ToPointer(value, "source")); }
void* Target(const Napi::Value& value) { return reinterpret_cast<void*>(ToPointer(value, "target")); }

/// Enum values reach NCCL as they are, so keep them in range.
int Enum(const Napi::Value& value, const char* what, int count) {
  const int number = ToInt(value, what);
  if (number < 0 || number >= count) throw Napi::RangeError::New(value.Env(), std::string(what) + " out of range");
  return number;
}
int DataType(const Napi::Value& value) { return Enum(value, "dtype", nccl::DATA_TYPE_COUNT); }
int RedOp(const Napi::Value& value) { return Enum(value, "op", nccl::RED_OP_COUNT); }

/// A collective's communicator and stream, the device current. Both must be of one device.
struct Endpoint {
  nccl::ncclComm_t comm;
  cuda::CUstream stream;
};
Endpoint CommAndStream(const Napi::Value& comm_handle, const Napi::Value& stream_handle) {
  const std::shared_ptr<Communicator> comm = Communicators().Get(ToSize(comm_handle, "communicator"));
  const std::shared_ptr<Stream> stream = UseStream(stream_handle);
  if (comm->device != stream->device) {
    throw UsageError("nccl", "WRONG_DEVICE", "the stream and the communicator belong to different devices");
  }
  return {comm->comm, stream->stream};
}

/// Destruction and abortion wait for peers or kernels, so they run on a worker. Destruction waits for calls on windows;
/// abortion is what ends them.
template <typename Call>
Napi::Value Finish(const Napi::CallbackInfo& info, const char* name, bool waits, Call call) {
  const std::shared_ptr<Communicator> comm = Communicators().Take(ToSize(info[0], "communicator"));
  return RunCollective(
      info.Env(), name,
      [comm, waits, call] {
        std::unique_lock<std::shared_mutex> lock(comm->mutex, std::defer_lock);
        if (waits) lock.lock();
        const nccl::ncclComm_t going = comm->comm.exchange(nullptr);
        UseDevice(comm->device);
        call(going);
        return Done{};
      },
      NoValue);
}

}  // namespace

HandleTable<Communicator>& Communicators() {
  static auto* table = new HandleTable<Communicator>("NCCL communicator");
  return *table;
}

/// openNccl(paths[], multicast)
Napi::Value OpenNccl(const Napi::CallbackInfo& info) {
  ChooseMulticast(info[1], "NCCL_NVLS_ENABLE", "0");
  const std::string path = nccl::Open(ToTexts(info[0], "paths"));
  int version = 0;
  NCCL(GetVersion, &version);
  Napi::Object result = Napi::Object::New(info.Env());
  result.Set("path", path);
  result.Set("version", version);
  return result;
}

/// Which optional functions are there.
Napi::Value NcclSymbols(const Napi::CallbackInfo& info) {
  const nccl::Api& api = nccl::Get();
  Napi::Object result = Napi::Object::New(info.Env());
  const auto flag = [&](const char* name, bool there) { result.Set(name, Napi::Boolean::New(info.Env(), there)); };
  flag("memAlloc", api.MemAlloc && api.MemFree);
  flag("finalize", api.CommFinalize);
  flag("windows", api.CommWindowRegister && api.CommWindowDeregister);
  flag("peerPointers", api.GetPeerDevicePointer);
  flag("allToAll", api.AlltoAll);
  return result;
}

Napi::Value NcclUniqueId(const Napi::CallbackInfo& info) {
  const KeepSignals keep;  // loads plugins
  nccl::ncclUniqueId id{};
  NCCL(GetUniqueId, &id);
  Napi::Uint8Array bytes = Napi::Uint8Array::New(info.Env(), sizeof id.internal);
  std::memcpy(bytes.Data(), id.internal, sizeof id.internal);
  return bytes;
}

/// ncclCommInit(device, ranks, rank, uniqueId): a promise; every rank must be calling for it to settle.
Napi::Value NcclCommInit(const Napi::CallbackInfo& info) {
  nccl::Get();
  const int device = UseDevice(ToInt(info[0], "device")).ordinal;
  const int ranks = ToInt(info[1], "ranks");
  const int rank = ToInt(info[2], "rank");
  const Bytes bytes = ToBytes(info[3], "uniqueId");
  nccl::ncclUniqueId id{};
  if (bytes.size != sizeof id.internal) throw Napi::RangeError::New(info.Env(), "uniqueId must be 128 bytes");
  std::memcpy(id.internal, bytes.data, sizeof id.internal);
  return RunCollective(
      info.Env(), "ncclCommInit",
      [device, ranks, rank, id] {
        UseDevice(device);
        auto comm = std::make_shared<Communicator>();
        comm->device = device;
        nccl::ncclComm_t made = nullptr;
        NCCL(CommInitRank, &made, ranks, id, rank);
        comm->comm = made;
        return comm;
      },
      [](Napi::Env env, std::shared_ptr<Communicator>& comm) -> Napi::Value {
        return FromHandle(env, Communicators().Add(comm));
      });
}

/// The communicator stays open, for destroying or aborting.
Napi::Value NcclCommFinalize(const Napi::CallbackInfo& info) {
  const std::shared_ptr<Communicator> comm = Communicators().Get(ToSize(info[0], "communicator"));
  nccl::Require(nccl::Get().CommFinalize, "ncclCommFinalize", "2.14");
  return RunCollective(
      info.Env(), "ncclCommFinalize",
      [comm] {
        UseDevice(comm->device);
        NCCL(CommFinalize, comm->comm);
        return Done{};
      },
      NoValue);
}

Napi::Value NcclCommDestroy(const Napi::CallbackInfo& info) {
  return Finish(info, "ncclCommDestroy", true, [](nccl::ncclComm_t comm) { NCCL(CommDestroy, comm); });
}

Napi::Value NcclCommAbort(const Napi::CallbackInfo& info) {
  return Finish(info, "ncclCommAbort", false, [](nccl::ncclComm_t comm) { NCCL(CommAbort, comm); });
}

/// Throws what went wrong in the background, if anything did.
Napi::Value NcclCommAsyncError(const Napi::CallbackInfo& info) {
  const std::shared_ptr<Communicator> comm = Communicators().Get(ToSize(info[0], "communicator"));
  nccl::ncclResult_t result = nccl::SUCCESS;
  NCCL(CommGetAsyncError, comm->comm, &result);
  if (result != nccl::IN_PROGRESS) nccl::Check(result, "ncclCommGetAsyncError");
  return info.Env().Undefined();
}

/// ncclAllReduce(comm, stream, source, target, count, dtype, op)
Napi::Value NcclAllReduce(const Napi::CallbackInfo& info) {
  const auto [comm, stream] = CommAndStream(info[0], info[1]);
  NCCL(AllReduce, Source(info[2]), Target(info[3]), ToSize(info[4], "count"), DataType(info[5]), RedOp(info[6]), comm,
       stream);
  return info.Env().Undefined();
}

/// ncclAllGather(comm, stream, source, target, sendCount, dtype)
Napi::Value NcclAllGather(const Napi::CallbackInfo& info) {
  const auto [comm, stream] = CommAndStream(info[0], info[1]);
  NCCL(AllGather, Source(info[2]), Target(info[3]), ToSize(info[4], "count"), DataType(info[5]), comm, stream);
  return info.Env().Undefined();
}

/// ncclReduceScatter(comm, stream, source, target, receiveCount, dtype, op)
Napi::Value NcclReduceScatter(const Napi::CallbackInfo& info) {
  const auto [comm, stream] = CommAndStream(info[0], info[1]);
  NCCL(ReduceScatter, Source(info[2]), Target(info[3]), ToSize(info[4], "count"), DataType(info[5]), RedOp(info[6]),
       comm, stream);
  return info.Env().Undefined();
}

/// ncclBroadcast(comm, stream, source, target, count, dtype, root)
Napi::Value NcclBroadcast(const Napi::CallbackInfo& info) {
  const auto [comm, stream] = CommAndStream(info[0], info[1]);
  NCCL(Broadcast, Source(info[2]), Target(info[3]), ToSize(info[4], "count"), DataType(info[5]),
       ToInt(info[6], "root"), comm, stream);
  return info.Env().Undefined();
}

/// ncclReduce(comm, stream, source, target, count, dtype, op, root)
Napi::Value NcclReduce(const Napi::CallbackInfo& info) {
  const auto [comm, stream] = CommAndStream(info[0], info[1]);
  NCCL(Reduce, Source(info[2]), Target(info[3]), ToSize(info[4], "count"), DataType(info[5]), RedOp(info[6]),
       ToInt(info[7], "root"), comm, stream);
  return info.Env().Undefined();
}

/// ncclSend(comm, stream, source, count, dtype, peer)
Napi::Value NcclSend(const Napi::CallbackInfo& info) {
  const auto [comm, stream] = CommAndStream(info[0], info[1]);
  NCCL(Send, Source(info[2]), ToSize(info[3], "count"), DataType(info[4]), ToInt(info[5], "peer"), comm, stream);
  return info.Env().Undefined();
}

/// ncclRecv(comm, stream, target, count, dtype, peer)
Napi::Value NcclRecv(const Napi::CallbackInfo& info) {
  const auto [comm, stream] = CommAndStream(info[0], info[1]);
  NCCL(Recv, Target(info[2]), ToSize(info[3], "count"), DataType(info[4]), ToInt(info[5], "peer"), comm, stream);
  return info.Env().Undefined();
}

/// ncclAllToAll(comm, stream, source, target, blockCount, dtype)
Napi::Value NcclAllToAll(const Napi::CallbackInfo& info) {
  const auto [comm, stream] = CommAndStream(info[0], info[1]);
  nccl::Require(nccl::Get().AlltoAll, "ncclAlltoAll", "2.28");
  NCCL(AlltoAll, Source(info[2]), Target(info[3]), ToSize(info[4], "count"), DataType(info[5]), comm, stream);
  return info.Env().Undefined();
}

Napi::Value NcclGroupStart(const Napi::CallbackInfo& info) {
  NCCL(GroupStart);
  return info.Env().Undefined();
}

Napi::Value NcclGroupEnd(const Napi::CallbackInfo& info) {
  NCCL(GroupEnd);
  return info.Env().Undefined();
}

}  // namespace collc

// NCCL's symmetric memory: memory that it allocates, windows that all ranks register together, peers' addresses.
#include <memory>

#include "convert.h"
#include "exports.h"
#include "nccl_comm.h"
#include "stream.h"
#include "worker.h"

namespace collc {
namespace {

struct Window {
  std::shared_ptr<Communicator> comm;
  nccl::ncclWindow_t window = nullptr;
};

HandleTable<Window>& Windows() {
  static auto* table = new HandleTable<Window>("NCCL window");
  return *table;
}

}  // namespace

/// ncclMemAlloc(device, bytes): not zeroed.
Napi::Value NcclMemAlloc(const Napi::CallbackInfo& info) {
  nccl::Require(nccl::Get().MemAlloc, "ncclMemAlloc", "2.19");
  UseDevice(ToInt(info[0], "device"));
  void* pointer = nullptr;
  NCCL(MemAlloc, &pointer, ToSize(info[1], "bytes"));
  return FromPointer(info.Env(), reinterpret_cast<std::uint64_t>(pointer));
}

/// ncclMemFree(device, pointer)
Napi::Value NcclMemFree(const Napi::CallbackInfo& info) {
  nccl::Require(nccl::Get().MemFree, "ncclMemFree", "2.19");
  UseDevice(ToInt(info[0], "device"));
  NCCL(MemFree, reinterpret_cast<void*>(ToPointer(info[1], "pointer")));
  return info.Env().Undefined();
}

/// ncclWindowRegister(comm, pointer, bytes): a promise; every rank must be calling. Null where NCCL succeeds without
/// making a window, which it does where it has no symmetric memory.
Napi::Value NcclWindowRegister(const Napi::CallbackInfo& info) {
  nccl::Require(nccl::Get().CommWindowRegister, "ncclCommWindowRegister", "2.27");
  auto window = std::make_shared<Window>();
  window->comm = Communicators().Get(ToSize(info[0], "communicator"));
  void* pointer = reinterpret_cast<void*>(ToPointer(info[1], "pointer"));
  const std::uint64_t bytes = ToSize(info[2], "bytes");
  return RunCollective(
      info.Env(), "ncclWindowRegister",
      [window, pointer, bytes] {
        const LiveCommunicator comm(*window->comm);
        UseDevice(window->comm->device);
        NCCL(CommWindowRegister, comm.Get(), pointer, bytes, &window->window, nccl::WIN_COLL_SYMMETRIC);
        return window;
      },
      [](Napi::Env env, std::shared_ptr<Window>& window) -> Napi::Value {
        return window->window ? FromHandle(env, Windows().Add(window)) : env.Null();
      });
}

Napi::Value NcclWindowDeregister(const Napi::CallbackInfo& info) {
  const std::shared_ptr<Window> window = Windows().Take(ToSize(info[0], "window"));
  return RunCollective(
      info.Env(), "ncclWindowDeregister",
      [window] {
        const LiveCommunicator comm(*window->comm);
        UseDevice(window->comm->device);
        NCCL(CommWindowDeregister, comm.Get(), window->window);
        return Done{};
      },
      NoValue);
}

/// ncclPeerPointer(window, offset, peer)
Napi::Value NcclPeerPointer(const Napi::CallbackInfo& info) {
  nccl::Require(nccl::Get().GetPeerDevicePointer, "ncclGetPeerDevicePointer", "2.29");
  const std::shared_ptr<Window> window = Windows().Get(ToSize(info[0], "window"));
  const LiveCommunicator comm(*window->comm);
  UseDevice(window->comm->device);
  void* pointer = nullptr;
  NCCL(GetPeerDevicePointer, window->window, ToSize(info[1], "offset"), ToInt(info[2], "peer"), &pointer);
  return FromPointer(info.Env(), reinterpret_cast<std::uint64_t>(pointer));
}

}  // namespace collc

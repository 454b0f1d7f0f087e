// Plain device allocations and pinned host memory that the GPU sees.
#include <cstring>
#include <map>
#include <memory>
#include <mutex>

#include "convert.h"
#include "device.h"
#include "exports.h"
#include "handles.h"

namespace collc {
namespace {

/// Live allocations of memoryAlloc, so that a second free throws here and never reaches the driver.
std::mutex live_mutex;
std::map<cuda::CUdeviceptr, int>& Live() {
  static auto* live = new std::map<cuda::CUdeviceptr, int>;
  return *live;
}

/// What the finalizer of a buffer, or of what it was transferred to, knows.
struct HostOwner {
  std::mutex mutex;
  int device;
  void* host;
  bool is_free = false;   ///< Given back.
  bool is_asked = false;  ///< hostFree was called, and somebody could still see the memory.

  void Free() {
    if (is_free) return;
    is_free = true;
    UseDevice(device);
    CU(MemFreeHost, host);
  }
};

/// Pinned memory and the buffer that JavaScript sees it through. The buffer may have been transferred meanwhile: to
/// another buffer, to another thread. Then its new owner decides when the memory is given back.
struct HostAllocation {
  std::shared_ptr<HostOwner> owner;
  napi_env env;  ///< Of the thread that made it: no other may touch `buffer`.
  Napi::Reference<Napi::ArrayBuffer> buffer;
};

HandleTable<HostAllocation>& HostAllocations() {
  static auto* table = new HandleTable<HostAllocation>("host allocation");
  return *table;
}

}  // namespace

/// memoryRange(device, pointer): { start, bytes, device } of the allocation that the address lies in, or null.
Napi::Value MemoryRange(const Napi::CallbackInfo& info) {
  const Napi::Env env = info.Env();
  UseDevice(ToInt(info[0], "device"));
  const cuda::CUdeviceptr pointer = ToPointer(info[1], "pointer");
  constexpr int kDeviceOrdinal = 9, kRangeStart = 11, kRangeSize = 12;
  cuda::CUdeviceptr start = 0;
  std::size_t bytes = 0;
  int ordinal = -1;
  // An address that the driver does not know is an answer, not a failure.
  const cuda::Api& api = cuda::Get();
  if (api.PointerGetAttribute(&start, kRangeStart, pointer) != cuda::SUCCESS ||
      api.PointerGetAttribute(&bytes, kRangeSize, pointer) != cuda::SUCCESS ||
      api.PointerGetAttribute(&ordinal, kDeviceOrdinal, pointer) != cuda::SUCCESS || bytes == 0) {
    return env.Null();
  }
  Napi::Object range = Napi::Object::New(env);
  range.Set("start", FromPointer(env, start));
  range.Set("bytes", Napi::Number::New(env, static_cast<double>(bytes)));
  range.Set("device", Napi::Number::New(env, ordinal));
  return range;
}

Napi::Value MemoryAlloc(const Napi::CallbackInfo& info) {
  const Device& device = UseDevice(ToInt(info[0], "device"));
  cuda::CUdeviceptr pointer = 0;
  CU(MemAlloc, &pointer, ToSize(info[1], "bytes"));
  std::lock_guard<std::mutex> lock(live_mutex);
  Live()[pointer] = device.ordinal;
  return FromPointer(info.Env(), pointer);
}

Napi::Value MemoryFree(const Napi::CallbackInfo& info) {
  const cuda::CUdeviceptr pointer = ToPointer(info[0], "pointer");
  int device = 0;
  {
    std::lock_guard<std::mutex> lock(live_mutex);
    const auto found = Live().find(pointer);
    if (found == Live().end()) {
      throw UsageError("memoryFree", "NOT_OPEN", "device pointer is not a live allocation: freed before?");
    }
    device = found->second;
    Live().erase(found);
  }
  UseDevice(device);
  CU(MemFree, pointer);
  return info.Env().Undefined();
}

/// Zeroed pinned memory, mapped for every device: {handle, pointer, buffer}.
Napi::Value HostAlloc(const Napi::CallbackInfo& info) {
  const Napi::Env env = info.Env();
  const Device& device = UseDevice(ToInt(info[0], "device"));
  const std::size_t bytes = ToSize(info[1], "bytes");
  void* host = nullptr;
  CU(MemHostAlloc, &host, bytes, cuda::MEMHOSTALLOC_PORTABLE | cuda::MEMHOSTALLOC_DEVICEMAP);
  try {
    std::memset(host, 0, bytes);
    cuda::CUdeviceptr pointer = 0;
    CU(MemHostGetDevicePointer, &pointer, host, 0);
    auto owner = std::make_shared<HostOwner>();
    owner->device = device.ordinal;
    owner->host = host;
    // The finalizer frees nothing by itself: a GPU may still write here when JavaScript has lost interest. hostFree
    // does, or says that the finalizer may, where the memory can still be seen.
    Napi::ArrayBuffer buffer = Napi::ArrayBuffer::New(
        env, host, bytes,
        [](Napi::Env, void*, std::shared_ptr<HostOwner>* kept) {
          const std::unique_ptr<std::shared_ptr<HostOwner>> owner(kept);
          std::lock_guard<std::mutex> lock((*owner)->mutex);
          try {
            if ((*owner)->is_asked) (*owner)->Free();
          } catch (const NativeError&) {
            // The driver is gone, and the memory with it.
          }
        },
        new std::shared_ptr<HostOwner>(owner));
    auto allocation = std::make_shared<HostAllocation>();
    allocation->owner = owner;
    allocation->env = env;
    allocation->buffer = Napi::Persistent(buffer);
    Napi::Object result = Napi::Object::New(env);
    result.Set("handle", FromHandle(env, HostAllocations().Add(allocation)));
    result.Set("pointer", FromPointer(env, pointer));
    result.Set("buffer", buffer);
    return result;
  } catch (...) {
    cuda::Get().MemFreeHost(host);
    throw;
  }
}

Napi::Value HostFree(const Napi::CallbackInfo& info) {
  const std::uint64_t handle = ToSize(info[0], "handle");
  if (HostAllocations().Get(handle)->env != static_cast<napi_env>(info.Env())) {
    throw UsageError("hostFree", "WRONG_THREAD", "host memory is freed by the thread that allocated it");
  }
  const std::shared_ptr<HostAllocation> allocation = HostAllocations().Take(handle);
  Napi::ArrayBuffer buffer = allocation->buffer.Value();
  std::lock_guard<std::mutex> lock(allocation->owner->mutex);
  if (buffer.IsDetached()) {
    allocation->owner->is_asked = true;
  } else {
    // Views of the buffer then have length 0 instead of pointing at freed memory.
    buffer.Detach();
    allocation->owner->Free();
  }
  allocation->buffer.Reset();
  return info.Env().Undefined();
}

}  // namespace collc

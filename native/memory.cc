// Plain device allocations and pinned host memory that the GPU sees.
#include <cstring>
#include <map>
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

struct HostAllocation {
  int device;
  void* host;
  Napi::Reference<Napi::ArrayBuffer> buffer;
};

HandleTable<HostAllocation>& HostAllocations() {
  static auto* table = new HandleTable<HostAllocation>("host allocation");
  return *table;
}

}  // namespace

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
    // No finalizer frees it: a GPU may still write here when JavaScript has lost interest. hostFree does.
    Napi::ArrayBuffer buffer = Napi::ArrayBuffer::New(env, host, bytes);
    auto allocation = std::make_shared<HostAllocation>();
    allocation->device = device.ordinal;
    allocation->host = host;
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
  const std::shared_ptr<HostAllocation> allocation = HostAllocations().Take(ToSize(info[0], "handle"));
  // Detach first: views of the buffer then have length 0 instead of pointing at freed memory.
  allocation->buffer.Value().Detach();
  allocation->buffer.Reset();
  UseDevice(allocation->device);
  CU(MemFreeHost, allocation->host);
  return info.Env().Undefined();
}

}  // namespace collc

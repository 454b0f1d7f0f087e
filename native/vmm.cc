// Virtual memory management: physical memory that can be given to another process, as a file descriptor or, inside an
// NVLink domain, as a fabric handle, and mapped for one or several devices. Multicast objects are never created.
#include <unistd.h>

#include <cstring>
#include <map>
#include <mutex>
#include <vector>

#include "convert.h"
#include "device.h"
#include "exports.h"
#include "handles.h"

namespace collc {
namespace {

struct Physical {
  int device;  // whose context the handle lives in
  cuda::CUmemHandle handle;
};

struct Mapping {
  int device;
  std::size_t bytes;
};

HandleTable<Physical>& Physicals() {
  static auto* table = new HandleTable<Physical>("physical memory");
  return *table;
}

std::mutex mappings_mutex;
std::map<cuda::CUdeviceptr, Mapping>& Mappings() {
  static auto* mappings = new std::map<cuda::CUdeviceptr, Mapping>;
  return *mappings;
}

cuda::CUmemAllocationProp Properties(int device, bool fabric = false) {
  cuda::CUmemAllocationProp properties{};
  properties.type = cuda::MEM_ALLOCATION_TYPE_PINNED;
  properties.requestedHandleTypes =
      fabric ? cuda::MEM_HANDLE_TYPE_FABRIC : cuda::MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
  properties.location = {cuda::MEM_LOCATION_TYPE_DEVICE, device};
  return properties;
}

}  // namespace

/// Recommended granularity: sizes and addresses of mappings are multiples of it.
Napi::Value MemoryGranularity(const Napi::CallbackInfo& info) {
  const Device& device = UseDevice(ToInt(info[0], "device"));
  const cuda::CUmemAllocationProp properties = Properties(device.handle);
  std::size_t granularity = 0;
  CU(MemGetAllocationGranularity, &granularity, &properties, cuda::MEM_GRANULARITY_RECOMMENDED);
  return Napi::Number::New(info.Env(), static_cast<double>(granularity));
}

/// physicalCreate(device, bytes, fabric): to be exported as a fabric handle, else as a descriptor.
Napi::Value PhysicalCreate(const Napi::CallbackInfo& info) {
  const Device& device = UseDevice(ToInt(info[0], "device"));
  const bool fabric = info[2].IsBoolean() && info[2].As<Napi::Boolean>().Value();
  const cuda::CUmemAllocationProp properties = Properties(device.handle, fabric);
  auto physical = std::make_shared<Physical>();
  physical->device = device.ordinal;
  CU(MemCreate, &physical->handle, ToSize(info[1], "bytes"), &properties, 0);
  return FromHandle(info.Env(), Physicals().Add(physical));
}

/// A new file descriptor, owned by the caller.
Napi::Value PhysicalExport(const Napi::CallbackInfo& info) {
  const std::shared_ptr<Physical> physical = Physicals().Get(ToSize(info[0], "physical"));
  UseDevice(physical->device);
  int fd = -1;
  CU(MemExportToShareableHandle, &fd, physical->handle, cuda::MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0);
  return Napi::Number::New(info.Env(), fd);
}

/// The fabric handle, as bytes: good on every host of the NVLink domain while this physical memory lives.
Napi::Value PhysicalExportFabric(const Napi::CallbackInfo& info) {
  const std::shared_ptr<Physical> physical = Physicals().Get(ToSize(info[0], "physical"));
  UseDevice(physical->device);
  Napi::Uint8Array handle = Napi::Uint8Array::New(info.Env(), cuda::kFabricHandleBytes);
  CU(MemExportToShareableHandle, handle.Data(), physical->handle, cuda::MEM_HANDLE_TYPE_FABRIC, 0);
  return handle;
}

/// physicalImportFabric(device, handle)
Napi::Value PhysicalImportFabric(const Napi::CallbackInfo& info) {
  const Device& device = UseDevice(ToInt(info[0], "device"));
  const Bytes bytes = ToBytes(info[1], "handle");
  if (bytes.size != cuda::kFabricHandleBytes) {
    throw Napi::TypeError::New(info.Env(), "a fabric handle has 64 bytes");
  }
  unsigned char handle[cuda::kFabricHandleBytes];
  std::memcpy(handle, bytes.data, sizeof handle);
  auto physical = std::make_shared<Physical>();
  physical->device = device.ordinal;
  CU(MemImportFromShareableHandle, &physical->handle, handle, cuda::MEM_HANDLE_TYPE_FABRIC);
  return FromHandle(info.Env(), Physicals().Add(physical));
}

/// physicalRetain(device, pointer): what a library mapped at an address, so that it can be exported.
Napi::Value PhysicalRetain(const Napi::CallbackInfo& info) {
  const Device& device = UseDevice(ToInt(info[0], "device"));
  auto physical = std::make_shared<Physical>();
  physical->device = device.ordinal;
  CU(MemRetainAllocationHandle, &physical->handle, reinterpret_cast<void*>(ToPointer(info[1], "pointer")));
  return FromHandle(info.Env(), Physicals().Add(physical));
}

/// Takes a peer's descriptor; the descriptor stays the caller's and may be closed afterwards.
Napi::Value PhysicalImport(const Napi::CallbackInfo& info) {
  const Device& device = UseDevice(ToInt(info[0], "device"));
  const int fd = ToInt(info[1], "fd");
  auto physical = std::make_shared<Physical>();
  physical->device = device.ordinal;
  // The driver takes the descriptor itself in the pointer argument.
  CU(MemImportFromShareableHandle, &physical->handle, reinterpret_cast<void*>(static_cast<std::intptr_t>(fd)),
     cuda::MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR);
  return FromHandle(info.Env(), Physicals().Add(physical));
}

/// Mappings of the memory stay valid; it is given back when the last of them goes.
Napi::Value PhysicalRelease(const Napi::CallbackInfo& info) {
  const std::shared_ptr<Physical> physical = Physicals().Take(ToSize(info[0], "physical"));
  UseDevice(physical->device);
  CU(MemRelease, physical->handle);
  return info.Env().Undefined();
}

/// memoryMap(physical, bytes, alignment, devices[]): one address range, readable and writable by every device named.
Napi::Value MemoryMap(const Napi::CallbackInfo& info) {
  const std::shared_ptr<Physical> physical = Physicals().Get(ToSize(info[0], "physical"));
  const std::size_t bytes = ToSize(info[1], "bytes");
  const std::size_t alignment = ToSize(info[2], "alignment");
  if (!info[3].IsArray()) throw Napi::TypeError::New(info.Env(), "devices must be an array");
  const Napi::Array devices = info[3].As<Napi::Array>();

  std::vector<cuda::CUmemAccessDesc> access;
  for (std::uint32_t i = 0; i < devices.Length(); ++i) {
    // A device needs a live primary context before memory can be made accessible to it.
    const Device& device = UseDevice(ToInt(devices.Get(i), "device"));
    access.push_back({{cuda::MEM_LOCATION_TYPE_DEVICE, device.handle}, cuda::MEM_ACCESS_READWRITE});
  }
  UseDevice(physical->device);

  const cuda::Api& api = cuda::Get();
  cuda::CUdeviceptr pointer = 0;
  CU(MemAddressReserve, &pointer, bytes, alignment, 0, 0);
  try {
    CU(MemMap, pointer, bytes, 0, physical->handle, 0);
    try {
      CU(MemSetAccess, pointer, bytes, access.data(), access.size());
    } catch (...) {
      api.MemUnmap(pointer, bytes);
      throw;
    }
  } catch (...) {
    api.MemAddressFree(pointer, bytes);
    throw;
  }
  std::lock_guard<std::mutex> lock(mappings_mutex);
  Mappings()[pointer] = {physical->device, bytes};
  return FromPointer(info.Env(), pointer);
}

Napi::Value MemoryUnmap(const Napi::CallbackInfo& info) {
  const cuda::CUdeviceptr pointer = ToPointer(info[0], "pointer");
  Mapping mapping{};
  {
    std::lock_guard<std::mutex> lock(mappings_mutex);
    const auto found = Mappings().find(pointer);
    if (found == Mappings().end()) {
      throw UsageError("memoryUnmap", "NOT_OPEN", "device pointer is not a live mapping: unmapped before?");
    }
    mapping = found->second;
    Mappings().erase(found);
  }
  UseDevice(mapping.device);
  CU(MemUnmap, pointer, mapping.bytes);
  CU(MemAddressFree, pointer, mapping.bytes);
  return info.Env().Undefined();
}

}  // namespace collc

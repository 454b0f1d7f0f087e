#include "device.h"

#include <map>
#include <memory>
#include <mutex>

#include "convert.h"
#include "exports.h"

namespace collc {
namespace {

std::mutex devices_mutex;
std::map<int, std::unique_ptr<const Device>>& Devices() {
  // Never destroyed: the driver may be gone before static destructors run.
  static auto* devices = new std::map<int, std::unique_ptr<const Device>>;
  return *devices;
}

int Attribute(int attribute, cuda::CUdevice device) {
  int value = 0;
  CU(DeviceGetAttribute, &value, attribute, device);
  return value;
}

/// An attribute that older drivers do not know, which then means "no".
bool OptionalAttribute(int attribute, cuda::CUdevice device) {
  int value = 0;
  return cuda::Get().DeviceGetAttribute(&value, attribute, device) == cuda::SUCCESS && value != 0;
}

cuda::CUdevice DeviceHandle(int ordinal) {
  cuda::CUdevice handle = 0;
  CU(DeviceGet, &handle, ordinal);
  return handle;
}

}  // namespace

const Device& UseDevice(int ordinal) {
  const Device* device = nullptr;
  {
    std::lock_guard<std::mutex> lock(devices_mutex);
    std::unique_ptr<const Device>& slot = Devices()[ordinal];
    if (!slot) {
      const cuda::CUdevice handle = DeviceHandle(ordinal);
      cuda::CUcontext context = nullptr;
      CU(DevicePrimaryCtxRetain, &context, handle);
      try {
        CU(CtxSetCurrent, context);
        cuda::CUstream copy_stream = nullptr;
        CU(StreamCreate, &copy_stream, cuda::STREAM_NON_BLOCKING);
        slot.reset(new Device{ordinal, handle, context, copy_stream});
      } catch (...) {
        cuda::Get().DevicePrimaryCtxRelease(handle);
        throw;
      }
    }
    device = slot.get();
  }
  CU(CtxSetCurrent, device->context);
  return *device;
}

Napi::Value OpenCuda(const Napi::CallbackInfo& info) {
  const std::string path = cuda::Open(ToTexts(info[0], "paths"));
  int version = 0;
  CU(DriverGetVersion, &version);
  Napi::Object result = Napi::Object::New(info.Env());
  result.Set("path", path);
  result.Set("version", version);
  return result;
}

Napi::Value DeviceCount(const Napi::CallbackInfo& info) {
  int count = 0;
  CU(DeviceGetCount, &count);
  return Napi::Number::New(info.Env(), count);
}

Napi::Value DescribeDevice(const Napi::CallbackInfo& info) {
  const Napi::Env env = info.Env();
  const int ordinal = ToInt(info[0], "device");
  const cuda::CUdevice device = DeviceHandle(ordinal);
  char name[256] = {};
  CU(DeviceGetName, name, static_cast<int>(sizeof name) - 1, device);
  std::size_t total = 0;
  CU(DeviceTotalMem, &total, device);

  Napi::Object result = Napi::Object::New(env);
  result.Set("ordinal", ordinal);
  result.Set("name", std::string(name));
  result.Set("totalBytes", static_cast<double>(total));
  const auto number = [&](const char* key, int attribute) { result.Set(key, Attribute(attribute, device)); };
  const auto flag = [&](const char* key, int attribute) {
    result.Set(key, Napi::Boolean::New(env, OptionalAttribute(attribute, device)));
  };
  number("computeMajor", cuda::DEVICE_ATTRIBUTE_CC_MAJOR);
  number("computeMinor", cuda::DEVICE_ATTRIBUTE_CC_MINOR);
  number("multiprocessors", cuda::DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT);
  number("maxThreadsPerBlock", cuda::DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK);
  number("maxSharedBytes", cuda::DEVICE_ATTRIBUTE_MAX_SHARED_OPTIN);
  number("pciDomain", cuda::DEVICE_ATTRIBUTE_PCI_DOMAIN_ID);
  number("pciBus", cuda::DEVICE_ATTRIBUTE_PCI_BUS_ID);
  number("pciDevice", cuda::DEVICE_ATTRIBUTE_PCI_DEVICE_ID);
  flag("canMapHost", cuda::DEVICE_ATTRIBUTE_CAN_MAP_HOST_MEMORY);
  flag("cooperativeLaunch", cuda::DEVICE_ATTRIBUTE_COOPERATIVE_LAUNCH);
  flag("virtualMemory", cuda::DEVICE_ATTRIBUTE_VMM_SUPPORTED);
  flag("posixFd", cuda::DEVICE_ATTRIBUTE_POSIX_FD_SUPPORTED);
  flag("fabricHandle", cuda::DEVICE_ATTRIBUTE_FABRIC_SUPPORTED);
  flag("multicast", cuda::DEVICE_ATTRIBUTE_MULTICAST_SUPPORTED);
  return result;
}

Napi::Value DeviceAttribute(const Napi::CallbackInfo& info) {
  return Napi::Number::New(info.Env(),
                           Attribute(ToInt(info[1], "attribute"), DeviceHandle(ToInt(info[0], "device"))));
}

Napi::Value CanAccessPeer(const Napi::CallbackInfo& info) {
  int can = 0;
  CU(DeviceCanAccessPeer, &can, DeviceHandle(ToInt(info[0], "device")), DeviceHandle(ToInt(info[1], "peer")));
  return Napi::Boolean::New(info.Env(), can != 0);
}

/// peerAttribute(device, peer, attribute)
Napi::Value PeerAttribute(const Napi::CallbackInfo& info) {
  int value = 0;
  CU(DeviceGetP2PAttribute, &value, ToInt(info[2], "attribute"), DeviceHandle(ToInt(info[0], "device")),
     DeviceHandle(ToInt(info[1], "peer")));
  return Napi::Number::New(info.Env(), value);
}

Napi::Value MemoryInfo(const Napi::CallbackInfo& info) {
  UseDevice(ToInt(info[0], "device"));
  std::size_t free_bytes = 0;
  std::size_t total_bytes = 0;
  CU(MemGetInfo, &free_bytes, &total_bytes);
  Napi::Object result = Napi::Object::New(info.Env());
  result.Set("freeBytes", static_cast<double>(free_bytes));
  result.Set("totalBytes", static_cast<double>(total_bytes));
  return result;
}

}  // namespace collc

// State, faults, devices and contexts.
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <optional>
#include <thread>

#include "driver.h"

namespace fake {
namespace {

thread_local int current_device = -1;
std::thread::id main_thread;

// setenv on the JavaScript thread races with getenv elsewhere, so only that thread reads the environment.
std::string Env(const char* name) {
  static auto& cache = *new std::map<std::string, std::string>;  // libraries' destructors may still ask
  if (std::this_thread::get_id() == main_thread) {
    const char* value = getenv(name);
    cache[name] = value ? value : "";
  }
  return cache[name];
}

std::vector<std::string> Split(const std::string& text, char at) {
  std::vector<std::string> parts;
  std::size_t begin = 0;
  while (begin <= text.size()) {
    const std::size_t end = std::min(text.find(at, begin), text.size());
    parts.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return parts;
}

int ContextDevice(CUcontext context) { return static_cast<int>(reinterpret_cast<std::uintptr_t>(context)) - 1; }
CUcontext ContextOf(int device) { return reinterpret_cast<CUcontext>(static_cast<std::uintptr_t>(device) + 1); }

const std::map<int, std::pair<const char*, const char*>> kNames = {
    {1, {"CUDA_ERROR_INVALID_VALUE", "invalid argument"}},
    {2, {"CUDA_ERROR_OUT_OF_MEMORY", "out of memory"}},
    {100, {"CUDA_ERROR_NO_DEVICE", "no CUDA-capable device is detected"}},
    {101, {"CUDA_ERROR_INVALID_DEVICE", "invalid device ordinal"}},
    {200, {"CUDA_ERROR_INVALID_IMAGE", "device kernel image is invalid"}},
    {201, {"CUDA_ERROR_INVALID_CONTEXT", "invalid device context"}},
    {400, {"CUDA_ERROR_INVALID_HANDLE", "invalid resource handle"}},
    {401, {"CUDA_ERROR_ILLEGAL_STATE", "the operation cannot be performed in the present state"}},
    {500, {"CUDA_ERROR_NOT_FOUND", "named symbol not found"}},
    {600, {"CUDA_ERROR_NOT_READY", "device not ready"}},
    {700, {"CUDA_ERROR_ILLEGAL_ADDRESS", "an illegal memory access was encountered"}},
    {720, {"CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE", "too many blocks in cooperative launch"}},
    {901, {"CUDA_ERROR_STREAM_CAPTURE_INVALIDATED", "operation failed due to a previous error during capture"}},
    {903, {"CUDA_ERROR_STREAM_CAPTURE_UNMATCHED", "capture was not initiated in this stream"}},
    {999, {"CUDA_ERROR_UNKNOWN", "unknown error"}},
};

}  // namespace

State& S() {
  static auto* state = new State;
  return *state;
}

/// What FAKE_CUDA_ATTRIBUTES says of an attribute: "16=132,97=166912".
static std::optional<int> GivenAttribute(int attribute) {
  for (const std::string& row : Split(Env("FAKE_CUDA_ATTRIBUTES"), ',')) {
    const std::vector<std::string> parts = Split(row, '=');
    if (parts.size() == 2 && std::atoi(parts[0].c_str()) == attribute) return std::atoi(parts[1].c_str());
  }
  return std::nullopt;
}

static constexpr int kMultiprocessors = 4;

int Multiprocessors() { return GivenAttribute(16).value_or(kMultiprocessors); }

int DeviceCount() {
  const std::string text = Env("FAKE_CUDA_DEVICES");
  return text.empty() ? 4 : std::atoi(text.c_str());
}

bool IsBlocking() { return !Env("FAKE_CUDA_BLOCKING").empty(); }

int Ordered(const char* call) {
  static auto& spec = *new std::string;
  static auto& counts = *new std::map<std::string, int>;
  const std::string now = Env("FAKE_CUDA_FAIL");
  if (now != spec) {
    spec = now;
    counts.clear();
  }
  const int count = ++counts[call];
  if (!spec.empty()) {
    for (const std::string& row : Split(spec, ',')) {
      const std::vector<std::string> parts = Split(row, ':');
      const int nth = parts.size() > 1 ? std::atoi(parts[1].c_str()) : 1;
      if (parts[0] == call && count == nth) return parts.size() > 2 ? std::atoi(parts[2].c_str()) : 999;
    }
  }
  if (!S().initialised && std::strcmp(call, "cuInit") != 0) return kNotInitialized;
  return S().sticky;
}

void Log(const std::string& line) {
  const std::string file = Env("FAKE_CUDA_LOG");
  if (!file.empty()) std::ofstream(file, std::ios::app) << line << "\n";
}

void Trace(const std::string& line) {
  const std::string file = Env("FAKE_CUDA_TRACE");
  if (!file.empty()) std::ofstream(file, std::ios::app) << line << "\n";
}

std::string Shown(const void* handle) { return std::to_string(reinterpret_cast<std::uintptr_t>(handle)); }

int Current() { return current_device; }

double NowMs() {
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

}  // namespace fake

using namespace fake;

FAKE_API cuInit(unsigned) {
  main_thread = std::this_thread::get_id();
  FAKE_ENTER("cuInit");
  if (DeviceCount() == 0) return 100;
  S().retains.resize(DeviceCount());
  S().initialised = true;
  return 0;
}

FAKE_API cuDriverGetVersion(int* version) {
  FAKE_ENTER("cuDriverGetVersion");
  const std::string text = Env("FAKE_CUDA_VERSION");
  *version = text.empty() ? 13000 : std::atoi(text.c_str());
  return 0;
}

FAKE_API cuGetErrorName(int error, const char** name) {
  const auto found = kNames.find(error);
  if (found == kNames.end()) return kInvalidValue;
  *name = found->second.first;
  return 0;
}

FAKE_API cuGetErrorString(int error, const char** text) {
  const auto found = kNames.find(error);
  if (found == kNames.end()) return kInvalidValue;
  *text = found->second.second;
  return 0;
}

FAKE_API cuDeviceGetCount(int* count) {
  FAKE_ENTER("cuDeviceGetCount");
  *count = DeviceCount();
  return 0;
}

FAKE_API cuDeviceGet(int* device, int ordinal) {
  FAKE_ENTER("cuDeviceGet");
  if (ordinal < 0 || ordinal >= DeviceCount()) return kInvalidDevice;
  *device = ordinal;
  return 0;
}

FAKE_API cuDeviceGetName(char* name, int length, int device) {
  FAKE_ENTER("cuDeviceGetName");
  std::snprintf(name, length, "Fake GPU %d", device);
  return 0;
}

FAKE_API cuDeviceGetAttribute(int* value, int attribute, int device) {
  FAKE_ENTER("cuDeviceGetAttribute");
  if (device < 0 || device >= DeviceCount()) return kInvalidDevice;
  if (const auto given = GivenAttribute(attribute)) {
    *value = *given;
    return 0;
  }
  if (attribute >= 9000 && attribute < 9000 + kLiveKinds) {
    *value = static_cast<int>(S().live[attribute - 9000]);
    return 0;
  }
  if (attribute == DEVICE_ATTRIBUTE_PCI_BUS_ID) {
    *value = device + 1;
    return 0;
  }
  static const std::map<int, int> values = {{1, 1024}, {11, 0x7fffffff}, {16, kMultiprocessors}, {19, 1},  {34, 0},  {50, 0},  {75, 9},
                                            {76, 0},   {95, 1},  {97, 232448}, {102, 1}, {103, 1}, {128, 0}, {132, 0}};
  const auto found = values.find(attribute);
  if (found == values.end()) return kInvalidValue;
  *value = found->second;
  return 0;
}

FAKE_API cuDeviceTotalMem_v2(std::size_t* bytes, int) {
  FAKE_ENTER("cuDeviceTotalMem");
  *bytes = std::size_t{8} << 30;
  return 0;
}

FAKE_API cuDeviceCanAccessPeer(int* can, int device, int peer) {
  FAKE_ENTER("cuDeviceCanAccessPeer");
  *can = device != peer && Env("FAKE_CUDA_NO_PEER").empty();
  return 0;
}

FAKE_API cuDeviceGetP2PAttribute(int* value, int attribute, int device, int peer) {
  FAKE_ENTER("cuDeviceGetP2PAttribute");
  if (device == peer || device < 0 || peer < 0 || device >= DeviceCount() || peer >= DeviceCount()) return kInvalidDevice;
  // Performance rank, access, native atomics, array access.
  if (attribute < 1 || attribute > 4) return kInvalidValue;
  *value = attribute == 1 ? 0 : Env("FAKE_CUDA_NO_PEER").empty();
  return 0;
}

FAKE_API cuDevicePrimaryCtxRetain(CUcontext* context, int device) {
  FAKE_ENTER("cuDevicePrimaryCtxRetain");
  if (device < 0 || device >= DeviceCount()) return kInvalidDevice;
  ++S().retains[device];
  *context = ContextOf(device);
  return 0;
}

FAKE_API cuDevicePrimaryCtxRelease_v2(int device) {
  FAKE_ENTER("cuDevicePrimaryCtxRelease");
  if (S().retains[device] == 0) return kInvalidContext;
  --S().retains[device];
  return 0;
}

FAKE_API cuCtxGetCurrent(CUcontext* context) {
  FAKE_ENTER("cuCtxGetCurrent");
  *context = current_device < 0 ? nullptr : ContextOf(current_device);
  return 0;
}

FAKE_API cuCtxSetCurrent(CUcontext context) {
  FAKE_ENTER("cuCtxSetCurrent");
  if (context == nullptr) {
    current_device = -1;
    return 0;
  }
  const int device = ContextDevice(context);
  if (device < 0 || device >= DeviceCount() || S().retains[device] == 0) return kInvalidContext;
  current_device = device;
  return 0;
}

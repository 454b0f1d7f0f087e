// An NVML that says what FAKE_NVML orders: `switch:18` (default), `direct:4` (to the next GPU on a ring), `unknown:6`
// (like direct, the type not told), `none`, `fail` (no initialisation), `lost` (devices are not found).
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

#include "api/nvml.h"

using namespace collc::nvml;

#define FAKE_API extern "C" __attribute__((visibility("default"))) int

namespace {

constexpr int kNotSupported = 3, kNotFound = 6, kUnknown = 999;
/// GPUs of the fake driver: buses 1 to 4.
constexpr unsigned kGpus = 4;
struct Gpu {
  unsigned bus;
} gpus[kGpus] = {{1}, {2}, {3}, {4}};

std::string Kind() {
  const char* text = std::getenv("FAKE_NVML");
  const std::string spec = text ? text : "switch:18";
  return spec.substr(0, spec.find(':'));
}
unsigned Links() {
  const char* text = std::getenv("FAKE_NVML");
  const std::string spec = text ? text : "switch:18";
  const std::size_t colon = spec.find(':');
  return colon == std::string::npos ? 0 : static_cast<unsigned>(std::atoi(spec.c_str() + colon + 1));
}
const Gpu* Of(nvmlDevice_t device) { return reinterpret_cast<const Gpu*>(device); }

}  // namespace

FAKE_API nvmlInit_v2() { return Kind() == "fail" ? kUnknown : SUCCESS; }
FAKE_API nvmlSystemGetDriverVersion(char* text, unsigned length) {
  std::snprintf(text, length, "580.00.1");
  return SUCCESS;
}
extern "C" __attribute__((visibility("default"))) const char* nvmlErrorString(int error) {
  return error == kNotFound ? "Not Found" : "Unknown Error";
}
FAKE_API nvmlDeviceGetHandleByPciBusId_v2(const char* text, nvmlDevice_t* device) {
  unsigned domain = 1, bus = 0;
  if (Kind() == "lost" || std::sscanf(text, "%x:%x:", &domain, &bus) != 2 || domain != 0) return kNotFound;
  if (bus < 1 || bus > kGpus) return kNotFound;
  *device = reinterpret_cast<nvmlDevice_t>(&gpus[bus - 1]);
  return SUCCESS;
}
FAKE_API nvmlDeviceGetNvLinkState(nvmlDevice_t, unsigned link, int* up) {
  if (link >= 18) return 2;
  *up = link < Links();
  return SUCCESS;
}
FAKE_API nvmlDeviceGetNvLinkRemoteDeviceType(nvmlDevice_t, unsigned, int* type) {
  if (Kind() == "unknown") return kNotSupported;
  *type = Kind() == "switch" ? REMOTE_SWITCH : REMOTE_GPU;
  return SUCCESS;
}
FAKE_API nvmlDeviceGetNvLinkRemotePciInfo_v2(nvmlDevice_t device, unsigned link, PciInfo* info) {
  std::memset(info, 0, sizeof *info);
  // Half of the links to each neighbour on a ring.
  const unsigned index = Of(device)->bus - 1;
  info->bus = Kind() == "switch" ? 0x80 : gpus[(index + (link % 2 ? 1 : kGpus - 1)) % kGpus].bus;
  return SUCCESS;
}
FAKE_API nvmlDeviceGetGpuFabricInfoV(nvmlDevice_t, FabricInfo* info) {
  if (info->version != FABRIC_INFO_VERSION) return 25;
  std::memset(info->clusterUuid, 0xab, sizeof info->clusterUuid);
  info->state = 3;
  info->cliqueId = 7;
  return SUCCESS;
}

// The part of NVML that collc uses, to see how GPUs are linked. Layouts and values as in nvml.h 13.0, unchanged since 11.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace collc::nvml {

using nvmlDevice_t = struct nvmlDevice_st*;

enum : int { SUCCESS = 0, LINK_UP = 1, MAX_LINKS = 64 };
/// nvmlIntNvLinkDeviceType_t.
enum : int { REMOTE_GPU = 0, REMOTE_SWITCH = 2, REMOTE_UNKNOWN = 255 };

struct PciInfo {
  char busIdLegacy[16];
  unsigned domain, bus, device, pciDeviceId, pciSubSystemId;
  char busId[32];
};
static_assert(sizeof(PciInfo) == 68, "nvmlPciInfo_t");

struct FabricInfo {
  unsigned version;
  unsigned char clusterUuid[16];
  int status;
  unsigned cliqueId;
  unsigned char state;
  unsigned healthMask;
};
static_assert(sizeof(FabricInfo) == 36 && offsetof(FabricInfo, state) == 28, "nvmlGpuFabricInfo_v2_t");
constexpr unsigned FABRIC_INFO_VERSION = sizeof(FabricInfo) | 2u << 24;

// X(name here, exported symbol, parameter types...)
#define COLLC_NVML_SYMBOLS(X)                                                                            \
  X(Init, "nvmlInit_v2", void)                                                                           \
  X(SystemGetDriverVersion, "nvmlSystemGetDriverVersion", char*, unsigned)                               \
  X(DeviceGetHandleByPciBusId, "nvmlDeviceGetHandleByPciBusId_v2", const char*, nvmlDevice_t*)           \
  X(DeviceGetNvLinkState, "nvmlDeviceGetNvLinkState", nvmlDevice_t, unsigned, int*)                      \
  X(DeviceGetNvLinkRemotePciInfo, "nvmlDeviceGetNvLinkRemotePciInfo_v2", nvmlDevice_t, unsigned, PciInfo*)

// Newer drivers only: what a link ends at (460), membership in an NVLink domain (535).
#define COLLC_NVML_OPTIONAL_SYMBOLS(X)                                                                     \
  X(DeviceGetNvLinkRemoteDeviceType, "nvmlDeviceGetNvLinkRemoteDeviceType", nvmlDevice_t, unsigned, int*)  \
  X(DeviceGetGpuFabricInfoV, "nvmlDeviceGetGpuFabricInfoV", nvmlDevice_t, FabricInfo*)

struct Api {
#define COLLC_MEMBER(name, symbol, ...) int (*name)(__VA_ARGS__) = nullptr;
  COLLC_NVML_SYMBOLS(COLLC_MEMBER)
  COLLC_NVML_OPTIONAL_SYMBOLS(COLLC_MEMBER)
#undef COLLC_MEMBER
  const char* (*ErrorString)(int) = nullptr;
};

/// Opens and initialises the first library that loads; returns its path. Later calls return at once.
std::string Open(const std::vector<std::string>& candidates);

const Api& Get();

void Check(int result, const char* call);

}  // namespace collc::nvml

/// Calls an NVML function and throws on failure.
#define NVML(name, ...) ::collc::nvml::Check(::collc::nvml::Get().name(__VA_ARGS__), "nvml" #name)

// NVML, opened at run time: how GPUs are linked. Asked once for reports; nothing here is on a launch's way.
#include "api/nvml.h"

#include <cstdio>
#include <string>

#include "convert.h"
#include "exports.h"

namespace collc {
namespace {

const char* RemoteName(int type) {
  return type == nvml::REMOTE_GPU ? "gpu" : type == nvml::REMOTE_SWITCH ? "switch" : "unknown";
}

Napi::Value Links(Napi::Env env, nvml::nvmlDevice_t device) {
  const nvml::Api& api = nvml::Get();
  Napi::Array links = Napi::Array::New(env);
  for (unsigned link = 0; link < nvml::MAX_LINKS; ++link) {
    int up = 0;
    // Fails from the first link on that the GPU does not have, and for one that is down on some drivers.
    if (api.DeviceGetNvLinkState(device, link, &up) != nvml::SUCCESS || up != nvml::LINK_UP) continue;
    int type = nvml::REMOTE_UNKNOWN;
    if (!api.DeviceGetNvLinkRemoteDeviceType ||
        api.DeviceGetNvLinkRemoteDeviceType(device, link, &type) != nvml::SUCCESS) {
      type = nvml::REMOTE_UNKNOWN;
    }
    Napi::Object row = Napi::Object::New(env);
    row.Set("link", link);
    row.Set("remote", RemoteName(type));
    nvml::PciInfo pci{};
    if (api.DeviceGetNvLinkRemotePciInfo(device, link, &pci) == nvml::SUCCESS) {
      Napi::Object place = Napi::Object::New(env);
      place.Set("domain", pci.domain);
      place.Set("bus", pci.bus);
      place.Set("device", pci.device);
      row.Set("remotePci", place);
    } else {
      row.Set("remotePci", env.Null());
    }
    links.Set(links.Length(), row);
  }
  return links;
}

Napi::Value Fabric(Napi::Env env, nvml::nvmlDevice_t device) {
  const nvml::Api& api = nvml::Get();
  nvml::FabricInfo info{};
  info.version = nvml::FABRIC_INFO_VERSION;
  if (!api.DeviceGetGpuFabricInfoV || api.DeviceGetGpuFabricInfoV(device, &info) != nvml::SUCCESS) return env.Null();
  std::string cluster;
  for (const unsigned char byte : info.clusterUuid) {
    char text[3];
    std::snprintf(text, sizeof text, "%02x", byte);
    cluster += text;
  }
  Napi::Object fabric = Napi::Object::New(env);
  fabric.Set("state", static_cast<int>(info.state));
  fabric.Set("cluster", cluster);
  fabric.Set("clique", info.cliqueId);
  return fabric;
}

}  // namespace

Napi::Value OpenNvml(const Napi::CallbackInfo& info) {
  const std::string path = nvml::Open(ToTexts(info[0], "paths"));
  char version[96] = {};
  NVML(SystemGetDriverVersion, version, static_cast<unsigned>(sizeof version) - 1);
  Napi::Object result = Napi::Object::New(info.Env());
  result.Set("path", path);
  result.Set("driverVersion", std::string(version));
  return result;
}

/// nvmlDevice(pciDomain, pciBus, pciDevice): NVML counts GPUs differently from CUDA, so by place.
Napi::Value NvmlDevice(const Napi::CallbackInfo& info) {
  char bus_id[32];
  std::snprintf(bus_id, sizeof bus_id, "%08x:%02x:%02x.0", ToUnsigned(info[0], "domain"), ToUnsigned(info[1], "bus"),
                ToUnsigned(info[2], "device"));
  nvml::nvmlDevice_t device = nullptr;
  NVML(DeviceGetHandleByPciBusId, bus_id, &device);
  Napi::Object result = Napi::Object::New(info.Env());
  result.Set("links", Links(info.Env(), device));
  result.Set("fabric", Fabric(info.Env(), device));
  return result;
}

}  // namespace collc

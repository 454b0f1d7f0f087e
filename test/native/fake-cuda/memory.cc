// Memory: plain, pinned, and virtual memory management over memfds.
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "driver.h"

namespace fake {
namespace {

struct Physical {
  int fd;
  std::size_t bytes;
  int handle_type = MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
};
/// What a fabric handle holds here.
struct Fabric {
  std::uint64_t magic, pid, fd, bytes;
};
constexpr std::uint64_t kFabricMagic = 0xfab41c;
struct Reservation {
  void* base;
  std::size_t base_bytes;
  std::size_t bytes;
  bool mapped = false;
};

// Never destroyed: threads may still ask while the process exits.
std::map<CUmemHandle, Physical>& physicals = *new std::map<CUmemHandle, Physical>;
std::map<CUdeviceptr, Reservation>& reservations = *new std::map<CUdeviceptr, Reservation>;
/// What is mapped where; the descriptor is its own.
std::map<CUdeviceptr, Physical>& mapped = *new std::map<CUdeviceptr, Physical>;
CUmemHandle next_physical = 1;
std::set<CUdeviceptr>& allocations = *new std::set<CUdeviceptr>;
std::set<void*>& hosts = *new std::set<void*>;

bool GoodProperties(const CUmemAllocationProp* p) {
  return p && p->type == MEM_ALLOCATION_TYPE_PINNED &&
         (p->requestedHandleTypes == MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR ||
          p->requestedHandleTypes == MEM_HANDLE_TYPE_FABRIC) &&
         p->location.type == MEM_LOCATION_TYPE_DEVICE && p->location.id >= 0 && p->location.id < DeviceCount() &&
         !p->win32HandleMetaData;
}

}  // namespace

bool Accessible(CUdeviceptr pointer, std::size_t bytes, int device) {
  auto next = S().ranges.upper_bound(pointer);
  if (next == S().ranges.begin()) return false;
  const auto& [begin, range] = *--next;
  return pointer - begin <= range.bytes && bytes <= range.bytes - (pointer - begin) && range.devices.count(device);
}

}  // namespace fake

using namespace fake;

FAKE_API cuMemGetInfo_v2(std::size_t* free_bytes, std::size_t* total) {
  FAKE_CONTEXT("cuMemGetInfo");
  *total = std::size_t{8} << 30;
  *free_bytes = *total / 2;
  return 0;
}

FAKE_API cuMemAlloc_v2(CUdeviceptr* pointer, std::size_t bytes) {
  FAKE_UNSAFE("cuMemAlloc");
  if (bytes == 0) return kInvalidValue;
  if (bytes > (std::size_t{8} << 30)) return kOutOfMemory;
  void* memory = nullptr;
  if (posix_memalign(&memory, 512, bytes) != 0) return kOutOfMemory;
  std::memset(memory, 0xcd, bytes);
  *pointer = reinterpret_cast<CUdeviceptr>(memory);
  S().ranges[*pointer] = {bytes, {Current()}};
  allocations.insert(*pointer);
  ++S().live[kAllocations];
  return 0;
}

FAKE_API cuPointerGetAttribute(void* out, int attribute, CUdeviceptr pointer) {
  FAKE_CONTEXT("cuPointerGetAttribute");
  auto next = S().ranges.upper_bound(pointer);
  if (next == S().ranges.begin()) return kInvalidValue;
  const auto& [start, range] = *std::prev(next);
  if (pointer - start >= range.bytes) return kInvalidValue;
  switch (attribute) {
    case 9: *static_cast<int*>(out) = *range.devices.begin(); return 0;
    case 11: *static_cast<CUdeviceptr*>(out) = start; return 0;
    case 12: *static_cast<std::size_t*>(out) = range.bytes; return 0;
    default: return kInvalidValue;
  }
}

FAKE_API cuMemFree_v2(CUdeviceptr pointer) {
  WaitIdle();
  FAKE_UNSAFE("cuMemFree");
  if (!allocations.erase(pointer)) return kInvalidValue;
  S().ranges.erase(pointer);
  std::free(reinterpret_cast<void*>(pointer));
  --S().live[kAllocations];
  return 0;
}

FAKE_API cuMemHostAlloc(void** host, std::size_t bytes, unsigned flags) {
  FAKE_UNSAFE("cuMemHostAlloc");
  if (flags != (MEMHOSTALLOC_PORTABLE | MEMHOSTALLOC_DEVICEMAP)) return kInvalidValue;
  if (posix_memalign(host, 4096, bytes) != 0) return kOutOfMemory;
  std::memset(*host, 0xcd, bytes);
  Range range{bytes, {}};
  for (int device = 0; device < DeviceCount(); ++device) range.devices.insert(device);
  S().ranges[reinterpret_cast<CUdeviceptr>(*host)] = range;
  hosts.insert(*host);
  ++S().live[kHost];
  return 0;
}

FAKE_API cuMemFreeHost(void* host) {
  FAKE_UNSAFE("cuMemFreeHost");
  if (!hosts.erase(host)) return kInvalidValue;
  S().ranges.erase(reinterpret_cast<CUdeviceptr>(host));
  std::free(host);
  --S().live[kHost];
  return 0;
}

FAKE_API cuMemHostGetDevicePointer_v2(CUdeviceptr* pointer, void* host, unsigned flags) {
  FAKE_CONTEXT("cuMemHostGetDevicePointer");
  if (flags != 0 || !hosts.count(host)) return kInvalidValue;
  *pointer = reinterpret_cast<CUdeviceptr>(host);
  return 0;
}

FAKE_API cuMemGetAllocationGranularity(std::size_t* granularity, const CUmemAllocationProp* properties, int) {
  FAKE_CONTEXT("cuMemGetAllocationGranularity");
  if (!GoodProperties(properties)) return kInvalidValue;
  *granularity = kGranularity;
  return 0;
}

FAKE_API cuMemCreate(CUmemHandle* handle, std::size_t bytes, const CUmemAllocationProp* properties,
                     unsigned long long flags) {
  FAKE_CONTEXT("cuMemCreate");
  if (!GoodProperties(properties) || bytes == 0 || bytes % kGranularity || flags) return kInvalidValue;
  const int fd = memfd_create("fake-cuda", MFD_CLOEXEC);
  if (fd < 0 || ftruncate(fd, static_cast<off_t>(bytes)) != 0) return kOutOfMemory;
  // Fresh device memory is not zero. Huge blocks stay sparse.
  void* view = mmap(nullptr, bytes, PROT_WRITE, MAP_SHARED, fd, 0);
  std::memset(view, 0xcd, std::min<std::size_t>(bytes, 1 << 30));
  munmap(view, bytes);
  *handle = next_physical++;
  physicals[*handle] = {fd, bytes, properties->requestedHandleTypes};
  ++S().live[kPhysical];
  return 0;
}

FAKE_API cuMemRelease(CUmemHandle handle) {
  FAKE_CONTEXT("cuMemRelease");
  const auto found = physicals.find(handle);
  if (found == physicals.end()) return kInvalidValue;
  close(found->second.fd);
  physicals.erase(found);
  --S().live[kPhysical];
  return 0;
}

FAKE_API cuMemRetainAllocationHandle(CUmemHandle* handle, void* pointer) {
  FAKE_CONTEXT("cuMemRetainAllocationHandle");
  const auto found = mapped.find(reinterpret_cast<CUdeviceptr>(pointer));
  if (found == mapped.end()) return kInvalidValue;
  *handle = next_physical++;
  physicals[*handle] = {dup(found->second.fd), found->second.bytes};
  ++S().live[kPhysical];
  return 0;
}

FAKE_API cuMemExportToShareableHandle(void* out, CUmemHandle handle, int type, unsigned long long flags) {
  FAKE_CONTEXT("cuMemExportToShareableHandle");
  const auto found = physicals.find(handle);
  if (found == physicals.end() || type != found->second.handle_type || flags) return kInvalidValue;
  if (type == MEM_HANDLE_TYPE_FABRIC) {
    const Fabric fabric{kFabricMagic, static_cast<std::uint64_t>(getpid()),
                        static_cast<std::uint64_t>(found->second.fd), found->second.bytes};
    std::memset(out, 0, kFabricHandleBytes);
    std::memcpy(out, &fabric, sizeof fabric);
    return 0;
  }
  *static_cast<int*>(out) = dup(found->second.fd);
  return 0;
}

FAKE_API cuMemImportFromShareableHandle(CUmemHandle* handle, void* in, int type) {
  FAKE_CONTEXT("cuMemImportFromShareableHandle");
  if (type == MEM_HANDLE_TYPE_FABRIC) {
    Fabric fabric{};
    std::memcpy(&fabric, in, sizeof fabric);
    if (fabric.magic != kFabricMagic) return kInvalidValue;
    const std::string path = "/proc/" + std::to_string(fabric.pid) + "/fd/" + std::to_string(fabric.fd);
    const int opened = open(path.c_str(), O_RDWR | O_CLOEXEC);
    if (opened < 0) return kInvalidValue;
    *handle = next_physical++;
    physicals[*handle] = {opened, fabric.bytes, type};
    ++S().live[kPhysical];
    return 0;
  }
  struct stat facts {};
  const int fd = dup(static_cast<int>(reinterpret_cast<std::intptr_t>(in)));
  if (fd < 0 || type != MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR || fstat(fd, &facts) != 0) return kInvalidValue;
  *handle = next_physical++;
  physicals[*handle] = {fd, static_cast<std::size_t>(facts.st_size)};
  ++S().live[kPhysical];
  return 0;
}

FAKE_API cuMemAddressReserve(CUdeviceptr* pointer, std::size_t bytes, std::size_t alignment, CUdeviceptr fixed,
                             unsigned long long flags) {
  FAKE_CONTEXT("cuMemAddressReserve");
  if (bytes == 0 || bytes % kGranularity || fixed || flags || (alignment & (alignment - 1))) return kInvalidValue;
  if (alignment < kGranularity) alignment = kGranularity;
  const std::size_t base_bytes = bytes + alignment;
  void* base = mmap(nullptr, base_bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (base == MAP_FAILED) return kOutOfMemory;
  *pointer = (reinterpret_cast<CUdeviceptr>(base) + alignment - 1) / alignment * alignment;
  reservations[*pointer] = {base, base_bytes, bytes};
  ++S().live[kReservations];
  return 0;
}

FAKE_API cuMemAddressFree(CUdeviceptr pointer, std::size_t bytes) {
  FAKE_CONTEXT("cuMemAddressFree");
  const auto found = reservations.find(pointer);
  if (found == reservations.end() || found->second.bytes != bytes || found->second.mapped) return kInvalidValue;
  munmap(found->second.base, found->second.base_bytes);
  reservations.erase(found);
  --S().live[kReservations];
  return 0;
}

FAKE_API cuMemMap(CUdeviceptr pointer, std::size_t bytes, std::size_t offset, CUmemHandle handle,
                  unsigned long long flags) {
  FAKE_CONTEXT("cuMemMap");
  const auto reservation = reservations.find(pointer);
  const auto physical = physicals.find(handle);
  if (reservation == reservations.end() || physical == physicals.end() || offset || flags) return kInvalidValue;
  if (reservation->second.mapped || reservation->second.bytes != bytes || physical->second.bytes != bytes) {
    return kInvalidValue;
  }
  // Not accessible until cuMemSetAccess.
  if (mmap(reinterpret_cast<void*>(pointer), bytes, PROT_NONE, MAP_SHARED | MAP_FIXED, physical->second.fd, 0) ==
      MAP_FAILED) {
    return kOutOfMemory;
  }
  reservation->second.mapped = true;
  mapped[pointer] = {dup(physical->second.fd), bytes};
  ++S().live[kMappings];
  return 0;
}

FAKE_API cuMemSetAccess(CUdeviceptr pointer, std::size_t bytes, const CUmemAccessDesc* access, std::size_t count) {
  FAKE_CONTEXT("cuMemSetAccess");
  const auto found = reservations.find(pointer);
  if (found == reservations.end() || !found->second.mapped || found->second.bytes != bytes || count == 0) {
    return kInvalidValue;
  }
  Range range{bytes, {}};
  for (std::size_t i = 0; i < count; ++i) {
    const CUmemAccessDesc& row = access[i];
    const bool good = row.location.type == MEM_LOCATION_TYPE_DEVICE && row.flags == MEM_ACCESS_READWRITE &&
                      row.location.id >= 0 && row.location.id < DeviceCount() && S().retains[row.location.id] > 0;
    if (!good) return kInvalidValue;
    range.devices.insert(row.location.id);
  }
  mprotect(reinterpret_cast<void*>(pointer), bytes, PROT_READ | PROT_WRITE);
  S().ranges[pointer] = range;
  return 0;
}

FAKE_API cuMemUnmap(CUdeviceptr pointer, std::size_t bytes) {
  FAKE_CONTEXT("cuMemUnmap");
  const auto found = reservations.find(pointer);
  if (found == reservations.end() || !found->second.mapped || found->second.bytes != bytes) return kInvalidValue;
  mmap(reinterpret_cast<void*>(pointer), bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED | MAP_NORESERVE, -1,
       0);
  found->second.mapped = false;
  close(mapped[pointer].fd);
  mapped.erase(pointer);
  S().ranges.erase(pointer);
  --S().live[kMappings];
  return 0;
}

// What the fake libraries share: they use the fake driver through CUDA's public interface alone, and meet in memory that
// all processes of a run map. Memory is found through /proc/PID/fd, so the processes must be one user's.
//
//   FAKE_AT_EXIT=1   exit() is as rough as with the real libraries: see AtExit
#pragma once

#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <map>
#include <stdexcept>
#include <string>
#include <thread>

#include "api/cuda.h"

#define GUEST_API extern "C" __attribute__((visibility("default")))

extern "C" {
int cuCtxGetDevice(int*);
int cuCtxSynchronize();
int cuLaunchHostFunc(collc::cuda::CUstream, void (*)(void*), void*);
int cuLaunchKernel(collc::cuda::CUfunction, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
                   collc::cuda::CUstream, void**, void**);
int cuMemHostAlloc(void**, std::size_t, unsigned);
int cuMemcpyDtoDAsync_v2(std::uint64_t, std::uint64_t, std::size_t, collc::cuda::CUstream);
int cuModuleLoadData(collc::cuda::CUmodule*, const void*);
int cuModuleGetFunction(collc::cuda::CUfunction*, collc::cuda::CUmodule, const char*);
int cuMemCreate(std::uint64_t*, std::size_t, const collc::cuda::CUmemAllocationProp*, unsigned long long);
int cuMemRelease(std::uint64_t);
int cuMemExportToShareableHandle(void*, std::uint64_t, int, unsigned long long);
int cuMemImportFromShareableHandle(std::uint64_t*, void*, int);
int cuMemAddressReserve(std::uint64_t*, std::size_t, std::size_t, std::uint64_t, unsigned long long);
int cuMemAddressFree(std::uint64_t, std::size_t);
int cuMemMap(std::uint64_t, std::size_t, std::size_t, std::uint64_t, unsigned long long);
int cuMemUnmap(std::uint64_t, std::size_t);
int cuMemSetAccess(std::uint64_t, std::size_t, const collc::cuda::CUmemAccessDesc*, std::size_t);
}

namespace guest {

using Stream = collc::cuda::CUstream;

inline void Must(int error, const char* what) {
  if (error != 0) throw std::runtime_error(std::string(what) + " failed with " + std::to_string(error));
}

inline const char* Env(const char* name) {
  const char* value = std::getenv(name);
  return value ? value : "";
}

inline void Poll(const std::function<bool()>& ready) {
  while (!ready()) std::this_thread::sleep_for(std::chrono::microseconds(200));
}

/// Threads that wait for peers inside of the library.
inline std::atomic<int> inside{0};

/// Blocks this thread, which is a worker of the addon, until `ready`.
inline void Await(const std::function<bool()>& ready) {
  ++inside;
  Poll(ready);
  --inside;
}

/// At exit() the real libraries take their state down under threads that still use it, and the CUDA runtime in them
/// waits for every kernel, also for one that will never see its peer.
__attribute__((destructor)) static void AtExit() {
  if (!*Env("FAKE_AT_EXIT")) return;
  if (inside > 0) raise(SIGSEGV);
  cuCtxSynchronize();
}

/// Memory that this process offers to others: they open `place`.
struct Shared {
  int pid;
  int fd;
};

inline void* MapShared(const Shared& shared, std::size_t bytes) {
  char path[64];
  std::snprintf(path, sizeof path, "/proc/%d/fd/%d", shared.pid, shared.fd);
  const int fd = open(path, O_RDWR);
  if (fd < 0) return nullptr;
  void* memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  close(fd);
  return memory == MAP_FAILED ? nullptr : memory;
}

inline Shared MakeShared(std::size_t bytes) {
  const int fd = memfd_create("fake-library", 0);
  if (fd < 0 || ftruncate(fd, static_cast<off_t>(bytes)) != 0) throw std::runtime_error("no shared memory");
  return {getpid(), fd};
}

/// Runs `op` when the stream gets there; again in every replay of a graph. The closure is never freed.
inline void OnStream(Stream stream, std::function<void()> op) {
  auto* held = new std::function<void()>(std::move(op));
  Must(cuLaunchHostFunc(stream, [](void* data) { (*static_cast<std::function<void()>*>(data))(); }, held),
       "cuLaunchHostFunc");
}

/// Words that streams wait for: allocated once, because a capture allows no allocation, and taken round and round.
inline std::atomic<std::uint32_t>* NextWord() {
  constexpr std::size_t count = 1 << 16;
  static auto* words = [] {
    void* memory = nullptr;
    Must(cuMemHostAlloc(&memory, 4 * count,
                        collc::cuda::MEMHOSTALLOC_PORTABLE | collc::cuda::MEMHOSTALLOC_DEVICEMAP),
         "cuMemHostAlloc");
    return static_cast<std::atomic<std::uint32_t>*>(memory);
  }();
  static std::atomic<std::size_t> next{0};
  return words + next++ % count;
}

/// Holds the stream of `device` until `ready`, without holding the thread.
inline void Hold(int device, Stream stream, std::function<bool()> ready) {
  static std::map<int, collc::cuda::CUfunction> hang;
  if (!hang[device]) {
    char cubin[128] = "\x7f" "ELF";
    std::strcpy(cubin + 64, "FAKE\nfake_hang params=8\n");
    collc::cuda::CUmodule module = nullptr;
    Must(cuModuleLoadData(&module, cubin), "cuModuleLoadData");
    Must(cuModuleGetFunction(&hang[device], module, "fake_hang"), "cuModuleGetFunction");
  }
  auto* word = NextWord();
  OnStream(stream, [word, ready] {
    word->store(ready() ? 1 : 0);
    if (word->load() == 0) {
      std::thread([word, ready] {
        Poll(ready);
        word->store(1);
      }).detach();
    }
  });
  auto address = reinterpret_cast<std::uint64_t>(word);
  void* parameters[] = {&address};
  Must(cuLaunchKernel(hang[device], 1, 1, 1, 1, 1, 1, 0, stream, parameters, nullptr), "cuLaunchKernel");
}

/// Device memory that peers can map.
struct DeviceBlock {
  std::uint64_t pointer = 0;
  std::size_t bytes = 0;
  Shared shared{};
};

inline std::uint64_t MapHandle(int device, std::uint64_t handle, std::size_t bytes) {
  std::uint64_t pointer = 0;
  Must(cuMemAddressReserve(&pointer, bytes, 0, 0, 0), "cuMemAddressReserve");
  Must(cuMemMap(pointer, bytes, 0, handle, 0), "cuMemMap");
  const collc::cuda::CUmemAccessDesc access{{collc::cuda::MEM_LOCATION_TYPE_DEVICE, device},
                                            collc::cuda::MEM_ACCESS_READWRITE};
  Must(cuMemSetAccess(pointer, bytes, &access, 1), "cuMemSetAccess");
  return pointer;
}

inline DeviceBlock AllocateBlock(int device, std::size_t bytes) {
  constexpr std::size_t granularity = 2 << 20;
  DeviceBlock block;
  block.bytes = (bytes + granularity - 1) / granularity * granularity;
  collc::cuda::CUmemAllocationProp properties{};
  properties.type = collc::cuda::MEM_ALLOCATION_TYPE_PINNED;
  properties.requestedHandleTypes = collc::cuda::MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
  properties.location = {collc::cuda::MEM_LOCATION_TYPE_DEVICE, device};
  std::uint64_t handle = 0;
  Must(cuMemCreate(&handle, block.bytes, &properties, 0), "cuMemCreate");
  Must(cuMemExportToShareableHandle(&block.shared.fd, handle, collc::cuda::MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0),
       "cuMemExportToShareableHandle");
  block.shared.pid = getpid();
  block.pointer = MapHandle(device, handle, block.bytes);
  Must(cuMemRelease(handle), "cuMemRelease");
  return block;
}

/// A peer's block, mapped here.
inline std::uint64_t ImportBlock(int device, const Shared& shared, std::size_t bytes) {
  char path[64];
  std::snprintf(path, sizeof path, "/proc/%d/fd/%d", shared.pid, shared.fd);
  const int fd = open(path, O_RDWR);
  std::uint64_t handle = 0;
  Must(cuMemImportFromShareableHandle(&handle, reinterpret_cast<void*>(static_cast<std::intptr_t>(fd)),
                                      collc::cuda::MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR),
       "cuMemImportFromShareableHandle");
  close(fd);
  const std::uint64_t pointer = MapHandle(device, handle, bytes);
  Must(cuMemRelease(handle), "cuMemRelease");
  return pointer;
}

inline void UnmapBlock(std::uint64_t pointer, std::size_t bytes) {
  Must(cuMemUnmap(pointer, bytes), "cuMemUnmap");
  Must(cuMemAddressFree(pointer, bytes), "cuMemAddressFree");
}

}  // namespace guest

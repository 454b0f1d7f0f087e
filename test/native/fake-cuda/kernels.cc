// The built-in kernels. Memory they touch is checked: a wrong address is CUDA_ERROR_ILLEGAL_ADDRESS, which sticks.
#include <cstring>

#include "driver.h"

namespace fake {
namespace {

template <typename T>
T Read(const std::vector<std::uint8_t>& bytes, std::size_t index = 0) {
  T value{};
  std::memcpy(&value, bytes.data() + index * sizeof(T), sizeof(T));
  return value;
}

template <typename T>
T* At(CUdeviceptr pointer, std::size_t count, int device) {
  if (Accessible(pointer, count * sizeof(T), device)) return reinterpret_cast<T*>(pointer);
  S().sticky = kIllegalAddress;
  return nullptr;
}

/// test/cuda/smoke-kernels.mjs: the sum alone, the barriers would wait for ever in a driver without parallel streams.
void AllReduce(int device, const Arguments& a) {
  const std::size_t ranks = a[0].size() / 8;
  const auto n = Read<std::int64_t>(a[4]);
  auto* y = At<float>(Read<CUdeviceptr>(a[3]), n, device);
  std::vector<const float*> x;
  for (std::size_t p = 0; p < ranks; ++p) x.push_back(At<float>(Read<CUdeviceptr>(a[0], p), n, device));
  for (std::int64_t i = 0; i < n && !S().sticky; ++i) {
    float sum = 0;
    for (const float* source : x) sum += source[i];
    y[i] = sum;
  }
}

/// The waits of src/runtime/cuda/primitives.ts: 0 while they wait, 1 when all arrived, 2 when the time ran out.
struct Watch {
  std::uint64_t timeout;
  std::uint32_t* status;
  std::uint32_t rank;
};

struct Flag {
  const volatile std::uint32_t* at;
  std::uint32_t wanted, peer, kind, slot;
};

int Poll(const std::vector<Flag>& flags, const Watch& watch, double start) {
  for (const Flag& flag : flags) {
    const std::uint32_t seen = *flag.at;
    if (static_cast<std::int32_t>(seen - flag.wanted) >= 0) continue;
    if (watch.status[0] != 0) return 2;
    if (watch.timeout == 0 || (NowMs() - start) * 1e6 < static_cast<double>(watch.timeout)) return 0;
    const std::uint32_t record[] = {1, watch.rank, flag.peer, flag.kind, flag.slot, flag.wanted, seen, 0};
    std::memcpy(watch.status, record, sizeof record);
    return 2;
  }
  return 1;
}

/// collc_wait_signal(slot, taken, peer, index, rank, timeout, status)
void WaitSignal(int device, const Arguments& a) {
  const auto* slot = At<std::uint32_t>(Read<CUdeviceptr>(a[0]), 1, device);
  auto* taken = At<std::uint32_t>(Read<CUdeviceptr>(a[1]), 1, device);
  const Watch watch{Read<std::uint64_t>(a[5]), At<std::uint32_t>(Read<CUdeviceptr>(a[6]), 16, device),
                    Read<std::uint32_t>(a[4])};
  if (S().sticky) return;
  const std::vector<Flag> flags{{slot, ++*taken, Read<std::uint32_t>(a[2]), 0, Read<std::uint32_t>(a[3])}};
  S().running->until = [=, start = NowMs()] {
    const int outcome = Poll(flags, watch, start);
    if (outcome == 2) --*taken;
    return outcome != 0;
  };
}

/// collc_barrier(pads, epoch, offset, rank, world, timeout, status)
void Barrier(int device, const Arguments& a) {
  const auto offset = Read<std::uint32_t>(a[2]), rank = Read<std::uint32_t>(a[3]), world = Read<std::uint32_t>(a[4]);
  const auto* pads = At<CUdeviceptr>(Read<CUdeviceptr>(a[0]), world, device);
  auto* epoch = At<std::uint32_t>(Read<CUdeviceptr>(a[1]), 1, device);
  const Watch watch{Read<std::uint64_t>(a[5]), At<std::uint32_t>(Read<CUdeviceptr>(a[6]), 16, device), rank};
  if (S().sticky) return;
  const std::uint32_t wanted = *epoch + 1;
  std::vector<Flag> flags;
  for (std::uint32_t p = 0; p < world; ++p) {
    if (auto* theirs = At<volatile std::uint32_t>(pads[p] + (offset + rank) * 4ull, 1, device)) *theirs = wanted;
    const auto* own = At<std::uint32_t>(pads[rank] + (offset + p) * 4ull, 1, device);
    flags.push_back({own, wanted, p, 1, offset + p});
  }
  if (S().sticky) return;
  S().running->until = [=, start = NowMs()] {
    const int outcome = Poll(flags, watch, start);
    if (outcome == 1) *epoch = wanted;
    return outcome != 0;
  };
}

}  // namespace

Op BuiltIn(const std::string& name, int device, const Arguments& a) {
  if (name == "smoke_empty") return [] {};
  if (name == "smoke_all_reduce") return [=] { AllReduce(device, a); };
  // fake_store(u32* at, u32 value)
  if (name == "fake_store") {
    return [=] {
      if (auto* at = At<std::uint32_t>(Read<CUdeviceptr>(a[0]), 1, device)) *at = Read<std::uint32_t>(a[1]);
    };
  }
  // fake_add(u32* at, u32 value)
  if (name == "fake_add") {
    return [=] {
      if (auto* at = At<std::uint32_t>(Read<CUdeviceptr>(a[0]), 1, device)) *at += Read<std::uint32_t>(a[1]);
    };
  }
  // fake_hang(u32* until): the stream stands still until the word is not zero.
  if (name == "fake_hang") {
    return [=] {
      const volatile std::uint32_t* word = At<std::uint32_t>(Read<CUdeviceptr>(a[0]), 1, device);
      if (word) S().running->until = [=] { return *word != 0; };
    };
  }
  // collc_put_signal(slot)
  if (name == "collc_put_signal") {
    return [=] {
      if (auto* slot = At<std::uint32_t>(Read<CUdeviceptr>(a[0]), 1, device)) __sync_fetch_and_add(slot, 1);
    };
  }
  if (name == "collc_wait_signal") return [=] { WaitSignal(device, a); };
  if (name == "collc_barrier") return [=] { Barrier(device, a); };
  // fake_fault(): dies like a kernel that touched a wrong address.
  if (name == "fake_fault") return [] { S().sticky = kIllegalAddress; };
  return nullptr;
}

}  // namespace fake

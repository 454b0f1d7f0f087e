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

}  // namespace

Op BuiltIn(const std::string& name, int device, Stream* stream, const Arguments& a) {
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
    return [=] { stream->hung_on = At<std::uint32_t>(Read<CUdeviceptr>(a[0]), 1, device); };
  }
  // fake_fault(): dies like a kernel that touched a wrong address.
  if (name == "fake_fault") return [] { S().sticky = kIllegalAddress; };
  return nullptr;
}

}  // namespace fake

// The built-in kernels. Memory they touch is checked: a wrong address is CUDA_ERROR_ILLEGAL_ADDRESS, which sticks.
#include <cstring>
#include <map>
#include <memory>

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

/// collc_await_messages(words, taken, peers, kind, step, rank, timeout, status): one that ran out says so and waits on, until it is let go of.
void AwaitMessages(int device, const Arguments& a) {
  const auto peers = Read<std::uint64_t>(a[2]);
  auto* words = At<std::uint64_t>(Read<CUdeviceptr>(a[0]), 1, device);
  auto* taken = At<std::uint64_t>(Read<CUdeviceptr>(a[1]), 1, device);
  auto* status = At<std::uint32_t>(Read<CUdeviceptr>(a[7]), 16, device);
  if (S().sticky) return;
  const auto kind = Read<std::uint32_t>(a[3]), step = Read<std::uint32_t>(a[4]), rank = Read<std::uint32_t>(a[5]);
  const auto timeout = Read<std::uint64_t>(a[6]);
  const auto is_let_go = [=] { return static_cast<const volatile std::uint32_t*>(status)[15] != 0; };
  const bool is_vain = is_let_go();
  auto said = std::make_shared<bool>(false);
  S().running->until = [=, start = NowMs()] {
    std::uint64_t missing = 0;
    for (int p = 0; p < 64; ++p) {
      if ((peers >> p & 1) && static_cast<const volatile std::uint64_t*>(words)[p] <= taken[p]) missing |= 1ull << p;
    }
    if (missing && !is_vain && !(*said && is_let_go())) {
      if (*said || timeout == 0 || (NowMs() - start) * 1e6 < static_cast<double>(timeout)) return false;
      *said = true;
      std::memcpy(status + 8, &missing, sizeof missing);
      const std::uint32_t record[] = {1, rank, 0, kind, step, 0, 0, 0};
      if (status[0] == 0) std::memcpy(status, record, sizeof record);
      return false;
    }
    for (int p = 0; p < 64; ++p) {
      if ((peers >> p & 1) && !(missing >> p & 1)) ++taken[p];
    }
    return true;
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

/// A compiled `one_shot` or `two_shot` in f32, as its parameters' names tell: meet, add up, meet. The pads are its own, so
/// one slot a rank is enough, where a GPU has one a block.
class AllReduceOfRanks {
 public:
  AllReduceOfRanks(const Function& function, const Arguments& arguments) : device_(function.device) {
    for (std::size_t i = 0; i < function.names.size() && i < arguments.size(); ++i) named_[function.names[i]] = arguments[i];
    if (named_.count("rank")) rank_ = Read<std::uint32_t>(named_["rank"]);
    n_ = Read<std::int64_t>(named_["d_n"]);
    x_ = Peers(named_.count("b_x") ? "b_x" : "b_x_peers");
    flags_ = Peers("b_flags_peers");
    y_ = named_.count("b_y") ? Read<CUdeviceptr>(named_["b_y"]) : Peers("b_y_peers")[rank_];
  }

  void Start() {
    if (flags_.empty()) return Add();  // one rank, or none to wait for
    status_ = At<std::uint32_t>(Read<CUdeviceptr>(named_["status"]), 16, device_);
    epoch_ = At<std::uint32_t>(Read<CUdeviceptr>(named_["b_epochs"]), 1, device_);
    if (S().sticky) return;
    // Shared, because whoever asks copies the function.
    const auto self = std::make_shared<AllReduceOfRanks>(*this);
    self->awaited_ = self->Meet();
    S().running->until = [self, start = NowMs()] { return self->Step(start); };
  }

 private:
  bool Step(double start) {
    const int outcome = Poll(awaited_, {Read<std::uint64_t>(named_["timeout"]), status_, rank_}, start);
    if (outcome != 1) return outcome == 2;
    if (++met_ == 2 || S().sticky) return true;
    Add();
    awaited_ = Meet();
    return false;
  }

  std::vector<CUdeviceptr> Peers(const std::string& name) {
    const std::vector<std::uint8_t>& bytes = named_[name];
    std::vector<CUdeviceptr> pointers;
    for (std::size_t p = 0; p < bytes.size() / 8; ++p) pointers.push_back(Read<CUdeviceptr>(bytes, p));
    return pointers;
  }

  /// Tells every rank, and says what to wait for.
  std::vector<Flag> Meet() {
    const std::uint32_t wanted = ++*epoch_;
    std::vector<Flag> flags;
    for (std::uint32_t p = 0; p < flags_.size(); ++p) {
      if (auto* theirs = At<volatile std::uint32_t>(flags_[p] + rank_ * 4ull, 1, device_)) *theirs = wanted;
      flags.push_back({At<std::uint32_t>(flags_[rank_] + p * 4ull, 1, device_), wanted, p, 2, p});
    }
    return flags;
  }

  void Add() {
    auto* y = At<float>(y_, n_, device_);
    std::vector<const float*> x;
    for (const CUdeviceptr pointer : x_) x.push_back(At<float>(pointer, n_, device_));
    if (S().sticky) return;
    for (std::int64_t i = 0; i < n_; ++i) {
      float sum = 0;
      for (const float* source : x) sum += source[i];
      y[i] = sum;
    }
  }

  int device_;
  std::map<std::string, std::vector<std::uint8_t>> named_;
  std::uint32_t rank_ = 0;
  std::int64_t n_ = 0;
  std::vector<CUdeviceptr> x_, flags_;
  CUdeviceptr y_ = 0;
  std::uint32_t *status_ = nullptr, *epoch_ = nullptr;
  std::vector<Flag> awaited_;
  int met_ = 0;
};

}  // namespace

Op Collective(const Function& function, const Arguments& arguments) {
  const std::string& name = function.name;
  bool known = false;
  // By the compiler, and by a build ahead of time.
  for (const char* start : {"coll_one_shot_w", "coll_two_shot_w", "coll_one_shot_of_all_reduce_w", "coll_two_shot_of_all_reduce_w"})
    known = known || name.rfind(start, 0) == 0;
  if (!known || name.size() < 4 || name.compare(name.size() - 4, 4, "_f32") != 0) return nullptr;
  return [all_reduce = AllReduceOfRanks(function, arguments)]() mutable { all_reduce.Start(); };
}

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
  if (name == "collc_await_messages") return [=] { AwaitMessages(device, a); };
  if (name == "collc_wait_signal") return [=] { WaitSignal(device, a); };
  if (name == "collc_barrier") return [=] { Barrier(device, a); };
  // fake_fault(): dies like a kernel that touched a wrong address.
  if (name == "fake_fault") return [] { S().sticky = kIllegalAddress; };
  return nullptr;
}

}  // namespace fake

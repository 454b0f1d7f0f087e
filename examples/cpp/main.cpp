// An all-reduce on NCCL's symmetric memory, without Node and without Python: tensors lie in windows that NCCL has registered, so its
// own collectives and collc's kernels work on the same memory; here the two results are compared.
//
//   make && ./all_reduce --ranks 4 --elements 1000000
//
// NCCL 2.29 or newer gives peers' addresses on the host. It and libcuda are opened at run time.
#include <dlfcn.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "coll_programs.h"
#include "ranks.h"

namespace {

struct Settings {
  int ranks = 2;
  long long elements = 1000003;
  std::string program = "all_reduce", folder = "out", libcuda = "libcuda.so.1", libnccl = "libnccl.so.2";
};

/// What is missing on this machine, as opposed to wrong.
struct MachineError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

template <typename Function>
Function Symbol(void* library, const char* name) {
  void* found = dlsym(library, name);
  if (found == nullptr) throw MachineError(std::string("there is no ") + name + ": the library is too old");
  return reinterpret_cast<Function>(found);
}

void Check(int result, const collc_error& error) {
  if (result == COLLC_ERROR_DEVICE || result == COLLC_ERROR_DRIVER) throw MachineError(error.message);
  if (result != COLLC_OK) throw std::runtime_error(error.message);
}

/// The driver, a context and a stream of it.
class Gpu {
 public:
  Gpu(const std::string& path, int device, int needed) : device_(device) {
    collc_error error;
    Check(collc_open_driver(path.c_str(), &driver_, &error), error);
    int count = 0;
    void* context = nullptr;
    Must(Symbol<int (*)(int*)>(driver_.library, "cuDeviceGetCount")(&count), "cuDeviceGetCount");
    if (count < needed) throw MachineError(std::to_string(needed) + " ranks need as many GPUs, and there are " + std::to_string(count));
    Must(Symbol<int (*)(void**, int)>(driver_.library, "cuDevicePrimaryCtxRetain")(&context, device), "cuDevicePrimaryCtxRetain");
    Must(Symbol<int (*)(void*)>(driver_.library, "cuCtxSetCurrent")(context), "cuCtxSetCurrent");
    Must(Symbol<int (*)(void**, unsigned)>(driver_.library, "cuStreamCreate")(&stream_, 1), "cuStreamCreate");
    copy_in_ = Symbol<decltype(copy_in_)>(driver_.library, "cuMemcpyHtoDAsync_v2");
    copy_out_ = Symbol<decltype(copy_out_)>(driver_.library, "cuMemcpyDtoHAsync_v2");
  }

  const collc_driver& driver() const { return driver_; }
  int device() const { return device_; }
  void* stream() const { return stream_; }

  void Zero(collc_pointer at, std::size_t bytes) {
    Must(driver_.MemsetD8Async(at, 0, bytes, stream_), "cuMemsetD8Async");
    Synchronize();
  }
  void Write(collc_pointer at, const std::vector<float>& values) {
    Must(copy_in_(at, values.data(), values.size() * sizeof(float), stream_), "cuMemcpyHtoDAsync");
    Synchronize();
  }
  std::vector<float> Read(collc_pointer at, std::size_t count) {
    std::vector<float> values(count);
    Must(copy_out_(values.data(), at, count * sizeof(float), stream_), "cuMemcpyDtoHAsync");
    Synchronize();
    return values;
  }
  void Synchronize() { Must(driver_.StreamSynchronize(stream_), "cuStreamSynchronize"); }

 private:
  void Must(int result, const char* call) const {
    const char* name = "an error";
    if (result == 0) return;
    driver_.GetErrorName(result, &name);
    throw MachineError(std::string(call) + ": " + name);
  }

  collc_driver driver_{};
  int device_;
  void* stream_ = nullptr;
  int (*copy_in_)(collc_pointer, const void*, std::size_t, void*) = nullptr;
  int (*copy_out_)(void*, collc_pointer, std::size_t, void*) = nullptr;
};

/// NCCL and a communicator of all ranks.
class Nccl {
 public:
  struct UniqueId {
    char internal[128];
  };

  Nccl(const std::string& path, ranks& all) : library_(dlopen(path.c_str(), RTLD_NOW)) {
    if (library_ == nullptr) throw MachineError(std::string("NCCL cannot be opened: ") + dlerror());
    error_string_ = Symbol<decltype(error_string_)>(library_, "ncclGetErrorString");
    std::vector<UniqueId> ids(MOST_RANKS);
    UniqueId own{};
    if (all.rank == 0) Must(Symbol<int (*)(UniqueId*)>(library_, "ncclGetUniqueId")(&own), "ncclGetUniqueId");
    if (ranks_gather(&all, &own, sizeof own, ids.data()) != 0) throw std::runtime_error("a rank is gone");
    Must(Symbol<int (*)(void**, int, UniqueId, int)>(library_, "ncclCommInitRank")(&comm_, all.world, ids[0], all.rank), "ncclCommInitRank");
    alloc_ = Symbol<decltype(alloc_)>(library_, "ncclMemAlloc");
    free_ = Symbol<decltype(free_)>(library_, "ncclMemFree");
    add_ = Symbol<decltype(add_)>(library_, "ncclCommWindowRegister");
    drop_ = Symbol<decltype(drop_)>(library_, "ncclCommWindowDeregister");
    peer_ = Symbol<decltype(peer_)>(library_, "ncclGetPeerDevicePointer");
  }
  ~Nccl() {
    if (comm_ != nullptr) Symbol<int (*)(void*)>(library_, "ncclCommDestroy")(comm_);
  }
  Nccl(const Nccl&) = delete;
  Nccl& operator=(const Nccl&) = delete;

  /// f32, summed; enqueued.
  void AllReduce(collc_pointer from, collc_pointer to, std::size_t count, void* stream) {
    constexpr int kFloat32 = 7, kSum = 0;
    const auto call = Symbol<int (*)(const void*, void*, std::size_t, int, int, void*, void*)>(library_, "ncclAllReduce");
    Must(call(reinterpret_cast<void*>(from), reinterpret_cast<void*>(to), count, kFloat32, kSum, comm_, stream), "ncclAllReduce");
  }

 private:
  friend class Window;
  void Must(int result, const char* call) const {
    if (result != 0) throw std::runtime_error(std::string(call) + ": " + error_string_(result));
  }

  void* library_;
  void* comm_ = nullptr;
  const char* (*error_string_)(int) = nullptr;
  int (*alloc_)(void**, std::size_t) = nullptr;
  int (*free_)(void*) = nullptr;
  int (*add_)(void*, void*, std::size_t, void**, int) = nullptr;
  int (*drop_)(void*, void*) = nullptr;
  int (*peer_)(void*, std::size_t, int, void**) = nullptr;
};

/// Zeroed memory that NCCL has allocated and registered on all ranks. Made, and given back, by all ranks together.
class Window {
 public:
  Window(Nccl& nccl, Gpu& gpu, const ranks& all, std::size_t bytes) : nccl_(nccl), pointers(static_cast<std::size_t>(all.world)) {
    constexpr int kSymmetric = 1;
    constexpr std::size_t kPage = 2u << 20;
    bytes = (bytes + kPage - 1) / kPage * kPage;
    nccl_.Must(nccl_.alloc_(&own_, bytes), "ncclMemAlloc");
    gpu.Zero(reinterpret_cast<collc_pointer>(own_), bytes);
    nccl_.Must(nccl_.add_(nccl_.comm_, own_, bytes, &window_, kSymmetric), "ncclCommWindowRegister");
    if (window_ == nullptr) throw MachineError("NCCL has no symmetric memory here: the GPUs do not all reach each other");
    for (int p = 0; p < all.world; p++) {
      void* theirs = own_;
      if (p != all.rank) nccl_.Must(nccl_.peer_(window_, 0, p, &theirs), "ncclGetPeerDevicePointer");
      pointers[static_cast<std::size_t>(p)] = reinterpret_cast<collc_pointer>(theirs);
    }
  }
  ~Window() {
    if (window_ != nullptr) nccl_.drop_(nccl_.comm_, window_);
    if (own_ != nullptr) nccl_.free_(own_);
  }
  Window(const Window&) = delete;
  Window& operator=(const Window&) = delete;

 private:
  Nccl& nccl_;
  void* own_ = nullptr;
  void* window_ = nullptr;

 public:
  /// Rank p's memory, as mapped here.
  std::vector<collc_pointer> pointers;
};

struct Unload {
  void operator()(collc_handle* handle) const { collc_unload(handle); }
};

int RunRank(ranks& all, const Settings& s) {
  const auto rank = static_cast<std::size_t>(all.rank);
  const auto count = static_cast<std::size_t>(s.elements);
  const collc_program* program = collc_find(coll_programs, coll_program_count, s.program.c_str(), s.ranks, "T=f32");
  if (program == nullptr) throw std::runtime_error("there is no " + s.program + " for so many ranks and f32 in coll_programs");
  Gpu gpu(s.libcuda, all.rank, s.ranks);
  Nccl nccl(s.libnccl, all);

  const int64_t shape[] = {s.elements};
  collc_options options{};
  options.device = options.rank = all.rank;
  options.folder = s.folder.c_str();
  options.timeout_ns = 30'000'000'000;
  options.shapes = shape;
  options.shape_count = 1;
  collc_error error;
  collc_handle* made = nullptr;
  Check(collc_load(&gpu.driver(), program, &options, &made, &error), error);
  const std::unique_ptr<collc_handle, Unload> handle(made);

  Window x(nccl, gpu, all, count * sizeof(float)), y(nccl, gpu, all, count * sizeof(float)), theirs(nccl, gpu, all, count * sizeof(float));
  Window workspace(nccl, gpu, all, collc_symmetric_bytes(made) + 1);
  Check(collc_attach(made, workspace.pointers.data(), &error), error);
  Check(collc_reset(made, gpu.stream(), &error), error);

  // Small whole numbers: their sums are exact in f32.
  std::vector<float> values(count);
  for (std::size_t i = 0; i < count; i++) values[i] = static_cast<float>((i * 7 + rank * 13) % 1009);
  gpu.Write(x.pointers[rank], values);

  std::vector<int64_t> arguments(program->argument_bytes / 8);
  Check(collc_set_dim(program, arguments.data(), "n", s.elements, &error), error);
  Check(collc_set_tensor(program, arguments.data(), "x", x.pointers.data(), all.rank, &error), error);
  Check(collc_set_tensor(program, arguments.data(), "y", y.pointers.data(), all.rank, &error), error);
  if (ranks_meet(&all) != 0) throw std::runtime_error("a rank is gone");
  Check(collc_launch(made, program, arguments.data(), gpu.stream(), &error), error);
  gpu.Synchronize();
  collc_failure failure;
  Check(collc_status(made, &failure, &error), error);
  nccl.AllReduce(x.pointers[rank], theirs.pointers[rank], count, gpu.stream());
  gpu.Synchronize();

  const std::vector<float> ours = gpu.Read(y.pointers[rank], count), reference = gpu.Read(theirs.pointers[rank], count);
  long long wrong = 0;
  for (std::size_t i = 0; i < count; i++) wrong += ours[i] != reference[i];
  std::printf("rank %d: %s of %lld f32 in NCCL's windows: %lld differ from NCCL's own\n", all.rank, program->path, s.elements, wrong);
  ranks_meet(&all);  // nobody takes memory back that a peer still uses
  return wrong == 0 ? 0 : 1;
}

int Body(ranks* all, void* data) {
  try {
    return RunRank(*all, *static_cast<const Settings*>(data));
  } catch (const MachineError& error) {
    std::fprintf(stderr, "rank %d: %s\n", all->rank, error.what());
    return 3;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "rank %d: %s\n", all->rank, error.what());
    return 1;
  }
}

}  // namespace

int main(int argc, char** argv) {
  Settings s;
  for (int i = 1; i + 1 < argc; i += 2) {
    const std::string option = argv[i], value = argv[i + 1];
    if (option == "--ranks") s.ranks = std::atoi(value.c_str());
    else if (option == "--elements") s.elements = std::atoll(value.c_str());
    else if (option == "--program") s.program = value;
    else if (option == "--folder") s.folder = value;
    else if (option == "--libcuda") s.libcuda = value;
    else if (option == "--libnccl") s.libnccl = value;
    else s.ranks = 0;
  }
  if (argc % 2 == 0 || s.ranks < 1 || s.ranks > MOST_RANKS || s.elements < 1 || s.elements > 1ll << 32) {
    std::fprintf(stderr, "usage: all_reduce [--ranks N] [--elements N] [--program PATH] [--folder DIR] [--libcuda FILE] [--libnccl FILE]\n");
    return 2;
  }
  return run_ranks(s.ranks, Body, &s);
}

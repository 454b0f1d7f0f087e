#include "api/cuda.h"

#include <dlfcn.h>

#include <atomic>
#include <mutex>

#include "dynlib.h"
#include "errors.h"

namespace collc::cuda {
namespace {

std::mutex open_mutex;
std::atomic<const Api*> open_api{nullptr};
std::string open_path;

NativeError Failure(const Api& api, CUresult result, const char* call) {
  const char* name = nullptr;
  const char* text = nullptr;
  if (api.GetErrorName(result, &name) != SUCCESS || !name) name = "CUDA_ERROR_UNRECOGNIZED";
  if (api.GetErrorString(result, &text) != SUCCESS || !text) text = "";
  return LibraryError("cuda", call, result, name, text);
}

}  // namespace

std::string Open(const std::vector<std::string>& candidates) {
  std::lock_guard<std::mutex> lock(open_mutex);
  if (open_api.load()) return open_path;

  std::vector<std::string> attempts;
  const DynamicLibrary library = DynamicLibrary::Open(candidates, RTLD_NOW | RTLD_LOCAL, attempts);
  if (!library.IsOpen()) {
    throw NativeError("cuda", "dlopen", 0, "DLOPEN_FAILED",
                      "no NVIDIA driver library could be opened:\n  " + Join(attempts, "\n  "));
  }
  // Lives as long as the process, like the driver.
  auto* api = new Api;
  std::vector<SymbolSlot> slots;
#define COLLC_SLOT(name, symbol, ...) slots.push_back({symbol, reinterpret_cast<void**>(&api->name)});
  COLLC_CUDA_SYMBOLS(COLLC_SLOT)
#undef COLLC_SLOT
  const std::vector<std::string> missing = Resolve(library, slots);
  if (!missing.empty()) {
    delete api;
    throw NativeError("cuda", "dlsym", 0, "SYMBOL_MISSING",
                      library.Path() + " lacks " + Join(missing, ", ") + ": the driver is older than CUDA 12");
  }
  const CUresult result = api->Init(0);
  if (result != SUCCESS) {
    const NativeError error = Failure(*api, result, "cuInit");
    delete api;
    throw error;
  }
  open_path = library.Path();
  open_api.store(api);
  return open_path;
}

const Api& Get() {
  const Api* api = open_api.load(std::memory_order_acquire);
  if (!api) throw UsageError("cuda", "NOT_OPEN", "the CUDA driver is not open: call openCuda first");
  return *api;
}

void Check(CUresult result, const char* call) {
  if (result != SUCCESS) throw Failure(Get(), result, call);
}

}  // namespace collc::cuda

#include "api/nvml.h"

#include <dlfcn.h>

#include <atomic>
#include <mutex>

#include "dynlib.h"
#include "errors.h"

namespace collc::nvml {
namespace {

std::mutex open_mutex;
std::atomic<const Api*> open_api{nullptr};
std::string open_path;

void Throw(const Api& api, int result, const char* call) {
  const char* text = api.ErrorString ? api.ErrorString(result) : nullptr;
  throw LibraryError("nvml", call, result, "NVML_ERROR_" + std::to_string(result), text ? text : "");
}

}  // namespace

std::string Open(const std::vector<std::string>& candidates) {
  std::lock_guard<std::mutex> lock(open_mutex);
  if (open_api.load()) return open_path;
  std::vector<std::string> attempts;
  const DynamicLibrary library = DynamicLibrary::Open(candidates, RTLD_NOW | RTLD_LOCAL, attempts);
  if (!library.IsOpen()) {
    throw NativeError("nvml", "dlopen", 0, "DLOPEN_FAILED",
                      "NVML could not be opened:\n  " + Join(attempts, "\n  "));
  }
  auto* api = new Api;
  std::vector<SymbolSlot> slots;
#define COLLC_SLOT(name, symbol, ...) slots.push_back({symbol, reinterpret_cast<void**>(&api->name)});
  COLLC_NVML_SYMBOLS(COLLC_SLOT)
#undef COLLC_SLOT
  const std::vector<std::string> missing = Resolve(library, slots);
  if (!missing.empty()) {
    delete api;
    throw NativeError("nvml", "dlsym", 0, "SYMBOL_MISSING", library.Path() + " lacks " + Join(missing, ", "));
  }
#define COLLC_FIND(name, symbol, ...) api->name = reinterpret_cast<int (*)(__VA_ARGS__)>(library.Find(symbol));
  COLLC_NVML_OPTIONAL_SYMBOLS(COLLC_FIND)
#undef COLLC_FIND
  api->ErrorString = reinterpret_cast<const char* (*)(int)>(library.Find("nvmlErrorString"));
  if (const int result = api->Init()) {
    try {
      Throw(*api, result, "nvmlInit");
    } catch (...) {
      delete api;
      throw;
    }
  }
  open_path = library.Path();
  open_api.store(api);
  return open_path;
}

const Api& Get() {
  const Api* api = open_api.load(std::memory_order_acquire);
  if (!api) throw UsageError("nvml", "NOT_OPEN", "NVML is not open: call openNvml first");
  return *api;
}

void Check(int result, const char* call) {
  if (result != SUCCESS) Throw(Get(), result, call);
}

}  // namespace collc::nvml

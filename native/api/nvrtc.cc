#include "api/nvrtc.h"

#include <dlfcn.h>

#include <atomic>
#include <mutex>

#include "dynlib.h"
#include "errors.h"

namespace collc::nvrtc {
namespace {

std::mutex open_mutex;
std::atomic<const Api*> open_api{nullptr};
std::string open_path;

}  // namespace

void Open(const std::string& path, const std::string& builtins) {
  std::lock_guard<std::mutex> lock(open_mutex);
  if (open_api.load()) {
    if (path == open_path) return;
    throw UsageError("nvrtc", "ALREADY_OPEN", "NVRTC is already open from " + open_path + ", not from " + path);
  }
  std::vector<std::string> attempts;
  if (!builtins.empty() && !DynamicLibrary::Open({builtins}, RTLD_NOW | RTLD_GLOBAL, attempts).IsOpen()) {
    throw NativeError("nvrtc", "dlopen", 0, "DLOPEN_FAILED",
                      "NVRTC's builtins could not be opened: " + Join(attempts, "; "));
  }
  const DynamicLibrary library = DynamicLibrary::OpenShielded({path}, attempts);
  if (!library.IsOpen()) {
    throw NativeError("nvrtc", "dlopen", 0, "DLOPEN_FAILED", "NVRTC could not be opened: " + Join(attempts, "; "));
  }
  auto* api = new Api;
  std::vector<SymbolSlot> slots;
#define COLLC_SLOT(name, symbol, ...) slots.push_back({symbol, reinterpret_cast<void**>(&api->name)});
  COLLC_NVRTC_SYMBOLS(COLLC_SLOT)
#undef COLLC_SLOT
  slots.push_back({"nvrtcGetErrorString", reinterpret_cast<void**>(&api->GetErrorString)});
  const std::vector<std::string> missing = Resolve(library, slots);
  if (!missing.empty()) {
    delete api;
    throw NativeError("nvrtc", "dlsym", 0, "SYMBOL_MISSING",
                      path + " lacks " + Join(missing, ", ") + ": NVRTC 11.2 or newer is needed");
  }
  open_path = path;
  open_api.store(api);
}

const Api& Get() {
  const Api* api = open_api.load(std::memory_order_acquire);
  if (!api) throw UsageError("nvrtc", "NOT_OPEN", "NVRTC is not open: call openNvrtc first");
  return *api;
}

std::string ErrorName(nvrtcResult result) {
  const char* text = Get().GetErrorString(result);
  return text ? text : "NVRTC_ERROR_UNRECOGNIZED";
}

void Check(nvrtcResult result, const char* call) {
  if (result != SUCCESS) throw LibraryError("nvrtc", call, result, ErrorName(result), "");
}

}  // namespace collc::nvrtc

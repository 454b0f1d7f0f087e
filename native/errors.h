// Failures of the libraries behind the addon, as C++ exceptions that become JavaScript errors.
#pragma once

#include <napi.h>

#include <stdexcept>
#include <string>

namespace collc {

/// One failed call. Thrown on any thread; turned into a JavaScript Error on the JavaScript thread.
class NativeError : public std::runtime_error {
 public:
  NativeError(std::string library, std::string call, int code, std::string code_name, const std::string& text)
      : std::runtime_error(text),
        library(std::move(library)),
        call(std::move(call)),
        code(code),
        code_name(std::move(code_name)) {}

  std::string library;    ///< "cuda", "nvrtc", "nccl", "nvshmem", "nvml", "system" or "collc".
  std::string call;       ///< The function that failed, "cuMemMap".
  int code;               ///< The library's own number; errno for "system".
  std::string code_name;  ///< "CUDA_ERROR_OUT_OF_MEMORY".
};

/// "cuMemMap failed: CUDA_ERROR_INVALID_VALUE (1): invalid argument".
NativeError LibraryError(const char* library, const std::string& call, int code, const std::string& code_name,
                         const std::string& text);

/// A failed system call, from errno. `subject` says on what: a path, a socket.
NativeError SystemError(const char* call, int error, const std::string& subject);

/// The addon's own refusal: a handle that is not open, a library that was never opened.
NativeError UsageError(const char* call, const char* code_name, const std::string& text);

Napi::Error ToJs(Napi::Env env, const NativeError& error);

/// The form every exported function has.
using Export = Napi::Value (*)(const Napi::CallbackInfo&);

/// Runs an exported function and turns every C++ exception into a JavaScript one.
template <Export F>
Napi::Value Guard(const Napi::CallbackInfo& info) {
  try {
    return F(info);
  } catch (const NativeError& error) {
    throw ToJs(info.Env(), error);
  } catch (const Napi::Error&) {
    throw;
  } catch (const std::exception& error) {
    throw Napi::Error::New(info.Env(), error.what());
  }
}

/// For functions that return promises: what would be thrown rejects the promise instead.
template <Export F>
Napi::Value GuardPromise(const Napi::CallbackInfo& info) {
  try {
    return Guard<F>(info);
  } catch (const Napi::Error& error) {
    const Napi::Promise::Deferred deferred = Napi::Promise::Deferred::New(info.Env());
    deferred.Reject(error.Value());
    return deferred.Promise();
  }
}

}  // namespace collc

#include "errors.h"

#include <cerrno>
#include <cstring>

namespace collc {
namespace {

// strerrorname_np is too new for the glibc we promise to run on.
std::string ErrnoName(int error) {
  switch (error) {
#define COLLC_NAME(E) \
  case E:             \
    return #E;
    COLLC_NAME(EACCES)
    COLLC_NAME(EADDRINUSE)
    COLLC_NAME(EAGAIN)
    COLLC_NAME(EBADF)
    COLLC_NAME(ECONNREFUSED)
    COLLC_NAME(EINVAL)
    COLLC_NAME(EMFILE)
    COLLC_NAME(EMSGSIZE)
    COLLC_NAME(ENAMETOOLONG)
    COLLC_NAME(ENFILE)
    COLLC_NAME(ENOBUFS)
    COLLC_NAME(ENOENT)
    COLLC_NAME(ENOMEM)
    COLLC_NAME(ENOSPC)
    COLLC_NAME(ENOTDIR)
    COLLC_NAME(EPERM)
    COLLC_NAME(ETIMEDOUT)
    COLLC_NAME(ETOOMANYREFS)
#undef COLLC_NAME
    default:
      return "errno " + std::to_string(error);
  }
}

}  // namespace

NativeError LibraryError(const char* library, const std::string& call, int code, const std::string& code_name,
                         const std::string& text) {
  std::string message = call + " failed: " + code_name + " (" + std::to_string(code) + ")";
  if (!text.empty()) message += ": " + text;
  return NativeError(library, call, code, code_name, message);
}

NativeError SystemError(const char* call, int error, const std::string& subject) {
  const std::string name = ErrnoName(error);
  return NativeError("system", call, error, name,
                     std::string(call) + " failed on " + subject + ": " + std::strerror(error) + " (" + name + ")");
}

NativeError UsageError(const char* call, const char* code_name, const std::string& text) {
  return NativeError("collc", call, 0, code_name, text);
}

Napi::Error ToJs(Napi::Env env, const NativeError& error) {
  Napi::Error js = Napi::Error::New(env, error.what());
  js.Set("library", Napi::String::New(env, error.library));
  js.Set("call", Napi::String::New(env, error.call));
  js.Set("code", Napi::Number::New(env, error.code));
  js.Set("codeName", Napi::String::New(env, error.code_name));
  return js;
}

}  // namespace collc

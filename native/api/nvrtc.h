// The part of NVRTC that collc uses, declared here so that building needs no CUDA.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace collc::nvrtc {

using nvrtcResult = int;
using nvrtcProgram = struct _nvrtcProgram*;

enum : int { SUCCESS = 0 };

// X(name here, exported symbol, parameter types...)
#define COLLC_NVRTC_SYMBOLS(X)                                                                                  \
  X(Version, "nvrtcVersion", int*, int*)                                                                        \
  X(GetNumSupportedArchs, "nvrtcGetNumSupportedArchs", int*)                                                    \
  X(GetSupportedArchs, "nvrtcGetSupportedArchs", int*)                                                          \
  X(CreateProgram, "nvrtcCreateProgram", nvrtcProgram*, const char*, const char*, int, const char* const*,      \
    const char* const*)                                                                                         \
  X(DestroyProgram, "nvrtcDestroyProgram", nvrtcProgram*)                                                       \
  X(CompileProgram, "nvrtcCompileProgram", nvrtcProgram, int, const char* const*)                               \
  X(GetProgramLogSize, "nvrtcGetProgramLogSize", nvrtcProgram, std::size_t*)                                    \
  X(GetProgramLog, "nvrtcGetProgramLog", nvrtcProgram, char*)                                                   \
  X(GetPTXSize, "nvrtcGetPTXSize", nvrtcProgram, std::size_t*)                                                  \
  X(GetPTX, "nvrtcGetPTX", nvrtcProgram, char*)                                                                 \
  X(GetCUBINSize, "nvrtcGetCUBINSize", nvrtcProgram, std::size_t*)                                              \
  X(GetCUBIN, "nvrtcGetCUBIN", nvrtcProgram, char*)

struct Api {
#define COLLC_MEMBER(name, symbol, ...) nvrtcResult (*name)(__VA_ARGS__) = nullptr;
  COLLC_NVRTC_SYMBOLS(COLLC_MEMBER)
#undef COLLC_MEMBER
  const char* (*GetErrorString)(nvrtcResult) = nullptr;
};

/// Opens NVRTC. `builtins`, where given, is opened first and globally: NVRTC looks its builtins up by bare name,
/// and finds them only if they are already loaded or on the loader's path. Opening another path than the open one
/// throws: a process has one NVRTC.
void Open(const std::string& path, const std::string& builtins);

const Api& Get();

/// "NVRTC_ERROR_COMPILATION".
std::string ErrorName(nvrtcResult result);

void Check(nvrtcResult result, const char* call);

}  // namespace collc::nvrtc

/// Calls an NVRTC function and throws on failure.
#define NVRTC(name, ...) ::collc::nvrtc::Check(::collc::nvrtc::Get().name(__VA_ARGS__), "nvrtc" #name)

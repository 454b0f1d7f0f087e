// An NVRTC that makes cubins for the fake driver: the kernels in the text with the names and sizes of their parameters. What
// they do is the fake driver's business; kernels it does not know do nothing.
#include <chrono>
#include <cstring>
#include <sstream>
#include <string>
#include <thread>

#include "../fake-libraries/takes-signals.h"
#include "api/nvrtc.h"

namespace {

using collc::nvrtc::nvrtcProgram;

struct Program {
  std::string source;
  std::string cubin;
};

std::size_t SizeOf(const std::string& parameter) {
  const std::size_t peers = parameter.find("Peers<");
  if (peers != std::string::npos) return 8 * std::stoul(parameter.substr(peers + 6));
  const std::size_t maps = parameter.find("TensorMaps<");
  if (maps != std::string::npos) return 128 * std::stoul(parameter.substr(maps + 11));
  if (parameter.find("TensorMap ") != std::string::npos) return 128;
  for (const char* wide : {"*", "i64", "u64", "long"}) {
    if (parameter.find(wide) != std::string::npos) return 8;
  }
  return 4;
}

/// `… __global__ void __launch_bounds__(512, 1) name(parameters) {`, one after the other.
std::string Kernels(const std::string& source) {
  std::ostringstream out;
  out << "FAKE\n";
  for (std::size_t at = source.find("__global__"); at != std::string::npos; at = source.find("__global__", at + 1)) {
    const std::size_t body = source.find('{', at);
    if (body == std::string::npos) break;
    const std::size_t close = source.rfind(')', body);
    const std::size_t open = source.rfind('(', close);
    const std::size_t name = source.find_last_of(" \n", open) + 1;
    out << source.substr(name, open - name) << " noop=1 params=";
    std::istringstream parameters(source.substr(open + 1, close - open - 1));
    std::string parameter, names;
    for (bool first = true; std::getline(parameters, parameter, ','); first = false) {
      out << (first ? "" : ",") << SizeOf(parameter);
      names += (first ? "" : ",") + parameter.substr(parameter.find_last_of(" *") + 1);
    }
    out << " names=" << names << "\n";
  }
  return out.str();
}

Program* Of(nvrtcProgram program) { return reinterpret_cast<Program*>(program); }

}  // namespace

#define FAKE_API extern "C" __attribute__((visibility("default"))) int

FAKE_API nvrtcVersion(int* major, int* minor) {
  *major = 99;
  *minor = 0;
  return 0;
}
FAKE_API nvrtcGetNumSupportedArchs(int* count) {
  *count = 1;
  return 0;
}
FAKE_API nvrtcGetSupportedArchs(int* archs) {
  *archs = 90;
  return 0;
}
FAKE_API nvrtcCreateProgram(nvrtcProgram* program, const char* source, const char*, int, const char* const*,
                            const char* const*) {
  *program = reinterpret_cast<nvrtcProgram>(new Program{source, ""});
  return 0;
}
FAKE_API nvrtcDestroyProgram(nvrtcProgram* program) {
  delete Of(*program);
  *program = nullptr;
  return 0;
}
FAKE_API nvrtcCompileProgram(nvrtcProgram program, int, const char* const*) {
  const takes_signals::While taken;
  if (Of(program)->source.find("// slow") != std::string::npos) std::this_thread::sleep_for(std::chrono::seconds(2));
  std::string header("\x7f" "ELF");  // 64 bytes, as the fake driver expects
  header.resize(64, '\0');
  Of(program)->cubin = header + Kernels(Of(program)->source) + '\0';
  return 0;
}
FAKE_API nvrtcGetProgramLogSize(nvrtcProgram, std::size_t* bytes) {
  *bytes = 1;
  return 0;
}
FAKE_API nvrtcGetProgramLog(nvrtcProgram, char* log) {
  *log = '\0';
  return 0;
}
FAKE_API nvrtcGetPTXSize(nvrtcProgram, std::size_t* bytes) {
  *bytes = 8;
  return 0;
}
FAKE_API nvrtcGetPTX(nvrtcProgram, char* ptx) {
  std::memcpy(ptx, "// fake", 8);
  return 0;
}
FAKE_API nvrtcGetCUBINSize(nvrtcProgram program, std::size_t* bytes) {
  *bytes = Of(program)->cubin.size();
  return 0;
}
FAKE_API nvrtcGetCUBIN(nvrtcProgram program, char* cubin) {
  std::memcpy(cubin, Of(program)->cubin.data(), Of(program)->cubin.size());
  return 0;
}
extern "C" __attribute__((visibility("default"))) const char* nvrtcGetErrorString(int) { return "NVRTC_SUCCESS"; }

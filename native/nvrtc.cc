// CUDA C to cubin and PTX with NVRTC. Works on machines without a GPU.
#include "api/nvrtc.h"

#include <sys/personality.h>

#include "convert.h"
#include "exports.h"
#include "signals.h"
#include "worker.h"

namespace collc {
namespace {

struct Compilation {
  nvrtc::nvrtcResult result = nvrtc::SUCCESS;
  std::string log;
  std::string ptx;
  std::vector<char> cubin;
};

/// Destroys the program on every path.
class Program {
 public:
  Program(const std::string& source, const std::string& name) {
    NVRTC(CreateProgram, &program_, source.c_str(), name.c_str(), 0, nullptr, nullptr);
  }
  ~Program() {
    if (program_) nvrtc::Get().DestroyProgram(&program_);
  }
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;
  nvrtc::nvrtcProgram Get() const { return program_; }

 private:
  nvrtc::nvrtcProgram program_ = nullptr;
};

/// NVRTC's sizes of texts count the final zero.
std::string WithoutZero(std::string text) {
  while (!text.empty() && text.back() == '\0') text.pop_back();
  return text;
}

Compilation Compile(const std::string& source, const std::string& name, const std::vector<std::string>& options) {
  const KeepSignals keep;
  const Program program(source, name);
  std::vector<const char*> arguments;
  for (const std::string& option : options) arguments.push_back(option.c_str());

  Compilation compilation;
  compilation.result =
      nvrtc::Get().CompileProgram(program.Get(), static_cast<int>(arguments.size()), arguments.data());
  std::size_t size = 0;
  NVRTC(GetProgramLogSize, program.Get(), &size);
  if (size > 0) {
    compilation.log.resize(size);
    NVRTC(GetProgramLog, program.Get(), compilation.log.data());
    compilation.log = WithoutZero(std::move(compilation.log));
  }
  if (compilation.result != nvrtc::SUCCESS) return compilation;

  size = 0;
  NVRTC(GetPTXSize, program.Get(), &size);
  if (size > 0) {
    compilation.ptx.resize(size);
    NVRTC(GetPTX, program.Get(), compilation.ptx.data());
    compilation.ptx = WithoutZero(std::move(compilation.ptx));
  }
  // Size 0 for a virtual architecture (-arch=compute_XX).
  size = 0;
  NVRTC(GetCUBINSize, program.Get(), &size);
  if (size > 0) {
    compilation.cubin.resize(size);
    NVRTC(GetCUBIN, program.Get(), compilation.cubin.data());
  }
  return compilation;
}

Napi::Value ToResult(Napi::Env env, Compilation& compilation) {
  Napi::Object result = Napi::Object::New(env);
  const bool ok = compilation.result == nvrtc::SUCCESS;
  result.Set("ok", ok);
  result.Set("code", compilation.result);
  result.Set("codeName", nvrtc::ErrorName(compilation.result));
  result.Set("log", compilation.log);
  if (ok && !compilation.ptx.empty()) result.Set("ptx", compilation.ptx);
  if (ok && !compilation.cubin.empty()) {
    Napi::Uint8Array bytes = Napi::Uint8Array::New(env, compilation.cubin.size());
    std::copy(compilation.cubin.begin(), compilation.cubin.end(), reinterpret_cast<char*>(bytes.Data()));
    result.Set("cubin", bytes);
  }
  return result;
}

}  // namespace

/// openNvrtc(path, builtinsPath?)
Napi::Value OpenNvrtc(const Napi::CallbackInfo& info) {
  nvrtc::Open(ToText(info[0], "path"), info[1].IsString() ? ToText(info[1], "builtinsPath") : "");
  return NvrtcVersion(info);
}

Napi::Value NvrtcVersion(const Napi::CallbackInfo& info) {
  int major = 0;
  int minor = 0;
  NVRTC(Version, &major, &minor);
  Napi::Object result = Napi::Object::New(info.Env());
  result.Set("major", major);
  result.Set("minor", minor);
  return result;
}

Napi::Value NvrtcSupportedArchs(const Napi::CallbackInfo& info) {
  int count = 0;
  NVRTC(GetNumSupportedArchs, &count);
  std::vector<int> archs(count > 0 ? count : 1);
  if (count > 0) NVRTC(GetSupportedArchs, archs.data());
  Napi::Array result = Napi::Array::New(info.Env());
  for (int i = 0; i < count; ++i) result.Set(static_cast<std::uint32_t>(i), archs[i]);
  return result;
}

/// fixAddresses(on): whether they were before. Some containers forbid it: then they stay random.
Napi::Value FixAddresses(const Napi::CallbackInfo& info) {
  constexpr unsigned long kAsk = 0xffffffff;
  const int now = personality(kAsk);
  const bool was = now != -1 && (now & ADDR_NO_RANDOMIZE) != 0;
  const int wanted = info[0].ToBoolean() ? now | ADDR_NO_RANDOMIZE : now & ~ADDR_NO_RANDOMIZE;
  if (now != -1 && wanted != now) personality(static_cast<unsigned long>(wanted));
  return Napi::Boolean::New(info.Env(), was);
}

/// nvrtcCompile(source, name, options[]): a promise of {ok, code, codeName, log, ptx?, cubin?}.
Napi::Value NvrtcCompile(const Napi::CallbackInfo& info) {
  nvrtc::Get();  // not open: throw now
  return RunAsync(
      info.Env(), "nvrtcCompile",
      [source = ToText(info[0], "source"), name = ToText(info[1], "name"), options = ToTexts(info[2], "options")] {
        return Compile(source, name, options);
      },
      ToResult);
}

}  // namespace collc

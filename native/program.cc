#include "program.h"

#include "convert.h"
#include "device.h"
#include "exports.h"

namespace collc {
namespace {

HandleTable<Module>& Modules() {
  static auto* table = new HandleTable<Module>("module");
  return *table;
}

}  // namespace

HandleTable<Function>& Functions() {
  static auto* table = new HandleTable<Function>("function");
  return *table;
}

std::shared_ptr<Function> UseFunction(const Napi::Value& value) {
  std::shared_ptr<Function> function = Functions().Get(ToSize(value, "function"));
  if (!function->module->module) throw UsageError("function", "NOT_OPEN", "the function's module was unloaded");
  UseDevice(function->module->device);
  return function;
}

/// moduleLoad(device, image): a cubin, or PTX text.
Napi::Value ModuleLoad(const Napi::CallbackInfo& info) {
  const Device& device = UseDevice(ToInt(info[0], "device"));
  const Bytes image = ToBytes(info[1], "image");
  // The driver reads until it is satisfied, without a length: end the bytes with a zero, which PTX needs. A
  // cubin's length is in its own header, and is checked in TypeScript.
  std::vector<char> copy(image.data, image.data + image.size);
  copy.push_back('\0');
  auto module = std::make_shared<Module>();
  module->device = device.ordinal;
  CU(ModuleLoadData, &module->module, copy.data());
  return FromHandle(info.Env(), Modules().Add(module));
}

Napi::Value ModuleUnload(const Napi::CallbackInfo& info) {
  const std::shared_ptr<Module> module = Modules().Take(ToSize(info[0], "module"));
  UseDevice(module->device);
  const cuda::CUmodule handle = module->module;
  module->module = nullptr;
  CU(ModuleUnload, handle);
  return info.Env().Undefined();
}

Napi::Value FunctionGet(const Napi::CallbackInfo& info) {
  auto function = std::make_shared<Function>();
  function->module = Modules().Get(ToSize(info[0], "module"));
  const std::string name = ToText(info[1], "name");
  UseDevice(function->module->device);
  CU(ModuleGetFunction, &function->function, function->module->module, name.c_str());
  return FromHandle(info.Env(), Functions().Add(function));
}

Napi::Value FunctionAttributes(const Napi::CallbackInfo& info) {
  const std::shared_ptr<Function> function = UseFunction(info[0]);
  Napi::Object result = Napi::Object::New(info.Env());
  const auto set = [&](const char* key, int attribute) {
    int value = 0;
    CU(FuncGetAttribute, &value, attribute, function->function);
    result.Set(key, value);
  };
  set("registers", cuda::FUNC_ATTRIBUTE_NUM_REGS);
  set("localBytes", cuda::FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES);
  set("staticSharedBytes", cuda::FUNC_ATTRIBUTE_SHARED_SIZE_BYTES);
  set("constantBytes", cuda::FUNC_ATTRIBUTE_CONST_SIZE_BYTES);
  set("maxThreadsPerBlock", cuda::FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK);
  set("maxDynamicSharedBytes", cuda::FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES);
  set("binaryVersion", cuda::FUNC_ATTRIBUTE_BINARY_VERSION);
  return result;
}

Napi::Value FunctionSetMaxDynamicShared(const Napi::CallbackInfo& info) {
  const std::shared_ptr<Function> function = UseFunction(info[0]);
  CU(FuncSetAttribute, function->function, cuda::FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
     ToInt(info[1], "bytes"));
  return info.Env().Undefined();
}

/// functionOccupancy(function, blockThreads, sharedBytes): resident blocks per multiprocessor.
Napi::Value FunctionOccupancy(const Napi::CallbackInfo& info) {
  const std::shared_ptr<Function> function = UseFunction(info[0]);
  int blocks = 0;
  CU(OccupancyMaxActiveBlocksPerMultiprocessor, &blocks, function->function, ToInt(info[1], "blockThreads"),
     ToSize(info[2], "sharedBytes"));
  return Napi::Number::New(info.Env(), blocks);
}

}  // namespace collc

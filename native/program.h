// Loaded modules and their functions.
#pragma once

#include <memory>

#include "api/cuda.h"
#include "handles.h"

namespace collc {

struct Module {
  int device;
  cuda::CUmodule module = nullptr;
};

/// Stays usable only while its module is loaded; `module` keeps the record, and unloading nulls it.
struct Function {
  std::shared_ptr<Module> module;
  cuda::CUfunction function = nullptr;
};

HandleTable<Function>& Functions();

/// The function with its device current; throws once its module is unloaded.
std::shared_ptr<Function> UseFunction(const Napi::Value& value);

}  // namespace collc

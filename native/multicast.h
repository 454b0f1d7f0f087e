// What a library may do with NVLink multicast. A crash of a process that uses multicast can put a shared machine's GPUs
// out of service, so collc never switches it on: it is off by default, and off whatever the environment says on demand.
#pragma once

#include <cstdlib>

#include "convert.h"

namespace collc {

/// Sets `variable` by a choice of JavaScript: "allow" leaves it, "default-off" sets it to `off` unless it is set, "off"
/// sets it whatever it was. Before the library opens: it reads its environment once.
inline void ChooseMulticast(const Napi::Value& choice, const char* variable, const char* off) {
  const std::string text = ToText(choice, "multicast");
  if (text == "allow") return;
  if (text != "default-off" && text != "off") {
    throw Napi::RangeError::New(choice.Env(), "multicast must be allow, default-off or off");
  }
  setenv(variable, off, text == "off" ? 1 : 0);
}

}  // namespace collc

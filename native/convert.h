// JavaScript values to plain C++ ones. Arguments are validated in TypeScript; this only refuses what would crash.
#pragma once

#include <napi.h>

#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

namespace collc {

inline double ToNumber(const Napi::Value& value, const char* what) {
  if (!value.IsNumber()) throw Napi::TypeError::New(value.Env(), std::string(what) + " must be a number");
  return value.As<Napi::Number>().DoubleValue();
}

/// A non-negative integer: sizes, counts, handles.
inline std::uint64_t ToSize(const Napi::Value& value, const char* what) {
  const double number = ToNumber(value, what);
  if (!(number >= 0 && number <= 9007199254740991.0) || number != std::floor(number)) {
    throw Napi::RangeError::New(value.Env(), std::string(what) + " must be an integer from 0 to 2^53-1");
  }
  return static_cast<std::uint64_t>(number);
}

inline int ToInt(const Napi::Value& value, const char* what) {
  const double number = ToNumber(value, what);
  if (!(number >= -2147483648.0 && number <= 2147483647.0) || number != std::floor(number)) {
    throw Napi::RangeError::New(value.Env(), std::string(what) + " must be a 32-bit integer");
  }
  return static_cast<int>(number);
}

inline unsigned ToUnsigned(const Napi::Value& value, const char* what) {
  const std::uint64_t number = ToSize(value, what);
  if (number > 0xffffffffull) {
    throw Napi::RangeError::New(value.Env(), std::string(what) + " must be an unsigned 32-bit integer");
  }
  return static_cast<unsigned>(number);
}

/// A time-out in milliseconds; negative is for ever, and so is what is longer than a year.
inline double ToTimeout(const Napi::Value& value) {
  const double number = ToNumber(value, "timeoutMs");
  if (std::isnan(number)) throw Napi::RangeError::New(value.Env(), "timeoutMs must be a number, not NaN");
  return number >= 0 && number < 365.0 * 24 * 3600 * 1000 ? number : -1;
}

/// A device address, a bigint in JavaScript.
inline std::uint64_t ToPointer(const Napi::Value& value, const char* what) {
  if (!value.IsBigInt()) throw Napi::TypeError::New(value.Env(), std::string(what) + " must be a bigint");
  bool lossless = false;
  const std::uint64_t pointer = value.As<Napi::BigInt>().Uint64Value(&lossless);
  if (!lossless) throw Napi::RangeError::New(value.Env(), std::string(what) + " must fit 64 unsigned bits");
  return pointer;
}

inline std::string ToText(const Napi::Value& value, const char* what) {
  if (!value.IsString()) throw Napi::TypeError::New(value.Env(), std::string(what) + " must be a string");
  return value.As<Napi::String>().Utf8Value();
}

inline std::vector<std::string> ToTexts(const Napi::Value& value, const char* what) {
  if (!value.IsArray()) throw Napi::TypeError::New(value.Env(), std::string(what) + " must be an array");
  const Napi::Array array = value.As<Napi::Array>();
  std::vector<std::string> texts;
  for (std::uint32_t i = 0; i < array.Length(); ++i) texts.push_back(ToText(array.Get(i), what));
  return texts;
}

/// The bytes of a typed array, DataView or Buffer; valid while JavaScript holds the view.
struct Bytes {
  std::uint8_t* data;
  std::size_t size;
};

inline Bytes ToBytes(const Napi::Value& value, const char* what) {
  if (value.IsTypedArray()) {
    const Napi::TypedArray array = value.As<Napi::TypedArray>();
    auto* base = static_cast<std::uint8_t*>(array.ArrayBuffer().Data());
    return {base + array.ByteOffset(), array.ByteLength()};
  }
  if (value.IsDataView()) {
    const Napi::DataView view = value.As<Napi::DataView>();
    auto* base = static_cast<std::uint8_t*>(view.ArrayBuffer().Data());
    return {base + view.ByteOffset(), view.ByteLength()};
  }
  throw Napi::TypeError::New(value.Env(), std::string(what) + " must be a typed array or DataView");
}

inline Napi::Value FromPointer(Napi::Env env, std::uint64_t pointer) { return Napi::BigInt::New(env, pointer); }

inline Napi::Value FromHandle(Napi::Env env, std::uint64_t handle) {
  return Napi::Number::New(env, static_cast<double>(handle));
}

}  // namespace collc

// Compares a function type of ours with the real one: same number of parameters, same sizes, pointers where pointers
// are, pointing at things of the same size. abi.test.ts writes a file of assertions around this.
#pragma once
#include <cstddef>
#include <tuple>
#include <type_traits>
#include <utility>

template <class T>
struct Signature;
template <class R, class... A>
struct Signature<R (*)(A...)> {
  using Parameters = std::tuple<A...>;
  static constexpr std::size_t count = sizeof...(A);
};

/// Size of what a pointer points at; 0 for void, incomplete types and no pointer.
template <class T, class = void>
struct Pointee : std::integral_constant<std::size_t, 0> {};
template <class T>
struct Pointee<T*, std::void_t<decltype(sizeof(T))>>
    : std::integral_constant<std::size_t, std::is_void_v<T> || std::is_function_v<T> ? 0 : sizeof(T)> {};

template <class A, class B>
constexpr bool SameParameter =
    sizeof(A) == sizeof(B) && std::is_pointer_v<A> == std::is_pointer_v<B> && Pointee<A>::value == Pointee<B>::value;

template <class A, class B, std::size_t... I>
constexpr bool SameParameters(std::index_sequence<I...>) {
  return (SameParameter<std::tuple_element_t<I, A>, std::tuple_element_t<I, B>> && ...);
}

template <class A, class B>
constexpr bool SameSignature() {
  if constexpr (Signature<A>::count != Signature<B>::count) {
    return false;
  } else {
    return SameParameters<typename Signature<A>::Parameters, typename Signature<B>::Parameters>(
        std::make_index_sequence<Signature<A>::count>());
  }
}

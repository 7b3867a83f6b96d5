// SPDX-License-Identifier: Apache-2.0
// Maps elements to unsigned values, subtracts the prediction from references, and does the reverse. Part of
// passes.inc.hpp.

template <typename T>
using Loose __attribute__((aligned(1), may_alias)) = T;

template <typename T>
struct SignedOf;
template <>
struct SignedOf<u8> {
  using type = signed char;
};
template <>
struct SignedOf<u16> {
  using type = short;
};
template <>
struct SignedOf<u32> {
  using type = int;
};
template <>
struct SignedOf<u64> {
  using type = long;
};

template <typename T>
inline T sign_of(T x) {
  return static_cast<T>(static_cast<typename SignedOf<T>::type>(x) >> (8 * sizeof(T) - 1));
}

template <typename T, Map M>
inline T mapped(T x) {
  if constexpr (M == Map::ordered) return static_cast<T>(x ^ static_cast<T>(sign_of(x) >> 1));
  if constexpr (M == Map::rotated)
    return static_cast<T>(static_cast<T>(x << 1) | static_cast<T>(x >> (8 * sizeof(T) - 1)));
  return x;
}

template <typename T, Map M>
inline T unmapped(T u) {
  if constexpr (M == Map::ordered) return static_cast<T>(u ^ static_cast<T>(sign_of(u) >> 1));
  if constexpr (M == Map::rotated)
    return static_cast<T>(static_cast<T>(u >> 1) | static_cast<T>(u << (8 * sizeof(T) - 1)));
  return u;
}

template <typename T>
inline T folded(T d) {
  return static_cast<T>(static_cast<T>(d << 1) ^ sign_of(d));
}

/// The value that the references predict, as a mapped value.
template <typename T, Map M, Extrapolation X>
inline T predicted(const Loose<T>* a, const Loose<T>* b, const Loose<T>* c, std::size_t i) {
  if constexpr (X == Extrapolation::none) return 0;
  const T first = mapped<T, M>(a[i]);
  if constexpr (X == Extrapolation::last) return first;
  const T second = mapped<T, M>(b[i]);
  if constexpr (X == Extrapolation::linear) return static_cast<T>(first + first - second);
  const T third = mapped<T, M>(c[i]);
  if constexpr (X == Extrapolation::parallelogram) return static_cast<T>(first + second - third);
  const T step = static_cast<T>(first - second);
  return static_cast<T>(step + step + step + third);
}

template <typename T, Map M, Extrapolation X>
void take_as(T* __restrict u, const Loose<T>* x, const Loose<T>* a, const Loose<T>* b, const Loose<T>* c,
             std::size_t n) {
  for (std::size_t i = 0; i < n; ++i) u[i] = static_cast<T>(mapped<T, M>(x[i]) - predicted<T, M, X>(a, b, c, i));
}

template <typename T, Map M, Extrapolation X>
void give_as(const T* __restrict u, Loose<T>* x, const Loose<T>* a, const Loose<T>* b, const Loose<T>* c,
             std::size_t n) {
  for (std::size_t i = 0; i < n; ++i) x[i] = unmapped<T, M>(static_cast<T>(u[i] + predicted<T, M, X>(a, b, c, i)));
}

/// Calls f<Map, Extrapolation>() for the pair that a Spec names.
template <Map M, typename F>
inline void with_extrapolation(Extrapolation x, const F& f) {
  switch (x) {
    case Extrapolation::none: return f.template run<M, Extrapolation::none>();
    case Extrapolation::last: return f.template run<M, Extrapolation::last>();
    case Extrapolation::linear: return f.template run<M, Extrapolation::linear>();
    case Extrapolation::quadratic: return f.template run<M, Extrapolation::quadratic>();
    case Extrapolation::parallelogram: return f.template run<M, Extrapolation::parallelogram>();
  }
}

template <typename F>
inline void with_maps(const Spec& spec, const F& f) {
  switch (spec.map) {
    case Map::plain: return with_extrapolation<Map::plain>(spec.extrapolation, f);
    case Map::ordered: return with_extrapolation<Map::ordered>(spec.extrapolation, f);
    case Map::rotated: return with_extrapolation<Map::rotated>(spec.extrapolation, f);
  }
}

template <typename T>
struct Take {
  T* u;
  const u8* message;
  const References& references;
  std::size_t at, n;
  const Loose<T>* ref(int k) const { return reinterpret_cast<const Loose<T>*>(references[k] + at); }
  template <Map M, Extrapolation X>
  void run() const {
    constexpr int needs = references_of(X);
    take_as<T, M, X>(u, reinterpret_cast<const Loose<T>*>(message + at), needs > 0 ? ref(0) : nullptr,
                     needs > 1 ? ref(1) : nullptr, needs > 2 ? ref(2) : nullptr, n);
  }
};

template <typename T>
struct Give {
  const T* u;
  u8* message;
  const References& references;
  std::size_t at, n;
  const Loose<T>* ref(int k) const { return reinterpret_cast<const Loose<T>*>(references[k] + at); }
  template <Map M, Extrapolation X>
  void run() const {
    constexpr int needs = references_of(X);
    give_as<T, M, X>(u, reinterpret_cast<Loose<T>*>(message + at), needs > 0 ? ref(0) : nullptr,
                     needs > 1 ? ref(1) : nullptr, needs > 2 ? ref(2) : nullptr, n);
  }
};

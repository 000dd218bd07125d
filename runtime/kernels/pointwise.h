// Arithmetic on small contiguous arrays: pointers and sizes in, nothing of Stator known.
//
// NOTE: why the results are equal to ATen's to the bit. Each function here is one operation of IEEE
// 754 (or of wrapping integers), whose result is defined exactly, in whatever order and by whatever
// vector instructions the elements are computed. Functions that libraries approximate (exp, tanh)
// are left to ATen.
#pragma once

#include <cmath>
#include <cstdint>
#include <type_traits>

namespace stator::kernels {

/// Signed integers wrap, as they do in ATen; C++ leaves that undefined.
template <class T, class Operation>
T wrapping(T a, T b, const Operation& operation) {
  if constexpr (std::is_integral_v<T>) {
    using Unsigned = std::make_unsigned_t<T>;
    return static_cast<T>(operation(static_cast<Unsigned>(a), static_cast<Unsigned>(b)));
  } else {
    return operation(a, b);
  }
}

struct Add {
  template <class T>
  static T apply(T a, T b) {
    return wrapping(a, b, [](auto x, auto y) { return x + y; });
  }
};
struct Sub {
  template <class T>
  static T apply(T a, T b) {
    return wrapping(a, b, [](auto x, auto y) { return x - y; });
  }
};
struct Mul {
  template <class T>
  static T apply(T a, T b) {
    return wrapping(a, b, [](auto x, auto y) { return x * y; });
  }
};
struct Div {
  template <class T>
  static T apply(T a, T b) {
    return a / b;
  }
};
struct Less {
  template <class T>
  static bool apply(T a, T b) {
    return a < b;
  }
};
struct LessEqual {
  template <class T>
  static bool apply(T a, T b) {
    return a <= b;
  }
};
struct Greater {
  template <class T>
  static bool apply(T a, T b) {
    return a > b;
  }
};
struct GreaterEqual {
  template <class T>
  static bool apply(T a, T b) {
    return a >= b;
  }
};
struct Equal {
  template <class T>
  static bool apply(T a, T b) {
    return a == b;
  }
};
struct NotEqual {
  template <class T>
  static bool apply(T a, T b) {
    return a != b;
  }
};
struct Negative {
  template <class T>
  static T apply(T a) {
    return wrapping(
        T(0), a, [](auto x, auto y) { return std::is_floating_point_v<decltype(y)> ? -y : x - y; });
  }
};
struct Absolute {
  template <class T>
  static T apply(T a) {
    if constexpr (std::is_floating_point_v<T>) return std::fabs(a);
    return a < 0 ? Negative::apply(a) : a;
  }
};
/// NaN and -0.0 stay as they are, as in ATen.
struct Relu {
  template <class T>
  static T apply(T a) {
    return a < T(0) ? T(0) : a;
  }
};

/// out[k] = Operation(a[k], b[k]); `b` has one element for all if `one_b`.
template <class Operation, class T, class Out>
void binary(const T* a, const T* b, bool one_b, Out* out, std::int64_t count) {
  if (one_b) {
    const T value = *b;
    for (std::int64_t k = 0; k < count; ++k) out[k] = Operation::template apply<T>(a[k], value);
  } else {
    for (std::int64_t k = 0; k < count; ++k) out[k] = Operation::template apply<T>(a[k], b[k]);
  }
}

template <class Operation, class T>
void unary(const T* a, T* out, std::int64_t count) {
  for (std::int64_t k = 0; k < count; ++k) out[k] = Operation::template apply<T>(a[k]);
}

}  // namespace stator::kernels

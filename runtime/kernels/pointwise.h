// Arithmetic on small contiguous arrays: pointers and sizes in, nothing of Stator known.
//
// NOTE: why the results are equal to ATen's to the bit. Each function here is one operation of IEEE
// 754 (or of wrapping integers), whose result is defined exactly, in whatever order and by whatever
// vector instructions the elements are computed. Functions that libraries approximate (exp, tanh)
// are left to ATen's own kernels (iteration.h).
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

struct Square {
  template <class T>
  static T apply(T a) {
    return a * a;
  }
};
struct Both {
  static bool apply(bool a, bool b) { return a && b; }
};
struct Either {
  static bool apply(bool a, bool b) { return a || b; }
};
struct OneOf {
  static bool apply(bool a, bool b) { return a != b; }
};
struct Not {
  static bool apply(bool a) { return !a; }
};

/// How an operand is laid along the result: element by element, one element for all, or a row that
/// is repeated.
enum class Laid : std::uint8_t { kAlong, kOne, kRows };

template <class T>
struct Array {
  const T* data = nullptr;
  Laid laid = Laid::kAlong;
  std::int64_t period = 0;  // of kRows
};

/// out[k] = Operation(a[k], b[k])
template <class Operation, class T, class Out>
void binary(Array<T> a, Array<T> b, Out* out, std::int64_t count) {
  if (b.laid == Laid::kOne) {
    const T value = *b.data;
    if (a.laid == Laid::kOne) {
      out[0] = Operation::apply(*a.data, value);
      return;
    }
    for (std::int64_t k = 0; k < count; ++k) out[k] = Operation::apply(a.data[k], value);
  } else if (a.laid == Laid::kOne) {
    const T value = *a.data;
    for (std::int64_t k = 0; k < count; ++k) out[k] = Operation::apply(value, b.data[k]);
  } else if (a.laid == Laid::kRows || b.laid == Laid::kRows) {
    const std::int64_t period = a.laid == Laid::kRows ? a.period : b.period;
    for (std::int64_t begin = 0; begin < count; begin += period) {
      const T* left = a.data + (a.laid == Laid::kRows ? 0 : begin);
      const T* right = b.data + (b.laid == Laid::kRows ? 0 : begin);
      for (std::int64_t k = 0; k < period; ++k)
        out[begin + k] = Operation::apply(left[k], right[k]);
    }
  } else {
    for (std::int64_t k = 0; k < count; ++k) out[k] = Operation::apply(a.data[k], b.data[k]);
  }
}

template <class Operation, class T>
void unary(const T* a, T* out, std::int64_t count) {
  for (std::int64_t k = 0; k < count; ++k) out[k] = Operation::apply(a[k]);
}

/// out[k] = choice[k] ? a[k] : b[k]; `a` and `b` lie along the result or are one element.
template <class T>
void where(const bool* choice, Array<T> a, Array<T> b, T* out, std::int64_t count) {
  const std::int64_t step_a = a.laid == Laid::kOne ? 0 : 1;
  const std::int64_t step_b = b.laid == Laid::kOne ? 0 : 1;
  for (std::int64_t k = 0; k < count; ++k)
    out[k] = choice[k] ? a.data[k * step_a] : b.data[k * step_b];
}

}  // namespace stator::kernels

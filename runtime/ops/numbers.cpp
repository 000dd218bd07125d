#include "ops/numbers.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <optional>
#include <string>

#include "errors.h"
#include "ops/overflow.h"

namespace stator {
namespace {

constexpr double kIntLimit = 9223372036854775808.0;  // 2^63
constexpr std::int64_t kExactInDouble = std::int64_t{1} << 53;

[[noreturn]] void zero_division(const char* message) { throw Error("ZeroDivisionError", message); }

[[noreturn]] void unsupported(const char* sign, const Value& a, const Value& b) {
  throw Error("TypeError", std::string("unsupported operand type(s) for ") + sign + ": '" +
                               class_name(a) + "' and '" + class_name(b) + "'");
}

/// Which arithmetic two operands need.
enum class Kind { kInt, kFloat, kComplex };

Kind kind_of(const Value& a, const Value& b, const char* sign) {
  if (is_integer(a) && is_integer(b)) return Kind::kInt;
  if (is_real(a) && is_real(b)) return Kind::kFloat;
  if (is_number(a) && is_number(b)) return Kind::kComplex;
  unsupported(sign, a, b);
}

std::int64_t to_integer(double number) {
  if (std::isnan(number)) throw Error("ValueError", "cannot convert float NaN to integer");
  if (std::isinf(number)) throw Error("OverflowError", "cannot convert float infinity to integer");
  if (number >= kIntLimit || number < -kIntLimit) too_large(number);
  return static_cast<std::int64_t>(number);
}

/// a / b, rounded once: the quotient of 64-bit integers can need more digits than a double has.
double divide_integers(std::int64_t a, std::int64_t b) {
  if (b == 0) zero_division("division by zero");
  const auto is_exact = [](std::int64_t n) { return -kExactInDouble <= n && n <= kExactInDouble; };
  if (is_exact(a) && is_exact(b)) {
    return static_cast<double>(a) / static_cast<double>(b);
  }
  if (a == 0) return b < 0 ? -0.0 : 0.0;
  const auto magnitude = [](std::int64_t n) {
    return n < 0 ? 0 - static_cast<std::uint64_t>(n) : static_cast<std::uint64_t>(n);
  };
  const std::uint64_t above = magnitude(a);
  const std::uint64_t below = magnitude(b);
  const int shift_above = std::countl_zero(above);
  const int shift_below = std::countl_zero(below);
  const auto dividend = static_cast<unsigned __int128>(above << shift_above) << 62;
  const std::uint64_t divisor = below << shift_below;
  auto quotient = static_cast<std::uint64_t>(dividend / divisor);
  quotient |= static_cast<std::uint64_t>(dividend % divisor != 0);  // a digit that breaks ties
  const double result = std::ldexp(static_cast<double>(quotient), shift_below - shift_above - 62);
  return (a < 0) != (b < 0) ? -result : result;
}

std::int64_t floor_divide(std::int64_t a, std::int64_t b) {
  if (b == 0) zero_division("integer division or modulo by zero");
  if (a == INT64_MIN && b == -1) too_large(-static_cast<Wide>(a));
  return a / b - static_cast<std::int64_t>(a % b != 0 && (a < 0) != (b < 0));
}

std::int64_t modulo(std::int64_t a, std::int64_t b) {
  if (b == 0) zero_division("integer modulo by zero");
  if (b == -1) return 0;
  const std::int64_t rest = a % b;
  return rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
}

/// What CPython's float_divmod computes.
struct FloatDivision {
  double quotient;
  double rest;
};

FloatDivision float_divmod(double a, double b) {
  double rest = std::fmod(a, b);
  double quotient = (a - rest) / b;
  if (rest != 0.0) {
    if ((b < 0) != (rest < 0)) {
      rest += b;
      quotient -= 1.0;
    }
  } else {
    rest = std::copysign(0.0, b);
  }
  if (quotient == 0.0) return {std::copysign(0.0, a / b), rest};
  double floored = std::floor(quotient);
  if (quotient - floored > 0.5) floored += 1.0;
  return {floored, rest};
}

Complex divide_complex(Complex a, Complex b) {
  const double real = std::fabs(b.real());
  const double imaginary = std::fabs(b.imag());
  if (real >= imaginary) {
    if (real == 0.0) zero_division("complex division by zero");
    const double ratio = b.imag() / b.real();
    const double below = b.real() + b.imag() * ratio;
    return {(a.real() + a.imag() * ratio) / below, (a.imag() - a.real() * ratio) / below};
  }
  if (imaginary >= real) {
    const double ratio = b.real() / b.imag();
    const double below = b.real() * ratio + b.imag();
    return {(a.real() * ratio + a.imag()) / below, (a.imag() * ratio - a.real()) / below};
  }
  return {NAN, NAN};
}

Complex multiply(Complex a, Complex b) {
  return {a.real() * b.real() - a.imag() * b.imag(), a.real() * b.imag() + a.imag() * b.real()};
}

Complex power_polar(Complex a, Complex b) {
  if (b.real() == 0.0 && b.imag() == 0.0) return {1.0, 0.0};
  if (a.real() == 0.0 && a.imag() == 0.0) {
    if (b.imag() != 0.0 || b.real() < 0.0) zero_division("0.0 to a negative or complex power");
    return {0.0, 0.0};
  }
  const double size = std::hypot(a.real(), a.imag());
  double length = std::pow(size, b.real());
  const double angle = std::atan2(a.imag(), a.real());
  double phase = angle * b.real();
  if (b.imag() != 0.0) {
    length *= std::exp(-angle * b.imag());
    phase += b.imag() * std::log(size);
  }
  return {length * std::cos(phase), length * std::sin(phase)};
}

Complex power_of_int(Complex a, long exponent) {
  Complex result(1.0, 0.0);
  Complex square = a;
  for (long mask = 1; mask > 0 && exponent >= mask; mask <<= 1) {
    if ((exponent & mask) != 0) result = multiply(result, square);
    square = multiply(square, square);
  }
  return result;
}

/// What CPython's complex_pow computes: whole exponents up to 100 by multiplication.
Complex power_complex(Complex a, Complex b) {
  Complex result;
  if (b.imag() == 0.0 && b.real() == std::floor(b.real()) && std::fabs(b.real()) <= 100.0) {
    const auto exponent = static_cast<long>(b.real());
    result = exponent > 0 ? power_of_int(a, exponent)
                          : divide_complex({1.0, 0.0}, power_of_int(a, -exponent));
  } else {
    result = power_polar(a, b);
  }
  if (std::isinf(result.real()) || std::isinf(result.imag())) {
    throw Error("OverflowError", "complex exponentiation");
  }
  return result;
}

Value power_float(double a, double b) {
  if (a == 0.0 && b < 0.0 && std::isfinite(b))
    zero_division("0.0 cannot be raised to a negative power");
  if (a < 0.0 && std::isfinite(a) && std::isfinite(b) && b != std::floor(b)) {
    return power_complex({a, 0.0}, {b, 0.0});
  }
  const double result = std::pow(a, b);
  if (std::isinf(result) && std::isfinite(a) && std::isfinite(b)) {
    throw raised("OverflowError",
                 {Value(std::int64_t{34}), Value("Numerical result out of range")});
  }
  return result;
}

/// Nothing if the result has more than 64 bits.
std::optional<std::int64_t> power_int(std::int64_t base, std::int64_t exponent) {
  std::int64_t result = 1;
  while (true) {
    if ((exponent & 1) != 0 && __builtin_mul_overflow(result, base, &result)) return std::nullopt;
    exponent >>= 1;
    if (exponent == 0) return result;
    if (__builtin_mul_overflow(base, base, &base)) return std::nullopt;
  }
}

/// Applies an operator of integers; two bools give a bool.
template <class Operation>
Value bitwise(const Value& a, const Value& b, const char* sign, Operation operation) {
  if (!is_integer(a) || !is_integer(b)) unsupported(sign, a, b);
  const std::int64_t result = operation(integer_of(a), integer_of(b));
  return a.isBool() && b.isBool() ? Value(result != 0) : Value(result);
}

long double exact(const Value& value) {  // 64 bits of digits: holds every int and every float
  return value.isDouble() ? static_cast<long double>(value.toDouble())
                          : static_cast<long double>(integer_of(value));
}

const Value& as_number(const Value& value, const char* what) {
  if (!is_number(value))
    throw Error("TypeError", std::string(what) + " takes a number, not a " + class_name(value));
  return value;
}

}  // namespace

Value add(const Value& a, const Value& b) {
  switch (kind_of(a, b, "+")) {
    case Kind::kFloat:
      return double_of(a) + double_of(b);
    case Kind::kComplex:
      return complex_of(a) + complex_of(b);
    case Kind::kInt:
      break;
  }
  std::int64_t result = 0;
  if (__builtin_add_overflow(integer_of(a), integer_of(b), &result)) {
    too_large(static_cast<Wide>(integer_of(a)) + integer_of(b));
  }
  return result;
}

Value sub(const Value& a, const Value& b) {
  switch (kind_of(a, b, "-")) {
    case Kind::kFloat:
      return double_of(a) - double_of(b);
    case Kind::kComplex:
      return complex_of(a) - complex_of(b);
    case Kind::kInt:
      break;
  }
  std::int64_t result = 0;
  if (__builtin_sub_overflow(integer_of(a), integer_of(b), &result)) {
    too_large(static_cast<Wide>(integer_of(a)) - integer_of(b));
  }
  return result;
}

Value mul(const Value& a, const Value& b) {
  switch (kind_of(a, b, "*")) {
    case Kind::kFloat:
      return double_of(a) * double_of(b);
    case Kind::kComplex:
      return multiply(complex_of(a), complex_of(b));
    case Kind::kInt:
      break;
  }
  std::int64_t result = 0;
  if (__builtin_mul_overflow(integer_of(a), integer_of(b), &result)) {
    too_large(static_cast<Wide>(integer_of(a)) * integer_of(b));
  }
  return result;
}

Value truediv(const Value& a, const Value& b) {
  switch (kind_of(a, b, "/")) {
    case Kind::kInt:
      return divide_integers(integer_of(a), integer_of(b));
    case Kind::kComplex:
      return divide_complex(complex_of(a), complex_of(b));
    case Kind::kFloat:
      break;
  }
  if (double_of(b) == 0.0) zero_division("float division by zero");
  return double_of(a) / double_of(b);
}

Value floordiv(const Value& a, const Value& b) {
  switch (kind_of(a, b, "//")) {
    case Kind::kInt:
      return floor_divide(integer_of(a), integer_of(b));
    case Kind::kComplex:
      unsupported("//", a, b);
    case Kind::kFloat:
      break;
  }
  if (double_of(b) == 0.0) zero_division("float floor division by zero");
  return float_divmod(double_of(a), double_of(b)).quotient;
}

Value mod(const Value& a, const Value& b) {
  switch (kind_of(a, b, "%")) {
    case Kind::kInt:
      return modulo(integer_of(a), integer_of(b));
    case Kind::kComplex:
      unsupported("%", a, b);
    case Kind::kFloat:
      break;
  }
  if (double_of(b) == 0.0) zero_division("float modulo");
  return float_divmod(double_of(a), double_of(b)).rest;
}

Value power(const Value& a, const Value& b) {
  switch (kind_of(a, b, "** or pow()")) {
    case Kind::kInt:
      if (integer_of(b) >= 0) {
        const auto result = power_int(integer_of(a), integer_of(b));
        if (!result) power_too_large(integer_of(a), integer_of(b));
        return *result;
      }
      return power_float(double_of(a), double_of(b));
    case Kind::kComplex:
      return power_complex(complex_of(a), complex_of(b));
    case Kind::kFloat:
      break;
  }
  return power_float(double_of(a), double_of(b));
}

Value negative(const Value& a) {
  as_number(a, "-");
  if (a.isDouble()) return -a.toDouble();
  if (a.isComplexDouble()) return Complex(-a.toComplexDouble().real(), -a.toComplexDouble().imag());
  if (integer_of(a) == INT64_MIN) too_large(-static_cast<Wide>(integer_of(a)));
  return -integer_of(a);
}

Value absolute(const Value& a) {
  as_number(a, "abs");
  if (a.isDouble()) return std::fabs(a.toDouble());
  if (a.isComplexDouble()) {
    const Complex number = a.toComplexDouble();
    const double size = std::hypot(number.real(), number.imag());
    if (std::isinf(size) && std::isfinite(number.real()) && std::isfinite(number.imag())) {
      throw Error("OverflowError", "absolute value too large");
    }
    return size;
  }
  return integer_of(a) < 0 ? negative(a) : Value(integer_of(a));
}

Value bitand_(const Value& a, const Value& b) {
  return bitwise(a, b, "&", [](std::int64_t x, std::int64_t y) { return x & y; });
}

Value bitor_(const Value& a, const Value& b) {
  return bitwise(a, b, "|", [](std::int64_t x, std::int64_t y) { return x | y; });
}

Value bitxor(const Value& a, const Value& b) {
  return bitwise(a, b, "^", [](std::int64_t x, std::int64_t y) { return x ^ y; });
}

Value lshift(const Value& a, const Value& b) {
  if (!is_integer(a) || !is_integer(b)) unsupported("<<", a, b);
  const std::int64_t number = integer_of(a);
  const std::int64_t count = integer_of(b);
  if (count < 0) throw Error("ValueError", "negative shift count");
  if (number == 0) return std::int64_t{0};
  if (count > 63) too_large(std::to_string(number) + " << " + std::to_string(count));
  const Wide shifted = static_cast<Wide>(number) * (static_cast<Wide>(1) << count);
  if (shifted > INT64_MAX || shifted < INT64_MIN) too_large(shifted);
  return static_cast<std::int64_t>(shifted);
}

Value rshift(const Value& a, const Value& b) {
  if (!is_integer(a) || !is_integer(b)) unsupported(">>", a, b);
  if (integer_of(b) < 0) throw Error("ValueError", "negative shift count");
  return integer_of(a) >> std::min<std::int64_t>(integer_of(b), 63);
}

Value invert(const Value& a) {
  if (!is_integer(a)) {
    throw Error("TypeError", std::string("bad operand type for unary ~: '") + class_name(a) + "'");
  }
  return ~integer_of(a);
}

bool equal(const Value& a, const Value& b) {
  if (is_real(a) && is_real(b)) {
    if (is_integer(a) && is_integer(b)) return integer_of(a) == integer_of(b);
    return exact(a) == exact(b);
  }
  if (is_number(a) && is_number(b)) return complex_of(a) == complex_of(b);
  if (a.isString() && b.isString()) return a.toStringRef() == b.toStringRef();
  if (a.isList() && b.isList()) {
    const auto left = items_of(a);
    const auto right = items_of(b);
    return left.size() == right.size() &&
           std::equal(left.begin(), left.end(), right.begin(), equal);
  }
  return a.isNone() && b.isNone();
}

bool less(const Value& a, const Value& b, const char* sign) {
  if (is_integer(a) && is_integer(b)) return integer_of(a) < integer_of(b);
  if (is_real(a) && is_real(b)) return exact(a) < exact(b);
  if (a.isString() && b.isString()) return a.toStringRef() < b.toStringRef();
  throw Error("TypeError", std::string("'") + sign + "' not supported between instances of '" +
                               class_name(a) + "' and '" + class_name(b) + "'");
}

Value eq(const Value& a, const Value& b) { return equal(a, b); }
Value ne(const Value& a, const Value& b) { return !equal(a, b); }
Value lt(const Value& a, const Value& b) { return less(a, b, "<"); }
Value gt(const Value& a, const Value& b) { return less(b, a, ">"); }
Value le(const Value& a, const Value& b) { return less(a, b, "<=") || equal(a, b); }
Value ge(const Value& a, const Value& b) { return less(b, a, ">=") || equal(a, b); }

Value to_int(const Value& a) {
  if (a.isDouble()) return to_integer(std::trunc(a.toDouble()));
  if (is_integer(a)) return integer_of(a);
  throw Error("TypeError", std::string("int() argument must be a string, a bytes-like object or a "
                                       "real number, not '") +
                               class_name(a) + "'");
}

Value to_float(const Value& a) {
  if (is_real(a)) return double_of(a);
  throw Error("TypeError",
              std::string("float() argument must be a string or a real number, not '") +
                  class_name(a) + "'");
}

Value to_bool(const Value& a) { return is_true(a); }

Value real_part(const Value& a) {
  return as_number(a, "real").isComplexDouble() ? Value(a.toComplexDouble().real()) : a;
}

Value imaginary_part(const Value& a) {
  if (as_number(a, "imag").isComplexDouble()) return a.toComplexDouble().imag();
  return a.isDouble() ? Value(0.0) : Value(std::int64_t{0});
}

}  // namespace stator

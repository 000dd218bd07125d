// NOTE: why gamma, lgamma and hypot are written out. Python computes these by algorithms of its
// own, and the results must be equal to the bit; the others are the C library's, as in Python.
#include "ops/math.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "errors.h"

namespace stator {
namespace {

[[noreturn]] void domain_error() { throw Error("ValueError", "math domain error"); }
[[noreturn]] void range_error() { throw Error("OverflowError", "math range error"); }

double real(const Value& value) {
  if (is_real(value)) return double_of(value);
  throw Error("TypeError", std::string("must be real number, not ") + class_name(value));
}

/// A function that raises where it has no value. One that can overflow raises OverflowError for an
/// infinite result, the others ValueError.
template <double (*function)(double), bool can_overflow>
Value checked(const Value& value) {
  const double x = real(value);
  const double result = function(x);
  if (std::isnan(result) && !std::isnan(x)) domain_error();
  if (std::isinf(result) && std::isfinite(x)) can_overflow ? range_error() : domain_error();
  return result;
}

template <double (*function)(double)>
Value logarithm(const Value& value) {
  const double x = real(value);
  if (std::isnan(x)) return x;
  if (x <= 0.0) domain_error();
  return function(x);
}

double log1p_checked(double x) { return x == 0.0 ? x : std::log1p(x); }

constexpr int kLanczosTerms = 13;
constexpr double kLanczosG = 6.024680040776729583740234375;
constexpr double kLanczosGMinusHalf = 5.524680040776729583740234375;
constexpr std::array<double, kLanczosTerms> kNumerator = {
    23531376880.410759688572007674451636754734846804940,
    42919803642.649098768957899047001988850926355848959,
    35711959237.355668049440185451547166705960488635843,
    17921034426.037209699919755754458931112671403265390,
    6039542586.3520280050642916443072979210699388420708,
    1439720407.3117216736632230727949123939715485786372,
    248874557.86205415651146038641322942321632125127801,
    31426415.585400194380614231628318205362874684987640,
    2876370.6289353724412254090516208496135991145378768,
    186056.26539522349504029498971604569928220784236328,
    8071.6720023658162106380029022722506138218516325024,
    210.82427775157934587250973392071336271166969580291,
    2.5066282746310002701649081771338373386264310793408};
constexpr std::array<double, kLanczosTerms> kDenominator = {
    0.0,       39916800.0, 120543840.0, 150917976.0, 105258076.0, 45995730.0, 13339535.0,
    2637558.0, 357423.0,   32670.0,     1925.0,      66.0,        1.0};
constexpr double kPi = 3.141592653589793238462643383279502884197;
constexpr double kLogPi = 1.144729885849400174143427351353058711647;

double lanczos_sum(double x) {
  double above = 0.0;
  double below = 0.0;
  if (x < 5.0) {
    for (int k = kLanczosTerms; --k >= 0;) {
      above = above * x + kNumerator[static_cast<std::size_t>(k)];
      below = below * x + kDenominator[static_cast<std::size_t>(k)];
    }
  } else {
    for (std::size_t k = 0; k < kLanczosTerms; ++k) {
      above = above / x + kNumerator[k];
      below = below / x + kDenominator[k];
    }
  }
  return above / below;
}

double sin_pi(double x) {
  const double y = std::fmod(std::fabs(x), 2.0);
  const int quarter = static_cast<int>(std::round(2.0 * y));
  double result = 0.0;
  switch (quarter) {
    case 0:
      result = std::sin(kPi * y);
      break;
    case 1:
      result = std::cos(kPi * (y - 0.5));
      break;
    case 2:
      result = std::sin(kPi * (1.0 - y));
      break;
    case 3:
      result = -std::cos(kPi * (y - 1.5));
      break;
    default:
      result = std::sin(kPi * (y - 2.0));
      break;
  }
  return std::copysign(1.0, x) * result;
}

double factorial(int n) {
  double result = 1.0;
  for (int k = 2; k <= n; ++k) result *= k;
  return result;
}

double gamma_of(double x) {
  if (!std::isfinite(x)) {
    if (std::isnan(x) || x > 0.0) return x;
    domain_error();
  }
  if (x == 0.0) domain_error();
  if (x == std::floor(x)) {
    if (x < 0.0) domain_error();
    if (x <= 23) return factorial(static_cast<int>(x) - 1);
  }
  const double size = std::fabs(x);
  if (size < 1e-20) {
    const double result = 1.0 / x;
    if (std::isinf(result)) range_error();
    return result;
  }
  if (size > 200.0) {
    if (x < 0.0) return 0.0 / sin_pi(x);
    range_error();
  }
  const double y = size + kLanczosGMinusHalf;
  double z =
      size > kLanczosGMinusHalf ? (y - size) - kLanczosGMinusHalf : (y - kLanczosGMinusHalf) - size;
  z = z * kLanczosG / y;
  double result = 0.0;
  if (x < 0.0) {
    result = -kPi / sin_pi(size) / size * std::exp(y) / lanczos_sum(size);
    result -= z * result;
    if (size < 140.0) {
      result /= std::pow(y, size - 0.5);
    } else {
      const double root = std::pow(y, size / 2.0 - 0.25);
      result = result / root / root;
    }
  } else {
    result = lanczos_sum(size) / std::exp(y);
    result += z * result;
    if (size < 140.0) {
      result *= std::pow(y, size - 0.5);
    } else {
      const double root = std::pow(y, size / 2.0 - 0.25);
      result = result * root * root;
    }
  }
  if (std::isinf(result)) range_error();
  return result;
}

double log_gamma(double x) {
  if (!std::isfinite(x)) return std::isnan(x) ? x : INFINITY;
  if (x == std::floor(x) && x <= 2.0) {
    if (x <= 0.0) domain_error();
    return 0.0;
  }
  const double size = std::fabs(x);
  if (size < 1e-20) return -std::log(size);
  double result = std::log(lanczos_sum(size)) - kLanczosG;
  result += (size - 0.5) * (std::log(size + kLanczosG - 0.5) - 1);
  if (x < 0.0) result = kLogPi - std::log(std::fabs(sin_pi(size))) - std::log(size) - result;
  if (std::isinf(result)) range_error();
  return result;
}

/// The square root of the sum of squares, with the error of each step added back.
double norm(double x, double y) {
  std::array<double, 2> sides = {std::fabs(x), std::fabs(y)};
  const double most = std::max(sides[0], sides[1]);
  if (std::isinf(x) || std::isinf(y)) return INFINITY;
  if (std::isnan(x) || std::isnan(y)) return NAN;
  if (most == 0.0) return most;
  int exponent = 0;
  std::frexp(most, &exponent);
  if (exponent < -1023) {  // subnormal: scale up first
    return 2.2250738585072014e-308 * norm(x / 2.2250738585072014e-308, y / 2.2250738585072014e-308);
  }
  constexpr double kSplit = 134217729.0;  // 2^27 + 1
  const double scale = std::ldexp(1.0, -exponent);
  double sum = 1.0, low = 0.0, lower = 0.0;
  const auto add_product = [&](double a, double b) {
    const double product = a * b;
    double t = a * kSplit;
    const double a_high = t - (t - a), a_low = a - a_high;
    t = b * kSplit;
    const double b_high = t - (t - b), b_low = b - b_high;
    const double error =
        ((a_high * b_high - product) + a_high * b_low + a_low * b_high) + a_low * b_low;
    const double before = sum;
    sum += product;
    low += (before - sum) + product;
    lower += error;
  };
  for (const double side : sides) add_product(side * scale, side * scale);
  const double root = std::sqrt(sum - 1.0 + (low + lower));
  add_product(-root, root);
  return (root + (sum - 1.0 + (low + lower)) / (2.0 * root)) / scale;
}

Value hypot_of(const Value& a, const Value& b) { return norm(real(a), real(b)); }
Value atan2_of(const Value& a, const Value& b) { return std::atan2(real(a), real(b)); }
Value copysign_of(const Value& a, const Value& b) { return std::copysign(real(a), real(b)); }

Value fmod_of(const Value& a, const Value& b) {
  const double x = real(a);
  const double y = real(b);
  if (std::isinf(y) && std::isfinite(x)) return x;
  const double result = std::fmod(x, y);
  if (std::isnan(result) && !std::isnan(x) && !std::isnan(y)) domain_error();
  return result;
}

Value is_nan(const Value& a) { return std::isnan(real(a)); }
Value is_infinite(const Value& a) { return std::isinf(real(a)); }
Value is_finite(const Value& a) { return std::isfinite(real(a)); }
Value gamma_value(const Value& a) { return gamma_of(real(a)); }
Value log_gamma_value(const Value& a) { return log_gamma(real(a)); }

template <class Function>
struct Row {
  std::string_view name;
  Function function;
};

constexpr std::array kUnary = std::to_array<Row<Unary>>({
    {"exp", checked<std::exp, true>},
    {"exp2", checked<std::exp2, true>},
    {"expm1", checked<std::expm1, true>},
    {"log", logarithm<std::log>},
    {"log2", logarithm<std::log2>},
    {"log10", logarithm<std::log10>},
    {"log1p", checked<log1p_checked, false>},
    {"sqrt", checked<std::sqrt, false>},
    {"cbrt", checked<std::cbrt, false>},
    {"sin", checked<std::sin, false>},
    {"cos", checked<std::cos, false>},
    {"tan", checked<std::tan, false>},
    {"asin", checked<std::asin, false>},
    {"acos", checked<std::acos, false>},
    {"atan", checked<std::atan, false>},
    {"sinh", checked<std::sinh, true>},
    {"cosh", checked<std::cosh, true>},
    {"tanh", checked<std::tanh, false>},
    {"asinh", checked<std::asinh, false>},
    {"acosh", checked<std::acosh, false>},
    {"atanh", checked<std::atanh, false>},
    {"erf", checked<std::erf, false>},
    {"erfc", checked<std::erfc, false>},
    {"gamma", gamma_value},
    {"lgamma", log_gamma_value},
    {"isnan", is_nan},
    {"isinf", is_infinite},
    {"isfinite", is_finite},
});
constexpr std::array kBinary = std::to_array<Row<Binary>>({
    {"atan2", atan2_of},
    {"hypot", hypot_of},
    {"fmod", fmod_of},
    {"copysign", copysign_of},
});

}  // namespace

Unary math_function(std::string_view name) {
  const auto* found = std::ranges::find(kUnary, name, &Row<Unary>::name);
  return found == kUnary.end() ? nullptr : found->function;
}

Binary math_function_of_two(std::string_view name) {
  const auto* found = std::ranges::find(kBinary, name, &Row<Binary>::name);
  return found == kBinary.end() ? nullptr : found->function;
}

}  // namespace stator

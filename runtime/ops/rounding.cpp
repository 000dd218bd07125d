// Rounding of numbers: to whole ones, and to decimal digits, half to even and correctly rounded.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "errors.h"
#include "ops/numbers.h"
#include "ops/overflow.h"

namespace stator {
namespace {

/// Up to 10^18, which has 64 bits.
std::int64_t power_of_ten(std::int64_t exponent) {
  std::int64_t power = 1;
  for (; exponent > 0; --exponent) power *= 10;
  return power;
}

std::int64_t round_int(std::int64_t number, std::int64_t digits) {
  if (digits >= 0) return number;
  constexpr std::int64_t kHalfOfLargestUnit = 5'000'000'000'000'000'000;  // half of 10^19
  if (digits == -19 && number > kHalfOfLargestUnit)
    too_large(static_cast<Wide>(kHalfOfLargestUnit) * 2);
  if (digits == -19 && number < -kHalfOfLargestUnit)
    too_large(static_cast<Wide>(kHalfOfLargestUnit) * -2);
  if (digits < -18) return 0;
  const std::int64_t unit = power_of_ten(-digits);
  const std::int64_t rest = (number % unit + unit) % unit;
  const std::int64_t floored = number - rest;
  const bool up = rest > unit / 2 || (rest == unit / 2 && floored / unit % 2 != 0);
  std::int64_t result = floored;
  if (up && __builtin_add_overflow(floored, unit, &result))
    too_large(static_cast<Wide>(floored) + unit);
  return result;
}

/// `number` rounded half to even at the digit `places` before the point, by its exact digits.
double round_to_tens(double number, std::int64_t before_point) {
  const auto places = static_cast<std::size_t>(std::clamp<std::int64_t>(before_point, 1, 308));
  const double whole = std::floor(std::fabs(number));
  char buffer[400];
  std::snprintf(buffer, sizeof buffer, "%.0f", whole);
  std::string digits = std::string(places, '0') + buffer;  // there is a digit at every place
  const std::string rest = digits.substr(digits.size() - places);
  digits.erase(digits.size() - places);
  std::string half(places, '0');
  half[0] = '5';
  const bool is_above = rest > half || (rest == half && whole != std::fabs(number));
  const bool is_odd = !digits.empty() && (digits.back() - '0') % 2 != 0;
  if (is_above || (rest == half && is_odd)) {
    std::size_t at = digits.size();
    while (at > 0 && digits[at - 1] == '9') digits[--at] = '0';
    if (at > 0) {
      ++digits[at - 1];
    } else {
      digits.insert(digits.begin(), '1');
    }
  }
  const std::string result = digits + std::string(places, '0');
  return std::copysign(std::strtod(result.c_str(), nullptr), number);
}

/// Correctly rounded: printf writes the exact decimal value.
double round_float(double number, std::int64_t digits) {
  if (!std::isfinite(number) || digits > 323) return number;
  if (digits < -308) return std::copysign(0.0, number);
  if (digits < 0) return round_to_tens(number, -digits);
  char buffer[800];
  std::snprintf(buffer, sizeof buffer, "%.*f", static_cast<int>(digits), number);
  return std::strtod(buffer, nullptr);
}

}  // namespace

Value round_to_int(const Value& a) {
  if (a.isDouble()) return to_int(std::nearbyint(a.toDouble()));
  if (is_integer(a)) return integer_of(a);
  throw Error("TypeError",
              std::string("type ") + class_name(a) + " doesn't define __round__ method");
}

Value round_to_digits(const Value& a, const Value& digits) {
  if (digits.isNone()) return round_to_int(a);
  if (a.isDouble()) return round_float(a.toDouble(), integer_of(digits));
  return round_int(integer_of(a), integer_of(digits));
}

Value floor_of(const Value& a) {
  return a.isDouble() ? to_int(std::floor(a.toDouble())) : to_int(a);
}
Value ceil_of(const Value& a) { return a.isDouble() ? to_int(std::ceil(a.toDouble())) : to_int(a); }
Value trunc_of(const Value& a) { return to_int(a); }

}  // namespace stator

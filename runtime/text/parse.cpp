#include "text/parse.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cmath>
#include <limits>
#include <string_view>

#include "errors.h"
#include "ops/overflow.h"
#include "text/repr.h"
#include "text/unicode.h"

namespace stator {
namespace {

constexpr std::size_t kShownCharacters = 200;  // of a text that is no integer
constexpr int kDigitLimit = 4300;              // Python's own, for bases that are no power of two
constexpr std::string_view kSpaces = " \t\n\r\v\f";
constexpr int kLargestExponent = 1 << 20;  // beyond it a float is infinite or 0

/// Digits and spaces of any script as those of ASCII, which is how Python begins; another character
/// as `?`, which is part of no number.
std::string as_ascii(const std::string& text) {
  if (std::ranges::all_of(text, [](char c) { return c >= 0; })) return text;
  std::string made;
  for (std::size_t at = 0; at < text.size();) {
    const auto [point, size] = decode(text, at);
    at += size;
    if (point < 0x7F) {
      made += static_cast<char>(point);
    } else if (is_space(point)) {
      made += ' ';
    } else if (const auto digit = digit_value(point)) {
      made += static_cast<char>('0' + *digit);
    } else {
      made += '?';
    }
  }
  return made;
}

std::string_view stripped(std::string_view text) {
  const std::size_t first = text.find_first_not_of(kSpaces);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kSpaces) - first + 1);
}

bool take_sign(std::string_view& text) {
  const bool negative = text.starts_with('-');
  if (negative || text.starts_with('+')) text.remove_prefix(1);
  return negative;
}

int digit_of(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  const int letter = std::tolower(static_cast<unsigned char>(c));
  return letter >= 'a' && letter <= 'z' ? letter - 'a' + 10 : 36;
}

/// The base that a prefix names: `0x` and its like. 0 if there is none.
int prefixed_base(std::string_view text) {
  if (text.size() < 2 || text[0] != '0') return 0;
  const int mark = std::tolower(static_cast<unsigned char>(text[1]));
  return mark == 'x' ? 16 : mark == 'o' ? 8 : mark == 'b' ? 2 : 0;
}

[[noreturn]] void no_integer(const std::string& text, std::int64_t base) {
  const std::string shown = repr_text(text);
  throw Error("ValueError",
              "invalid literal for int() with base " + std::to_string(base) + ": " +
                  shown.substr(0, offset_of(shown, static_cast<std::int64_t>(kShownCharacters))));
}

/// An underscore is between two digits, or after a prefix.
bool underscores_fit(std::string_view digits, bool after_prefix) {
  bool after_digit = after_prefix;
  for (const char c : digits) {
    if (c == '_' && !after_digit) return false;
    after_digit = c != '_';
  }
  return after_digit && !digits.empty();
}

std::int64_t value_of(std::string_view digits, int base, bool negative) {
  Wide value = 0;
  bool fits = true;
  for (const char c : digits) {
    if (c == '_') continue;
    if (fits) value = value * base + digit_of(c);
    fits = value <= (static_cast<Wide>(1) << 100);
  }
  if (!fits) {
    std::string shown(negative ? "-" : "");
    std::ranges::copy_if(digits, std::back_inserter(shown), [](char c) { return c != '_'; });
    too_large(base == 10 ? shown : "an integer of the base " + std::to_string(base));
  }
  if (negative) value = -value;
  if (value < std::numeric_limits<std::int64_t>::min() ||
      value > std::numeric_limits<std::int64_t>::max()) {
    too_large(value);
  }
  return static_cast<std::int64_t>(value);
}

/// Reads digits with a point, an exponent and underscores; false if that is not what there is.
bool is_float(std::string_view text) {
  bool has_digit = false;
  bool has_point = false;
  char before = 0;
  for (std::size_t k = 0; k < text.size(); ++k) {
    const char c = text[k];
    const bool is_digit = c >= '0' && c <= '9';
    if (before == '_' && !is_digit) return false;
    if (c == '_') {
      if (before < '0' || before > '9') return false;
    } else if (c == '.') {
      if (has_point) return false;
      has_point = true;
    } else if (c == 'e' || c == 'E') {
      std::string_view exponent = text.substr(k + 1);
      take_sign(exponent);
      const auto is_part = [](char one) { return (one >= '0' && one <= '9') || one == '_'; };
      return has_digit && underscores_fit(exponent, false) &&
             std::ranges::all_of(exponent, is_part);
    } else if (!is_digit) {
      return false;
    }
    has_digit = has_digit || is_digit;
    before = c;
  }
  return has_digit && before != '_';
}

/// The value of a number that no float has: infinite, or 0.
double beyond(std::string_view text) {
  const std::size_t mark = std::min(text.find_first_of("eE"), text.size());
  const std::string_view mantissa = text.substr(0, mark);
  const std::size_t first = mantissa.find_first_of("123456789");
  if (first == std::string_view::npos) return 0.0;
  const std::size_t point = std::min(mantissa.find('.'), mantissa.size());
  const auto scale = static_cast<double>(point) - static_cast<double>(first);
  double exponent = 0.0;
  for (const char c : text.substr(std::min(mark + 1, text.size()))) {
    if (c >= '0' && c <= '9') exponent = std::min(exponent * 10 + (c - '0'), 1.0 * kLargestExponent);
  }
  const bool negative = mark + 1 < text.size() && text[mark + 1] == '-';
  return scale + (negative ? -exponent : exponent) > 0 ? std::numeric_limits<double>::infinity()
                                                       : 0.0;
}

bool same_word(std::string_view text, std::string_view word) {
  return std::ranges::equal(word, text, {}, {}, [](char c) {
    return static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  });
}

}  // namespace

std::int64_t parse_int(const std::string& text, std::int64_t base) {
  if (base != 0 && (base < 2 || base > 36))
    throw Error("ValueError", "int() base must be >= 2 and <= 36, or 0");
  const std::string plain = as_ascii(text);
  std::string_view digits = stripped(plain);
  const bool negative = take_sign(digits);
  const int prefix = prefixed_base(digits);
  const bool is_bare = base == 0 && prefix == 0;
  const int actual = base == 0 ? (prefix == 0 ? 10 : prefix) : static_cast<int>(base);
  const bool has_prefix = prefix != 0 && prefix == actual;
  if (has_prefix) digits.remove_prefix(2);
  const auto is_digit = [&](char c) { return c == '_' || digit_of(c) < actual; };
  if (!underscores_fit(digits, has_prefix) || !std::ranges::all_of(digits, is_digit))
    no_integer(text, base);
  const bool is_zero = std::ranges::all_of(digits, [](char c) { return c == '0' || c == '_'; });
  if (is_bare && digits[0] == '0' && !is_zero) no_integer(text, base);
  const auto count = digits.size() - static_cast<std::size_t>(std::ranges::count(digits, '_'));
  if ((actual & (actual - 1)) != 0 && count > kDigitLimit) {
    throw Error("ValueError", "Exceeds the limit (4300 digits) for integer string conversion: "
                              "value has " + std::to_string(count) +
                                  " digits; use sys.set_int_max_str_digits() to increase the limit");
  }
  return value_of(digits, actual, negative);
}

double parse_float(const std::string& text) {
  const std::string plain = as_ascii(text);
  std::string_view number = stripped(plain);
  const double sign = take_sign(number) ? -1.0 : 1.0;
  if (same_word(number, "inf") || same_word(number, "infinity"))
    return sign * std::numeric_limits<double>::infinity();
  if (same_word(number, "nan"))
    return std::copysign(std::numeric_limits<double>::quiet_NaN(), sign);
  if (!is_float(number))
    throw Error("ValueError", "could not convert string to float: " + repr_text(text));
  std::string digits;
  std::ranges::copy_if(number, std::back_inserter(digits), [](char c) { return c != '_'; });
  double value = 0.0;
  const auto end = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  return sign * (end.ec == std::errc::result_out_of_range ? beyond(digits) : value);
}

}  // namespace stator

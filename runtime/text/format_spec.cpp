// NOTE: a float is written by C's printf, which rounds exactly as Python's own conversion does.
#include "text/format_spec.h"

#include <ATen/core/Tensor.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <optional>

#include "errors.h"
#include "text/repr.h"
#include "text/unicode.h"

namespace stator {
namespace {

/// `[[fill]align][sign][z][#][0][width][grouping][.precision][type]`
struct Spec {
  std::string fill = " ";
  char align = 0;
  char sign = '-';
  bool no_negative_zero = false;
  bool alternate = false;
  std::int64_t width = 0;
  char grouping = 0;
  std::optional<int> precision;
  char type = 0;
};

constexpr std::int64_t kWidthLimit = 1 << 20;

bool is_align(char c) { return c == '<' || c == '>' || c == '=' || c == '^'; }

class SpecReader {
 public:
  SpecReader(const std::string& text, const char* class_name) : text_(text), class_(class_name) {}

  Spec read() {
    Spec spec;
    read_align(spec);
    if (peek() == '+' || peek() == '-' || peek() == ' ') spec.sign = next();
    spec.no_negative_zero = take('z');
    spec.alternate = take('#');
    if (take('0') && spec.align == 0) {
      spec.fill = "0";
      spec.align = std::string_view(class_) == "str" ? '<' : '=';
    }
    spec.width = read_number().value_or(0);
    if (peek() == ',' || peek() == '_') spec.grouping = next();
    if (take('.')) {
      const auto precision = read_number();
      if (!precision) throw Error("ValueError", "Format specifier missing precision");
      spec.precision = static_cast<int>(*precision);
    }
    if (text_.size() - at_ > 1) invalid();
    if (at_ < text_.size()) spec.type = next();
    return spec;
  }

 private:
  char peek() const { return at_ < text_.size() ? text_[at_] : '\0'; }
  char next() { return text_[at_++]; }
  bool take(char c) { return peek() == c && at_ < text_.size() ? (++at_, true) : false; }

  /// A fill character may be any code point, so it may take several bytes.
  void read_align(Spec& spec) {
    std::size_t size = 1;
    while (at_ + size < text_.size() &&
           (static_cast<unsigned char>(text_[at_ + size]) & 0xC0U) == 0x80U)
      ++size;
    if (at_ + size < text_.size() && is_align(text_[at_ + size])) {
      spec.fill = text_.substr(at_, size);
      at_ += size;
      spec.align = next();
    } else if (is_align(peek())) {
      spec.align = next();
    }
  }

  std::optional<std::int64_t> read_number() {
    if (peek() < '0' || peek() > '9') return std::nullopt;
    std::int64_t number = 0;
    while (peek() >= '0' && peek() <= '9') {
      number = number * 10 + (next() - '0');
      if (number > kWidthLimit)
        throw Error("ValueError", "Too many decimal digits in format string");
    }
    return number;
  }

  [[noreturn]] void invalid() const {
    throw Error("ValueError",
                "Invalid format specifier '" + text_ + "' for object of type '" + class_ + "'");
  }

  const std::string& text_;
  const char* class_;
  std::size_t at_ = 0;
};

[[noreturn]] void unknown_code(char type, const char* class_name) {
  throw Error("ValueError", std::string("Unknown format code '") + type + "' for object of type '" +
                                class_name + "'");
}

std::string repeated(const std::string& text, std::int64_t times) {
  std::string made;
  for (std::int64_t k = 0; k < times; ++k) made += text;
  return made;
}

/// `text` at its place in the width; `sign` goes before the filling if the alignment is `=`.
std::string padded(const std::string& sign, const std::string& text, const Spec& spec, char usual) {
  const std::int64_t gap = spec.width - length_of(sign) - length_of(text);
  if (gap <= 0) return sign + text;
  switch (spec.align != 0 ? spec.align : usual) {
    case '<':
      return sign + text + repeated(spec.fill, gap);
    case '^':
      return repeated(spec.fill, gap / 2) + sign + text + repeated(spec.fill, gap - gap / 2);
    case '=':
      return sign + repeated(spec.fill, gap) + text;
    default:
      return repeated(spec.fill, gap) + sign + text;
  }
}

/// Digits in groups: of three, or of four for binary, octal and hexadecimal numbers.
std::string grouped(const std::string& digits, char separator, std::size_t size) {
  std::string made;
  for (std::size_t k = 0; k < digits.size(); ++k) {
    if (k > 0 && (digits.size() - k) % size == 0) made += separator;
    made += digits[k];
  }
  return made;
}

/// Zeros that fill the width belong to the groups: `{1234:010,}` is `00,001,234`.
std::string grouped_to_width(std::string digits, const std::string& rest, const std::string& sign,
                             const Spec& spec, std::size_t size) {
  if (spec.grouping == 0) return digits + rest;
  std::string made = grouped(digits, spec.grouping, size);
  const auto needed = spec.width - static_cast<std::int64_t>(sign.size() + rest.size());
  while (spec.fill == "0" && spec.align == '=' && static_cast<std::int64_t>(made.size()) < needed) {
    digits.insert(0, 1, '0');
    made = grouped(digits, spec.grouping, size);
  }
  return made + rest;
}

std::string sign_of(bool negative, const Spec& spec) {
  if (negative) return "-";
  return spec.sign == '-' ? "" : std::string(1, spec.sign);
}

std::string digits_in(std::uint64_t number, unsigned base, bool upper) {
  const char* marks = upper ? "0123456789ABCDEF" : "0123456789abcdef";
  std::string made;
  do made.insert(made.begin(), marks[number % base]);
  while ((number /= base) != 0);
  return made;
}

std::string format_float(double number, const Spec& spec, const char* class_name);

/// The character with this number, in UTF-8.
std::string format_character(std::int64_t number, const Spec& spec) {
  if (spec.sign != '-')
    throw Error("ValueError", "Sign not allowed with integer format specifier 'c'");
  if (spec.alternate)
    throw Error("ValueError", "Alternate form (#) not allowed with integer format specifier 'c'");
  if (spec.grouping != 0) {
    throw Error("ValueError", std::string("Cannot specify '") + spec.grouping + "' with 'c'.");
  }
  if (number < 0 || number > 0x10FFFF)
    throw Error("OverflowError", "%c arg not in range(0x110000)");
  if (number >= 0xD800 && number < 0xE000)
    throw Error("ValueError", "half of a surrogate pair cannot be encoded as UTF-8");
  const auto code = static_cast<std::uint32_t>(number);
  const auto byte = [](std::uint32_t bits) { return static_cast<char>(bits); };
  std::string text;
  if (code < 0x80) {
    text = {byte(code)};
  } else if (code < 0x800) {
    text = {byte(0xC0 | code >> 6), byte(0x80 | (code & 0x3F))};
  } else if (code < 0x10000) {
    text = {byte(0xE0 | code >> 12), byte(0x80 | (code >> 6 & 0x3F)), byte(0x80 | (code & 0x3F))};
  } else {
    text = {byte(0xF0 | code >> 18), byte(0x80 | (code >> 12 & 0x3F)),
            byte(0x80 | (code >> 6 & 0x3F)), byte(0x80 | (code & 0x3F))};
  }
  return padded("", text, spec, '>');
}

std::string format_integer(std::int64_t number, const Spec& spec, const char* class_name) {
  if (spec.type != 0 && std::string_view("eEfFgG%").find(spec.type) != std::string_view::npos) {
    return format_float(static_cast<double>(number), spec, class_name);
  }
  if (spec.precision)
    throw Error("ValueError", "Precision not allowed in integer format specifier");
  if (spec.type == 'c') return format_character(number, spec);
  if (spec.type != 0 && std::string_view("bdnoxX").find(spec.type) == std::string_view::npos) {
    unknown_code(spec.type, class_name);
  }
  const unsigned base = spec.type == 'b'                       ? 2
                        : spec.type == 'o'                     ? 8
                        : spec.type == 'x' || spec.type == 'X' ? 16
                                                               : 10;
  const auto magnitude =
      number < 0 ? 0 - static_cast<std::uint64_t>(number) : static_cast<std::uint64_t>(number);
  std::string sign = sign_of(number < 0, spec);
  if (spec.alternate && base != 10) sign += std::string("0") + spec.type;
  const std::string digits = digits_in(magnitude, base, spec.type == 'X');
  return padded(sign, grouped_to_width(digits, "", sign, spec, base == 10 ? 3 : 4), spec, '>');
}

std::string c_format(double number, char type, int precision, bool alternate) {
  const std::string form = std::string("%") + (alternate ? "#" : "") + ".*" + type;
  const int size = std::snprintf(nullptr, 0, form.c_str(), precision, number);
  std::string text(static_cast<std::size_t>(size), '\0');
  std::snprintf(text.data(), text.size() + 1, form.c_str(), precision, number);
  return text;
}

/// The digits of a finite, non-negative float.
std::string float_digits(double number, const Spec& spec) {
  const char type = spec.type == 'n' ? 'g' : spec.type;
  if (type == '%')
    return c_format(number * 100.0, 'f', spec.precision.value_or(6), spec.alternate) + "%";
  if (type != 0) return c_format(number, type, spec.precision.value_or(6), spec.alternate);
  if (!spec.precision) return repr_float(number);
  // NOTE: no type but a precision: like `g`, but with at least one digit after the point, and the
  // exponent starts one digit earlier
  const int precision = std::max(*spec.precision, 1);
  const std::string scientific = c_format(number, 'e', precision - 1, false);
  const int exponent = std::stoi(scientific.substr(scientific.find('e') + 1));
  if (exponent < -4 || exponent >= precision - (precision > 1 ? 1 : 0)) {
    const std::string text = c_format(number, 'e', precision - 1, true);
    std::string mantissa = text.substr(0, text.find('e'));
    mantissa.erase(mantissa.find_last_not_of('0') + 1);
    if (mantissa.ends_with('.')) mantissa.pop_back();
    return mantissa + text.substr(text.find('e'));
  }
  const std::string text = c_format(number, 'g', precision, false);
  return text.find('.') == std::string::npos ? text + ".0" : text;
}

std::string format_float(double number, const Spec& spec, const char* class_name) {
  if (spec.type != 0 && std::string_view("eEfFgGn%").find(spec.type) == std::string_view::npos) {
    unknown_code(spec.type, class_name);
  }
  bool negative = std::signbit(number) && !std::isnan(number);
  std::string text;
  if (!std::isfinite(number)) {
    const bool upper = spec.type == 'E' || spec.type == 'F' || spec.type == 'G';
    text = std::isnan(number) ? (upper ? "NAN" : "nan") : (upper ? "INF" : "inf");
    if (spec.type == '%') text += '%';
    return padded(sign_of(negative, spec), text, spec, '>');
  }
  text = float_digits(std::fabs(number), spec);
  if (spec.no_negative_zero && text.find_first_of("123456789") == std::string::npos)
    negative = false;
  const std::size_t point = std::min(text.find_first_not_of("0123456789"), text.size());
  const std::string sign = sign_of(negative, spec);
  return padded(sign, grouped_to_width(text.substr(0, point), text.substr(point), sign, spec, 3),
                spec, '>');
}

std::string format_complex(Complex number, const Spec& spec) {
  if (spec.fill == "0" || spec.align == '=') {
    throw Error("ValueError", spec.align == '='
                                  ? "'=' alignment flag is not allowed in complex format specifier"
                                  : "Zero padding is not allowed in complex format specifier");
  }
  Spec part = spec;
  part.width = 0;
  const auto text_of = [&](double value, char sign) {
    part.sign = sign;
    std::string text = format_float(value, part, "complex");
    if (spec.type == 0 && !spec.precision && text.ends_with(".0")) text.resize(text.size() - 2);
    return text;
  };
  std::string text = text_of(number.real(), spec.sign) + text_of(number.imag(), '+') + "j";
  if (spec.type == 0) text = "(" + text + ")";
  return padded("", text, spec, '>');
}

std::string format_text(const std::string& text, const Spec& spec) {
  if (spec.type != 0 && spec.type != 's') unknown_code(spec.type, "str");
  if (spec.align == '=') {
    throw Error("ValueError", "'=' alignment not allowed in string format specifier");
  }
  if (spec.sign != '-') throw Error("ValueError", "Sign not allowed in string format specifier");
  std::string shown = text;
  if (spec.precision && length_of(text) > *spec.precision) {
    std::size_t end = 0;
    for (int left = *spec.precision; end < text.size(); ++end) {
      if ((static_cast<unsigned char>(text[end]) & 0xC0U) != 0x80U && left-- == 0) break;
    }
    shown = text.substr(0, end);
  }
  return padded("", shown, spec, '<');
}

std::string format_plain(const Value& value, const std::string& spec) {
  if (spec.empty()) return str(value);
  const char* name = class_name(value);
  if (!is_number(value) && !value.isString()) {
    throw Error("TypeError",
                std::string("unsupported format string passed to ") + name + ".__format__");
  }
  const Spec read = SpecReader(spec, name).read();
  if (value.isString()) return format_text(value.toStringRef(), read);
  if (value.isComplexDouble()) return format_complex(value.toComplexDouble(), read);
  if (value.isDouble()) return format_float(value.toDouble(), read, name);
  return format_integer(integer_of(value), read, name);
}

}  // namespace

std::string format_value(const Value& value, const std::string& conversion,
                         const std::string& spec) {
  if (conversion == "r") return format_plain(Value(repr(value)), spec);
  if (conversion == "a") return format_plain(Value(ascii(value)), spec);
  if (conversion == "s") return format_plain(Value(str(value)), spec);
  if (value.isTensor() && value.toTensor().dim() == 0) {
    return format_plain(Value(value.toTensor().item()), spec);
  }
  return format_plain(value, spec);
}

}  // namespace stator

#include "text/repr.h"

#include <atomic>
#include <charconv>
#include <cmath>
#include <cstdio>

#include "errors.h"
#include "text/unicode.h"

namespace stator {
namespace {

constexpr int kFirstPointFreeExponent = 16;  // from 1e16 on, Python writes an exponent
constexpr int kLastPlainExponent = -4;

/// The digits and the decimal exponent of a positive finite number: 1.25e3 is {"125", 3}.
struct Decimal {
  std::string digits;
  int exponent = 0;
};

Decimal shortest(double number) {
  char buffer[40];
  const auto end =
      std::to_chars(buffer, buffer + sizeof buffer, number, std::chars_format::scientific);
  const std::string text(buffer, end.ptr);
  const std::size_t mark = text.find('e');
  Decimal made;
  for (const char c : text.substr(0, mark)) {
    if (c != '.') made.digits += c;
  }
  made.exponent = std::stoi(text.substr(mark + 1));
  return made;
}

std::string with_exponent(const Decimal& decimal) {
  std::string text = decimal.digits.substr(0, 1);
  if (decimal.digits.size() > 1) text += "." + decimal.digits.substr(1);
  char exponent[16];
  std::snprintf(exponent, sizeof exponent, "e%+03d", decimal.exponent);
  return text + exponent;
}

std::string plain(const Decimal& decimal) {
  const std::string& digits = decimal.digits;
  const int before = decimal.exponent + 1;  // digits before the point
  if (before <= 0) return "0." + std::string(static_cast<std::size_t>(-before), '0') + digits;
  const auto whole = static_cast<std::size_t>(before);
  if (digits.size() <= whole) return digits + std::string(whole - digits.size(), '0') + ".0";
  return digits.substr(0, whole) + "." + digits.substr(whole);
}

/// A part of a complex number: no `.0` at its end.
std::string repr_part(double number) {
  const std::string text = repr_float(number);
  return text.ends_with(".0") ? text.substr(0, text.size() - 2) : text;
}

std::string escaped(char32_t point) {
  char buffer[16];
  const char* form = point < 0x100 ? "\\x%02x" : point < 0x10000 ? "\\u%04x" : "\\U%08x";
  std::snprintf(buffer, sizeof buffer, form, static_cast<unsigned>(point));
  return buffer;
}

std::atomic<TensorPrinter> tensor_printer{repr_tensor};

}  // namespace

void set_tensor_printer(TensorPrinter printer) { tensor_printer = printer; }

std::string repr_float(double number) {
  if (std::isnan(number)) return "nan";
  const std::string sign = std::signbit(number) ? "-" : "";
  if (std::isinf(number)) return sign + "inf";
  if (number == 0.0) return sign + "0.0";
  const Decimal decimal = shortest(std::fabs(number));
  const bool is_plain =
      decimal.exponent >= kLastPlainExponent && decimal.exponent < kFirstPointFreeExponent;
  return sign + (is_plain ? plain(decimal) : with_exponent(decimal));
}

std::string repr_complex(Complex number) {
  const bool bare = number.real() == 0.0 && !std::signbit(number.real());
  const std::string imaginary = repr_part(number.imag()) + "j";
  if (bare) return imaginary;
  const bool has_sign = std::signbit(number.imag()) && !std::isnan(number.imag());
  return "(" + repr_part(number.real()) + (has_sign ? "" : "+") + imaginary + ")";
}

std::string repr_text(const std::string& text, bool ascii) {
  const bool has_single = text.find('\'') != std::string::npos;
  const char quote = has_single && text.find('"') == std::string::npos ? '"' : '\'';
  std::string made(1, quote);
  for (std::size_t at = 0; at < text.size();) {
    const auto [point, size] = decode(text, at);
    if (point == static_cast<unsigned char>(quote) || point == '\\') {
      made += '\\';
      made += static_cast<char>(point);
    } else if (point == '\n' || point == '\r' || point == '\t') {
      made += point == '\n' ? "\\n" : point == '\r' ? "\\r" : "\\t";
    } else if (!is_printable(point) || (ascii && point >= 0x7F)) {
      made += escaped(point);
    } else {
      made += text.substr(at, size);
    }
    at += size;
  }
  return made + quote;
}

std::string repr(const Value& value) {
  if (value.isNone()) return "None";
  if (value.isTensor()) return tensor_printer.load()(value.toTensor());
  if (value.isBool()) return value.toBool() ? "True" : "False";
  if (value.isInt()) return std::to_string(value.toInt());
  if (value.isDouble()) return repr_float(value.toDouble());
  if (value.isComplexDouble()) return repr_complex(value.toComplexDouble());
  if (value.isString()) return repr_text(value.toStringRef());
  if (value.isDevice()) return "device(" + repr_text(value.toDevice().str()) + ")";
  if (!value.isList()) throw Error("TypeError", "a value of the program has no text");
  std::string items;
  for (const Value& item : items_of(value)) items += (items.empty() ? "" : ", ") + repr(item);
  return "[" + items + "]";
}

std::string str(const Value& value) {
  if (value.isString()) return value.toStringRef();
  return value.isDevice() ? value.toDevice().str() : repr(value);
}

std::string ascii(const Value& value) {
  return value.isString() ? repr_text(value.toStringRef(), true) : repr(value);
}

}  // namespace stator

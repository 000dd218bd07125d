// What a value (`stator/value.h`) means to Python.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "stator/value.h"

namespace stator {

/// Python's `bool(value)`.
bool is_true(const Value& value);

inline bool is_integer(const Value& value) { return value.isInt() || value.isBool(); }
inline bool is_real(const Value& value) { return value.isDouble() || is_integer(value); }
inline bool is_number(const Value& value) { return is_real(value) || value.isComplexDouble(); }

/// An int or a bool as an integer.
inline std::int64_t integer_of(const Value& value) {
  return value.isBool() ? static_cast<std::int64_t>(value.toBool()) : value.toInt();
}

/// A real number as a double.
inline double double_of(const Value& value) {
  return value.isDouble() ? value.toDouble() : static_cast<double>(integer_of(value));
}

/// Any number as a complex one.
inline Complex complex_of(const Value& value) {
  return value.isComplexDouble() ? value.toComplexDouble() : Complex(double_of(value), 0.0);
}

/// The name of the Python class: `int`, `str`, `Tensor`.
const char* class_name(const Value& value);

/// A dtype by its name, `float32`, and the name of a dtype.
std::optional<at::ScalarType> dtype_named(std::string_view name);
std::string dtype_name(at::ScalarType dtype);

/// `f32` for float32.
std::string short_dtype_name(at::ScalarType dtype);

}  // namespace stator

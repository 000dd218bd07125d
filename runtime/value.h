// Value: what a run computes with, and what it means to Python.
//
// A value is a tensor, a number (bool, int, float, complex), a string, a list of values, or nothing
// (Python's None). Lists are values: an op that changes a list gives a new one.
#pragma once

#include <ATen/core/Tensor.h>
#include <ATen/core/ivalue.h>

#include <cstdint>
#include <string>
#include <vector>

namespace stator {

using Value = c10::IValue;
using Complex = c10::complex<double>;

/// Python's `bool(value)`.
bool is_true(const Value& value);

/// A list of these items.
Value make_list(std::vector<Value> items);

/// The items of a list.
inline at::ArrayRef<Value> items_of(const Value& list) { return list.toListRef(); }

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

/// What an error message says of a value: `f32[2, 3]`, `1.5`, `'text'`.
std::string describe(const Value& value);

}  // namespace stator

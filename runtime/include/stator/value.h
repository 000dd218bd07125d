// Value: what a program is given and gives.
//
// A value is a tensor, a number (bool, int, float, complex), a string, a list of values, or nothing
// (Python's None). Lists are values: an op that changes a list gives a new one.
#pragma once

#include <ATen/core/Tensor.h>
#include <ATen/core/ivalue.h>

#include <string>
#include <vector>

#include "stator/export.h"

namespace stator {

using Value = c10::IValue;
using Complex = c10::complex<double>;

/// A list of these items.
STATOR_API Value make_list(std::vector<Value> items);

/// The items of a list.
inline at::ArrayRef<Value> items_of(const Value& list) { return list.toListRef(); }

/// What an error message says of a value: `f32[2, 3]`, `1.5`, `'text'`.
STATOR_API std::string describe(const Value& value);

}  // namespace stator

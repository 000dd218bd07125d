// Python's `math` module: the functions, with the errors that it raises.
#pragma once

#include <string_view>

#include "value.h"

namespace stator {

using Unary = Value (*)(const Value&);
using Binary = Value (*)(const Value&, const Value&);

/// The function of that name of one number, or of two; null if there is none.
Unary math_function(std::string_view name);
Binary math_function_of_two(std::string_view name);

}  // namespace stator

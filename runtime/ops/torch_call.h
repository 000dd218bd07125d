// What an argument of a torch op must be.
#pragma once

#include "interpreter/step.h"

namespace stator {

/// A number as a tensor that does not count for type promotion.
at::Tensor wrapped_number(const Value& number);

/// `value` as an argument of a torch op. One number for a list stands for `repeat` of them.
Value coerced(Value value, Coercion coercion, std::int32_t repeat);

}  // namespace stator

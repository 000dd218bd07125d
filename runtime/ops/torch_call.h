// What an argument of a torch op must be.
#pragma once

#include "interpreter/frame.h"

namespace stator {

/// A number as a tensor that does not count for type promotion.
at::Tensor wrapped_number(const Value& number);

/// The same, already in the dtype of the tensor beside it, so that there is nothing to promote.
/// NOTE: no wrapped number, since torch knows these only as int64, double and complex128.
at::Tensor cast_number(const Value& number, at::ScalarType dtype);

/// What a call is given for one of its arguments.
Value argument_value(const TorchArgument& argument, const Frame& frame);

/// The tensors of one list become the results of the step.
void spread(const Value& list, const Step& step, Frame& frame);

/// `value` as an argument of a torch op. One number for a list means `repeat` of them.
Value coerced(Value value, Coercion coercion, std::int32_t repeat);

}  // namespace stator

// Hot torch ops, called with typed arguments instead of a stack.
#pragma once

#include "interpreter/step.h"

namespace stator {

/// The function that calls this op unboxed; null if there is none.
Handler unboxed_handler(const std::string& name, const TorchCall& call);

}  // namespace stator

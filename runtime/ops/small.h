// Torch ops on small contiguous CPU tensors, without the dispatcher.
#pragma once

#include "interpreter/step.h"

namespace stator {

/// A function that runs this call faster where it can, and as `run_torch` does where it cannot;
/// null if there is none.
Handler fast_handler(const std::string& name, const TorchCall& call,
                     const std::vector<Value>& constants);

}  // namespace stator

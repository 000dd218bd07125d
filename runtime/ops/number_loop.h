// Runs NumberCode.
#pragma once

#include "interpreter/frame.h"
#include "interpreter/number_code.h"

namespace stator {

/// A `while` or an `if` that has been made into NumberCode.
void run_numbers(const Step& step, Frame& frame);

}  // namespace stator

// check_inputs(): do the values of a call fit what a program takes?
#pragma once

#include <vector>

#include "program/program.h"

namespace stator {

/// Throws ST300 for another number of inputs, ST301 for one that does not fit, and says why.
void check_inputs(const Program& program, const std::vector<Value>& inputs);

}  // namespace stator

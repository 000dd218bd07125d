// check_inputs(): do the values of a call fit what a program takes?
#pragma once

#include <vector>

#include "program/program.h"

namespace stator {

/// Throws ST300 for another number of inputs, ST301 for one that does not fit, and says why. The
/// state of the model is not among the inputs.
void check_inputs(const Program& program, const std::vector<Value>& inputs);

/// Throws ST301 if a value of the state does not fit what the program takes.
void check_state(const Program& program, const std::vector<Value>& values);

}  // namespace stator

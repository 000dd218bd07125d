// Makes NumberCode of loops and branches in which everything is a number.
#pragma once

#include <functional>
#include <memory>

#include "interpreter/number_code.h"
#include "program/program.h"

namespace stator {

/// The code of a `stator::while` or `stator::if`; null if something in it is no number, or if it is
/// too large. `where` says where the frame holds a value.
std::shared_ptr<NumberCode> number_code(const Op& op, const Program& program,
                                        const std::function<Operand(ValueId)>& where);

/// Points the instructions in `steps` to the steps that they were made of.
/// NOTE: to be called when the steps have found their place in memory.
void link_number_codes(Steps& steps);

}  // namespace stator

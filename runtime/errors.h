// Making errors: stator::Error itself is in `stator/error.h`.
#pragma once

#include <string>
#include <vector>

#include "stator/error.h"
#include "value.h"

namespace stator {

/// ST400: a file that cannot be read as a model.
Error format_error(std::string message, std::string fix = "");

/// ST300 and ST301: inputs that the program does not take.
Error input_error(std::string message);
Error mismatch_error(std::string message);

/// ST302: what the capture relied on does not hold.
Error demand_error(std::string message);

/// The exception that Python's `type(*args)` makes; a RuntimeError where there is no such class.
Error raised(const std::string& type, std::vector<Value> args);

/// The error that is being handled, whatever its C++ class. Call it in a `catch` block only.
Error current_error();

}  // namespace stator

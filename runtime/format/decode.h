// decode_program(): JSON data -> Program. A fault is named by its place in the data.
#pragma once

#include "format/json.h"
#include "program/program.h"

namespace stator {

Program decode_program(const Json& data, const std::string& at);

/// A Python constant, or a dtype, device, layout or memory format.
Constant decode_constant(const Json& data, const std::string& at);

/// The sizes of a tensor.
std::vector<Type::Size> decode_shape(const Json& data, const std::string& at);

}  // namespace stator

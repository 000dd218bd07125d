// Python's `format(value, spec)`.
#pragma once

#include <string>

#include "value.h"

namespace stator {

/// What `{value!conversion:spec}` gives in an f-string; `conversion` is "", "s", "r" or "a".
std::string format_value(const Value& value, const std::string& conversion,
                         const std::string& spec);

}  // namespace stator

// Python's `int(text, base)` and `float(text)`.
#pragma once

#include <cstdint>
#include <string>

namespace stator {

/// Throws ValueError if `text` is no integer in that base, ST304 if it has more than 64 bits.
std::int64_t parse_int(const std::string& text, std::int64_t base);

/// Throws ValueError if `text` is no number.
double parse_float(const std::string& text);

}  // namespace stator

// ST304: an integer of a run has more than 64 bits. The messages name the integer, as Python's do.
#pragma once

#include <cstdint>
#include <string>

namespace stator {

__extension__ using Wide = __int128;

/// Throws ST304 for a result of an op, or for what an op would compute.
[[noreturn]] void too_large(Wide value);
[[noreturn]] void too_large(double value);
[[noreturn]] void too_large(const std::string& text);

/// Throws ST304 for base ** exponent, which has more than 64 bits.
[[noreturn]] void power_too_large(std::int64_t base, std::int64_t exponent);

}  // namespace stator

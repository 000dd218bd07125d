// SHA-256, which the format uses to tell whole files from damaged ones.
#pragma once

#include <span>
#include <string>

namespace stator {

/// The digest of these bytes, as 64 hexadecimal digits.
std::string sha256(std::span<const char> bytes);

}  // namespace stator

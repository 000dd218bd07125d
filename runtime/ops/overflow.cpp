#include "ops/overflow.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <vector>

#include "errors.h"

namespace stator {
namespace {

__extension__ using UnsignedWide = unsigned __int128;
constexpr int kShownBits = 128;  // an integer of more bits is not written out

std::string digits_of(UnsignedWide magnitude, bool negative) {
  std::string digits;
  do digits += static_cast<char>('0' + static_cast<int>(magnitude % 10));
  while ((magnitude /= 10) != 0);
  if (negative) digits += '-';
  std::ranges::reverse(digits);
  return digits;
}

std::string bits_text(std::size_t bits) {
  return "an integer of " + std::to_string(bits) + " bits";
}

UnsignedWide magnitude_of(Wide value) {
  return value < 0 ? 0 - static_cast<UnsignedWide>(value) : static_cast<UnsignedWide>(value);
}

/// A natural number of any size: 32 bits in each part, the lowest first.
class Natural {
 public:
  void multiply(std::uint64_t factor) {
    UnsignedWide carry = 0;
    for (std::uint32_t& part : parts_) {
      carry += static_cast<UnsignedWide>(part) * factor;
      part = static_cast<std::uint32_t>(carry);
      carry >>= 32;
    }
    for (; carry != 0; carry >>= 32) parts_.push_back(static_cast<std::uint32_t>(carry));
  }

  std::size_t bits() const {
    return parts_.size() * 32 - static_cast<std::size_t>(std::countl_zero(parts_.back()));
  }

  UnsignedWide lowest() const {
    UnsignedWide value = 0;
    for (std::size_t k = std::min<std::size_t>(parts_.size(), 4); k-- > 0;)
      value = value << 32 | parts_[k];
    return value;
  }

 private:
  std::vector<std::uint32_t> parts_{1};
};

}  // namespace

void too_large(const std::string& text) {
  Error error(
      "OverflowError",
      text + " does not fit into 64 bits with a sign, which the integers of a program have");
  error.code = "ST304";
  error.fix = "compute it with floats or tensors, or in code that is not captured";
  throw error;
}

void too_large(Wide value) { too_large(digits_of(magnitude_of(value), value < 0)); }

void too_large(double value) {
  int bits = 0;
  std::frexp(value, &bits);
  if (bits > kShownBits) too_large(bits_text(static_cast<std::size_t>(bits)));
  too_large(digits_of(static_cast<UnsignedWide>(std::fabs(value)), value < 0));
}

void power_too_large(std::int64_t base, std::int64_t exponent) {
  if (exponent > 63) too_large(std::to_string(base) + " ** " + std::to_string(exponent));
  Natural product;
  for (std::int64_t k = 0; k < exponent; ++k)
    product.multiply(static_cast<std::uint64_t>(magnitude_of(base)));
  if (product.bits() > kShownBits) too_large(bits_text(product.bits()));
  too_large(digits_of(product.lowest(), base < 0 && exponent % 2 != 0));
}

}  // namespace stator

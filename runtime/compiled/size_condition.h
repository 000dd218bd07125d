// SizeCondition: what compiled code has assumed of dynamic sizes, as data.
//
//     ["and", ["<=", 2, ["size", 0]], ["==", ["%", ["size", 1], 8], 0]]
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "format/json.h"

namespace stator {

class SizeCondition {
 public:
  /// Throws ST400 where `data` is no condition on `count` sizes.
  static SizeCondition decode(const Json& data, std::size_t count, const std::string& at,
                              int depth = 0);

  /// Does it hold? A number that 64 bits cannot hold, or a division by zero, makes it false.
  bool holds(std::span<const std::int64_t> sizes) const;

 private:
  using Number = std::optional<std::int64_t>;
  enum class Kind : std::uint8_t {
    kNumber,
    kSize,
    kAdd,
    kSub,
    kMul,
    kFloorDiv,
    kMod,
    kMin,
    kMax,
    kEq,
    kNe,
    kLt,
    kLe,
    kGt,
    kGe,
    kAnd,
    kOr,
    kNot,
  };

  Number value(std::span<const std::int64_t> sizes) const;
  Number truth(std::span<const std::int64_t> sizes) const;

  Kind kind_ = Kind::kNumber;
  std::int64_t number_ = 0;  // itself, or the number of the size
  std::vector<SizeCondition> parts_;
};

}  // namespace stator

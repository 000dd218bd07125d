// Type: what is known of a value before it is computed.
#pragma once

#include <ATen/core/ivalue.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "stator/export.h"

namespace stator {

struct Type {
  enum class Kind : std::uint8_t { kTensor, kNumber, kText, kList, kOptional };
  /// A size of a tensor: a number, the name of one, or (neither) one that only a run knows.
  struct Size {
    std::optional<std::int64_t> number;
    std::string name;
  };

  Kind kind = Kind::kTensor;
  at::ScalarType dtype = at::kFloat;  // of a tensor
  std::vector<Size> shape;            // of a tensor
  std::string device;                 // of a tensor
  std::string number;                 // `int`, `float`, `bool` or `complex`
  std::vector<Type> element;          // one, of a list or an optional
};

/// `f32[4, n]`.
STATOR_API std::string to_text(const Type& type);

}  // namespace stator

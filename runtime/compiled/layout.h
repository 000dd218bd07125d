// RegionLayout: what compiled code relies on in the tensors and integers of a call.
//
// It is the RegionLayout of src/stator/inductor/layouts.py, which says what the rules mean.
#pragma once

#include <ATen/core/Tensor.h>

#include <optional>
#include <span>
#include <vector>

#include "format/json.h"

namespace stator {

struct SizeRule {
  enum class Kind : std::uint8_t { kFixed, kDynamic, kAfter };
  Kind kind = Kind::kFixed;
  std::int64_t number = 0;  // the size; the number of the dynamic size; the dimension inside
};

struct TensorLayout {
  at::ScalarType dtype = at::ScalarType::Undefined;
  std::vector<SizeRule> sizes;
  std::vector<SizeRule> strides;
};

class RegionLayout {
 public:
  /// Throws ST400 for what is no layout.
  static RegionLayout decode(const Json& data, const std::string& at);

  std::size_t dynamic_count() const { return dynamic_count_; }
  std::size_t tensor_count() const { return tensors_.size(); }
  std::size_t number_count() const { return numbers_.size(); }

  /// Is this number of the call one that the code is given?
  bool is_dynamic(std::size_t number) const {
    return numbers_[number].kind == SizeRule::Kind::kDynamic;
  }

  /// The dynamic sizes of a call; nothing if the layout does not hold for it.
  std::optional<std::vector<std::int64_t>> dynamic_sizes(
      std::span<const at::Tensor> tensors, std::span<const std::int64_t> numbers) const;

 private:
  std::vector<TensorLayout> tensors_;
  std::vector<SizeRule> numbers_;
  std::size_t dynamic_count_ = 0;
};

}  // namespace stator

#include "compiled/layout.h"

#include "value.h"

namespace stator {
namespace {

constexpr std::int64_t kMostDimensions = 64;
constexpr std::int64_t kMostSizes = 1 << 16;
constexpr std::int64_t kUnknown = -1;

SizeRule decode_rule(const Json& data, std::int64_t count, const std::string& at) {
  if (!data.is_object()) return {SizeRule::Kind::kFixed, integer_at(data, at)};
  const auto [name, number] = only_field(data, at);
  const bool is_dynamic = name == "dynamic";
  if (!is_dynamic && name != "after") damaged(at, "is no rule: '" + name + "'");
  const std::int64_t found = integer_at(*number, at);
  if (found < 0 || found >= (is_dynamic ? count : kMostDimensions))
    damaged(at, "names something that is not there");
  return {is_dynamic ? SizeRule::Kind::kDynamic : SizeRule::Kind::kAfter, found};
}

std::vector<SizeRule> decode_rules(const Json& data, std::int64_t count, const std::string& at) {
  std::vector<SizeRule> made;
  for (const Json& item : list_at(data, at)) made.push_back(decode_rule(item, count, at));
  return made;
}

TensorLayout decode_tensor(const Json& data, std::int64_t count, const std::string& at) {
  TensorLayout made;
  const auto dtype = dtype_named(text_at(field(data, "dtype", at), at));
  if (!dtype) damaged(at, "has a dtype that this torch has not");
  made.dtype = *dtype;
  made.sizes = decode_rules(field(data, "sizes", at), count, at + ".sizes");
  made.strides = decode_rules(field(data, "strides", at), count, at + ".strides");
  const auto rank = static_cast<std::int64_t>(made.sizes.size());
  if (made.sizes.size() != made.strides.size()) damaged(at, "has another number of strides");
  for (const SizeRule& rule : made.sizes) {
    if (rule.kind == SizeRule::Kind::kAfter) damaged(at, "has a stride for a size");
  }
  for (const SizeRule& rule : made.strides) {
    if (rule.kind == SizeRule::Kind::kAfter && rule.number >= rank)
      damaged(at, "names a dimension that is not there");
  }
  return made;
}

/// One dynamic size is the same wherever it is.
bool is(std::int64_t value, const SizeRule& rule, std::vector<std::int64_t>& found) {
  if (rule.kind == SizeRule::Kind::kFixed) return value == rule.number;
  std::int64_t& known = found[static_cast<std::size_t>(rule.number)];
  if (known == kUnknown) known = value;
  return known == value;
}

bool holds(const at::Tensor& tensor, const TensorLayout& layout, std::vector<std::int64_t>& found) {
  if (tensor.scalar_type() != layout.dtype) return false;
  const at::IntArrayRef sizes = tensor.sizes();
  const at::IntArrayRef strides = tensor.strides();
  if (sizes.size() != layout.sizes.size()) return false;
  for (std::size_t k = 0; k < sizes.size(); ++k) {
    if (!is(sizes[k], layout.sizes[k], found)) return false;
  }
  for (std::size_t k = 0; k < sizes.size(); ++k) {
    SizeRule rule = layout.strides[k];
    if (rule.kind == SizeRule::Kind::kAfter) {
      const auto inner = static_cast<std::size_t>(rule.number);
      rule = {SizeRule::Kind::kFixed, strides[inner] * sizes[inner]};
    }
    if (sizes[k] != 1 && !is(strides[k], rule, found)) return false;
  }
  return true;
}

}  // namespace

RegionLayout RegionLayout::decode(const Json& data, const std::string& at) {
  RegionLayout made;
  const std::int64_t count = integer_at(field(data, "dynamic", at), at + ".dynamic");
  if (count < 0 || count > kMostSizes) damaged(at + ".dynamic", "must be a number of sizes");
  made.dynamic_count_ = static_cast<std::size_t>(count);
  for (const Json& item : list_at(field(data, "tensors", at), at + ".tensors"))
    made.tensors_.push_back(decode_tensor(item, count, at + ".tensors"));
  made.numbers_ = decode_rules(field(data, "numbers", at), count, at + ".numbers");
  for (const SizeRule& rule : made.numbers_) {
    if (rule.kind == SizeRule::Kind::kAfter) damaged(at, "has a stride for a number");
  }
  return made;
}

std::optional<std::vector<std::int64_t>> RegionLayout::dynamic_sizes(
    std::span<const at::Tensor> tensors, std::span<const std::int64_t> numbers) const {
  if (tensors.size() != tensors_.size() || numbers.size() != numbers_.size()) return std::nullopt;
  std::vector<std::int64_t> found(dynamic_count_, kUnknown);
  for (std::size_t k = 0; k < tensors.size(); ++k) {
    if (!holds(tensors[k], tensors_[k], found)) return std::nullopt;
  }
  for (std::size_t k = 0; k < numbers.size(); ++k) {
    if (!is(numbers[k], numbers_[k], found)) return std::nullopt;
  }
  for (const std::int64_t size : found) {
    if (size == kUnknown) return std::nullopt;
  }
  return found;
}

}  // namespace stator

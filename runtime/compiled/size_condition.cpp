#include "compiled/size_condition.h"

#include <algorithm>
#include <map>

namespace stator {

SizeCondition SizeCondition::decode(const Json& data, std::size_t count, const std::string& at,
                                    int depth) {
  static const std::map<std::string, Kind> kinds = {
      {"+", Kind::kAdd}, {"-", Kind::kSub},   {"*", Kind::kMul},   {"//", Kind::kFloorDiv},
      {"%", Kind::kMod}, {"min", Kind::kMin}, {"max", Kind::kMax}, {"==", Kind::kEq},
      {"!=", Kind::kNe}, {"<", Kind::kLt},    {"<=", Kind::kLe},   {">", Kind::kGt},
      {">=", Kind::kGe}, {"and", Kind::kAnd}, {"or", Kind::kOr},   {"not", Kind::kNot},
  };
  check_depth(depth, at);
  SizeCondition made;
  if (!data.is_array()) {
    made.number_ = integer_at(data, at);
    return made;
  }
  if (data.empty()) damaged(at, "is no condition");
  const std::string& name = text_at(data[0], at);
  if (name == "size") {
    made.kind_ = Kind::kSize;
    made.number_ = data.size() == 2 ? integer_at(data[1], at) : -1;
    if (made.number_ < 0 || static_cast<std::size_t>(made.number_) >= count)
      damaged(at, "names a size that is not there");
    return made;
  }
  const auto found = kinds.find(name);
  if (found == kinds.end()) damaged(at, "has no operator '" + name + "'");
  made.kind_ = found->second;
  for (std::size_t k = 1; k < data.size(); ++k)
    made.parts_.push_back(decode(data[k], count, at, depth + 1));
  const bool takes_any = made.kind_ == Kind::kAnd || made.kind_ == Kind::kOr;
  const std::size_t wanted = made.kind_ == Kind::kNot ? 1 : 2;
  if (!takes_any && made.parts_.size() != wanted) damaged(at, "has another number of parts");
  return made;
}

bool SizeCondition::holds(std::span<const std::int64_t> sizes) const {
  return value(sizes).value_or(0) != 0;
}

SizeCondition::Number SizeCondition::value(std::span<const std::int64_t> sizes) const {
  if (kind_ == Kind::kNumber) return number_;
  if (kind_ == Kind::kSize) return sizes[static_cast<std::size_t>(number_)];
  if (kind_ == Kind::kAnd || kind_ == Kind::kOr || kind_ == Kind::kNot) return truth(sizes);
  const Number first = parts_[0].value(sizes);
  const Number second = parts_[1].value(sizes);
  if (!first || !second) return std::nullopt;
  const std::int64_t a = *first;
  const std::int64_t b = *second;
  std::int64_t made = 0;
  switch (kind_) {
    case Kind::kAdd:
      return __builtin_add_overflow(a, b, &made) ? Number() : made;
    case Kind::kSub:
      return __builtin_sub_overflow(a, b, &made) ? Number() : made;
    case Kind::kMul:
      return __builtin_mul_overflow(a, b, &made) ? Number() : made;
    case Kind::kFloorDiv:
    case Kind::kMod: {
      if (b == 0 || (a == INT64_MIN && b == -1)) return std::nullopt;
      const bool rounds = a % b != 0 && ((a < 0) != (b < 0));
      return kind_ == Kind::kMod ? a % b + (rounds ? b : 0) : a / b - (rounds ? 1 : 0);
    }
    case Kind::kMin:
      return std::min(a, b);
    case Kind::kMax:
      return std::max(a, b);
    case Kind::kEq:
      return a == b;
    case Kind::kNe:
      return a != b;
    case Kind::kLt:
      return a < b;
    case Kind::kLe:
      return a <= b;
    case Kind::kGt:
      return a > b;
    case Kind::kGe:
      return a >= b;
    default:
      return std::nullopt;
  }
}

/// `and`, `or` and `not`. What has no value, has none in any of them.
SizeCondition::Number SizeCondition::truth(std::span<const std::int64_t> sizes) const {
  bool all = true;
  bool any = false;
  for (const SizeCondition& part : parts_) {
    const Number found = part.value(sizes);
    if (!found) return std::nullopt;
    all = all && *found != 0;
    any = any || *found != 0;
  }
  if (kind_ == Kind::kNot) return !any;
  return kind_ == Kind::kAnd ? all : any;
}

}  // namespace stator

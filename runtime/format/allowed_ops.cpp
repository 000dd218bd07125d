#include "format/allowed_ops.h"

#include <algorithm>
#include <regex>
#include <string_view>

#include "generated/allowed_ops.inc"

namespace stator {

bool may_be_called(const std::string& name) {
  static const std::regex special(kSpecialOps);
  static const std::regex is_private(kPrivateOps);
  constexpr std::size_t kLongestName = 200;  // std::regex takes stack for each character
  if (name.size() > kLongestName || name.find("::") == std::string::npos) return false;
  const std::string space = name.substr(0, name.find("::"));
  const std::string base = name.substr(0, name.find('.'));
  const auto contains = [](const auto& names, const std::string& wanted) {
    return std::ranges::find(names, wanted) != std::end(names);
  };
  if (contains(kTorchSpaces, space) || std::regex_match(base, special)) return false;
  return !std::regex_match(base, is_private) || contains(kAllowedPrivateOps, base);
}

}  // namespace stator

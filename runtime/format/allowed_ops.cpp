#include "format/allowed_ops.h"

#include <algorithm>
#include <iterator>
#include <string>
#include <string_view>

namespace stator {
namespace {

#include "generated/allowed_ops.inc"

bool contains(const auto& names, std::string_view wanted) {
  return std::ranges::find(names, wanted) != std::end(names);
}

}  // namespace

std::string_view stem_of(std::string_view name) {
  const std::size_t colons = name.find("::");
  if (colons == std::string_view::npos) return "";
  std::string_view base = name.substr(colons + 2);
  base = base.substr(0, base.find('.'));
  if (base.ends_with('_') && !base.ends_with("__")) base.remove_suffix(1);
  return base;
}

bool may_be_called(std::string_view name) {
  const std::size_t colons = name.find("::");
  if (colons == std::string_view::npos) return false;
  const std::string_view space = name.substr(0, colons);
  if (space == "aten") return contains(kFileOps, stem_of(name));
  return !contains(kTorchSpaces, space) && !space.starts_with('_');
}

std::vector<ConditionRow> condition_rows(std::string_view name) {
  std::vector<ConditionRow> rows;
  if (!name.starts_with("aten::")) return rows;
  const std::string stem(stem_of(name));
  const std::size_t dot = name.find('.');
  const std::string one =
      dot == std::string_view::npos ? stem : stem + std::string(name.substr(dot));
  std::ranges::copy_if(kConditions, std::back_inserter(rows), [&](const ConditionRow& row) {
    return row.stem == stem || row.stem == one;
  });
  return rows;
}

}  // namespace stator

// The ops of torch that a saved model may call, and what they ask of their arguments.
#pragma once

#include <array>
#include <string_view>
#include <vector>

namespace stator {

/// A number that is measured on the arguments of a call: see src/stator/program/opset/conditions.py.
struct QuantityRow {
  std::string_view measure;
  std::array<std::string_view, 3> arguments;  // their names, or numbers
};

/// A relation that must hold between two quantities.
struct ConditionRow {
  std::string_view stem;  // see stem_of; with an overload if it is for that one
  std::string_view text;
  QuantityRow left;
  std::string_view relation;
  QuantityRow right;
};

/// `aten::add_.Tensor` -> `add`.
std::string_view stem_of(std::string_view name);

/// Is this an op that a saved model may call, if it is registered? The rule is that of
/// src/stator/program/opset/in_files.py, from which the build takes its lists.
bool may_be_called(std::string_view name);

/// The conditions on the arguments of the op of that name.
std::vector<ConditionRow> condition_rows(std::string_view name);

}  // namespace stator

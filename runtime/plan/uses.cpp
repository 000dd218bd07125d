#include "plan/uses.h"

#include <ATen/core/dispatch/Dispatcher.h>

#include <algorithm>
#include <unordered_set>

namespace stator {
namespace {

/// Does the op keep nothing of what it is given, and write nothing?
bool only_reads(const Op& op) {
  if (!op.name.starts_with("aten::")) return false;
  const std::size_t dot = op.name.find('.');
  const std::string overload = dot == std::string::npos ? "" : op.name.substr(dot + 1);
  const auto found = c10::Dispatcher::singleton().findSchema({op.name.substr(0, dot), overload});
  return found && std::ranges::none_of(found->schema().arguments(), [](const auto& argument) {
           return argument.alias_info() != nullptr;
         });
}

}  // namespace

bool decides(const std::string& name) {
  static const std::unordered_set<std::string> names = {
      "lt",          "le",          "gt",
      "ge",          "eq",          "ne",
      "isnan",       "isinf",       "item",
      "is_nonzero",  "argmax",      "argmin",
      "any",         "all",         "size",
      "numel",       "logical_and", "logical_or",
      "logical_not", "isfinite",    "sym_size",
      "equal",       "dim",         "sym_numel",
      "zeros_like",  "ones_like",   "_local_scalar_dense"};
  if (!name.starts_with("aten::")) return false;
  return names.contains(name.substr(6, name.find('.') - 6));
}

bool is_view(const std::string& name) {
  static const std::unordered_set<std::string> names = {
      "aten::select.int", "aten::slice.Tensor",  "aten::view", "aten::unsqueeze",
      "aten::reshape",    "aten::transpose.int", "aten::t",    "aten::squeeze.dim"};
  return names.contains(name);
}

Uses::Uses(const Program& program) : found_(program.values.size()) {
  std::vector<const Op*> ops;
  add_block(program.body, ops);
  for (const auto& [name, block] : program.functions) add_block(block, ops);
  // what reads a value comes after what makes it
  for (auto op = ops.rbegin(); op != ops.rend(); ++op) add_uses(**op);
}

void Uses::add_block(const Block& block, std::vector<const Op*>& ops) {
  for (const Op& op : block.ops) {
    ops.push_back(&op);
    for (const Block& inner : op.blocks) add_block(inner, ops);
  }
  for (const Arg& output : block.outputs)
    for_each_value(output, [&](ValueId value) { found_[value] = {false, false}; });
}

void Uses::add_uses(const Op& op) {
  const bool reads = only_reads(op);
  const bool views = is_view(op.name) && op.results.size() == 1;
  const bool one_result = op.results.size() == 1;
  const bool keeps_private = reads || (views && found_[op.results[0]].is_private);
  const bool keeps_discrete =
      decides(op.name) || ((reads || views) && one_result && found_[op.results[0]].is_discrete);
  const auto use = [&](ValueId value) {
    found_[value].is_private = found_[value].is_private && keeps_private;
    found_[value].is_discrete = found_[value].is_discrete && keeps_discrete;
  };
  for (const Arg& arg : op.args) for_each_value(arg, use);
  for (const auto& [name, arg] : op.attributes) for_each_value(arg, use);
}

}  // namespace stator

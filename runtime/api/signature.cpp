#include "api/signature.h"

#include <algorithm>
#include <array>

namespace stator {
namespace {

/// For each output, the path that its first leaf has in the result: `output.loss`, `output.0`.
void find_paths(const Structure& structure, const std::string& path,
                std::vector<std::string>& paths) {
  if (structure.kind == "leaf" || structure.kind == "variant") {
    std::string& mine = paths[static_cast<std::size_t>(structure.position)];
    if (mine.empty()) mine = structure.kind == "leaf" ? path : path + ".choice";
  }
  for (std::size_t k = 0; k < structure.items.size(); ++k) {
    std::string part = std::to_string(k);
    if (!structure.fields.empty()) part = structure.fields[k];
    if (!structure.keys.empty()) {
      const Value& key = structure.keys[k].value;
      part = key.isString() ? key.toStringRef() : describe(key);
    }
    find_paths(structure.items[k], path + "." + part, paths);
  }
}

bool is_tensor_or_list(const Type& type) {
  return type.kind == Type::Kind::kTensor || type.kind == Type::Kind::kList ||
         type.kind == Type::Kind::kOptional;
}

bool shows_gradients(const Block& block, const Program& program) {
  static constexpr std::array kRecorded =
      std::to_array<std::string_view>({"stator::gradients", "stator::hook"});
  static constexpr std::array kTexts = std::to_array<std::string_view>(
      {"stator::print", "stator::format", "stator::raise", "stator::assert"});
  const auto is_among = [](const auto& names, const std::string& name) {
    return std::ranges::find(names, name) != names.end();
  };
  return std::ranges::any_of(block.ops, [&](const Op& op) {
    if (is_among(kRecorded, op.name)) return true;
    bool found = false;
    if (is_among(kTexts, op.name)) {
      for_each_use(op,
                   [&](ValueId value) { found |= is_tensor_or_list(program.values[value].type); });
    }
    return found || std::ranges::any_of(op.blocks, [&](const Block& inner) {
             return shows_gradients(inner, program);
           });
  });
}

}  // namespace

Signature signature_of(const Program& program) {
  Signature made;
  for (std::size_t k = 0; k < program.call_inputs(); ++k) {
    const Definition& input = program.values[program.inputs[k]];
    made.inputs.push_back({input.name, input.type});
  }
  for (const StateUse& use : program.state) made.state.push_back(use.name);
  std::vector<std::string> paths(program.call_outputs());
  find_paths(program.output_structure, "output", paths);
  for (std::size_t k = 0; k < paths.size(); ++k) {
    const Arg& output = program.body.outputs[k];
    std::optional<Type> type;
    if (output.kind == Arg::Kind::kValue) type = program.values[output.value].type;
    made.outputs.push_back({paths[k].empty() ? "hidden." + std::to_string(k) : paths[k], type});
  }
  return made;
}

bool shows_gradients(const Program& program) {
  return shows_gradients(program.body, program) ||
         std::ranges::any_of(program.functions, [&](const auto& function) {
           return shows_gradients(function.second, program);
         });
}

}  // namespace stator

#include "api/check_inputs.h"

namespace stator {
namespace {

void check_tensor(const Value& given, const Type& type, const std::string& name,
                  std::map<std::string, std::int64_t>& sizes) {
  const auto refuse = [&](const std::string& reason) {
    throw mismatch_error(name + " must be a tensor " + to_text(type) + ", not " + describe(given) +
                         reason);
  };
  if (!given.isTensor()) return refuse("");
  const at::Tensor& tensor = given.toTensor();
  if (tensor.scalar_type() != type.dtype)
    refuse(": its dtype is " + dtype_name(tensor.scalar_type()) + ", not " +
           dtype_name(type.dtype));
  if (static_cast<std::size_t>(tensor.dim()) != type.shape.size()) {
    refuse(": its rank is " + std::to_string(tensor.dim()) + ", not " +
           std::to_string(type.shape.size()));
  }
  for (std::size_t k = 0; k < type.shape.size(); ++k) {
    const std::int64_t size = tensor.size(static_cast<std::int64_t>(k));
    const auto& [number, symbol] = type.shape[k];
    const std::string which = ": its size " + std::to_string(k) + " is " + std::to_string(size);
    if (number && *number != size) refuse(which + ", not " + std::to_string(*number));
    const bool is_name =
        !symbol.empty() &&
        symbol.find_first_not_of(
            "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789") == std::string::npos;
    if (is_name && sizes.try_emplace(symbol, size).first->second != size) {
      refuse(which + ", and " + symbol + " is " + std::to_string(sizes[symbol]) + " elsewhere");
    }
  }
}

void check_input(const Value& given, const Type& type, const std::string& name,
                 std::map<std::string, std::int64_t>& sizes) {
  switch (type.kind) {
    case Type::Kind::kTensor:
      return check_tensor(given, type, name, sizes);
    case Type::Kind::kNumber:
      if (class_name(given) != type.number)
        throw mismatch_error(name + " must be " + (type.number == "int" ? "an " : "a ") +
                             type.number + ", not " + describe(given));
      return;
    case Type::Kind::kText:
      if (!given.isString()) throw mismatch_error(name + " must be a str, not " + describe(given));
      return;
    case Type::Kind::kOptional:
      if (!given.isNone()) check_input(given, type.element.at(0), name, sizes);
      return;
    case Type::Kind::kList:
      break;
  }
  if (!given.isList()) throw mismatch_error(name + " must be a list, not " + describe(given));
  std::size_t k = 0;
  for (const Value& item : items_of(given)) {
    auto own_sizes = sizes;
    check_input(item, type.element.at(0), name + "[" + std::to_string(k++) + "]", own_sizes);
  }
}

/// The leaves of an alternative are there if it is the one that the tag names, and else are not.
void check_presence(const Structure& part, bool chosen, const std::string& tag,
                    const Program& program, const std::vector<Value>& inputs) {
  if (part.kind == "leaf") {
    const auto position = static_cast<std::size_t>(part.position);
    if (inputs[position].isNone() == chosen)
      throw mismatch_error(program.values[program.inputs[position]].name + " must be " +
                           (chosen ? "given" : "None") + ": " + tag);
  }
  for (const Structure& item : part.items) check_presence(item, chosen, tag, program, inputs);
}

/// An input that may be None is two values: a tag, and a value that is there where the tag says so.
void check_tags(const Structure& structure, const Program& program,
                const std::vector<Value>& inputs) {
  if (structure.kind != "variant") {
    for (const Structure& item : structure.items) check_tags(item, program, inputs);
    return;
  }
  const auto position = static_cast<std::size_t>(structure.position);
  const std::string& name = program.values[program.inputs[position]].name;
  const std::int64_t tag = inputs[position].isInt() ? inputs[position].toInt() : -1;
  const auto count = static_cast<std::int64_t>(structure.items.size());
  if (tag < 0 || tag >= count)
    throw mismatch_error(name + " must be a number from 0 to " + std::to_string(count - 1) +
                         ", not " + describe(inputs[position]));
  for (std::int64_t k = 0; k < count; ++k) {
    check_presence(structure.items[static_cast<std::size_t>(k)], k == tag,
                   name + " is " + std::to_string(tag), program, inputs);
  }
}

}  // namespace

void check_inputs(const Program& program, const std::vector<Value>& inputs) {
  if (inputs.size() != program.call_inputs()) {
    throw input_error("program " + program.name + " takes " +
                      std::to_string(program.call_inputs()) + " inputs, not " +
                      std::to_string(inputs.size()));
  }
  std::map<std::string, std::int64_t> sizes;
  for (std::size_t k = 0; k < inputs.size(); ++k) {
    const Definition& expected = program.values[program.inputs[k]];
    check_input(inputs[k], expected.type, expected.name, sizes);
  }
  check_tags(program.input_structure, program, inputs);
}

void check_state(const Program& program, const std::vector<Value>& values) {
  const std::size_t first = program.call_inputs();
  for (std::size_t k = 0; k < values.size(); ++k) {
    const Definition& expected = program.values[program.inputs[first + k]];
    std::map<std::string, std::int64_t> sizes;  // what it needs of them, the program checks
    check_input(values[k], expected.type, "the state " + expected.name, sizes);
  }
}

}  // namespace stator

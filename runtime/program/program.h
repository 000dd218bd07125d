// Program: what docs/format.md describes, as plain data. Nothing here runs.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "errors.h"
#include "stator/type.h"
#include "value.h"

namespace stator {

using ValueId = std::uint32_t;  // the place in Program::values

/// Is this a list, or a list that may be absent?
bool is_list(const Type& type);

/// A dtype, layout or memory format is an integer to torch, which does not check it: so a constant
/// knows which it is.
struct Constant {
  enum class Kind : std::uint8_t { kPlain, kDtype, kDevice, kLayout, kMemoryFormat };
  Kind kind = Kind::kPlain;
  Value value;
};

/// What an op is given: a value, a constant, or a list of these.
struct Arg {
  enum class Kind : std::uint8_t { kValue, kConstant, kList };
  Kind kind = Kind::kConstant;
  ValueId value = 0;
  Constant constant;
  std::vector<Arg> items;
};

struct Block;

struct Op {
  std::string name;
  std::vector<Arg> args;
  std::map<std::string, Arg> attributes;
  std::vector<ValueId> results;
  std::vector<Block> blocks;
  std::optional<Location> place;
};

struct Block {
  std::vector<ValueId> inputs;
  std::vector<Op> ops;
  std::vector<Arg> outputs;
};

struct Definition {
  std::string name;
  Type type;
};

/// A tensor that the program finds beside itself.
struct Stored {
  ValueId value = 0;
  std::string name;
  std::string kind;
};

/// How a call's arguments, or its result, are put together; `docs/format.md` lists the kinds.
struct Structure {
  std::string kind;                 // "leaf", "fixed", "list", "tuple", "dict", ...
  std::int64_t position = 0;        // of a leaf, or of a variant's tag
  Constant constant;                // of "fixed"
  std::string type_name;            // of a record
  std::vector<std::string> fields;  // of a record
  std::vector<Constant> keys;       // of a dict
  std::vector<Structure> items;
};

/// A state of the model that the program reads and writes: `count` of its last inputs and outputs.
struct StateUse {
  std::string name;
  std::size_t count = 0;
};

struct Program {
  std::string name;
  std::vector<Definition> values;
  std::vector<ValueId> inputs;
  std::vector<Stored> stored;
  std::map<std::string, Block> functions;
  Block body;
  Structure input_structure;
  Structure output_structure;
  std::vector<StateUse> state;

  /// How many inputs a call gives, and how many outputs it gets: the others are state.
  std::size_t call_inputs() const { return inputs.size() - state_values(); }
  std::size_t call_outputs() const { return body.outputs.size() - state_values(); }

 private:
  std::size_t state_values() const {
    std::size_t sum = 0;
    for (const StateUse& use : state) sum += use.count;
    return sum;
  }
};

/// Throws an Error unless the program keeps the rules that the interpreter relies on: every value
/// is defined once and used where it can be seen, and ops with blocks have the blocks they need.
void verify(const Program& program);

/// Calls `visit` with each value that `arg` names.
template <class Visit>
void for_each_value(const Arg& arg, const Visit& visit) {
  if (arg.kind == Arg::Kind::kValue) visit(arg.value);
  for (const Arg& item : arg.items) for_each_value(item, visit);
}

/// Calls `visit` with each value that `op` names, in its arguments or anywhere inside its blocks.
template <class Visit>
void for_each_use(const Op& op, const Visit& visit) {
  for (const Arg& arg : op.args) for_each_value(arg, visit);
  for (const auto& [name, arg] : op.attributes) for_each_value(arg, visit);
  for (const Block& block : op.blocks) {
    for (const Op& inner : block.ops) for_each_use(inner, visit);
    for (const Arg& arg : block.outputs) for_each_value(arg, visit);
  }
}

}  // namespace stator

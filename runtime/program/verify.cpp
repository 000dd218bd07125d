// verify(): the rules of src/stator/program/verifier.py that memory and the interpreter depend on.
#include <set>

#include "program/program.h"

namespace stator {
namespace {

[[noreturn]] void broken(const std::string& rule, const Op* op) {
  Error error("ValueError", rule);
  error.code = "ST400";
  if (op != nullptr) error.place = op->place;
  throw error;
}

std::string count_of(std::size_t number) { return std::to_string(number); }

const Arg* attribute(const Op& op, const char* name) {
  const auto found = op.attributes.find(name);
  return found == op.attributes.end() ? nullptr : &found->second;
}

class Verifier {
 public:
  explicit Verifier(const Program& program)
      : program_(program), visible_(program.values.size(), false) {}

  void check_program() {
    define(program_.inputs);
    for (const Stored& stored : program_.stored) define({stored.value});
    for (const auto& [name, function] : program_.functions)
      check_block(function, "function " + name);
    check_block(program_.body, "program " + program_.name);
    check_structure(program_.input_structure, program_.inputs.size(), "input");
    check_structure(program_.output_structure, program_.body.outputs.size(), "output");
  }

 private:
  void define(const std::vector<ValueId>& values) {
    for (const ValueId value : values) visible_.at(value) = true;
  }

  void hide(const std::vector<ValueId>& values) {
    for (const ValueId value : values) visible_[value] = false;
  }

  void check_use(const Arg& arg, const std::string& where, const Op* op) {
    for_each_value(arg, [&](ValueId value) {
      if (!visible_.at(value)) {
        broken(where + " uses %" + program_.values[value].name + ", which it cannot see", op);
      }
    });
  }

  /// The values of a block end with it: they are hidden again afterwards.
  void check_block(const Block& block, const std::string& where) {
    define(block.inputs);
    for (const Op& op : block.ops) {
      check_op(op);
      for (const Block& inner : op.blocks) check_block(inner, "a block of " + op.name);
      define(op.results);
    }
    for (const Arg& arg : block.outputs) check_use(arg, where, nullptr);
    hide(block.inputs);
    for (const Op& op : block.ops) hide(op.results);
  }

  void check_op(const Op& op) {
    for (const Arg& arg : op.args) check_use(arg, op.name, &op);
    for (const auto& [name, arg] : op.attributes) check_use(arg, op.name, &op);
    if (op.blocks.size() != blocks_needed(op)) {
      broken(op.name + " has " + count_of(op.blocks.size()) + " blocks", &op);
    }
    if (op.name == "stator::if") check_if(op);
    if (op.name == "stator::while") check_while(op);
    if (op.name == "stator::region") check_region(op);
    if (op.name == "stator::try") check_try(op);
    if (op.name == "stator::custom_gradient") check_custom_gradient(op);
    if (op.name == "stator::hook") check_hook(op);
    if (op.name == "stator::call") check_call(op);
  }

  static std::size_t blocks_needed(const Op& op) {
    if (op.name == "stator::if") return 2;
    if (op.name == "stator::while" || op.name == "stator::custom_gradient" ||
        op.name == "stator::hook" || op.name == "stator::region")
      return 1;
    if (op.name != "stator::try") return 0;
    const Arg* catches = attribute(op, "catches");
    return catches != nullptr && catches->kind == Arg::Kind::kList ? 1 + catches->items.size() : 0;
  }

  static void check_region(const Op& op) {
    if (!op.blocks[0].inputs.empty()) broken("stator::region takes a block without inputs", &op);
    if (op.blocks[0].outputs.size() != op.results.size())
      broken("the block of stator::region yields another number of values than it gives", &op);
  }

  static void check_if(const Op& op) {
    if (op.args.size() != 1) broken("stator::if takes one condition", &op);
    for (const Block& block : op.blocks) {
      if (!block.inputs.empty()) broken("stator::if takes blocks without inputs", &op);
      if (block.outputs.size() != op.results.size()) {
        broken("the blocks of stator::if yield another number of values than it gives", &op);
      }
    }
  }

  static void check_while(const Op& op) {
    const std::size_t carried = op.results.size();
    const Block& body = op.blocks[0];
    if (op.args.size() != carried + 1 || body.inputs.size() != carried ||
        body.outputs.size() != carried + 1) {
      broken("stator::while carries, takes, yields and gives different numbers of values", &op);
    }
  }

  static void check_try(const Op& op) {
    const Arg* catches = attribute(op, "catches");
    const Arg* asks = attribute(op, "asks");
    const Arg* number = attribute(op, "number");
    if (number == nullptr || number->kind != Arg::Kind::kConstant ||
        !number->constant.value.isInt()) {
      broken("stator::try has no number", &op);
    }
    if (catches == nullptr || asks == nullptr || asks->items.size() != catches->items.size()) {
      broken("stator::try has another number of questions than handlers", &op);
    }
    for (const Arg& names : catches->items) check_names(names, op);
    for (std::size_t k = 0; k < op.blocks.size(); ++k) {
      const Block& block = op.blocks[k];
      std::size_t given = 0;
      if (k > 0) {
        for (const Arg& names : asks->items[k - 1].items) check_names(names, op);
        given = 2 + op.args.size() + asks->items[k - 1].items.size();
      }
      if (block.inputs.size() != given) {
        broken("the blocks of stator::try take another number of values than they are given", &op);
      }
      if (block.outputs.size() != op.results.size()) {
        broken("the blocks of stator::try yield another number of values than it gives", &op);
      }
    }
  }

  static void check_names(const Arg& names, const Op& op) {
    for (const Arg& name : names.items) {
      if (name.kind != Arg::Kind::kConstant || !name.constant.value.isString()) {
        broken("stator::try must catch lists of names", &op);
      }
    }
  }

  static void check_custom_gradient(const Op& op) {
    if (op.args.size() != 2 || op.args[0].kind != Arg::Kind::kList ||
        op.args[1].kind != Arg::Kind::kList) {
      broken("stator::custom_gradient takes results and inputs", &op);
    }
    const Block& block = op.blocks[0];
    const std::size_t results = op.args[0].items.size();
    if (results != op.results.size() || results != block.inputs.size()) {
      broken("stator::custom_gradient takes, gives and is given different numbers", &op);
    }
    if (block.outputs.size() != op.args[1].items.size()) {
      broken("the block of stator::custom_gradient yields another number than it has inputs", &op);
    }
  }

  static void check_hook(const Op& op) {
    if (op.args.size() != 1 || op.blocks[0].inputs.size() != 1 ||
        op.blocks[0].outputs.size() != 1) {
      broken("stator::hook takes a tensor and a block from one gradient to one", &op);
    }
  }

  void check_call(const Op& op) const {
    const Arg* name = attribute(op, "function");
    if (name == nullptr || name->kind != Arg::Kind::kConstant || !name->constant.value.isString() ||
        !program_.functions.contains(name->constant.value.toStringRef())) {
      broken("stator::call names no function", &op);
    }
    const Block& function = program_.functions.at(name->constant.value.toStringRef());
    if (op.args.size() != function.inputs.size() || op.results.size() != function.outputs.size()) {
      broken("a function is called with other numbers of values than it has", &op);
    }
  }

  static void check_structure(const Structure& structure, std::size_t leaves, const char* which) {
    const bool has_position = structure.kind == "leaf" || structure.kind == "variant";
    if (has_position &&
        (structure.position < 0 || static_cast<std::size_t>(structure.position) >= leaves)) {
      broken(std::string("the ") + which + " structure names leaf " +
                 std::to_string(structure.position) + " of " + count_of(leaves),
             nullptr);
    }
    for (const Structure& item : structure.items) check_structure(item, leaves, which);
  }

  const Program& program_;
  std::vector<bool> visible_;
};

}  // namespace

void verify(const Program& program) { Verifier(program).check_program(); }

}  // namespace stator

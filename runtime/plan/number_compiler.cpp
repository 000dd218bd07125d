#include "plan/number_compiler.h"

#include <map>
#include <optional>
#include <unordered_map>

namespace stator {
namespace {

constexpr std::size_t kMostSlots = 1000;

std::optional<NumberType> type_of(const Type& type) {
  if (type.kind != Type::Kind::kNumber) return std::nullopt;
  if (type.number == "bool") return NumberType::kBool;
  if (type.number == "int") return NumberType::kInt;
  if (type.number == "float") return NumberType::kFloat;
  return std::nullopt;
}

/// An op by the types of its operands: on integers (and bools), and on floats.
struct ActionRow {
  std::optional<NumberAction> on_integers;
  std::optional<NumberAction> on_floats;
  bool swaps = false;     // `a > b` is `b < a`
  bool compares = false;  // an integer and a float are compared exactly, not as floats
};

const ActionRow* action_row(const std::string& name) {
  using enum NumberAction;
  static const std::unordered_map<std::string, ActionRow> rows = {
      {"stator::add", {kAddInt, kAddFloat}},
      {"stator::sub", {kSubInt, kSubFloat}},
      {"stator::mul", {kMulInt, kMulFloat}},
      {"stator::truediv", {std::nullopt, kDivFloat}},
      {"stator::floordiv", {kFloorDivInt, std::nullopt}},
      {"stator::mod", {kModInt, std::nullopt}},
      {"stator::lt", {kLessInt, kLessFloat, false, true}},
      {"stator::le", {kLessEqualInt, kLessEqualFloat, false, true}},
      {"stator::gt", {kLessInt, kLessFloat, true, true}},
      {"stator::ge", {kLessEqualInt, kLessEqualFloat, true, true}},
      {"stator::eq", {kEqualInt, kEqualFloat, false, true}},
      {"stator::ne", {kNotEqualInt, kNotEqualFloat, false, true}},
  };
  const auto found = rows.find(name);
  return found == rows.end() ? nullptr : &found->second;
}

/// The ops that their own step runs, between instructions.
bool may_be_step(const std::string& name) {
  static const std::unordered_map<std::string, bool> names = {
      {"stator::truediv", true}, {"stator::floordiv", true}, {"stator::mod", true},
      {"stator::neg", true},     {"stator::abs", true},      {"stator::int", true},
      {"stator::float", true},   {"stator::bool", true},     {"stator::bitand", true},
      {"stator::bitor", true},   {"stator::bitxor", true},   {"stator::lshift", true},
      {"stator::rshift", true},  {"stator::invert", true},   {"stator::sqrt", true},
      {"stator::floor", true},   {"stator::ceil", true},     {"stator::lt", true},
      {"stator::le", true},      {"stator::gt", true},       {"stator::ge", true},
      {"stator::eq", true},      {"stator::ne", true},       {"stator::exp", true},
      {"stator::sin", true},     {"stator::cos", true}};
  return names.contains(name);
}

/// Something in the op is beyond this machine.
struct Unsuitable {};

class Compiler {
 public:
  Compiler(const Program& program, const std::function<Operand(ValueId)>& where)
      : program_(program), where_(where) {}

  std::shared_ptr<NumberCode> compile(const Op& op) {
    add_op(op);
    for (const ValueId result : op.results)
      code_->outputs.push_back({where_(result), slots_.at(result), type(result)});
    code_->slots = count_;
    return code_;
  }

 private:
  struct Number {
    std::uint16_t slot;
    NumberType type;
  };

  NumberType type(ValueId value) const {
    const auto found = type_of(program_.values[value].type);
    if (!found) throw Unsuitable{};
    return *found;
  }

  std::uint16_t fresh() {
    if (count_ >= kMostSlots) throw Unsuitable{};
    return count_++;
  }

  std::uint16_t define(ValueId value) { return slots_[value] = fresh(); }

  /// The slot of a value that the code makes: a step that is given it finds it in no frame.
  std::uint16_t define_inside(ValueId value) {
    inside_[value] = true;
    return define(value);
  }

  Number constant(const Value& value) {
    const Number made{fresh(), value.isBool()  ? NumberType::kBool
                               : value.isInt() ? NumberType::kInt
                                               : NumberType::kFloat};
    NumberSlot slot{};
    if (value.isDouble()) {
      slot.real = value.toDouble();
    } else if (is_integer(value)) {
      slot.integer = integer_of(value);
    } else {
      throw Unsuitable{};
    }
    code_->constants.emplace_back(made.slot, slot);
    return made;
  }

  /// A number; one from outside is read before the code runs.
  Number number(const Arg& arg) {
    if (arg.kind == Arg::Kind::kConstant) return constant(arg.constant.value);
    if (arg.kind != Arg::Kind::kValue) throw Unsuitable{};
    const NumberType kind = type(arg.value);
    const auto found = slots_.find(arg.value);
    if (found != slots_.end()) return {found->second, kind};
    const std::uint16_t slot = define(arg.value);
    code_->inputs.push_back({where_(arg.value), slot, kind});
    return {slot, kind};
  }

  std::uint32_t here() const { return static_cast<std::uint32_t>(code_->instructions.size()); }

  std::uint32_t emit(NumberAction action, std::uint16_t to, std::uint16_t a, std::uint16_t b = 0,
                     std::uint32_t target = 0) {
    code_->instructions.push_back({action, to, a, b, target});
    return here() - 1;
  }

  Number as_float(Number given) {
    if (given.type == NumberType::kFloat) return given;
    const std::uint16_t made = fresh();
    emit(NumberAction::kToFloat, made, given.slot);
    return {made, NumberType::kFloat};
  }

  /// A bool: of another number, whether it is not zero.
  std::uint16_t truth(const Arg& arg) {
    const Number given = number(arg);
    if (given.type == NumberType::kFloat) throw Unsuitable{};
    return given.slot;
  }

  void add_block(const Block& block) {
    for (const Op& op : block.ops) add_op(op);
  }

  void add_op(const Op& op) {
    if (op.name == "stator::while") return add_while(op);
    if (op.name == "stator::if") return add_if(op);
    if (op.results.size() != 1 || !op.attributes.empty() || !op.blocks.empty()) throw Unsuitable{};
    if (op.name == "stator::not") return add_not(op);
    if (op.name == "stator::and" || op.name == "stator::or") return add_logic(op);
    if (const ActionRow* row = action_row(op.name); row != nullptr && op.args.size() == 2) {
      if (add_action(op, *row)) return;
    }
    add_step(op);
  }

  void add_not(const Op& op) {
    const std::uint16_t given = truth(op.args.at(0));
    emit(NumberAction::kNot, define_inside(op.results[0]), given);
  }

  void add_logic(const Op& op) {
    if (op.args.size() != 2) throw Unsuitable{};
    const Number a = number(op.args[0]);
    const Number b = number(op.args[1]);
    if (a.type != NumberType::kBool || b.type != NumberType::kBool) throw Unsuitable{};
    emit(op.name == "stator::and" ? NumberAction::kAnd : NumberAction::kOr,
         define_inside(op.results[0]), a.slot, b.slot);
  }

  bool add_action(const Op& op, const ActionRow& row) {
    Number a = number(op.args[0]);
    Number b = number(op.args[1]);
    const bool a_real = a.type == NumberType::kFloat;
    const bool b_real = b.type == NumberType::kFloat;
    const bool is_mixed = a_real != b_real;
    const auto action = a_real || b_real ? row.on_floats : row.on_integers;
    if (!action || (is_mixed && row.compares)) return false;
    const std::uint32_t step = made_of(op);  // before conversions: the step is given what it was
    if (is_mixed) {
      a = as_float(a);
      b = as_float(b);
    }
    if (row.swaps) std::swap(a, b);
    emit(*action, define(op.results[0]), a.slot, b.slot, step);
    set_result(op, step);
    return true;
  }

  void add_step(const Op& op) {
    if (!may_be_step(op.name)) throw Unsuitable{};
    for (const Arg& arg : op.args) number(arg);
    const std::uint32_t step = made_of(op);
    emit(NumberAction::kStep, define(op.results[0]), 0, 0, step);
    set_result(op, step);
  }

  /// What runs the op in the frame. Arguments from outside are there already.
  std::uint32_t made_of(const Op& op) {
    NumberStep made;
    made.op = &op;
    for (const Arg& arg : op.args) {
      if (arg.kind != Arg::Kind::kValue || !inside_.contains(arg.value)) continue;
      made.args.push_back({where_(arg.value), slots_.at(arg.value), type(arg.value)});
    }
    code_->steps.push_back(std::move(made));
    return static_cast<std::uint32_t>(code_->steps.size() - 1);
  }

  void set_result(const Op& op, std::uint32_t step) {
    const ValueId result = op.results[0];
    inside_[result] = true;
    code_->steps[step].result = {where_(result), slots_.at(result), type(result)};
  }

  /// to[k] = from[k], all at once.
  void move_all(const std::vector<std::uint16_t>& to, const std::vector<std::uint16_t>& from) {
    std::vector<std::uint16_t> sources = from;
    for (std::size_t k = 0; k < to.size(); ++k) {
      for (std::size_t later = k + 1; later < to.size(); ++later) {
        if (from[later] != to[k] || from[k] == to[k]) continue;
        sources[later] = fresh();  // would be overwritten before it is read
        emit(NumberAction::kMove, sources[later], from[later]);
      }
    }
    for (std::size_t k = 0; k < to.size(); ++k) {
      if (sources[k] != to[k]) emit(NumberAction::kMove, to[k], sources[k]);
    }
  }

  /// Slots of numbers that must have the types of `targets`.
  std::vector<std::uint16_t> slots_for(const std::vector<ValueId>& targets, const Arg* args) {
    std::vector<std::uint16_t> found;
    for (std::size_t k = 0; k < targets.size(); ++k) {
      const Number given = number(args[k]);
      if (given.type != type(targets[k])) throw Unsuitable{};
      found.push_back(given.slot);
    }
    return found;
  }

  std::vector<std::uint16_t> define_all(const std::vector<ValueId>& values) {
    std::vector<std::uint16_t> made;
    for (const ValueId value : values) made.push_back(define_inside(value));
    return made;
  }

  void add_if(const Op& op) {
    const std::uint16_t condition = truth(op.args.at(0));
    const auto results = define_all(op.results);
    const std::uint32_t to_else = emit(NumberAction::kJumpIfNot, 0, condition);
    add_block(op.blocks[0]);
    move_all(results, slots_for(op.results, op.blocks[0].outputs.data()));
    const std::uint32_t to_end = emit(NumberAction::kJump, 0, 0);
    code_->instructions[to_else].target = here();
    add_block(op.blocks[1]);
    move_all(results, slots_for(op.results, op.blocks[1].outputs.data()));
    code_->instructions[to_end].target = here();
  }

  void add_while(const Op& op) {
    const Block& body = op.blocks[0];
    const std::uint16_t condition = truth(op.args.at(0));
    const auto init = slots_for(body.inputs, op.args.data() + 1);
    const auto carried = define_all(body.inputs);
    move_all(carried, init);
    const std::uint32_t to_end = emit(NumberAction::kJumpIfNot, 0, condition);
    const std::uint32_t begin = here();
    add_block(body);
    const std::uint16_t again = fresh();  // the condition may be one of the carried numbers
    emit(NumberAction::kMove, again, truth(body.outputs.at(0)));
    move_all(carried, slots_for(body.inputs, body.outputs.data() + 1));
    emit(NumberAction::kLoop, 0, again, 0, begin);
    code_->instructions[to_end].target = here();
    for (std::size_t k = 0; k < op.results.size(); ++k) {
      if (type(op.results[k]) != type(body.inputs[k])) throw Unsuitable{};
      slots_[op.results[k]] = carried[k];
      inside_[op.results[k]] = true;
    }
  }

  const Program& program_;
  const std::function<Operand(ValueId)>& where_;
  std::shared_ptr<NumberCode> code_ = std::make_shared<NumberCode>();
  std::map<ValueId, std::uint16_t> slots_;
  std::map<ValueId, bool> inside_;  // values that the code makes
  std::uint16_t count_ = 1;         // slot 0 is for operands that an instruction has not
};

/// The steps of a block and of the blocks within it, by their ops.
void find_steps(const Steps& steps, std::unordered_map<const Op*, const Step*>& found) {
  for (const Step& step : steps.steps) {
    if (step.op != nullptr) found[step.op] = &step;
    for (const Steps& block : step.blocks) find_steps(block, found);
  }
}

}  // namespace

std::shared_ptr<NumberCode> number_code(const Op& op, const Program& program,
                                        const std::function<Operand(ValueId)>& where) {
  try {
    return Compiler(program, where).compile(op);
  } catch (const Unsuitable&) {
    return nullptr;
  }
}

void link_number_codes(Steps& steps) {
  for (Step& step : steps.steps) {
    for (Steps& block : step.blocks) link_number_codes(block);
    auto* code = std::get_if<std::shared_ptr<NumberCode>>(&step.detail);
    if (code == nullptr) continue;
    std::unordered_map<const Op*, const Step*> found;
    for (const Steps& block : step.blocks) find_steps(block, found);
    for (NumberStep& made : (*code)->steps) made.step = found.at(made.op);
  }
}

}  // namespace stator

#include "plan/planner.h"

#include "format/allowed_ops.h"
#include "ops/handlers.h"
#include "ops/number_loop.h"
#include "plan/number_compiler.h"

namespace stator {
namespace {

[[noreturn]] void refuse(const Op& op, const std::string& problem) {
  Error error = format_error(op.name + " " + problem);
  error.place = op.place;
  throw error;
}

bool is_plain_name(const std::string& name) {
  return !std::ranges::all_of(name, [](unsigned char c) { return std::isdigit(c) != 0; });
}

bool is_constant(const Arg& arg) {
  return arg.kind == Arg::Kind::kConstant ||
         (arg.kind == Arg::Kind::kList && std::ranges::all_of(arg.items, is_constant));
}

Value constant_value(const Arg& arg) {
  if (arg.kind == Arg::Kind::kConstant) return arg.constant.value;
  std::vector<Value> items;
  for (const Arg& item : arg.items) items.push_back(constant_value(item));
  return make_list(std::move(items));
}

std::vector<std::string> names_in(const Arg& arg, const Op& op) {
  std::vector<std::string> names;
  for (const Arg& item : arg.items) {
    if (item.kind != Arg::Kind::kConstant || !item.constant.value.isString())
      refuse(op, "must be given names");
    names.push_back(item.constant.value.toStringRef());
  }
  return names;
}

std::vector<std::string> names_attribute(const Op& op, const char* name) {
  const auto found = op.attributes.find(name);
  return found == op.attributes.end() ? std::vector<std::string>() : names_in(found->second, op);
}

TryClauses::Clause clause_of(const Op& op, std::size_t k) {
  TryClauses::Clause clause;
  clause.catches = names_in(op.attributes.at("catches").items[k], op);
  for (const Arg& asked : op.attributes.at("asks").items[k].items)
    clause.asks.push_back(names_in(asked, op));
  return clause;
}

}  // namespace

bool is_number_op(std::string_view name) {
  static constexpr std::string_view kOthers[] = {"if",
                                                 "while",
                                                 "call",
                                                 "try",
                                                 "keep",
                                                 "reraise",
                                                 "custom_gradient",
                                                 "gradients",
                                                 "hook",
                                                 "assert",
                                                 "raise",
                                                 "demand",
                                                 "print",
                                                 "set_grad",
                                                 "set_inference",
                                                 "set_autocast",
                                                 "seed",
                                                 "random_state",
                                                 "set_random_state",
                                                 "format",
                                                 "join",
                                                 "tensor_list",
                                                 "note",
                                                 "region"};
  if (!name.starts_with("stator::")) return false;
  name.remove_prefix(8);
  return !name.starts_with("list_") && !name.starts_with("text_") &&
         std::ranges::find(kOthers, name) == std::end(kOthers);
}

Planner::Planner(Plan& plan, Trust trust, CompiledRegions regions)
    : plan_(plan), trust_(trust), regions_(std::move(regions)), uses_(plan.program) {
  const Program& program = plan.program;
  for (std::uint32_t k = 0; k < program.inputs.size(); ++k) {
    outer_[program.inputs[k]] = {Operand::From::kInput, false, k};
  }
  for (std::uint32_t k = 0; k < program.stored.size(); ++k) {
    outer_[program.stored[k].value] = {Operand::From::kStored, false, k};
  }
  std::uint32_t count = 0;
  for (const auto& [name, block] : program.functions) functions_[name] = count++;
}

Routine Planner::routine(const std::string& name, const std::vector<ValueId>& inputs,
                         const std::vector<const Op*>& ops, const std::vector<Arg>& outputs) {
  Routine made;
  made.name = name;
  routine_ = &made;
  registers_.clear();
  slots_.clear();
  made.steps = block_of(inputs, ops, outputs);
  for (const auto& [value, index] : registers_) {
    const std::string& variable = plan_.program.values[value].name;
    if (is_plain_name(variable)) made.names.emplace_back(variable, index);
  }
  made.slots = static_cast<std::uint32_t>(slots_.size());
  routine_ = nullptr;
  return made;
}

Steps Planner::block_of(const Block& block) {
  std::vector<const Op*> ops;
  for (const Op& op : block.ops) ops.push_back(&op);
  return block_of(block.inputs, ops, block.outputs);
}

Steps Planner::block_of(const std::vector<ValueId>& inputs, const std::vector<const Op*>& ops,
                        const std::vector<Arg>& outputs) {
  Steps made;
  for (const ValueId input : inputs) made.inputs.push_back(define(input));
  const LastUses uses = last_uses(inputs, ops, outputs);
  for (std::size_t k = 0; k < ops.size(); ++k) add_step(*ops[k], uses.by_op[k], made.steps);
  std::set<Register> own;
  for (const ValueId value : uses.at_end) own.insert(registers_.at(value));
  for (const Arg& output : outputs) made.outputs.push_back(operand(output, made.steps));
  for (const Register list : std::exchange(temporary_, {})) own.insert(list);
  for (auto output = made.outputs.rbegin(); output != made.outputs.rend(); ++output) {
    // the last reader of a register of this block may move its value out
    if (output->from == Operand::From::kRegister) output->last = own.erase(output->index) > 0;
  }
  made.released.assign(own.begin(), own.end());
  return made;
}

Planner::LastUses Planner::last_uses(const std::vector<ValueId>& inputs,
                                     const std::vector<const Op*>& ops,
                                     const std::vector<Arg>& outputs) {
  const std::size_t end = ops.size();
  std::map<ValueId, std::size_t> last;
  for (const ValueId input : inputs) last[input] = end;
  const auto use = [&](ValueId value, std::size_t where) {
    const auto found = last.find(value);
    if (found != last.end()) found->second = where;
  };
  for (std::size_t k = 0; k < end; ++k) {
    for_each_use(*ops[k], [&](ValueId value) { use(value, k); });
    for (const ValueId result : ops[k]->results) last[result] = k;
  }
  for (const Arg& output : outputs) for_each_value(output, [&](ValueId value) { use(value, end); });
  LastUses made;
  made.by_op.resize(end);
  for (const auto& [value, where] : last)
    (where == end ? made.at_end : made.by_op[where]).push_back(value);
  return made;
}

void Planner::add_step(const Op& op, const std::vector<ValueId>& ending, std::vector<Step>& steps) {
  Step step;
  step.op = &op;
  if (find_row(op.name) != nullptr) {
    plan_own_op(op, step, steps);
  } else {
    plan_torch_op(op, step);
  }
  step.released = std::exchange(temporary_, {});
  for (const Block& block : op.blocks) step.blocks.push_back(block_of(block));
  for (const ValueId result : op.results) step.results.push_back(define(result));
  for (const ValueId value : ending) step.released.push_back(registers_.at(value));
  add_detail(op, step);
  mark_moves(step);
  if (step.run == run_while || step.run == run_if) {
    if (auto code = number_code(op, plan_.program, [&](ValueId value) { return operand(value); })) {
      step.detail = std::move(code);
      step.run = run_numbers;
    }
  }
  steps.push_back(std::move(step));
}

void Planner::mark_moves(Step& step) {
  const bool takes_all = step.run == run_while || step.run == run_call;
  const bool takes_first = step.run == run_list_append || step.run == run_list_set;
  for (std::size_t k = step.args.size(); k-- > 0;) {
    Operand& arg = step.args[k];
    if (arg.from != Operand::From::kRegister || !(takes_all || (takes_first && k == 0))) continue;
    if (step.run == run_while && k == 0) continue;  // the condition is read
    const auto found = std::ranges::find(step.released, arg.index);
    const bool is_result = std::ranges::find(step.results, arg.index) != step.results.end();
    const auto uses = std::ranges::count_if(step.args, [&](const Operand& other) {
      return other.from == Operand::From::kRegister && other.index == arg.index;
    });
    if (found != step.released.end() && !is_result && uses == 1 && (step.blocks.empty())) {
      arg.last = true;
      step.released.erase(found);
    }
  }
}

void Planner::plan_own_op(const Op& op, Step& step, std::vector<Step>& steps) {
  const OpRow& row = *find_row(op.name);
  if (op.name.starts_with("host::") && trust_ == Trust::kFile)
    refuse(op, "is only for the process that captured it");
  step.run = row.run;
  for (const Arg& arg : op.args) {
    if (row.spreads_lists && arg.kind == Arg::Kind::kList) {
      for (const Arg& item : arg.items) step.args.push_back(operand(item, steps));
    } else {
      step.args.push_back(operand(arg, steps));
    }
  }
  if (step.args.size() < row.least_args || step.args.size() > row.most_args) {
    refuse(op, "takes another number of arguments");
  }
  if (row.results != kAnyNumber && op.results.size() != row.results)
    refuse(op, "gives another number of results");
  for (const std::string_view name : row.trailing) {
    const auto found = op.attributes.find(std::string(name));
    step.args.push_back(found == op.attributes.end() ? constant(Value())
                                                     : operand(found->second, steps));
  }
}

void Planner::add_detail(const Op& op, Step& step) {
  if (step.run == run_try) {
    TryClauses clauses;
    clauses.slot = slot(op);
    for (std::size_t k = 0; k + 1 < op.blocks.size(); ++k)
      clauses.clauses.push_back(clause_of(op, k));
    step.detail = std::move(clauses);
  } else if (step.run == run_keep) {
    step.detail = Keep{slot(op)};
  } else if (step.run == run_call) {
    step.detail = Call{functions_.at(op.attributes.at("function").constant.value.toStringRef())};
  } else if (step.run == run_note) {
    // A note of a program's own state has no number: a program has one state.
    const auto number = op.attributes.find("effects");
    const bool has_number = number != op.attributes.end();
    if (has_number && !number->second.constant.value.isInt()) refuse(op, "has no number");
    step.detail = Note{has_number ? number->second.constant.value.toInt() : 0};
  } else if (step.run == run_raise) {
    Raise detail{names_attribute(op, "names"), names_attribute(op, "fields")};
    if (detail.fields.size() + 1 > step.args.size()) refuse(op, "has more fields than arguments");
    step.detail = std::move(detail);
  } else if (step.run == run_region) {
    step.detail = region_call(op);
  } else if (step.run == run_custom_gradient || step.run == run_hook) {
    step.detail = captured_by(op);
  }
}

/// The code for a region. A program without such code has no regions: they are never in a file.
RegionCall Planner::region_call(const Op& op) const {
  const auto number = op.attributes.find("region");
  const bool has_number = number != op.attributes.end() &&
                          number->second.kind == Arg::Kind::kConstant &&
                          number->second.constant.value.isInt();
  const std::int64_t index = has_number ? number->second.constant.value.toInt() : -1;
  if (index < 0 || static_cast<std::size_t>(index) >= regions_.size())
    refuse(op, "is only for programs that are beside libraries");
  return {regions_[static_cast<std::size_t>(index)]};
}

/// What the block reads of the frame around it: all registers that it names and does not define.
Captured Planner::captured_by(const Op& op) const {
  std::set<ValueId> inside(op.blocks[0].inputs.begin(), op.blocks[0].inputs.end());
  std::set<Register> seen;
  const auto define_results = [&](const auto& self, const Block& block) -> void {
    inside.insert(block.inputs.begin(), block.inputs.end());
    for (const Op& inner : block.ops) {
      inside.insert(inner.results.begin(), inner.results.end());
      for (const Block& nested : inner.blocks) self(self, nested);
    }
  };
  define_results(define_results, op.blocks[0]);
  const auto use = [&](ValueId value) {
    const auto found = registers_.find(value);
    if (found != registers_.end() && !inside.contains(value)) seen.insert(found->second);
  };
  for (const Op& inner : op.blocks[0].ops) for_each_use(inner, use);
  for (const Arg& output : op.blocks[0].outputs) for_each_value(output, use);
  return {{seen.begin(), seen.end()}};
}

std::uint32_t Planner::slot(const Op& op) {
  const auto found = op.attributes.find("number");
  if (found == op.attributes.end() || found->second.kind != Arg::Kind::kConstant ||
      !found->second.constant.value.isInt()) {
    refuse(op, "has no number");
  }
  const auto count = static_cast<std::uint32_t>(slots_.size());
  return slots_.try_emplace(found->second.constant.value.toInt(), count).first->second;
}

Register Planner::define(ValueId value) {
  const auto [found, is_new] = registers_.try_emplace(value, routine_->registers);
  if (is_new) ++routine_->registers;
  return found->second;
}

Operand Planner::operand(ValueId value) {
  const auto found = outer_.find(value);
  if (found != outer_.end()) return found->second;
  return {Operand::From::kRegister, false, registers_.at(value)};
}

Operand Planner::constant(Value value) {
  plan_.constants.push_back(std::move(value));
  return {Operand::From::kConstant, false, static_cast<std::uint32_t>(plan_.constants.size() - 1)};
}

/// A list with values in it is made by a step of its own.
Operand Planner::operand(const Arg& arg, std::vector<Step>& steps) {
  if (arg.kind == Arg::Kind::kValue) return operand(arg.value);
  if (is_constant(arg)) return constant(constant_value(arg));
  Step list;
  list.run = run_list_make;
  for (const Arg& item : arg.items) list.args.push_back(operand(item, steps));
  list.results = {fresh_register()};
  const Operand made{Operand::From::kRegister, false, list.results[0]};
  temporary_.push_back(made.index);
  steps.push_back(std::move(list));
  return made;
}

}  // namespace stator

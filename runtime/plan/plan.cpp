// make_plan(): Program -> Plan. What can be decided once is decided here.
#include <array>

#include "interpreter/frame_memory.h"
#include "plan/number_compiler.h"
#include "plan/planner.h"

namespace stator {
namespace {

/// The ops that can be moved before the rest: sizes of inputs, and numbers made of them.
bool is_size(const Op& op) {
  return op.name == "aten::sym_size.int" || (find_row(op.name) != nullptr && is_number_op(op.name));
}

/// What a program demands of the sizes of its inputs comes before the rest of it. A demand stays
/// where it is if it needs a value that only the run has, or if the program may raise an error of
/// the user's before it: that error is the one to see.
struct SplitBody {
  std::vector<const Op*> checks;
  std::vector<const Op*> rest;
};

void add_needed(const Op& op, const std::map<ValueId, const Op*>& makers,
                std::set<const Op*>& wanted) {
  if (!wanted.insert(&op).second) return;
  for_each_use(op, [&](ValueId value) {
    const auto maker = makers.find(value);
    if (maker != makers.end()) add_needed(*maker->second, makers, wanted);
  });
}

SplitBody split_checks(const Program& program) {
  std::set<ValueId> known(program.inputs.begin(), program.inputs.end());
  for (const Stored& stored : program.stored) known.insert(stored.value);
  std::map<ValueId, const Op*> makers;
  std::set<const Op*> demands;
  std::set<const Op*> wanted;
  for (const Op& op : program.body.ops) {
    if (op.name == "stator::region") continue;  // it raises nothing, and gives no numbers
    if (!op.blocks.empty() || op.name == "stator::raise" || op.name == "stator::assert") break;
    bool is_known = true;
    for_each_use(op, [&](ValueId value) {
      is_known = is_known && (known.contains(value) || makers.contains(value));
    });
    if (!is_known) continue;
    if (op.name == "stator::demand") {
      demands.insert(&op);
      add_needed(op, makers, wanted);
    } else if (is_size(op)) {
      for (const ValueId result : op.results) makers[result] = &op;
    }
  }
  SplitBody split;
  for (const Op& op : program.body.ops) {
    if (wanted.contains(&op)) split.checks.push_back(&op);
    if (!demands.contains(&op)) split.rest.push_back(&op);
  }
  return split;
}

/// Gradients may be recorded from here on, though the caller records none.
bool may_enable_gradients(const Op& op) {
  if (op.name != "stator::set_grad" && op.name != "stator::set_inference") return false;
  if (op.attributes.contains("inherited")) return false;
  const bool is_constant = !op.args.empty() && op.args[0].kind == Arg::Kind::kConstant;
  return !is_constant || is_true(op.args[0].constant.value) == (op.name == "stator::set_grad");
}

/// Does the op make tensors that need gradients, or ask for gradients? What a custom op does is not
/// known.
bool may_start_gradients(const Op& op) {
  static constexpr std::array kStarting = std::to_array<std::string_view>(
      {"stator::gradients", "stator::custom_gradient", "stator::hook"});
  if (std::ranges::find(kStarting, op.name) != kStarting.end()) return true;
  if (op.name.find("requires_grad") != std::string::npos) return true;
  if (op.attributes.contains("requires_grad")) return true;
  return find_row(op.name) == nullptr && !op.name.starts_with("aten::") &&
         !op.name.starts_with("prims::");
}

void find_modes(const Block& block, Plan& plan) {
  for (const Op& op : block.ops) {
    if (may_start_gradients(op)) plan.starts_gradients = true;
    if (op.name.starts_with("stator::set_")) plan.sets_modes = true;
    if (may_enable_gradients(op)) plan.enables_gradients = true;
    if (op.name == "stator::set_autocast" && !op.args.empty() &&
        op.args[0].kind == Arg::Kind::kConstant) {
      const Value& device = op.args[0].constant.value;
      plan.autocast_devices.push_back(device.isDevice() ? device.toDevice().type()
                                                        : at::Device(device.toStringRef()).type());
    }
    for (const Block& inner : op.blocks) find_modes(inner, plan);
  }
}

std::vector<const Op*> all_ops(const Block& block) {
  std::vector<const Op*> ops;
  for (const Op& op : block.ops) ops.push_back(&op);
  return ops;
}

}  // namespace

Plan::Plan() = default;
Plan::~Plan() = default;

std::shared_ptr<const Plan> make_plan(Program given, Trust trust, CompiledRegions regions) {
  auto plan = std::make_shared<Plan>();
  plan->program = std::move(given);
  const Program& program = plan->program;
  Planner planner(*plan, trust, std::move(regions));
  const SplitBody split = split_checks(program);
  plan->checks = planner.routine("", {}, split.checks, {});
  plan->body = planner.routine(program.name, program.body.inputs, split.rest, program.body.outputs);
  for (const auto& [name, block] : program.functions) {
    plan->functions.push_back(planner.routine(name, block.inputs, all_ops(block), block.outputs));
    find_modes(block, *plan);
  }
  find_modes(program.body, *plan);
  std::ranges::sort(plan->autocast_devices);
  const auto repeated = std::ranges::unique(plan->autocast_devices);
  plan->autocast_devices.erase(repeated.begin(), repeated.end());
  std::uint32_t count = 0;
  for (Routine* routine : {&plan->checks, &plan->body}) routine->index = count++;
  for (Routine& function : plan->functions) function.index = count++;
  link_number_codes(plan->body.steps);
  for (Routine& function : plan->functions) link_number_codes(function.steps);
  plan->frames = std::make_unique<FramePool>(count);
  return plan;
}

}  // namespace stator

// Planner: gives values their registers, finds last uses, and picks the function that runs each op.
#pragma once

#include <algorithm>
#include <map>
#include <set>

#include "interpreter/plan.h"
#include "ops/table.h"
#include "plan/uses.h"

namespace stator {

/// Is this an op on numbers, which has no effect and depends on nothing but its arguments?
bool is_number_op(std::string_view name);

class Planner {
 public:
  Planner(Plan& plan, Trust trust, CompiledRegions regions);

  /// The body of the program or one of its functions.
  Routine routine(const std::string& name, const std::vector<ValueId>& inputs,
                  const std::vector<const Op*>& ops, const std::vector<Arg>& outputs);

 private:
  /// The values that end at each op, and (last) with the block.
  struct LastUses {
    std::vector<std::vector<ValueId>> by_op;
    std::vector<ValueId> at_end;
  };

  Steps block_of(const std::vector<ValueId>& inputs, const std::vector<const Op*>& ops,
                 const std::vector<Arg>& outputs);
  Steps block_of(const Block& block);
  static LastUses last_uses(const std::vector<ValueId>& inputs, const std::vector<const Op*>& ops,
                            const std::vector<Arg>& outputs);

  void add_step(const Op& op, const std::vector<ValueId>& ending, std::vector<Step>& steps);
  void plan_own_op(const Op& op, Step& step, std::vector<Step>& steps);
  void plan_torch_op(const Op& op, Step& step);
  void add_cast_number(const Op& op, TorchCall& call) const;
  TorchArgument torch_argument(const Arg& arg, const c10::Argument& expected, const Op& op);
  void add_detail(const Op& op, Step& step);
  RegionCall region_call(const Op& op) const;
  Captured captured_by(const Op& op) const;

  /// Lets the step move out of registers that it reads last, where its handler takes its arguments.
  static void mark_moves(Step& step);

  Operand operand(const Arg& arg, std::vector<Step>& steps);
  Operand operand(ValueId value);
  Operand constant(Value value);
  Register fresh_register() { return routine_->registers++; }
  Register define(ValueId value);
  std::uint32_t slot(const Op& op);

  Plan& plan_;
  Trust trust_;
  CompiledRegions regions_;
  Uses uses_;
  std::map<ValueId, Operand> outer_;       // inputs of the program and stored tensors
  std::map<ValueId, Register> registers_;  // of the routine that is being planned
  std::map<std::int64_t, std::uint32_t> slots_;
  std::map<std::string, std::uint32_t> functions_;
  std::vector<Register> temporary_;  // lists made for the op that is being planned
  Routine* routine_ = nullptr;
};

}  // namespace stator

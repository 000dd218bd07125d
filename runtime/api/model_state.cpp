#include "api/model_state.h"

#include <ATen/core/dispatch/Dispatcher.h>

#include <algorithm>
#include <set>

#include "api/check_inputs.h"
#include "interpreter/plan.h"

namespace stator {
namespace {

/// A copy of what a state is at first: programs may write into its tensors.
Value copied(const Value& value) {
  if (value.isTensor()) return value.toTensor().defined() ? value.toTensor().clone() : value;
  if (!value.isList()) return value;
  std::vector<Value> items;
  for (const Value& item : items_of(value)) items.push_back(copied(item));
  return make_list(std::move(items));
}

void collect_memory(const Value& value, std::set<const void*>& memory) {
  if (value.isTensor()) {
    const at::Tensor& tensor = value.toTensor();
    if (tensor.defined() && tensor.has_storage() && tensor.numel() > 0)
      memory.insert(tensor.storage().data());
  } else if (value.isList()) {
    for (const Value& item : items_of(value)) collect_memory(item, memory);
  }
}

/// ST301 if an argument is in the memory of the state: the program may write to one of the two.
void refuse_shared(const Program& program, const std::vector<Value>& inputs,
                   const std::vector<Value>& state) {
  std::set<const void*> held;
  for (const Value& value : state) collect_memory(value, held);
  for (std::size_t k = 0; k < inputs.size(); ++k) {
    std::set<const void*> given;
    collect_memory(inputs[k], given);
    for (const void* const memory : given) {
      if (!held.contains(memory)) continue;
      const std::string& name = program.values[program.inputs[k]].name;
      throw mismatch_error("`" + name +
                           "` shares memory with what the model has kept, and this call changes "
                           "one of the two in place");
    }
  }
}

bool writes_in_place(const Block& block) {
  return std::ranges::any_of(block.ops, [](const Op& op) {
    const std::size_t dot = op.name.find('.');
    const auto found = c10::Dispatcher::singleton().findSchema(
        {op.name.substr(0, dot), dot == std::string::npos ? "" : op.name.substr(dot + 1)});
    const bool writes = found && std::ranges::any_of(found->schema().arguments(), [](const auto& one) {
                          return one.alias_info() != nullptr && one.alias_info()->isWrite();
                        });
    return writes || std::ranges::any_of(op.blocks, [](const Block& inner) {
             return writes_in_place(inner);
           });
  });
}

}  // namespace

bool writes_in_place(const Program& program) {
  return writes_in_place(program.body) ||
         std::ranges::any_of(program.functions,
                             [](const auto& function) { return writes_in_place(function.second); });
}

ModelState::ModelState(const Values& initial) { reset(initial); }

void ModelState::reset(const Values& initial) {
  const std::lock_guard lock(mutex_);
  values_.clear();
  for (const auto& [name, values] : initial) {
    for (const Value& value : values) values_[name].push_back(copied(value));
  }
}

std::vector<Value> ModelState::taken(const Program& program) const {
  std::vector<Value> made;
  for (const StateUse& use : program.state) {
    const std::vector<Value>& values = values_.at(use.name);
    made.insert(made.end(), values.begin(), values.end());
  }
  return made;
}

void ModelState::keep(const Program& program, const Value* values) {
  for (const StateUse& use : program.state) {
    values_[use.name].assign(values, values + use.count);
    values += use.count;
  }
}

std::vector<Value> ModelState::run(const std::shared_ptr<Run>& run, bool writes) {
  const std::lock_guard lock(mutex_);
  const Program& program = run->plan->program;
  const std::vector<Value> state = taken(program);
  check_state(program, state);
  if (writes) refuse_shared(program, run->inputs, state);
  run->inputs.insert(run->inputs.end(), state.begin(), state.end());
  try {
    std::vector<Value> outputs = run_plan(run);
    keep(program, outputs.data() + program.call_outputs());
    outputs.resize(program.call_outputs());
    return outputs;
  } catch (...) {
    const bool has_noted = run->noted && run->noted->values.size() == state.size();
    if (has_noted) keep(program, run->noted->values.data());
    throw;
  }
}

}  // namespace stator

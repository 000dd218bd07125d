// Gradients that users wrote: a block of the program runs when autograd reaches it.
#include <ATen/ops/zeros_like.h>
#include <torch/csrc/autograd/autograd.h>
#include <torch/csrc/autograd/custom_function.h>

#include "ops/handlers.h"

namespace stator {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

/// A block to run later, with the values that it reads from the frame around it.
///
/// The plan is held by the run. The step is part of the plan.
struct BackwardBlock : torch::CustomClassHolder {
  const Step* step = nullptr;
  const Routine* routine = nullptr;
  std::shared_ptr<Run> run;
  std::vector<Value> kept;           // tensors are replaced by None while autograd saves them
  std::vector<std::size_t> tensors;  // positions in `kept` of what autograd saves
  std::vector<std::size_t>
      inputs;  // positions, among the block's outputs, of inputs with gradients
  std::size_t outputs = 0;

  std::vector<Value> run_with(const std::vector<Value>& values,
                              const std::vector<Value>& gradients) const {
    const Steps& block = step->blocks[0];
    Frame frame(*routine, run);
    const auto& registers = std::get<Captured>(step->detail).registers;
    for (std::size_t k = 0; k < registers.size(); ++k) frame[registers[k]] = values[k];
    for (std::size_t k = 0; k < gradients.size(); ++k) frame[block.inputs[k]] = gradients[k];
    run_block(block, frame);
    std::vector<Value> answers;
    for (const Operand output : block.outputs) answers.push_back(frame.read(output));
    return answers;
  }
};

/// The block of a step, and the values of now that it needs.
c10::intrusive_ptr<BackwardBlock> backward_block(const Step& step, Frame& frame) {
  auto made = c10::make_intrusive<BackwardBlock>();
  made->step = &step;
  made->routine = &frame.routine;
  made->run = std::make_shared<Run>();
  made->run->plan = frame.run->plan;
  made->run->stored = frame.run->stored;
  made->run->inputs = frame.run->inputs;
  made->run->host = frame.run->host;
  for (const Register index : std::get<Captured>(step.detail).registers) {
    made->kept.push_back(frame[index]);
  }
  return made;
}

at::Tensor tensor_or_undefined(const Value& value) {
  return value.isTensor() ? value.toTensor() : at::Tensor();
}

Value value_of(const at::Tensor& tensor) { return tensor.defined() ? Value(tensor) : Value(); }

/// Gives `results` a gradient of their own, with respect to `inputs`.
class CustomGradient : public torch::autograd::Function<CustomGradient> {
 public:
  static variable_list forward(AutogradContext* ctx, const c10::intrusive_ptr<BackwardBlock>& block,
                               const variable_list* results, at::TensorList /*inputs*/) {
    variable_list saved;
    for (std::size_t k = 0; k < block->kept.size(); ++k) {
      if (!block->kept[k].isTensor()) continue;
      block->tensors.push_back(k);
      saved.push_back(block->kept[k].toTensor());
      block->kept[k] = Value();
    }
    ctx->save_for_backward(saved);
    ctx->saved_data["block"] = Value::make_capsule(block);
    return *results;
  }

  static variable_list backward(AutogradContext* ctx, const variable_list& gradients) {
    const auto block =
        c10::static_intrusive_pointer_cast<BackwardBlock>(ctx->saved_data["block"].toCapsule());
    std::vector<Value> values = block->kept;
    const variable_list saved = ctx->get_saved_variables();
    for (std::size_t k = 0; k < saved.size(); ++k) values[block->tensors[k]] = saved[k];
    std::vector<Value> given;
    for (const at::Tensor& gradient : gradients) given.push_back(value_of(gradient));
    const at::AutoGradMode restored(at::GradMode::is_enabled());
    const std::vector<Value> answers = block->run_with(values, given);
    variable_list made(2);  // the block and the results have no gradients
    for (const std::size_t position : block->inputs)
      made.push_back(tensor_or_undefined(answers[position]));
    return made;
  }
};

variable_list tensors_of(const Value& list) {
  variable_list tensors;
  for (const Value& item : items_of(list)) tensors.push_back(tensor_or_undefined(item));
  return tensors;
}

}  // namespace

/// stator::custom_gradient(results, inputs) {backward}
/// Gives `results`; in the backward pass the block is given their gradients and yields those of
/// `inputs`.
void run_custom_gradient(const Step& step, Frame& frame) {
  const auto block = backward_block(step, frame);
  const variable_list results = tensors_of(frame.read(step.args[0]));
  variable_list inputs;
  const auto given = items_of(frame.read(step.args[1]));
  for (std::size_t k = 0; k < given.size(); ++k) {
    if (!given[k].isTensor()) continue;
    block->inputs.push_back(k);
    inputs.push_back(given[k].toTensor());
  }
  const variable_list made = CustomGradient::apply(block, &results, at::TensorList(inputs));
  for (std::size_t k = 0; k < step.results.size(); ++k) frame[step.results[k]] = value_of(made[k]);
}

/// stator::gradients(outputs, inputs, given) retain= create= materialize=
/// `torch.autograd.grad`.
void run_gradients(const Step& step, Frame& frame) {
  const variable_list inputs = tensors_of(frame.read(step.args[1]));
  const Value& given = frame.read(step.args[2]);
  std::optional<bool> retain;
  if (!frame.read(step.args[3]).isNone()) retain = is_true(frame.read(step.args[3]));
  const bool create = is_true(frame.read(step.args[4]));
  const bool materialize = is_true(frame.read(step.args[5]));
  const variable_list made = torch::autograd::grad(
      tensors_of(frame.read(step.args[0])), inputs,
      given.isNone() ? variable_list() : tensors_of(given), retain, create, materialize);
  if (made.size() != step.results.size())
    throw demand_error("stator::gradients gives another number of values");
  for (std::size_t k = 0; k < made.size(); ++k) {
    const bool absent = materialize && !made[k].defined();
    frame[step.results[k]] =
        absent ? Value(at::zeros_like(inputs[k]).set_requires_grad(create)) : value_of(made[k]);
  }
}

/// stator::hook(tensor) {backward}
/// The gradient of the tensor goes through the block, which yields another one or nothing.
void run_hook(const Step& step, Frame& frame) {
  const at::Tensor& tensor = frame.read(step.args[0]).toTensor();
  if (!tensor.requires_grad()) {  // in Python's words; torch has others in C++
    throw Error("RuntimeError", "cannot register a hook on a tensor that doesn't require gradient");
  }
  const auto block = backward_block(step, frame);
  tensor.register_hook([block](const at::Tensor& gradient) -> at::Tensor {
    const at::AutoGradMode restored(at::GradMode::is_enabled());
    return tensor_or_undefined(block->run_with(block->kept, {Value(gradient)})[0]);
  });
}

}  // namespace stator

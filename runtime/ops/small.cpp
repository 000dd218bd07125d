#include "ops/small.h"

#include <ATen/EmptyTensor.h>
#include <c10/core/InferenceMode.h>

#include "kernels/iteration.h"

namespace stator {

at::Tensor result_of(at::IntArrayRef sizes, at::ScalarType dtype, const TorchCall& call,
                     Frame& frame, std::uint32_t which) {
  auto* places = frame.memory->scratch.data() + call.scratch + std::size_t{2} * which;
  for (at::Tensor* place = places; place != places + 2; ++place) {
    if (!place->defined() || !is_free(*place)) continue;
    if (place->scalar_type() == dtype && place->sizes() == sizes &&
        place->is_inference() == c10::InferenceMode::is_enabled()) {
      return *place;
    }
  }
  at::Tensor made = at::detail::empty_cpu(sizes, dtype);
  at::Tensor& place = places[places->defined() && places->use_count() > 1 ? 1 : 0];
  place = made;
  return made;
}

kernels::Iteration& iteration_of(const TorchCall& call, Frame& frame, std::uint32_t which) {
  auto& kept = frame.memory->iterations[call.iteration + which];
  if (!kept) kept = std::make_unique<kernels::Iteration>();
  return *kept;
}

const Value* constant_of(const TorchCall& call, std::size_t k,
                         const std::vector<Value>& constants) {
  const TorchArgument& given = call.arguments[k];
  if (given.is_literal_list || given.operand.from != Operand::From::kConstant) return nullptr;
  return &constants[given.operand.index];
}

const SmallRow* small_row(const std::string& name, const TorchCall& call,
                          const std::vector<Value>& constants) {
  const SmallRow* found = pointwise_row(name);
  if (found == nullptr) found = reduction_row(name);
  if (found == nullptr) found = matrix_row(name);
  if (found == nullptr) found = shape_row(name);
  if (found == nullptr || call.arguments.size() != found->arguments) return nullptr;
  return found->accepts == nullptr || found->accepts(call, constants) ? found : nullptr;
}

}  // namespace stator

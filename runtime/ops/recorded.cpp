#include "ops/recorded.h"

#include <ATen/EmptyTensor.h>

#include "ops/modes.h"

namespace stator {

const at::Tensor* recordable(const Value& value) {
  if (!value.isTensor()) return nullptr;
  const at::Tensor& tensor = value.toTensor();
  if (!tensor.defined()) return nullptr;
  const at::TensorImpl& impl = *tensor.unsafeGetTensorImpl();
  const at::ScalarType dtype = tensor.scalar_type();
  const bool fits = is_plain(impl) && !tensor.is_inference() && impl.is_contiguous() &&
                    !impl.is_wrapped_number() && (dtype == at::kFloat || dtype == at::kDouble);
  return fits ? &tensor : nullptr;
}

const at::Tensor* small_recordable(const Value& value) {
  const at::Tensor* tensor = recordable(value);
  return tensor != nullptr && tensor->numel() <= kMostElements ? tensor : nullptr;
}

bool is_plain_backward(const at::Tensor& gradient) {
  return !at::GradMode::is_enabled() && is_plain_dispatch() && !is_autocast_on() &&
         gradient.defined() && is_plain(*gradient.unsafeGetTensorImpl());
}

bool is_small_backward(const at::Tensor& gradient) {
  if (!is_plain_backward(gradient)) return false;
  const at::ScalarType dtype = gradient.scalar_type();
  return gradient.is_contiguous() && gradient.numel() <= kMostElements &&
         (dtype == at::kFloat || dtype == at::kDouble);
}

at::Tensor new_result(at::IntArrayRef sizes, at::ScalarType dtype) {
  return at::detail::empty_cpu(sizes, dtype);
}

Attempt recorded_attempt(const std::string& name) {
  const Attempt found = recorded_pointwise(name);
  return found != nullptr ? found : recorded_matrix(name);
}

}  // namespace stator

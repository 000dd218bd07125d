// Torch ops on small contiguous CPU tensors, without the dispatcher.
//
// NOTE: when a call takes this path. Its tensors are plain ones (dense, on the CPU, no subclass, no
// transform), contiguous and small; no gradient is recorded; no mode of torch watches the run.
// Every other call goes the way it would have gone, so a kernel only has to be right for what it
// accepts.
#pragma once

#include <ATen/core/grad_mode.h>

#include "interpreter/frame.h"

namespace stator {

constexpr std::int64_t kMostElements = 4096;  // beyond it, ATen's threads and caches matter more

/// Runs the call, or gives false and has done nothing.
using Attempt = bool (*)(const Step& step, const TorchCall& call, Frame& frame);

template <Attempt attempt>
void run_small(const Step& step, Frame& frame) {
  const auto& call = std::get<TorchCall>(step.detail);
  if (frame.run->is_plain && attempt(step, call, frame)) {
    ++frame.run->counts.small;
  } else if (frame.run->may_record && call.recorded != nullptr && at::GradMode::is_enabled() &&
             call.recorded(step, call, frame)) {
    ++frame.run->counts.recorded;
  } else {
    call.otherwise(step, frame);
  }
}

inline const Value& argument(const TorchCall& call, std::size_t k, const Frame& frame) {
  return frame.read(call.arguments[k].operand);
}

/// Dense, on the CPU, and nothing more than that.
inline bool is_plain(const at::TensorImpl& impl) {
  static const c10::DispatchKeySet plain({c10::DispatchKey::CPU, c10::DispatchKey::ADInplaceOrView,
                                          c10::DispatchKey::AutogradCPU,
                                          c10::DispatchKey::AutocastCPU});
  // NOTE: a union, since the difference of two key sets keeps the bits of backends
  return (impl.key_set() | plain) == plain && impl.unsafe_storage();
}

/// Would the call record a gradient for this tensor?
inline bool is_recorded(const at::TensorImpl& impl, const TorchCall& call, const Frame& frame) {
  return !frame.run->skips_autograd && !call.is_discrete && impl.requires_grad() &&
         at::GradMode::is_enabled();
}

/// A plain tensor that the call records nothing for; null for any other value.
inline const at::Tensor* plain_tensor(const Value& value, const TorchCall& call,
                                      const Frame& frame) {
  if (!value.isTensor()) return nullptr;
  const at::Tensor& tensor = value.toTensor();
  if (!tensor.defined()) return nullptr;
  const at::TensorImpl& impl = *tensor.unsafeGetTensorImpl();
  return is_plain(impl) && !is_recorded(impl, call, frame) ? &tensor : nullptr;
}

/// A plain tensor that is contiguous, small and no wrapped number; null for any other value.
inline const at::Tensor* small_tensor(const Value& value, const TorchCall& call,
                                      const Frame& frame) {
  const at::Tensor* tensor = plain_tensor(value, call, frame);
  if (tensor == nullptr) return nullptr;
  const at::TensorImpl& impl = *tensor->unsafeGetTensorImpl();
  const bool fits =
      impl.is_contiguous() && impl.numel() <= kMostElements && !impl.is_wrapped_number();
  return fits ? tensor : nullptr;
}

template <class T>
const T* data_of(const at::Tensor& tensor) {
  return static_cast<const T*>(tensor.const_data_ptr());
}

template <class T>
T* result_data(const at::Tensor& tensor) {
  return static_cast<T*>(tensor.unsafeGetTensorImpl()->mutable_data());
}

/// Memory for a result: that of an earlier one of the same step, if nothing uses it any more.
/// `which` is the result's place among the results of the step.
at::Tensor result_of(at::IntArrayRef sizes, at::ScalarType dtype, const TorchCall& call,
                     Frame& frame, std::uint32_t which = 0);

/// The loop over ATen's kernel that this step keeps; there are two.
kernels::Iteration& iteration_of(const TorchCall& call, Frame& frame, std::uint32_t which = 0);

/// A row of the table: what runs an op on small tensors, and what the op must look like.
struct SmallRow {
  Handler run = nullptr;
  std::size_t arguments = 0;
  std::size_t results = 1;
  /// Says at planning whether the constants among the arguments are ones the kernel knows.
  bool (*accepts)(const TorchCall& call, const std::vector<Value>& constants) = nullptr;
};

/// The constant that an argument is; null if only a run knows it.
const Value* constant_of(const TorchCall& call, std::size_t k, const std::vector<Value>& constants);

/// The row of an op; null if there is none.
const SmallRow* pointwise_row(const std::string& name);
const SmallRow* reduction_row(const std::string& name);
const SmallRow* matrix_row(const std::string& name);
const SmallRow* shape_row(const std::string& name);

/// The row that runs this call on small tensors; null if there is none.
const SmallRow* small_row(const std::string& name, const TorchCall& call,
                          const std::vector<Value>& constants);

}  // namespace stator

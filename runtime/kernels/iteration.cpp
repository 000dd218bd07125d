#include "kernels/iteration.h"

#include <ATen/EmptyTensor.h>
#include <ATen/core/Tensor.h>

#include <unordered_map>

#ifdef STATOR_ATEN_STUBS
#include <ATen/native/Activation.h>
#include <ATen/native/UnaryOps.h>
#endif

namespace stator::kernels {

#ifdef STATOR_ATEN_STUBS

namespace {

template <auto& stub>
void call(at::TensorIteratorBase& loop) {
  stub(at::kCPU, loop);
}

}  // namespace

UnaryKernel unary_kernel(const std::string& name) {
  static const std::unordered_map<std::string, UnaryKernel> kernels = {
      {"aten::exp", call<at::native::exp_stub>},
      {"aten::exp2", call<at::native::exp2_stub>},
      {"aten::expm1", call<at::native::expm1_stub>},
      {"aten::log", call<at::native::log_stub>},
      {"aten::log1p", call<at::native::log1p_stub>},
      {"aten::log2", call<at::native::log2_stub>},
      {"aten::tanh", call<at::native::tanh_stub>},
      {"aten::sigmoid", call<at::native::sigmoid_stub>},
      {"aten::sin", call<at::native::sin_stub>},
      {"aten::cos", call<at::native::cos_stub>},
      {"aten::tan", call<at::native::tan_stub>},
      {"aten::atan", call<at::native::atan_stub>},
      {"aten::erf", call<at::native::erf_stub>},
      {"aten::sqrt", call<at::native::sqrt_stub>},
      {"aten::rsqrt", call<at::native::rsqrt_stub>},
      {"aten::reciprocal", call<at::native::reciprocal_stub>},
      {"aten::floor", call<at::native::floor_stub>},
      {"aten::ceil", call<at::native::ceil_stub>},
      {"aten::round", call<at::native::round_stub>},
      {"aten::trunc", call<at::native::trunc_stub>},
      {"aten::sign", call<at::native::sign_stub>},
      {"aten::silu", call<at::native::silu_stub>},
      {"aten::mish", call<at::native::mish_stub>},
  };
  const auto found = kernels.find(name);
  return found == kernels.end() ? nullptr : found->second;
}

#else

UnaryKernel unary_kernel(const std::string& /*name*/) { return nullptr; }

#endif

void Iteration::run(UnaryKernel kernel, at::ScalarType dtype, std::int64_t count, const void* in,
                    void* out) {
  if (count == 0) return;
  if (count != count_ || dtype != dtype_) {
    // over arrays of its own, so that it holds on to no tensor of the program
    at::Tensor to = at::detail::empty_cpu({count}, dtype);
    const at::Tensor from = at::detail::empty_cpu({count}, dtype);
    loop_ = at::TensorIterator::unary_float_op(to, from);
    count_ = count;
    dtype_ = dtype;
  }
  loop_.unsafe_replace_operand(0, out);
  loop_.unsafe_replace_operand(1, const_cast<void*>(in));  // NOLINT: the kernel only reads it
  kernel(loop_);
}

}  // namespace stator::kernels

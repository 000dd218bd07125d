#include "kernels/rows.h"

#ifdef STATOR_ATEN_STUBS
#include <ATen/native/cpu/SoftmaxKernel.h>
#endif

namespace stator::kernels {

#ifdef STATOR_ATEN_STUBS

bool has_rows() { return true; }

void softmax_rows(const at::Tensor& out, const at::Tensor& x) {
  at::native::softmax_lastdim_kernel(at::kCPU, out, x);
}

void log_softmax_rows(const at::Tensor& out, const at::Tensor& x) {
  at::native::log_softmax_lastdim_kernel(at::kCPU, out, x);
}

#else

bool has_rows() { return false; }
void softmax_rows(const at::Tensor& /*out*/, const at::Tensor& /*x*/) {}
void log_softmax_rows(const at::Tensor& /*out*/, const at::Tensor& /*x*/) {}

#endif

}  // namespace stator::kernels

// ATen's kernels that go over the rows of a matrix, called without the dispatcher.
#pragma once

#include <ATen/core/Tensor.h>

namespace stator::kernels {

/// Does this build of torch give these kernels out?
bool has_rows();

/// `out` is the softmax of `x`, or its logarithm, along the last dimension. Both are contiguous.
void softmax_rows(const at::Tensor& out, const at::Tensor& x);
void log_softmax_rows(const at::Tensor& out, const at::Tensor& x);

/// `out` is the layer norm of `count` rows.
void layer_norm_rows(at::Tensor& out, const at::Tensor& x, const at::Tensor& weight,
                     const at::Tensor& bias, std::int64_t count, std::int64_t length, double eps);

}  // namespace stator::kernels

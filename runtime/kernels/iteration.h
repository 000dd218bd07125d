// Iteration: ATen's own kernels of one tensor, run over plain arrays.
//
// NOTE: why the results are equal to ATen's to the bit. exp, tanh and their like are approximated,
// and what a vector instruction gives differs from what a scalar one gives. So the kernel that is
// called here is ATen's, for this processor, as ATen has chosen it. What is saved is everything
// around it: the loop that ATen would set up for a contiguous tensor is kept, and only its pointers
// are exchanged.
#pragma once

#include <ATen/TensorIterator.h>

#include <string>

namespace stator::kernels {

/// A kernel of ATen's that reads one array and writes another.
using UnaryKernel = void (*)(at::TensorIteratorBase&);

/// The kernel of an op such as `aten::tanh`; null if there is none, or if this build of torch does
/// not give its kernels out.
UnaryKernel unary_kernel(const std::string& name);

/// The loop of one op, kept as long as its size and dtype stay the same. For one thread at a time.
class Iteration {
 public:
  /// out[k] = kernel(in[k]), for `count` elements of a floating-point dtype.
  void run(UnaryKernel kernel, at::ScalarType dtype, std::int64_t count, const void* in, void* out);

 private:
  at::TensorIterator loop_;
  std::int64_t count_ = -1;
  at::ScalarType dtype_ = at::kFloat;
};

}  // namespace stator::kernels

#include "ops/cells.h"

#include <ATen/Context.h>

#include <cstring>

#include "kernels/matrix.h"
#include "ops/recorded.h"

namespace stator {
namespace {

constexpr std::int64_t kMostWeights = std::int64_t{1} << 22;  // elements of a matrix of weights

/// out[m, n] = bias[n] + x[m, k] * weight[n, k]^T
template <class T>
void linear_into(T* out, const T* x, const T* weight, const T* bias, std::int64_t m, std::int64_t n,
                 std::int64_t k) {
  const auto row = static_cast<std::size_t>(n) * sizeof(T);
  for (std::int64_t i = 0; i < m; ++i) std::memcpy(out + i * n, bias, row);
  kernels::add_linear(x, weight, out, m, n, k);
}

template <class T>
void linear_of(const at::Tensor& out, const Linear& layer) {
  linear_into(result_data<T>(out), data_of<T>(*layer.x), data_of<T>(*layer.weight),
              data_of<T>(*layer.bias), layer.m, layer.weight->size(0), layer.weight->size(1));
}

void keep(float* to, const float* from, std::int64_t count) {
  std::memcpy(to, from, static_cast<std::size_t>(count) * sizeof(float));
}

}  // namespace

bool is_full_precision() {
  const auto precision =
      at::globalContext().float32Precision(at::Float32Backend::MKLDNN, at::Float32Op::MATMUL);
  return precision != at::Float32Precision::BF16 && precision != at::Float32Precision::TF32;
}

bool is_full_precision(Frame& frame) {
  if (!frame.full_precision) frame.full_precision = is_full_precision();
  return *frame.full_precision;
}

const at::Tensor* matrix(const Value& value, std::int64_t rank, const TorchCall& call,
                         const Frame& frame, Records records) {
  const at::Tensor* found =
      records == Records::kGradients ? recordable(value) : plain_tensor(value, call, frame);
  if (found == nullptr || found->dim() != rank || !found->is_contiguous()) return nullptr;
  const at::ScalarType dtype = found->scalar_type();
  const bool fits = (dtype == at::kFloat || dtype == at::kDouble) && found->numel() > 0 &&
                    found->numel() <= kMostWeights;
  return fits ? found : nullptr;
}

std::optional<Linear> read_linear(const TorchCall& call, Frame& frame, Records records) {
  const Value& first = argument(call, 0, frame);
  const at::Tensor* x =
      records == Records::kGradients ? recordable(first) : plain_tensor(first, call, frame);
  const at::Tensor* weight = matrix(argument(call, 1, frame), 2, call, frame, records);
  const at::Tensor* bias = matrix(argument(call, 2, frame), 1, call, frame, records);
  if (x == nullptr || weight == nullptr || bias == nullptr || !is_full_precision(frame))
    return std::nullopt;
  const at::ScalarType dtype = weight->scalar_type();
  const std::int64_t n = weight->size(0);
  const std::int64_t k = weight->size(1);
  const bool fits = (x->dim() == 2 || x->dim() == 3) && x->is_contiguous() && x->numel() > 0 &&
                    x->size(-1) == k && bias->size(0) == n && x->scalar_type() == dtype &&
                    bias->scalar_type() == dtype && k > 1;
  const std::int64_t m = fits ? x->numel() / k : 0;
  if (!fits || m * n > 4 * kMostElements) return std::nullopt;
  return Linear{x, weight, bias, m};
}

void compute_linear(const Linear& layer, const at::Tensor& out) {
  (out.scalar_type() == at::kFloat ? linear_of<float> : linear_of<double>)(out, layer);
}

std::optional<Cell> read_cell(const TorchCall& call, Frame& frame, const Value& state,
                              std::size_t weights, std::int64_t gates, Records records) {
  const auto at = [&](std::size_t k, std::int64_t rank) {
    return matrix(argument(call, k, frame), rank, call, frame, records);
  };
  Cell cell{at(0, 2),           matrix(state, 2, call, frame, records),
            at(weights, 2),     at(weights + 1, 2),
            at(weights + 2, 1), at(weights + 3, 1)};
  for (const at::Tensor* part : {cell.x, cell.h, cell.of_x, cell.of_h, cell.bias_x, cell.bias_h}) {
    if (part == nullptr || part->scalar_type() != at::kFloat) return std::nullopt;
  }
  cell.batch = cell.x->size(0);
  cell.hidden = cell.h->size(1);
  cell.width = gates * cell.hidden;
  const bool fits = cell.h->size(0) == cell.batch && cell.of_x->size(0) == cell.width &&
                    cell.of_h->size(0) == cell.width && cell.of_x->size(1) == cell.x->size(1) &&
                    cell.of_h->size(1) == cell.hidden && cell.bias_x->size(0) == cell.width &&
                    cell.bias_h->size(0) == cell.width && cell.hidden > 1 && cell.x->size(1) > 1 &&
                    cell.batch * cell.width <= kMostGates && is_full_precision(frame);
  return fits ? std::optional<Cell>(cell) : std::nullopt;
}

void fill_gates(const Cell& cell, Gates& gates) {
  linear_into(gates.of_x, data_of<float>(*cell.x), data_of<float>(*cell.of_x),
              data_of<float>(*cell.bias_x), cell.batch, cell.width, cell.x->size(1));
  linear_into(gates.of_h, data_of<float>(*cell.h), data_of<float>(*cell.of_h),
              data_of<float>(*cell.bias_h), cell.batch, cell.width, cell.hidden);
}

void CellKernels::sigmoid(float* data, std::int64_t count) {
  static const kernels::UnaryKernel kernel = kernels::unary_kernel("aten::sigmoid");
  rows_.run(kernel, at::kFloat, count, data, data);
}

void CellKernels::tanh(float* data, std::int64_t count) {
  static const kernels::UnaryKernel kernel = kernels::unary_kernel("aten::tanh");
  rows_.run(kernel, at::kFloat, count, data, data);
}

void CellKernels::tanh_all(const float* from, float* to, std::int64_t count) {
  static const kernels::UnaryKernel kernel = kernels::unary_kernel("aten::tanh");
  whole_.run(kernel, at::kFloat, count, from, to);
}

void compute_gru(const Cell& cell, const TorchCall& call, Frame& frame, float* next,
                 const GruRows* kept) {
  Gates gates;
  fill_gates(cell, gates);
  CellKernels pointwise(call, frame);
  const std::int64_t n = cell.hidden;
  for (std::int64_t row = 0; row < cell.batch; ++row) {
    float* of_x = gates.of_x + row * cell.width;
    float* of_h = gates.of_h + row * cell.width;
    apply<kernels::Add>(of_h, of_x, of_h, n);  // the reset gate
    pointwise.sigmoid(of_h, n);
    apply<kernels::Add>(of_h + n, of_x + n, of_h + n, n);  // the update gate
    pointwise.sigmoid(of_h + n, n);
    if (kept != nullptr) {
      keep(kept->reset + row * n, of_h, n);
      keep(kept->update + row * n, of_h + n, n);
      keep(kept->of_h + row * n, of_h + 2 * n, n);
    }
    apply<kernels::Mul>(of_h + 2 * n, of_h, of_h + 2 * n, n);
    apply<kernels::Add>(of_x + 2 * n, of_h + 2 * n, next + row * n, n);  // the new state
  }
  pointwise.tanh_all(next, next, cell.batch * n);
  if (kept != nullptr) keep(kept->fresh, next, cell.batch * n);
  for (std::int64_t row = 0; row < cell.batch; ++row) {
    const float* before = data_of<float>(*cell.h) + row * n;
    const float* update = gates.of_h + row * cell.width + n;
    float* rest = kept != nullptr ? kept->changed + row * n : gates.of_x;  // no longer needed
    apply<kernels::Sub>(before, next + row * n, rest, n);
    apply<kernels::Mul>(rest, update, gates.of_x, n);
    apply<kernels::Add>(gates.of_x, next + row * n, next + row * n, n);
  }
}

}  // namespace stator

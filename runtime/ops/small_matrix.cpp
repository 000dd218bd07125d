// Products of small matrices, and the cells of recurrent networks that are made of them.
#include <ATen/Context.h>

#include <cstring>
#include <unordered_map>

#include "kernels/iteration.h"
#include "kernels/matrix.h"
#include "kernels/pointwise.h"
#include "ops/small.h"

namespace stator {
namespace {

constexpr std::int64_t kMostWeights = std::int64_t{1} << 22;  // elements of a matrix of weights
constexpr std::int64_t kMostGates = 4096;

/// Are products of floats computed with floats? The caller may have allowed less precise ones. A
/// frame asks once, since torch looks it up in a table of strings.
bool is_full_precision(Frame& frame) {
  if (!frame.full_precision) {
    const auto precision =
        at::globalContext().float32Precision(at::Float32Backend::MKLDNN, at::Float32Op::MATMUL);
    frame.full_precision =
        precision != at::Float32Precision::BF16 && precision != at::Float32Precision::TF32;
  }
  return *frame.full_precision;
}

/// A matrix, or a row of one: contiguous, of a dtype that BLAS knows.
const at::Tensor* matrix(const Value& value, std::int64_t rank, const TorchCall& call,
                         const Frame& frame) {
  const at::Tensor* found = plain_tensor(value, call, frame);
  if (found == nullptr || found->dim() != rank || !found->is_contiguous()) return nullptr;
  const at::ScalarType dtype = found->scalar_type();
  const bool fits = (dtype == at::kFloat || dtype == at::kDouble) && found->numel() > 0 &&
                    found->numel() <= kMostWeights;
  return fits ? found : nullptr;
}

/// out[m, n] = bias[n] + x[m, k] * weight[n, k]^T
template <class T>
void linear_into(T* out, const T* x, const T* weight, const T* bias, std::int64_t m, std::int64_t n,
                 std::int64_t k) {
  const auto row = static_cast<std::size_t>(n) * sizeof(T);
  for (std::int64_t i = 0; i < m; ++i) std::memcpy(out + i * n, bias, row);
  kernels::add_linear(x, weight, out, m, n, k);
}

template <class T>
void linear_of(const at::Tensor& out, const at::Tensor& x, const at::Tensor& weight,
               const at::Tensor& bias, std::int64_t m) {
  linear_into(result_data<T>(out), data_of<T>(x), data_of<T>(weight), data_of<T>(bias), m,
              weight.size(0), weight.size(1));
}

/// aten::linear(x, weight, bias)
bool try_linear(const Step& step, const TorchCall& call, Frame& frame) {
  const at::Tensor* x = plain_tensor(argument(call, 0, frame), call, frame);
  const at::Tensor* weight = matrix(argument(call, 1, frame), 2, call, frame);
  const at::Tensor* bias = matrix(argument(call, 2, frame), 1, call, frame);
  if (x == nullptr || weight == nullptr || bias == nullptr || !is_full_precision(frame))
    return false;
  const at::ScalarType dtype = weight->scalar_type();
  const std::int64_t n = weight->size(0);
  const std::int64_t k = weight->size(1);
  const bool fits = (x->dim() == 2 || x->dim() == 3) && x->is_contiguous() && x->numel() > 0 &&
                    x->size(-1) == k && bias->size(0) == n && x->scalar_type() == dtype &&
                    bias->scalar_type() == dtype && k > 1;
  const std::int64_t m = fits ? x->numel() / k : 0;
  if (!fits || m * n > 4 * kMostElements) return false;
  c10::SmallVector<std::int64_t, 3> sizes(x->sizes().begin(), x->sizes().end());
  sizes.back() = n;
  at::Tensor out = result_of(sizes, dtype, call, frame);
  (dtype == at::kFloat ? linear_of<float> : linear_of<double>)(out, *x, *weight, *bias, m);
  frame[step.results[0]] = std::move(out);
  return true;
}

/// aten::mm(a, b), and aten::matmul of two matrices
bool try_mm(const Step& step, const TorchCall& call, Frame& frame) {
  const at::Tensor* a = matrix(argument(call, 0, frame), 2, call, frame);
  const at::Tensor* b = matrix(argument(call, 1, frame), 2, call, frame);
  if (a == nullptr || b == nullptr || a->scalar_type() != b->scalar_type()) return false;
  const std::int64_t m = a->size(0);
  const std::int64_t k = a->size(1);
  const std::int64_t n = b->size(1);
  if (b->size(0) != k || n < 2 || k < 2 || m * n > 4 * kMostElements || !is_full_precision(frame))
    return false;
  at::Tensor out = result_of({m, n}, a->scalar_type(), call, frame);
  if (a->scalar_type() == at::kFloat) {
    kernels::multiply(data_of<float>(*a), data_of<float>(*b), result_data<float>(out), m, n, k);
  } else {
    kernels::multiply(data_of<double>(*a), data_of<double>(*b), result_data<double>(out), m, n, k);
  }
  frame[step.results[0]] = std::move(out);
  return true;
}

/// The arguments of a recurrent cell.
struct Cell {
  const at::Tensor* x = nullptr;
  const at::Tensor* h = nullptr;
  const at::Tensor* of_x = nullptr;  // the weights
  const at::Tensor* of_h = nullptr;
  const at::Tensor* bias_x = nullptr;
  const at::Tensor* bias_h = nullptr;
  std::int64_t batch = 0;
  std::int64_t hidden = 0;
  std::int64_t width = 0;  // of all gates
};

/// The cell, if its tensors are small float matrices that fit each other. `h` is at `state`, the
/// weights begin at `weights`.
std::optional<Cell> read_cell(const TorchCall& call, Frame& frame, const Value& state,
                              std::size_t weights, std::int64_t gates) {
  const auto at = [&](std::size_t k, std::int64_t rank) {
    return matrix(argument(call, k, frame), rank, call, frame);
  };
  Cell cell{at(0, 2),           matrix(state, 2, call, frame),
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

/// What the weights make of the input and of the state: all gates of all rows.
struct Gates {
  alignas(64) float of_x[kMostGates];
  alignas(64) float of_h[kMostGates];
};

void fill_gates(const Cell& cell, Gates& gates) {
  linear_into(gates.of_x, data_of<float>(*cell.x), data_of<float>(*cell.of_x),
              data_of<float>(*cell.bias_x), cell.batch, cell.width, cell.x->size(1));
  linear_into(gates.of_h, data_of<float>(*cell.h), data_of<float>(*cell.of_h),
              data_of<float>(*cell.bias_h), cell.batch, cell.width, cell.hidden);
}

/// ATen's pointwise kernels for one step of a cell. A gate is a part of each row, so it is computed
/// row by row, as ATen does.
class CellKernels {
 public:
  CellKernels(const TorchCall& call, Frame& frame)
      : rows_(iteration_of(call, frame, 0)), whole_(iteration_of(call, frame, 1)) {}

  void sigmoid(float* data, std::int64_t count) {
    static const kernels::UnaryKernel kernel = kernels::unary_kernel("aten::sigmoid");
    rows_.run(kernel, at::kFloat, count, data, data);
  }
  void tanh(float* data, std::int64_t count) {
    static const kernels::UnaryKernel kernel = kernels::unary_kernel("aten::tanh");
    rows_.run(kernel, at::kFloat, count, data, data);
  }
  /// Of a whole tensor.
  void tanh_all(const float* from, float* to, std::int64_t count) {
    static const kernels::UnaryKernel kernel = kernels::unary_kernel("aten::tanh");
    whole_.run(kernel, at::kFloat, count, from, to);
  }

 private:
  kernels::Iteration& rows_;
  kernels::Iteration& whole_;
};

template <class Operation>
void apply(const float* a, const float* b, float* out, std::int64_t count) {
  kernels::binary<Operation, float>({a}, {b}, out, count);
}

/// aten::gru_cell(x, h, w_ih, w_hh, b_ih, b_hh)
bool try_gru_cell(const Step& step, const TorchCall& call, Frame& frame) {
  const auto cell = read_cell(call, frame, argument(call, 1, frame), 2, 3);
  if (!cell) return false;
  Gates gates;
  fill_gates(*cell, gates);
  CellKernels pointwise(call, frame);
  const std::int64_t n = cell->hidden;
  at::Tensor out = result_of({cell->batch, n}, at::kFloat, call, frame);
  auto* next = result_data<float>(out);
  for (std::int64_t row = 0; row < cell->batch; ++row) {
    float* of_x = gates.of_x + row * cell->width;
    float* of_h = gates.of_h + row * cell->width;
    apply<kernels::Add>(of_h, of_x, of_h, n);  // the reset gate
    pointwise.sigmoid(of_h, n);
    apply<kernels::Add>(of_h + n, of_x + n, of_h + n, n);  // the update gate
    pointwise.sigmoid(of_h + n, n);
    apply<kernels::Mul>(of_h + 2 * n, of_h, of_h + 2 * n, n);
    apply<kernels::Add>(of_x + 2 * n, of_h + 2 * n, next + row * n, n);  // the new state
  }
  pointwise.tanh_all(next, next, cell->batch * n);
  for (std::int64_t row = 0; row < cell->batch; ++row) {
    const float* before = data_of<float>(*cell->h) + row * n;
    const float* update = gates.of_h + row * cell->width + n;
    float* rest = gates.of_x;  // no longer needed
    apply<kernels::Sub>(before, next + row * n, rest, n);
    apply<kernels::Mul>(rest, update, rest, n);
    apply<kernels::Add>(rest, next + row * n, next + row * n, n);
  }
  frame[step.results[0]] = std::move(out);
  return true;
}

/// The two tensors that an LSTM cell is given as its state.
const Value* state_part(const TorchArgument& given, std::size_t k, const Frame& frame) {
  if (given.is_literal_list) return given.items.size() == 2 ? &frame.read(given.items[k]) : nullptr;
  const Value& list = frame.read(given.operand);
  return list.isList() && items_of(list).size() == 2 ? &items_of(list)[k] : nullptr;
}

/// aten::lstm_cell(x, hx, w_ih, w_hh, b_ih, b_hh)
bool try_lstm_cell(const Step& step, const TorchCall& call, Frame& frame) {
  const Value* hidden = state_part(call.arguments[1], 0, frame);
  const Value* memory = state_part(call.arguments[1], 1, frame);
  if (hidden == nullptr || memory == nullptr) return false;
  const auto cell = read_cell(call, frame, *hidden, 2, 4);
  const at::Tensor* c = matrix(*memory, 2, call, frame);
  if (!cell || c == nullptr || c->scalar_type() != at::kFloat || c->sizes() != cell->h->sizes())
    return false;
  Gates gates;
  fill_gates(*cell, gates);
  apply<kernels::Add>(gates.of_h, gates.of_x, gates.of_h, cell->batch * cell->width);
  CellKernels pointwise(call, frame);
  const std::int64_t n = cell->hidden;
  at::Tensor next_h = result_of({cell->batch, n}, at::kFloat, call, frame, 0);
  at::Tensor next_c = result_of({cell->batch, n}, at::kFloat, call, frame, 1);
  auto* new_h = result_data<float>(next_h);
  auto* new_c = result_data<float>(next_c);
  for (std::int64_t row = 0; row < cell->batch; ++row) {
    float* gate = gates.of_h + row * cell->width;  // input, forget, cell, output
    float* kept = new_c + row * n;
    pointwise.sigmoid(gate, n);
    pointwise.sigmoid(gate + n, n);
    pointwise.tanh(gate + 2 * n, n);
    pointwise.sigmoid(gate + 3 * n, n);
    apply<kernels::Mul>(gate + n, data_of<float>(*c) + row * n, kept, n);
    apply<kernels::Mul>(gate, gate + 2 * n, gate, n);
    apply<kernels::Add>(kept, gate, kept, n);
  }
  pointwise.tanh_all(new_c, new_h, cell->batch * n);
  for (std::int64_t row = 0; row < cell->batch; ++row) {
    const float* output = gates.of_h + row * cell->width + 3 * n;
    apply<kernels::Mul>(output, new_h + row * n, new_h + row * n, n);
  }
  frame[step.results[0]] = std::move(next_h);
  frame[step.results[1]] = std::move(next_c);
  return true;
}

bool can_multiply(const TorchCall& /*call*/, const std::vector<Value>& /*constants*/) {
  return kernels::has_blas();
}

bool can_step(const TorchCall& /*call*/, const std::vector<Value>& /*constants*/) {
  return kernels::has_blas() && kernels::unary_kernel("aten::tanh") != nullptr;
}

}  // namespace

const SmallRow* matrix_row(const std::string& name) {
  static const std::unordered_map<std::string, SmallRow> rows = {
      {"aten::linear", {run_small<try_linear>, 3, 1, can_multiply}},
      {"aten::mm", {run_small<try_mm>, 2, 1, can_multiply}},
      {"aten::matmul", {run_small<try_mm>, 2, 1, can_multiply}},
      {"aten::gru_cell", {run_small<try_gru_cell>, 6, 1, can_step}},
      {"aten::lstm_cell", {run_small<try_lstm_cell>, 6, 2, can_step}},
  };
  const auto found = rows.find(name);
  return found == rows.end() ? nullptr : &found->second;
}

}  // namespace stator

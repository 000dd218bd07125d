// Products of small matrices, and the cells of recurrent networks that are made of them.
#include <unordered_map>

#include "kernels/matrix.h"
#include "ops/cells.h"

namespace stator {
namespace {

/// aten::linear(x, weight, bias)
bool try_linear(const Step& step, const TorchCall& call, Frame& frame) {
  const auto given = read_linear(call, frame, Records::kNothing);
  if (!given) return false;
  c10::SmallVector<std::int64_t, 3> sizes(given->x->sizes().begin(), given->x->sizes().end());
  sizes.back() = given->weight->size(0);
  at::Tensor out = result_of(sizes, given->weight->scalar_type(), call, frame);
  compute_linear(*given, out);
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

/// aten::gru_cell(x, h, w_ih, w_hh, b_ih, b_hh)
bool try_gru_cell(const Step& step, const TorchCall& call, Frame& frame) {
  const auto cell = read_cell(call, frame, argument(call, 1, frame), 2, 3);
  if (!cell) return false;
  at::Tensor out = result_of({cell->batch, cell->hidden}, at::kFloat, call, frame);
  compute_gru(*cell, call, frame, result_data<float>(out), nullptr);
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

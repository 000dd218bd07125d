// Linear layers and GRU cells on small tensors, recorded for autograd.
#include <ATen/TensorOperators.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/linear.h>
#include <ATen/ops/mm.h>
#include <ATen/ops/sigmoid_backward.h>
#include <ATen/ops/t.h>
#include <ATen/ops/tanh_backward.h>
#include <torch/csrc/autograd/saved_variable.h>

#include <algorithm>
#include <array>
#include <optional>

#include "kernels/matrix.h"
#include "ops/cells.h"
#include "ops/recorded.h"

namespace stator {
namespace {

using torch::autograd::SavedVariable;
using torch::autograd::variable_list;

/// Is the gradient of a product with this matrix computed as for one that is stored by columns?
bool is_by_columns(const at::Tensor& matrix) {
  return matrix.stride(0) == 1 && matrix.stride(1) == matrix.size(0);
}

/// A matrix that BLAS can read as it is: its rows follow each other.
bool is_by_rows(const at::Tensor& matrix) {
  return matrix.dim() == 2 && is_plain(*matrix.unsafeGetTensorImpl()) && matrix.stride(1) == 1 &&
         matrix.stride(0) == matrix.size(1) && matrix.size(0) > 0 && matrix.size(1) > 1;
}

/// May the product of two matrices be left to BLAS?
bool may_multiply(const at::Tensor& a, const at::Tensor& b) {
  const at::ScalarType dtype = a.scalar_type();
  return kernels::has_blas() && (dtype == at::kFloat || dtype == at::kDouble) &&
         b.scalar_type() == dtype && is_by_rows(a) && is_by_rows(b) && is_full_precision();
}

/// a.mm(b) in a backward pass.
at::Tensor product(const at::Tensor& a, const at::Tensor& b, bool is_plain_pass) {
  if (!is_plain_pass || !may_multiply(a, b) || b.size(0) != a.size(1)) return a.mm(b);
  at::Tensor out = new_result({a.size(0), b.size(1)}, a.scalar_type());
  const auto fill = [&]<class T>(T* to) {
    kernels::multiply(data_of<T>(a), data_of<T>(b), to, a.size(0), b.size(1), a.size(1));
  };
  if (a.scalar_type() == at::kFloat) {
    fill(result_data<float>(out));
  } else {
    fill(result_data<double>(out));
  }
  return out;
}

/// a.t().mm(b) in a backward pass.
at::Tensor turned_product(const at::Tensor& a, const at::Tensor& b, bool is_plain_pass) {
  if (!is_plain_pass || !may_multiply(a, b) || b.size(0) != a.size(0)) return a.t().mm(b);
  at::Tensor out = new_result({a.size(1), b.size(1)}, a.scalar_type());
  const auto fill = [&]<class T>(T* to) {
    kernels::multiply_turned(data_of<T>(a), data_of<T>(b), to, a.size(1), b.size(1), a.size(0));
  };
  if (a.scalar_type() == at::kFloat) {
    fill(result_data<float>(out));
  } else {
    fill(result_data<double>(out));
  }
  return out;
}

/// Is the gradient one number for all elements, as that of a sum is?
bool is_one_number(const at::Tensor& gradient) {
  const at::ScalarType dtype = gradient.scalar_type();
  return gradient.dim() == 2 && gradient.stride(0) == 0 && gradient.stride(1) == 0 &&
         gradient.size(0) > 1 && gradient.size(1) > 1 &&
         (dtype == at::kFloat || dtype == at::kDouble);
}

/// A matrix of that number: the copy that `mm` would make of the gradient, or of its transpose.
at::Tensor copies_of(const at::Tensor& number, std::int64_t rows, std::int64_t columns) {
  at::Tensor out = new_result({rows, columns}, number.scalar_type());
  const auto fill = [&]<class T>(T* to) { std::fill_n(to, rows * columns, *data_of<T>(number)); };
  if (number.scalar_type() == at::kFloat) {
    fill(result_data<float>(out));
  } else {
    fill(result_data<double>(out));
  }
  return out;
}

[[noreturn]] void refuse_compiled_autograd(const char* what) {
  C10_THROW_ERROR(NotImplementedError,
                  std::string("compiled autograd cannot take the gradient of ") + what +
                      " that Stator has run; give to_static backend=\"interpreter\"");
}

/// The gradient of a linear layer, which eager code computes by two nodes: of
/// addmm(bias, x, weight.t()), and of weight.t().
class LinearBackward : public torch::autograd::Node {
 public:
  enum Edge : std::uint8_t { kBias, kX, kWeight };

  /// The name of eager code's last node, which tensors print.
  std::string name() const override { return "AddmmBackward0"; }

  void save(const Linear& layer) {
    x_is_by_columns_ = is_by_columns(*layer.x);
    if (should_compute_output(kWeight)) x_ = SavedVariable(*layer.x, false);
    if (should_compute_output(kX)) weight_ = SavedVariable(*layer.weight, false);
  }

  void release_variables() override {
    const std::lock_guard<std::mutex> lock(mutex_);
    x_.reset_data();
    weight_.reset_data();
  }

  void compiled_args(torch::dynamo::autograd::CompiledNodeArgs& /*args*/) const override {
    refuse_compiled_autograd("a linear layer");
  }

  variable_list apply(variable_list&& gradients) override {
    const std::lock_guard<std::mutex> lock(mutex_);
    const at::Tensor& gradient = gradients[0];
    if (!gradient.defined()) return variable_list(num_outputs());
    const at::Tensor x = x_.unpack();
    const at::Tensor weight = weight_.unpack();
    std::optional<c10::impl::ExcludeDispatchKeyGuard> below;
    const bool is_plain_pass = is_plain_backward(gradient);
    if (is_plain_pass) below.emplace(c10::autograd_dispatch_keyset);
    variable_list made(num_outputs());
    if (task_should_compute_output(kBias)) made[kBias] = gradient;  // autograd adds up its rows
    const bool is_one = is_plain_pass && is_one_number(gradient);
    if (task_should_compute_output(kX)) made[kX] = of_x(gradient, weight, is_plain_pass, is_one);
    if (task_should_compute_output(kWeight)) {
      made[kWeight] =
          is_one ? product(copies_of(gradient, gradient.size(1), gradient.size(0)), x, true)
                 : turned_product(gradient, x, is_plain_pass);
    }
    return made;
  }

 private:
  at::Tensor of_x(const at::Tensor& gradient, const at::Tensor& weight, bool is_plain_pass,
                  bool is_one) const {
    if (x_is_by_columns_) return weight.t().mm(gradient.t()).t();
    if (!is_one) return product(gradient, weight, is_plain_pass);
    return product(copies_of(gradient, gradient.size(0), gradient.size(1)), weight, true);
  }

  SavedVariable x_;
  SavedVariable weight_;
  bool x_is_by_columns_ = false;
};

/// May the call be recorded as one node? A program that takes gradients may take them of gradients,
/// whose sums are in the order of eager code only with eager code's nodes.
bool may_join_nodes(const Frame& frame) { return !frame.run->plan->starts_gradients; }

/// aten::linear(x, weight, bias)
bool record_linear(const Step& step, const TorchCall& call, Frame& frame) {
  if (!may_join_nodes(frame)) return false;
  const auto given = read_linear(call, frame, Records::kGradients);
  if (!given || given->x->dim() != 2) return false;
  const auto& [x, weight, bias, m] = *given;
  if (weight->stride(1) != 1 || weight->stride(0) != weight->size(1)) return false;
  if (!x->requires_grad() && !weight->requires_grad() && !bias->requires_grad()) return false;
  at::Tensor out = new_result({m, weight->size(0)}, weight->scalar_type());
  compute_linear(*given, out);
  const auto node = make_node<LinearBackward>(*bias, *x, *weight);
  node->save(*given);
  torch::autograd::set_history(out, node);
  frame[step.results[0]] = std::move(out);
  return true;
}

/// The gradient of a GRU cell, which eager code computes by 16 nodes.
///
/// The edges are in the order in which those give their gradients, so that tensors which are read
/// elsewhere too add theirs up in the same order. The state is read twice.
class GruCellBackward : public torch::autograd::Node {
 public:
  enum Edge : std::uint8_t { kState, kBiasH, kStateByWeight, kWeightH, kBiasX, kX, kWeightX };
  enum Kept : std::uint8_t { kReset, kUpdate, kOfH, kChanged, kKeptRows };

  /// The name of eager code's last node, which tensors print.
  std::string name() const override { return "AddBackward0"; }

  void save(const Cell& cell, const at::Tensor& rows, const at::Tensor& fresh) {
    rows_ = SavedVariable(rows, false);
    fresh_ = SavedVariable(fresh, false);
    const std::array<const at::Tensor*, 6> inputs{cell.x,    cell.h,      cell.of_x,
                                                  cell.of_h, cell.bias_x, cell.bias_h};
    for (std::size_t k = 0; k < inputs.size(); ++k) inputs_[k] = SavedVariable(*inputs[k], false);
  }

  void release_variables() override {
    const std::lock_guard<std::mutex> lock(mutex_);
    rows_.reset_data();
    fresh_.reset_data();
    for (SavedVariable& saved : inputs_) saved.reset_data();
  }

  void compiled_args(torch::dynamo::autograd::CompiledNodeArgs& /*args*/) const override {
    refuse_compiled_autograd("a GRU cell");
  }

  variable_list apply(variable_list&& gradients) override {
    const std::lock_guard<std::mutex> lock(mutex_);
    const at::Tensor& gradient = gradients[0];
    if (!gradient.defined()) return variable_list(num_outputs());
    const at::Tensor rows = rows_.unpack();
    const at::Tensor fresh = fresh_.unpack();
    if (is_plain_backward(gradient)) {
      const c10::impl::ExcludeDispatchKeyGuard below(c10::autograd_dispatch_keyset);
      return with_gates(small_gates(gradient.contiguous(), rows, fresh), true);
    }
    return with_gates(any_gates(gradient), false);
  }

 private:
  enum Input : std::uint8_t { kInX, kInH, kInOfX, kInOfH, kInBiasX, kInBiasH };

  /// The gradients of the state, read directly, and of all gates.
  struct Gates {
    at::Tensor state;
    at::Tensor of_h;
    at::Tensor of_x;
  };

  static Gates small_gates(const at::Tensor& gradient, const at::Tensor& rows,
                           const at::Tensor& fresh);
  Gates any_gates(const at::Tensor& gradient) const;

  /// What a saved input is needed for is what eager code would have saved it for.
  at::Tensor input(Input which, Edge edge) const {
    return should_compute_output(edge) ? inputs_[which].unpack() : at::Tensor();
  }

  variable_list with_gates(const Gates& gates, bool is_plain_pass) const {
    const at::Tensor h = input(kInH, kWeightH);
    const at::Tensor of_h = input(kInOfH, kStateByWeight);
    const at::Tensor x = input(kInX, kWeightX);
    const at::Tensor of_x = input(kInOfX, kX);
    variable_list made(num_outputs());
    const auto wanted = [&](Edge edge) { return task_should_compute_output(edge); };
    if (wanted(kState)) made[kState] = gates.state;
    if (wanted(kBiasH)) made[kBiasH] = gates.of_h;  // autograd adds up its rows
    if (wanted(kStateByWeight)) made[kStateByWeight] = product(gates.of_h, of_h, is_plain_pass);
    if (wanted(kWeightH)) made[kWeightH] = turned_product(gates.of_h, h, is_plain_pass);
    if (wanted(kBiasX)) made[kBiasX] = gates.of_x;
    if (wanted(kX)) made[kX] = product(gates.of_x, of_x, is_plain_pass);
    if (wanted(kWeightX)) made[kWeightX] = turned_product(gates.of_x, x, is_plain_pass);
    return made;
  }

  SavedVariable rows_;   // of Kept: what the forward pass has computed
  SavedVariable fresh_;  // the new state, before the update gate
  std::array<SavedVariable, 6> inputs_;
};

GruCellBackward::Gates GruCellBackward::small_gates(const at::Tensor& gradient,
                                                    const at::Tensor& rows,
                                                    const at::Tensor& fresh) {
  const std::int64_t batch = rows.size(1);
  const std::int64_t n = rows.size(2);
  const auto kept = [&](Kept which) { return data_of<float>(rows) + which * batch * n; };
  Gates made{new_result({batch, n}, at::kFloat), new_result({batch, 3 * n}, at::kFloat),
             new_result({batch, 3 * n}, at::kFloat)};
  const auto* given = data_of<float>(gradient);
  auto* state = result_data<float>(made.state);
  at::Tensor of_fresh = new_result({batch, n}, at::kFloat);
  auto* rest = result_data<float>(of_fresh);
  for (std::int64_t k = 0; k < batch * n; ++k) {
    state[k] = given[k] * kept(kUpdate)[k];
    rest[k] = given[k] - state[k];
  }
  of_fresh = at::tanh_backward(of_fresh, fresh);
  const auto* inner = data_of<float>(of_fresh);
  const auto sigmoid_backward = [](float a, float b) { return a * (1.0F - b) * b; };
  for (std::int64_t row = 0; row < batch; ++row) {
    float* of_h = result_data<float>(made.of_h) + row * 3 * n;
    float* of_x = result_data<float>(made.of_x) + row * 3 * n;
    for (std::int64_t k = row * n, to = 0; to < n; ++k, ++to) {
      of_h[to] = of_x[to] = sigmoid_backward(inner[k] * kept(kOfH)[k], kept(kReset)[k]);
      of_h[n + to] = of_x[n + to] =
          sigmoid_backward(given[k] * kept(kChanged)[k], kept(kUpdate)[k]);
      of_h[2 * n + to] = inner[k] * kept(kReset)[k];
      of_x[2 * n + to] = inner[k];
    }
  }
  return made;
}

/// The same by torch's ops, from the inputs: whatever watches or transforms the pass sees them.
GruCellBackward::Gates GruCellBackward::any_gates(const at::Tensor& gradient) const {
  // what is computed again is what the forward pass has computed, without autocast
  const c10::impl::ExcludeDispatchKeyGuard exact(c10::autocast_dispatch_keyset);
  const at::Tensor h = inputs_[kInH].unpack();
  const auto of_x =
      at::linear(inputs_[kInX].unpack(), inputs_[kInOfX].unpack(), inputs_[kInBiasX].unpack())
          .unsafe_chunk(3, 1);
  const auto of_h =
      at::linear(h, inputs_[kInOfH].unpack(), inputs_[kInBiasH].unpack()).unsafe_chunk(3, 1);
  // in place, as in eager code: the bits of a sigmoid depend on where the rows are
  const at::Tensor reset = at::Tensor(of_h[0]).add_(of_x[0]).sigmoid_();
  const at::Tensor update = at::Tensor(of_h[1]).add_(of_x[1]).sigmoid_();
  const at::Tensor fresh = (of_x[2] + of_h[2] * reset).tanh();
  const at::Tensor state = gradient * update;
  const at::Tensor inner = at::tanh_backward(gradient - state, fresh);
  const at::Tensor of_reset = at::sigmoid_backward(inner * of_h[2], reset);
  const at::Tensor of_update = at::sigmoid_backward(gradient * (h - fresh), update);
  return {state, at::cat({of_reset, of_update, inner * reset}, 1),
          at::cat({of_reset, of_update, inner}, 1)};
}

/// aten::gru_cell(x, h, w_ih, w_hh, b_ih, b_hh)
bool record_gru_cell(const Step& step, const TorchCall& call, Frame& frame) {
  if (!may_join_nodes(frame)) return false;
  const auto cell = read_cell(call, frame, argument(call, 1, frame), 2, 3, Records::kGradients);
  if (!cell || is_by_columns(*cell->x) || is_by_columns(*cell->h)) return false;
  const auto node = make_node<GruCellBackward>(*cell->h, *cell->bias_h, *cell->h, *cell->of_h,
                                               *cell->bias_x, *cell->x, *cell->of_x);
  if (std::ranges::none_of(node->next_edges(), [](const auto& edge) { return edge.is_valid(); }))
    return false;
  at::Tensor out = new_result({cell->batch, cell->hidden}, at::kFloat);
  const at::Tensor fresh = new_result({cell->batch, cell->hidden}, at::kFloat);
  const at::Tensor kept =
      new_result({GruCellBackward::kKeptRows, cell->batch, cell->hidden}, at::kFloat);
  const std::int64_t part = cell->batch * cell->hidden;
  auto* data = result_data<float>(kept);
  const GruRows rows{data, data + part, data + 2 * part, result_data<float>(fresh),
                     data + 3 * part};
  compute_gru(*cell, call, frame, result_data<float>(out), &rows);
  node->save(*cell, kept, fresh);
  torch::autograd::set_history(out, node);
  frame[step.results[0]] = std::move(out);
  return true;
}

}  // namespace

Attempt recorded_matrix(const std::string& name) {
  if (name == "aten::linear") return record_linear;
  if (name == "aten::gru_cell") return record_gru_cell;
  return nullptr;
}

}  // namespace stator

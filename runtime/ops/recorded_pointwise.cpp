// Pointwise ops on small tensors, recorded for autograd.
#include <torch/csrc/autograd/generated/Functions.h>

#include <unordered_map>

#include "kernels/iteration.h"
#include "kernels/pointwise.h"
#include "ops/recorded.h"

namespace stator {
namespace {

using torch::autograd::SavedVariable;
using torch::autograd::variable_list;
namespace generated = torch::autograd::generated;

/// a and b element by element; b is of the sizes of a, or one number.
template <class Operation>
at::Tensor combined(const at::Tensor& a, const at::Tensor& b) {
  at::Tensor out = new_result(a.sizes(), a.scalar_type());
  const auto fill = [&]<class T>(T* to) {
    const auto laid = b.dim() == 0 ? kernels::Laid::kOne : kernels::Laid::kAlong;
    // a number beside a number is no special case of the loop
    if (a.dim() == 0) {
      *to = Operation::apply(*data_of<T>(a), *data_of<T>(b));
    } else {
      kernels::binary<Operation, T>({data_of<T>(a)}, {data_of<T>(b), laid, 0}, to, a.numel());
    }
  };
  if (a.scalar_type() == at::kFloat) {
    fill(result_data<float>(out));
  } else {
    fill(result_data<double>(out));
  }
  return out;
}

/// May `combined` read b beside a?
bool fits_beside(const at::Tensor& a, const at::Tensor& b) {
  return b.defined() && is_plain(*b.unsafeGetTensorImpl()) && b.scalar_type() == a.scalar_type() &&
         (b.dim() == 0 || (b.is_contiguous() && b.sizes() == a.sizes()));
}

struct Add : generated::AddBackward0 {
  static constexpr auto kName = "aten::add.Tensor";
  using Operation = kernels::Add;
  variable_list apply(variable_list&& gradients) override {
    if (!is_small_backward(gradients[0])) return AddBackward0::apply(std::move(gradients));
    variable_list made(2);
    for (std::size_t k = 0; k < 2; ++k)
      if (task_should_compute_output(k)) made[k] = gradients[0];
    return made;
  }
  void save(const at::Tensor& /*a*/, const at::Tensor& /*b*/) { alpha = 1; }
};

struct Sub : generated::SubBackward0 {
  static constexpr auto kName = "aten::sub.Tensor";
  using Operation = kernels::Sub;
  variable_list apply(variable_list&& gradients) override {
    // the second operand's gradient is torch's to negate
    if (!is_small_backward(gradients[0]) || task_should_compute_output(1))
      return SubBackward0::apply(std::move(gradients));
    variable_list made(2);
    if (task_should_compute_output(0)) made[0] = gradients[0];
    return made;
  }
  void save(const at::Tensor& /*a*/, const at::Tensor& /*b*/) { alpha = 1; }
};

struct Mul : generated::MulBackward0 {
  static constexpr auto kName = "aten::mul.Tensor";
  using Operation = kernels::Mul;
  variable_list apply(variable_list&& gradients) override {
    const at::Tensor& gradient = gradients[0];
    if (!is_small_backward(gradient)) return MulBackward0::apply(std::move(gradients));
    const std::lock_guard<std::mutex> lock(mutex_);
    const std::array<at::Tensor, 2> factors{other_.unpack(), self_.unpack()};
    variable_list made(2);
    for (std::size_t k = 0; k < 2; ++k) {
      if (!task_should_compute_output(k)) continue;
      made[k] = fits_beside(gradient, factors[k]) ? combined<kernels::Mul>(gradient, factors[k])
                                                  : gradient.mul(factors[k]);
    }
    return made;
  }
  void save(const at::Tensor& a, const at::Tensor& b) {
    if (should_compute_output(1)) self_ = SavedVariable(a, false);
    if (should_compute_output(0)) other_ = SavedVariable(b, false);
  }
};

/// A binary op whose second operand is a number, or a tensor of the same sizes.
template <class Node>
bool record_binary(const Step& step, const TorchCall& call, Frame& frame) {
  const at::Tensor* a = small_recordable(argument(call, 0, frame));
  if (a == nullptr) return false;
  const at::Tensor* b =
      call.cast_number ? &call.cast_number->toTensor() : small_recordable(argument(call, 1, frame));
  if (b == nullptr || b->scalar_type() != a->scalar_type()) return false;
  if (!call.cast_number && b->sizes() != a->sizes()) return false;
  if (!a->requires_grad() && !b->requires_grad()) return false;
  at::Tensor out = combined<typename Node::Operation>(*a, *b);
  const auto node = make_node<Node>(*a, *b);
  node->self_scalar_type = a->scalar_type();
  node->other_scalar_type = b->scalar_type();
  node->save(*a, *b);
  torch::autograd::set_history(out, node);
  frame[step.results[0]] = std::move(out);
  return true;
}

/// threshold_backward: the gradient, but zero where the result is not above zero. Where the result
/// is NaN the gradient stays.
template <class T>
void pass_above_zero(const at::Tensor& gradient, const at::Tensor& result, const at::Tensor& out) {
  const T* given = data_of<T>(gradient);
  const T* chosen = data_of<T>(result);
  T* made = result_data<T>(out);
  const std::int64_t count = gradient.numel();
  for (std::int64_t k = 0; k < count; ++k) made[k] = chosen[k] <= T(0) ? T(0) : given[k];
}

struct Relu : generated::ReluBackward0 {
  static void compute(const TorchCall& /*call*/, Frame& /*frame*/, const at::Tensor& x,
                      const at::Tensor& out) {
    if (x.scalar_type() == at::kFloat) {
      kernels::unary<kernels::Relu>(data_of<float>(x), result_data<float>(out), x.numel());
    } else {
      kernels::unary<kernels::Relu>(data_of<double>(x), result_data<double>(out), x.numel());
    }
  }
  variable_list apply(variable_list&& gradients) override {
    const at::Tensor& gradient = gradients[0];
    if (!is_small_backward(gradient)) return ReluBackward0::apply(std::move(gradients));
    const std::lock_guard<std::mutex> lock(mutex_);
    const at::Tensor result = result_.unpack(getptr());
    if (!task_should_compute_output(0)) return variable_list(1);
    at::Tensor made = new_result(gradient.sizes(), gradient.scalar_type());
    (gradient.scalar_type() == at::kFloat ? pass_above_zero<float>
                                          : pass_above_zero<double>)(gradient, result, made);
    return {made};
  }
};

/// An op whose kernel is ATen's.
template <class Base>
struct ByIteration : Base {
  static void compute(const TorchCall& call, Frame& frame, const at::Tensor& x,
                      const at::Tensor& out) {
    iteration_of(call, frame)
        .run(call.kernel, x.scalar_type(), x.numel(), x.const_data_ptr(), result_data<void>(out));
  }
};

/// An op of one tensor whose gradient is computed from its result.
template <class Node>
bool record_unary(const Step& step, const TorchCall& call, Frame& frame) {
  const at::Tensor* x = small_recordable(argument(call, 0, frame));
  if (x == nullptr || !x->requires_grad()) return false;
  at::Tensor out = new_result(x->sizes(), x->scalar_type());
  Node::compute(call, frame, *x, out);
  const auto node = make_node<Below<Node>>(*x);
  torch::autograd::set_history(out, node);
  node->result_ = SavedVariable(out, true);
  frame[step.results[0]] = std::move(out);
  return true;
}

}  // namespace

Attempt recorded_pointwise(const std::string& name) {
  static const std::unordered_map<std::string, Attempt> attempts = {
      {Add::kName, record_binary<Add>},
      {Sub::kName, record_binary<Sub>},
      {Mul::kName, record_binary<Mul>},
      {"aten::relu", record_unary<Relu>},
      {"aten::tanh", record_unary<ByIteration<generated::TanhBackward0>>},
      {"aten::sigmoid", record_unary<ByIteration<generated::SigmoidBackward0>>},
      {"aten::exp", record_unary<ByIteration<generated::ExpBackward0>>},
  };
  const auto found = attempts.find(name);
  return found == attempts.end() ? nullptr : found->second;
}

}  // namespace stator

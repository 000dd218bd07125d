#include "ops/unboxed.h"

#include <ATen/ops/abs_ops.h>
#include <ATen/ops/adaptive_avg_pool2d_ops.h>
#include <ATen/ops/add_ops.h>
#include <ATen/ops/addmm_ops.h>
#include <ATen/ops/all_ops.h>
#include <ATen/ops/amax_ops.h>
#include <ATen/ops/amin_ops.h>
#include <ATen/ops/any_ops.h>
#include <ATen/ops/argmax_ops.h>
#include <ATen/ops/baddbmm_ops.h>
#include <ATen/ops/batch_norm_ops.h>
#include <ATen/ops/bmm_ops.h>
#include <ATen/ops/cat_ops.h>
#include <ATen/ops/chunk_ops.h>
#include <ATen/ops/clamp_max_ops.h>
#include <ATen/ops/clamp_min_ops.h>
#include <ATen/ops/clamp_ops.h>
#include <ATen/ops/conv2d_ops.h>
#include <ATen/ops/cos_ops.h>
#include <ATen/ops/cross_entropy_loss_ops.h>
#include <ATen/ops/cumsum_ops.h>
#include <ATen/ops/div_ops.h>
#include <ATen/ops/dropout_ops.h>
#include <ATen/ops/elu_ops.h>
#include <ATen/ops/embedding_ops.h>
#include <ATen/ops/eq_ops.h>
#include <ATen/ops/erf_ops.h>
#include <ATen/ops/exp_ops.h>
#include <ATen/ops/expand_ops.h>
#include <ATen/ops/flatten_ops.h>
#include <ATen/ops/gather_ops.h>
#include <ATen/ops/ge_ops.h>
#include <ATen/ops/gelu_ops.h>
#include <ATen/ops/gru_cell_ops.h>
#include <ATen/ops/gt_ops.h>
#include <ATen/ops/index_select_ops.h>
#include <ATen/ops/layer_norm_ops.h>
#include <ATen/ops/le_ops.h>
#include <ATen/ops/leaky_relu_ops.h>
#include <ATen/ops/linear_ops.h>
#include <ATen/ops/log_ops.h>
#include <ATen/ops/log_softmax_ops.h>
#include <ATen/ops/lt_ops.h>
#include <ATen/ops/masked_fill_ops.h>
#include <ATen/ops/matmul_ops.h>
#include <ATen/ops/max_ops.h>
#include <ATen/ops/max_pool2d_ops.h>
#include <ATen/ops/maximum_ops.h>
#include <ATen/ops/mean_ops.h>
#include <ATen/ops/min_ops.h>
#include <ATen/ops/minimum_ops.h>
#include <ATen/ops/mm_ops.h>
#include <ATen/ops/mse_loss_ops.h>
#include <ATen/ops/mul_ops.h>
#include <ATen/ops/ne_ops.h>
#include <ATen/ops/neg_ops.h>
#include <ATen/ops/permute_ops.h>
#include <ATen/ops/pow_ops.h>
#include <ATen/ops/reciprocal_ops.h>
#include <ATen/ops/relu_ops.h>
#include <ATen/ops/reshape_ops.h>
#include <ATen/ops/rsqrt_ops.h>
#include <ATen/ops/scaled_dot_product_attention_ops.h>
#include <ATen/ops/select_ops.h>
#include <ATen/ops/sigmoid_ops.h>
#include <ATen/ops/silu_ops.h>
#include <ATen/ops/sin_ops.h>
#include <ATen/ops/slice_ops.h>
#include <ATen/ops/softmax_ops.h>
#include <ATen/ops/softplus_ops.h>
#include <ATen/ops/sqrt_ops.h>
#include <ATen/ops/squeeze_ops.h>
#include <ATen/ops/stack_ops.h>
#include <ATen/ops/sub_ops.h>
#include <ATen/ops/sum_ops.h>
#include <ATen/ops/t_ops.h>
#include <ATen/ops/tanh_ops.h>
#include <ATen/ops/transpose_ops.h>
#include <ATen/ops/unsqueeze_ops.h>
#include <ATen/ops/view_ops.h>
#include <ATen/ops/where_ops.h>
#include <c10/core/impl/LocalDispatchKeySet.h>

#include <tuple>
#include <unordered_map>

#include "ops/handlers.h"
#include "ops/typed_arguments.h"

namespace stator {
namespace {

template <class Function>
struct Unboxed;

template <class Result, class... Arguments>
struct Unboxed<Result(Arguments...)> {
  static constexpr std::size_t kArguments = sizeof...(Arguments);

  template <class TorchOp, std::size_t... places>
  static void run(const Step& step, const TorchCall& call, Frame& frame,
                  std::index_sequence<places...> /*order*/) {
    // braces: the arguments are read in their order
    const std::tuple<Typed<Arguments>...> given{Typed<Arguments>(call.arguments[places], frame)...};
    Value made = TorchOp::call(std::get<places>(given).get()...);
    if (call.spreads_list) {
      spread(made, step, frame);
    } else if (!step.results.empty()) {
      frame[step.results[0]] = std::move(made);
    }
  }
};

template <class TorchOp>
void call_unboxed(const Step& step, const TorchCall& call, Frame& frame) {
  using Call = Unboxed<typename TorchOp::schema>;
  Call::template run<TorchOp>(step, call, frame, std::make_index_sequence<Call::kArguments>());
}

/// Calls `body` with the dispatch keys that `run_torch` would leave.
template <class Body>
void dispatched(const TorchCall& call, Frame& frame, const Body& body) {
  ++frame.run->counts.unboxed;
  if (frame.run->skips_autograd && !call.tracks_views) {
    const c10::impl::ExcludeDispatchKeyGuard below(c10::DispatchKey::ADInplaceOrView);
    body();
  } else {
    body();
  }
}

/// A torch op by a typed call. What it does is what `run_torch` does.
template <class TorchOp>
void run_unboxed(const Step& step, Frame& frame) {
  const auto& call = std::get<TorchCall>(step.detail);
  dispatched(call, frame, [&] { call_unboxed<TorchOp>(step, call, frame); });
}

/// The same for `x + 0.5` and its like, with the number already in the dtype of the tensor.
template <class TorchOp>
void run_arithmetic(const Step& step, Frame& frame) {
  const auto& call = std::get<TorchCall>(step.detail);
  if (!call.cast_number) return run_unboxed<TorchOp>(step, frame);
  const Value& first = frame.read(call.arguments[0].operand);
  const at::Tensor& number = call.cast_number->toTensor();
  if (!first.isTensor() || first.toTensor().scalar_type() != number.scalar_type())
    return run_unboxed<TorchOp>(step, frame);
  dispatched(call, frame, [&] {
    if constexpr (Unboxed<typename TorchOp::schema>::kArguments == 3) {
      const Typed<const at::Scalar&> alpha(call.arguments[2], frame);
      frame[step.results[0]] = TorchOp::call(first.toTensor(), number, alpha.get());
    } else {
      frame[step.results[0]] = TorchOp::call(first.toTensor(), number);
    }
  });
}

struct UnboxedRow {
  std::string name;
  Handler run;
  std::size_t arguments;
};

template <class TorchOp>
UnboxedRow row(Handler run = run_unboxed<TorchOp>) {
  const std::string overload = TorchOp::overload_name;
  return {TorchOp::name + (overload.empty() ? "" : "." + overload), run,
          Unboxed<typename TorchOp::schema>::kArguments};
}

// clang-format off
const std::vector<UnboxedRow>& unboxed_rows() {
  static const std::vector<UnboxedRow> rows = {
      row<at::_ops::add_Tensor>(run_arithmetic<at::_ops::add_Tensor>),
      row<at::_ops::sub_Tensor>(run_arithmetic<at::_ops::sub_Tensor>),
      row<at::_ops::mul_Tensor>(run_arithmetic<at::_ops::mul_Tensor>),
      row<at::_ops::div_Tensor>(run_arithmetic<at::_ops::div_Tensor>),
      row<at::_ops::addmm>(),
      row<at::_ops::mm>(),
      row<at::_ops::bmm>(),
      row<at::_ops::matmul>(),
      row<at::_ops::linear>(),
      row<at::_ops::baddbmm>(),
      row<at::_ops::relu>(),
      row<at::_ops::tanh>(),
      row<at::_ops::sigmoid>(),
      row<at::_ops::exp>(),
      row<at::_ops::log>(),
      row<at::_ops::sqrt>(),
      row<at::_ops::rsqrt>(),
      row<at::_ops::neg>(),
      row<at::_ops::abs>(),
      row<at::_ops::sin>(),
      row<at::_ops::cos>(),
      row<at::_ops::gelu>(),
      row<at::_ops::silu>(),
      row<at::_ops::softplus>(),
      row<at::_ops::leaky_relu>(),
      row<at::_ops::elu>(),
      row<at::_ops::erf>(),
      row<at::_ops::reciprocal>(),
      row<at::_ops::pow_Tensor_Scalar>(),
      row<at::_ops::pow_Tensor_Tensor>(),
      row<at::_ops::clamp>(),
      row<at::_ops::clamp_min>(),
      row<at::_ops::clamp_max>(),
      row<at::_ops::maximum>(),
      row<at::_ops::minimum>(),
      row<at::_ops::lt_Scalar>(),
      row<at::_ops::le_Scalar>(),
      row<at::_ops::gt_Scalar>(),
      row<at::_ops::ge_Scalar>(),
      row<at::_ops::eq_Scalar>(),
      row<at::_ops::ne_Scalar>(),
      row<at::_ops::lt_Tensor>(),
      row<at::_ops::gt_Tensor>(),
      row<at::_ops::eq_Tensor>(),
      row<at::_ops::ne_Tensor>(),
      row<at::_ops::sum>(),
      row<at::_ops::sum_dim_IntList>(),
      row<at::_ops::mean>(),
      row<at::_ops::mean_dim>(),
      row<at::_ops::amax>(),
      row<at::_ops::amin>(),
      row<at::_ops::max>(),
      row<at::_ops::min>(),
      row<at::_ops::argmax>(),
      row<at::_ops::all>(),
      row<at::_ops::any>(),
      row<at::_ops::cumsum>(),
      row<at::_ops::softmax_int>(),
      row<at::_ops::log_softmax_int>(),
      row<at::_ops::layer_norm>(),
      row<at::_ops::where_self>(),
      row<at::_ops::masked_fill_Scalar>(),
      row<at::_ops::view>(),
      row<at::_ops::reshape>(),
      row<at::_ops::transpose_int>(),
      row<at::_ops::permute>(),
      row<at::_ops::t>(),
      row<at::_ops::unsqueeze>(),
      row<at::_ops::squeeze_dim>(),
      row<at::_ops::select_int>(),
      row<at::_ops::slice_Tensor>(),
      row<at::_ops::expand>(),
      row<at::_ops::flatten_using_ints>(),
      row<at::_ops::chunk>(),
      row<at::_ops::cat>(),
      row<at::_ops::stack>(),
      row<at::_ops::embedding>(),
      row<at::_ops::index_select>(),
      row<at::_ops::gather>(),
      row<at::_ops::dropout>(),
      row<at::_ops::gru_cell>(),
      row<at::_ops::cross_entropy_loss>(),
      row<at::_ops::mse_loss>(),
      row<at::_ops::conv2d>(),
      row<at::_ops::max_pool2d>(),
      row<at::_ops::batch_norm>(),
      row<at::_ops::scaled_dot_product_attention>(),
      row<at::_ops::adaptive_avg_pool2d>(),
  };
  return rows;
}
// clang-format on

}  // namespace

Handler unboxed_handler(const std::string& name, const TorchCall& call) {
  static const auto by_name = [] {
    std::unordered_map<std::string, const UnboxedRow*> made;
    for (const UnboxedRow& each : unboxed_rows()) made[each.name] = &each;
    return made;
  }();
  const auto found = by_name.find(name);
  // the schema that a plan was made by is the dispatcher's; this one was compiled in
  if (found == by_name.end() || found->second->arguments != call.arguments.size()) return nullptr;
  return found->second->run;
}

}  // namespace stator

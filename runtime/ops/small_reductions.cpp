// Reductions of small tensors: sums and means, argmax, all and any, softmax, layer norm.
#include <ATen/EmptyTensor.h>
#include <ATen/ops/sum.h>

#include <numeric>
#include <unordered_map>

#include "kernels/reductions.h"
#include "kernels/rows.h"
#include "ops/small.h"

namespace stator {
namespace {

/// Does ATen add numbers in the order for vectors of this width?
template <class T, int Width>
bool adds_by(const at::Tensor& probe) {
  for (const std::int64_t count : {3, 17, 63, 130, 517, 4001}) {
    const at::Tensor wanted = at::sum(probe.narrow(0, 0, count));
    if (kernels::sum_in_order<T, Width>(data_of<T>(probe), count) != *data_of<T>(wanted))
      return false;
  }
  return true;
}

/// Numbers whose sum depends on the order.
template <class T>
at::Tensor probe_of() {
  at::Tensor probe = at::detail::empty_cpu({4096}, c10::CppTypeToScalarType<T>::value);
  std::uint32_t state = 1;
  for (std::int64_t k = 0; k < 4096; ++k) {
    state = state * 1664525U + 1013904223U;
    result_data<T>(probe)[k] = static_cast<T>(state >> 8) / T(7919);
  }
  return probe;
}

template <class T>
using Sum = T (*)(const T*, std::int64_t);

/// The function that adds as ATen does on this processor; null if none was found.
template <class T>
Sum<T> find_sum() {
  constexpr int narrow = 16 / sizeof(T);
  // what the caller has switched on must not see the trial
  const c10::impl::ExcludeDispatchKeyGuard below(
      c10::autograd_dispatch_keyset_with_ADInplaceOrView);
  const at::Tensor probe = probe_of<T>();
  if (adds_by<T, 2 * narrow>(probe)) return kernels::sum_in_order<T, 2 * narrow>;
  if (adds_by<T, 4 * narrow>(probe)) return kernels::sum_in_order<T, 4 * narrow>;
  if (adds_by<T, narrow>(probe)) return kernels::sum_in_order<T, narrow>;
  return nullptr;
}

template <class T>
Sum<T> sum_function() {
  static const Sum<T> found = find_sum<T>();
  return found;
}

/// What a reduction goes over: all of the tensor, or each of its rows.
struct Rows {
  std::int64_t count = 1;
  std::int64_t length = 0;
  c10::SmallVector<std::int64_t, 5> sizes;  // of the result
};

Rows all_of(const at::Tensor& tensor) { return {1, tensor.numel(), {}}; }

/// The rows along the last dimension, if that is the one reduced.
std::optional<Rows> rows_of(const at::Tensor& tensor, std::int64_t dim, bool keeps) {
  const std::int64_t rank = tensor.dim();
  if (rank == 0 || (dim != rank - 1 && dim != -1) || tensor.numel() == 0) return std::nullopt;
  Rows rows{tensor.numel() / tensor.size(rank - 1), tensor.size(rank - 1), {}};
  const at::IntArrayRef sizes = tensor.sizes();
  rows.sizes.assign(sizes.begin(), sizes.end() - 1);
  if (keeps) rows.sizes.push_back(1);
  return rows;
}

template <class T>
bool sum_of(const Step& step, const TorchCall& call, Frame& frame, const at::Tensor& x,
            const Rows& rows, bool is_mean) {
  const Sum<T> sum = sum_function<T>();
  if (sum == nullptr) return false;
  at::Tensor out = result_of(rows.sizes, x.scalar_type(), call, frame);
  T* to = result_data<T>(out);
  for (std::int64_t k = 0; k < rows.count; ++k) {
    const T total = sum(data_of<T>(x) + k * rows.length, rows.length);
    if (std::isnan(total)) return false;  // which of several NaNs is left is up to the compiler
    to[k] = is_mean ? total / static_cast<T>(rows.length) : total;
  }
  frame[step.results[0]] = std::move(out);
  return true;
}

bool sum_rows(const Step& step, const TorchCall& call, Frame& frame, const at::Tensor& x,
              const Rows& rows, bool is_mean) {
  switch (x.scalar_type()) {
    case at::kFloat:
      return sum_of<float>(step, call, frame, x, rows, is_mean);
    case at::kDouble:
      return sum_of<double>(step, call, frame, x, rows, is_mean);
    default:
      return false;
  }
}

/// aten::sum(x, dtype) and aten::mean(x, dtype)
template <bool is_mean>
bool try_sum(const Step& step, const TorchCall& call, Frame& frame) {
  const at::Tensor* x = small_tensor(argument(call, 0, frame), call, frame);
  return x != nullptr && sum_rows(step, call, frame, *x, all_of(*x), is_mean);
}

/// The one dimension that an op is given, as a number or a list.
std::optional<std::int64_t> one_dim(const Value& value) {
  if (value.isInt()) return value.toInt();
  if (!value.isIntList()) return std::nullopt;
  const auto dims = value.toIntList();
  if (dims.size() != 1) return std::nullopt;
  return dims.get(0);
}

/// aten::sum.dim_IntList(x, dim, keepdim, dtype) and aten::mean.dim
template <bool is_mean>
bool try_sum_dim(const Step& step, const TorchCall& call, Frame& frame) {
  const at::Tensor* x = small_tensor(argument(call, 0, frame), call, frame);
  const auto dim = one_dim(argument(call, 1, frame));
  const Value& keeps = argument(call, 2, frame);
  if (x == nullptr || !dim || !keeps.isBool()) return false;
  const auto rows = rows_of(*x, *dim, keeps.toBool());
  // a dimension of one element is dropped by ATen before it chooses an order
  return rows && rows->length > 1 && sum_rows(step, call, frame, *x, *rows, is_mean);
}

template <class T>
bool argmax_of(const Step& step, const TorchCall& call, Frame& frame, const at::Tensor& x,
               const Rows& rows) {
  at::Tensor out = result_of(rows.sizes, at::kLong, call, frame);
  for (std::int64_t k = 0; k < rows.count; ++k) {
    result_data<std::int64_t>(out)[k] =
        kernels::argmax(data_of<T>(x) + k * rows.length, rows.length);
  }
  frame[step.results[0]] = std::move(out);
  return true;
}

/// aten::argmax(x, dim, keepdim)
bool try_argmax(const Step& step, const TorchCall& call, Frame& frame) {
  const at::Tensor* x = small_tensor(argument(call, 0, frame), call, frame);
  if (x == nullptr || x->numel() == 0 || !argument(call, 2, frame).isBool()) return false;
  const Value& dim = argument(call, 1, frame);
  const bool keeps = argument(call, 2, frame).toBool();
  std::optional<Rows> rows;
  if (dim.isInt()) rows = rows_of(*x, dim.toInt(), keeps);
  if (dim.isNone() && !keeps) rows = all_of(*x);
  if (!rows) return false;
  switch (x->scalar_type()) {
    case at::kFloat:
      return argmax_of<float>(step, call, frame, *x, *rows);
    case at::kDouble:
      return argmax_of<double>(step, call, frame, *x, *rows);
    case at::kLong:
      return argmax_of<std::int64_t>(step, call, frame, *x, *rows);
    default:
      return false;
  }
}

/// aten::all(x) and aten::any(x)
template <bool (*truth)(const bool*, std::int64_t)>
bool try_truth(const Step& step, const TorchCall& call, Frame& frame) {
  const at::Tensor* x = small_tensor(argument(call, 0, frame), call, frame);
  if (x == nullptr || x->scalar_type() != at::kBool) return false;
  at::Tensor out = result_of({}, at::kBool, call, frame);
  *result_data<bool>(out) = truth(data_of<bool>(*x), x->numel());
  frame[step.results[0]] = std::move(out);
  return true;
}

/// aten::softmax.int(x, dim, dtype) and aten::log_softmax.int
template <bool is_log>
bool try_softmax(const Step& step, const TorchCall& call, Frame& frame) {
  const at::Tensor* x = small_tensor(argument(call, 0, frame), call, frame);
  const Value& dim = argument(call, 1, frame);
  if (x == nullptr || !dim.isInt() || x->dim() == 0 || x->numel() == 0) return false;
  if (dim.toInt() != -1 && dim.toInt() != x->dim() - 1) return false;
  if (x->scalar_type() != at::kFloat && x->scalar_type() != at::kDouble) return false;
  at::Tensor out = result_of(x->sizes(), x->scalar_type(), call, frame);
  (is_log ? kernels::log_softmax_rows : kernels::softmax_rows)(out, *x);
  frame[step.results[0]] = std::move(out);
  return true;
}

/// aten::layer_norm(x, normalized_shape, weight, bias, eps, cudnn_enable)
bool try_layer_norm(const Step& step, const TorchCall& call, Frame& frame) {
  const at::Tensor* x = small_tensor(argument(call, 0, frame), call, frame);
  const at::Tensor* weight = small_tensor(argument(call, 2, frame), call, frame);
  const at::Tensor* bias = small_tensor(argument(call, 3, frame), call, frame);
  const auto length = one_dim(argument(call, 1, frame));
  const Value& eps = argument(call, 4, frame);
  if (x == nullptr || weight == nullptr || bias == nullptr || !length || !eps.isDouble())
    return false;
  const auto rows = rows_of(*x, -1, false);
  const bool fits = rows && rows->length == *length && weight->dim() == 1 && bias->dim() == 1 &&
                    weight->numel() == *length && bias->numel() == *length &&
                    x->scalar_type() == at::kFloat && weight->scalar_type() == at::kFloat &&
                    bias->scalar_type() == at::kFloat;
  if (!fits) return false;
  at::Tensor out = result_of(x->sizes(), at::kFloat, call, frame);
  kernels::layer_norm_rows(out, *x, *weight, *bias, rows->count, rows->length, eps.toDouble());
  frame[step.results[0]] = std::move(out);
  return true;
}

/// The argument `dtype`, the last one, must be absent.
bool has_no_dtype(const TorchCall& call, const std::vector<Value>& constants) {
  const Value* dtype = constant_of(call, call.arguments.size() - 1, constants);
  return dtype != nullptr && dtype->isNone();
}

bool can_softmax(const TorchCall& call, const std::vector<Value>& constants) {
  return kernels::has_rows() && has_no_dtype(call, constants);
}

bool can_norm(const TorchCall& /*call*/, const std::vector<Value>& /*constants*/) {
  return kernels::has_rows();
}

}  // namespace

const SmallRow* reduction_row(const std::string& name) {
  static const std::unordered_map<std::string, SmallRow> rows = {
      {"aten::sum", {run_small<try_sum<false>>, 2, 1, has_no_dtype}},
      {"aten::mean", {run_small<try_sum<true>>, 2, 1, has_no_dtype}},
      {"aten::sum.dim_IntList", {run_small<try_sum_dim<false>>, 4, 1, has_no_dtype}},
      {"aten::mean.dim", {run_small<try_sum_dim<true>>, 4, 1, has_no_dtype}},
      {"aten::argmax", {run_small<try_argmax>, 3}},
      {"aten::all", {run_small<try_truth<kernels::all>>, 1}},
      {"aten::any", {run_small<try_truth<kernels::any>>, 1}},
      {"aten::softmax.int", {run_small<try_softmax<false>>, 3, 1, can_softmax}},
      {"aten::log_softmax.int", {run_small<try_softmax<true>>, 3, 1, can_softmax}},
      {"aten::layer_norm", {run_small<try_layer_norm>, 6, 1, can_norm}},
  };
  const auto found = rows.find(name);
  return found == rows.end() ? nullptr : &found->second;
}

}  // namespace stator

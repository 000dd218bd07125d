// NOTE: when a call takes the fast path. Its tensors are plain ones (dense, on the CPU, no
// subclass, no transform), contiguous and small; no gradient is recorded; no mode of torch watches
// the run. Every other call goes through the dispatcher, so the fast path only has to be right for
// what it accepts.
#include "ops/small.h"

#include <ATen/EmptyTensor.h>
#include <ATen/core/grad_mode.h>
#include <c10/core/InferenceMode.h>

#include <unordered_map>

#include "kernels/pointwise.h"
#include "ops/handlers.h"

namespace stator {
namespace {

constexpr std::int64_t kMostElements = 4096;  // beyond it, ATen's threads and caches matter more

const c10::DispatchKeySet kPlainKeys({c10::DispatchKey::CPU, c10::DispatchKey::ADInplaceOrView,
                                      c10::DispatchKey::AutogradCPU,
                                      c10::DispatchKey::AutocastCPU});

bool is_plain(const at::Tensor& tensor) {
  const auto* impl = tensor.unsafeGetTensorImpl();
  // NOTE: a union, since the difference of two key sets keeps the bits of backends
  return (impl->key_set() | kPlainKeys) == kPlainKeys && impl->has_storage();
}

bool is_small(const at::Tensor& tensor) {
  return is_plain(tensor) && tensor.is_contiguous() && tensor.numel() <= kMostElements;
}

bool records_gradients(const at::Tensor& tensor) {
  return tensor.requires_grad() && at::GradMode::is_enabled();
}

const Operand& operand_of(const TorchCall& call, std::size_t k) {
  return call.arguments[k].operand;
}

/// The second operand of a pointwise op: an array, or one element.
template <class T>
struct Second {
  const T* data = nullptr;
  bool is_one = true;
  T one{};
};

template <class T>
bool read_number(const Value& number, T& out) {
  if (number.isDouble() && std::is_floating_point_v<T>) {
    out = static_cast<T>(number.toDouble());
  } else if (is_integer(number)) {
    out = static_cast<T>(integer_of(number));
  } else {
    return false;
  }
  return true;
}

/// A tensor made of a number does not count for type promotion: it becomes a T.
template <class T>
bool read_wrapped(const at::Tensor& tensor, T& out) {
  const void* data = tensor.const_data_ptr();
  switch (tensor.scalar_type()) {
    case at::kDouble:
      if (!std::is_floating_point_v<T>) return false;
      out = static_cast<T>(*static_cast<const double*>(data));
      return true;
    case at::kLong:
      out = static_cast<T>(*static_cast<const std::int64_t*>(data));
      return true;
    default:
      return false;
  }
}

template <class T>
bool read_second(const Value& value, const at::Tensor& first, Second<T>& second) {
  if (!value.isTensor()) {
    second.data = &second.one;
    return read_number(value, second.one);
  }
  const at::Tensor& tensor = value.toTensor();
  if (!tensor.defined()) return false;
  if (tensor.unsafeGetTensorImpl()->is_wrapped_number()) {
    second.data = &second.one;
    return is_plain(tensor) && read_wrapped(tensor, second.one);
  }
  if (!is_small(tensor) || tensor.scalar_type() != first.scalar_type() || records_gradients(tensor))
    return false;
  second.is_one = tensor.dim() == 0;
  second.data = static_cast<const T*>(tensor.const_data_ptr());
  return second.is_one || tensor.sizes() == first.sizes();
}

/// Memory for a result: that of an earlier iteration, if nothing uses it any more.
at::Tensor result_like(const at::Tensor& like, at::ScalarType dtype, std::uint32_t scratch,
                       Frame& frame) {
  const bool inference = c10::InferenceMode::is_enabled();
  for (std::uint32_t k = scratch; k < scratch + 2; ++k) {
    const at::Tensor& old = frame.scratch[k];
    if (!old.defined() || old.use_count() != 1) continue;
    const auto* impl = old.unsafeGetTensorImpl();
    if (impl->unsafe_storage().use_count() == 1 && old.scalar_type() == dtype &&
        old.sizes() == like.sizes() && old.is_inference() == inference && !old.requires_grad()) {
      return old;
    }
  }
  at::Tensor made = at::detail::empty_cpu(like.sizes(), dtype);
  const std::uint32_t slot =
      frame.scratch[scratch].defined() && frame.scratch[scratch].use_count() > 1 ? scratch + 1
                                                                                 : scratch;
  frame.scratch[slot] = made;
  return made;
}

template <class Operation, class T>
bool run_binary_of(const Step& step, Frame& frame, const at::Tensor& first) {
  using Out = decltype(Operation::template apply<T>(T(), T()));
  const auto& call = std::get<TorchCall>(step.detail);
  Second<T> second;
  if (!read_second(frame.read(operand_of(call, 1)), first, second)) return false;
  at::Tensor out = result_like(first, c10::CppTypeToScalarType<Out>::value, call.scratch, frame);
  kernels::binary<Operation>(
      static_cast<const T*>(first.const_data_ptr()), second.data, second.is_one,
      static_cast<Out*>(out.unsafeGetTensorImpl()->mutable_data()), first.numel());
  frame[step.results[0]] = std::move(out);
  return true;
}

template <class Operation>
bool try_binary(const Step& step, Frame& frame) {
  const Value& value = frame.read(operand_of(std::get<TorchCall>(step.detail), 0));
  if (!frame.run->is_plain || !value.isTensor()) return false;
  const at::Tensor& first = value.toTensor();
  if (!is_small(first) || records_gradients(first) ||
      first.unsafeGetTensorImpl()->is_wrapped_number())
    return false;
  switch (first.scalar_type()) {
    case at::kFloat:
      return run_binary_of<Operation, float>(step, frame, first);
    case at::kDouble:
      return run_binary_of<Operation, double>(step, frame, first);
    case at::kLong:
      if constexpr (std::is_same_v<Operation, kernels::Div>) return false;
      return run_binary_of<Operation, std::int64_t>(step, frame, first);
    default:
      return false;
  }
}

template <class Operation>
void run_small_binary(const Step& step, Frame& frame) {
  if (!try_binary<Operation>(step, frame)) run_torch(step, frame);
}

template <class Operation, class T>
void run_unary_of(const Step& step, Frame& frame, const at::Tensor& first) {
  const auto& call = std::get<TorchCall>(step.detail);
  at::Tensor out = result_like(first, first.scalar_type(), call.scratch, frame);
  kernels::unary<Operation>(static_cast<const T*>(first.const_data_ptr()),
                            static_cast<T*>(out.unsafeGetTensorImpl()->mutable_data()),
                            first.numel());
  frame[step.results[0]] = std::move(out);
}

template <class Operation>
void run_small_unary(const Step& step, Frame& frame) {
  const Value& value = frame.read(operand_of(std::get<TorchCall>(step.detail), 0));
  const bool fits = frame.run->is_plain && value.isTensor() && is_small(value.toTensor()) &&
                    !records_gradients(value.toTensor());
  if (!fits) return run_torch(step, frame);
  const at::Tensor first = value.toTensor();
  switch (first.scalar_type()) {
    case at::kFloat:
      return run_unary_of<Operation, float>(step, frame, first);
    case at::kDouble:
      return run_unary_of<Operation, double>(step, frame, first);
    case at::kLong:
      return run_unary_of<Operation, std::int64_t>(step, frame, first);
    default:
      return run_torch(step, frame);
  }
}

/// The one element of a tensor in main memory.
std::optional<Value> element(const Value& value) {
  if (!value.isTensor() || !is_plain(value.toTensor()) || value.toTensor().numel() != 1)
    return std::nullopt;
  const at::Tensor& tensor = value.toTensor();
  const void* data = tensor.const_data_ptr();
  switch (tensor.scalar_type()) {
    case at::kBool:
      return Value(*static_cast<const bool*>(data));
    case at::kFloat:
      return Value(static_cast<double>(*static_cast<const float*>(data)));
    case at::kDouble:
      return Value(*static_cast<const double*>(data));
    case at::kLong:
      return Value(*static_cast<const std::int64_t*>(data));
    default:
      return std::nullopt;
  }
}

void run_item(const Step& step, Frame& frame) {
  const auto found = element(frame.read(operand_of(std::get<TorchCall>(step.detail), 0)));
  if (!frame.run->is_plain || !found) return run_torch(step, frame);
  frame[step.results[0]] = *found;
}

void run_is_nonzero(const Step& step, Frame& frame) {
  const auto found = element(frame.read(operand_of(std::get<TorchCall>(step.detail), 0)));
  if (!frame.run->is_plain || !found) return run_torch(step, frame);
  frame[step.results[0]] = is_true(*found);
}

void run_size(const Step& step, Frame& frame) {
  const auto& call = std::get<TorchCall>(step.detail);
  const Value& tensor = frame.read(operand_of(call, 0));
  const Value& dim = frame.read(operand_of(call, 1));
  if (!frame.run->is_plain || !tensor.isTensor() || !is_plain(tensor.toTensor()) || !dim.isInt())
    return run_torch(step, frame);
  const std::int64_t rank = tensor.toTensor().dim();
  const std::int64_t index = dim.toInt() < 0 ? dim.toInt() + rank : dim.toInt();
  if (index < 0 || index >= rank) return run_torch(step, frame);
  frame[step.results[0]] = tensor.toTensor().sizes()[static_cast<std::size_t>(index)];
}

struct FastRow {
  Handler run;
  std::size_t arguments;  // the third argument of `add` and `sub`, alpha, must be 1
};

const std::unordered_map<std::string, FastRow>& fast_rows() {
  static const std::unordered_map<std::string, FastRow> rows = {
      {"aten::add.Tensor", {run_small_binary<kernels::Add>, 3}},
      {"aten::sub.Tensor", {run_small_binary<kernels::Sub>, 3}},
      {"aten::mul.Tensor", {run_small_binary<kernels::Mul>, 2}},
      {"aten::div.Tensor", {run_small_binary<kernels::Div>, 2}},
      {"aten::lt.Tensor", {run_small_binary<kernels::Less>, 2}},
      {"aten::le.Tensor", {run_small_binary<kernels::LessEqual>, 2}},
      {"aten::gt.Tensor", {run_small_binary<kernels::Greater>, 2}},
      {"aten::ge.Tensor", {run_small_binary<kernels::GreaterEqual>, 2}},
      {"aten::eq.Tensor", {run_small_binary<kernels::Equal>, 2}},
      {"aten::ne.Tensor", {run_small_binary<kernels::NotEqual>, 2}},
      {"aten::lt.Scalar", {run_small_binary<kernels::Less>, 2}},
      {"aten::le.Scalar", {run_small_binary<kernels::LessEqual>, 2}},
      {"aten::gt.Scalar", {run_small_binary<kernels::Greater>, 2}},
      {"aten::ge.Scalar", {run_small_binary<kernels::GreaterEqual>, 2}},
      {"aten::eq.Scalar", {run_small_binary<kernels::Equal>, 2}},
      {"aten::ne.Scalar", {run_small_binary<kernels::NotEqual>, 2}},
      {"aten::neg", {run_small_unary<kernels::Negative>, 1}},
      {"aten::abs", {run_small_unary<kernels::Absolute>, 1}},
      {"aten::relu", {run_small_unary<kernels::Relu>, 1}},
      {"aten::item", {run_item, 1}},
      {"aten::_local_scalar_dense", {run_item, 1}},
      {"aten::is_nonzero", {run_is_nonzero, 1}},
      {"aten::sym_size.int", {run_size, 2}},
  };
  return rows;
}

}  // namespace

Handler fast_handler(const std::string& name, const TorchCall& call,
                     const std::vector<Value>& constants) {
  const auto found = fast_rows().find(name);
  if (found == fast_rows().end() || call.arguments.size() != found->second.arguments)
    return nullptr;
  if (found->second.arguments == 3) {
    const Operand alpha = operand_of(call, 2);
    if (alpha.from != Operand::From::kConstant) return nullptr;
    const Value& value = constants[alpha.index];
    if (!value.isInt() || value.toInt() != 1) return nullptr;
  }
  return found->second.run;
}

}  // namespace stator

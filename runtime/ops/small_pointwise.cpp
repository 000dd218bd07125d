// Pointwise ops on small tensors.
#include <unordered_map>

#include "kernels/iteration.h"
#include "kernels/pointwise.h"
#include "ops/small.h"

namespace stator {
namespace {

using kernels::Array;
using kernels::Laid;

/// A number as a T; false if the result would have another dtype than T.
template <class T>
bool read_number(const Value& number, T& out) {
  if (number.isDouble() && std::is_floating_point_v<T>) {
    out = static_cast<T>(number.toDouble());
  } else if (number.isBool() || (number.isInt() && !std::is_same_v<T, bool>)) {
    out = static_cast<T>(integer_of(number));
  } else {
    return false;
  }
  return true;
}

/// The number that a wrapped tensor holds: it does not count for type promotion.
Value wrapped_value(const at::Tensor& tensor) {
  switch (tensor.scalar_type()) {
    case at::kDouble:
      return *data_of<double>(tensor);
    case at::kLong:
      return *data_of<std::int64_t>(tensor);
    case at::kBool:
      return *data_of<bool>(tensor);
    default:
      return Value();
  }
}

/// An operand of a pointwise op: an array, or a number.
template <class T>
struct Part {
  Array<T> array;
  const at::Tensor* tensor = nullptr;  // null for a number
  T number{};
};

template <class T>
bool read_part(const Value& value, const TorchCall& call, const Frame& frame, Part<T>& part) {
  if (!value.isTensor()) {
    part.array = {&part.number, Laid::kOne, 0};
    return read_number(value, part.number);
  }
  const at::Tensor& tensor = value.toTensor();
  if (!tensor.defined()) return false;
  if (tensor.unsafeGetTensorImpl()->is_wrapped_number()) {
    part.array = {&part.number, Laid::kOne, 0};
    return is_plain(*tensor.unsafeGetTensorImpl()) &&
           read_number(wrapped_value(tensor), part.number);
  }
  part.tensor = small_tensor(value, call, frame);
  if (part.tensor == nullptr || tensor.scalar_type() != c10::CppTypeToScalarType<T>::value)
    return false;
  part.array = {data_of<T>(tensor), Laid::kAlong, 0};
  return true;
}

/// Lays `smaller` along a result of the sizes of `larger`; false if it does not fit as a whole, as
/// its last dimensions, or as one element.
template <class T>
bool lay(Part<T>& smaller, const at::Tensor& larger) {
  const at::IntArrayRef sizes = smaller.tensor->sizes();
  const at::IntArrayRef all = larger.sizes();
  if (sizes.size() > all.size()) return false;
  if (smaller.tensor->numel() == 1) {
    smaller.array.laid = Laid::kOne;
    return true;
  }
  if (sizes != all.slice(all.size() - sizes.size())) return false;
  smaller.array.laid = Laid::kRows;
  smaller.array.period = smaller.tensor->numel();
  return smaller.array.period > 0;
}

/// The tensor whose sizes the result has; null if the operands do not fit each other.
template <class T>
const at::Tensor* lay_out(Part<T>& a, Part<T>& b) {
  if (a.tensor == nullptr) return b.tensor;
  if (b.tensor == nullptr || a.tensor->sizes() == b.tensor->sizes()) return a.tensor;
  const bool b_is_smaller =
      b.tensor->dim() < a.tensor->dim() ||
      (b.tensor->dim() == a.tensor->dim() && b.tensor->numel() <= a.tensor->numel());
  if (b_is_smaller) return lay(b, *a.tensor) ? a.tensor : nullptr;
  return lay(a, *b.tensor) ? b.tensor : nullptr;
}

template <class Operation, class T>
bool binary_of(const Step& step, const TorchCall& call, Frame& frame) {
  using Out = decltype(Operation::apply(T(), T()));
  Part<T> a;
  Part<T> b;
  if (!read_part(argument(call, 0, frame), call, frame, a) ||
      !read_part(argument(call, 1, frame), call, frame, b))
    return false;
  const at::Tensor* like = lay_out(a, b);
  if (like == nullptr) return false;
  at::Tensor out = result_of(like->sizes(), c10::CppTypeToScalarType<Out>::value, call, frame);
  kernels::binary<Operation, T>(a.array, b.array, result_data<Out>(out), like->numel());
  frame[step.results[0]] = std::move(out);
  return true;
}

/// The dtype of the result: that of a tensor among the first two arguments.
std::optional<at::ScalarType> dtype_of(const TorchCall& call, std::size_t from,
                                       const Frame& frame) {
  for (std::size_t k = from; k < from + 2; ++k) {
    const Value& value = argument(call, k, frame);
    if (!value.isTensor() || !value.toTensor().defined()) continue;
    const at::TensorImpl& impl = *value.toTensor().unsafeGetTensorImpl();
    if (!impl.is_wrapped_number()) return c10::typeMetaToScalarType(impl.dtype());
  }
  return std::nullopt;
}

/// aten::rsub.Scalar(x, number): number - x
struct Reversed {
  template <class T>
  static T apply(T a, T b) {
    return kernels::Sub::apply(b, a);
  }
};

template <class Operation>
bool try_binary(const Step& step, const TorchCall& call, Frame& frame) {
  constexpr bool divides = std::is_same_v<Operation, kernels::Div>;
  constexpr bool computes =
      std::is_same_v<Operation, kernels::Add> || std::is_same_v<Operation, kernels::Sub> ||
      std::is_same_v<Operation, kernels::Mul> || std::is_same_v<Operation, Reversed> || divides;
  const auto dtype = dtype_of(call, 0, frame);
  if (!dtype) return false;
  switch (*dtype) {
    case at::kFloat:
      return binary_of<Operation, float>(step, call, frame);
    case at::kDouble:
      return binary_of<Operation, double>(step, call, frame);
    case at::kLong:
      if constexpr (divides) return false;
      return binary_of<Operation, std::int64_t>(step, call, frame);
    case at::kBool:
      if constexpr (computes) {
        return false;
      } else {
        return binary_of<Operation, bool>(step, call, frame);
      }
    default:
      return false;
  }
}

template <class Operation>
bool try_logical(const Step& step, const TorchCall& call, Frame& frame) {
  const auto dtype = dtype_of(call, 0, frame);
  return dtype && *dtype == at::kBool && binary_of<Operation, bool>(step, call, frame);
}

template <class Operation, class T>
bool unary_of(const Step& step, const TorchCall& call, Frame& frame, const at::Tensor& first) {
  at::Tensor out = result_of(first.sizes(), first.scalar_type(), call, frame);
  kernels::unary<Operation>(data_of<T>(first), result_data<T>(out), first.numel());
  frame[step.results[0]] = std::move(out);
  return true;
}

template <class Operation>
bool try_unary(const Step& step, const TorchCall& call, Frame& frame) {
  const at::Tensor* first = small_tensor(argument(call, 0, frame), call, frame);
  if (first == nullptr) return false;
  switch (first->scalar_type()) {
    case at::kFloat:
      return unary_of<Operation, float>(step, call, frame, *first);
    case at::kDouble:
      return unary_of<Operation, double>(step, call, frame, *first);
    case at::kLong:
      if constexpr (std::is_same_v<Operation, kernels::Square>) return false;
      return unary_of<Operation, std::int64_t>(step, call, frame, *first);
    default:
      return false;
  }
}

bool try_not(const Step& step, const TorchCall& call, Frame& frame) {
  const at::Tensor* first = small_tensor(argument(call, 0, frame), call, frame);
  return first != nullptr && first->scalar_type() == at::kBool &&
         unary_of<kernels::Not, bool>(step, call, frame, *first);
}

/// An op whose kernel is ATen's. It is found when the plan is made.
bool try_iteration(const Step& step, const TorchCall& call, Frame& frame) {
  const at::Tensor* first = small_tensor(argument(call, 0, frame), call, frame);
  if (first == nullptr) return false;
  const at::ScalarType dtype = first->scalar_type();
  if (dtype != at::kFloat && dtype != at::kDouble) return false;
  at::Tensor out = result_of(first->sizes(), dtype, call, frame);
  iteration_of(call, frame)
      .run(call.kernel, dtype, first->numel(), first->const_data_ptr(), result_data<void>(out));
  frame[step.results[0]] = std::move(out);
  return true;
}

template <class T>
bool where_of(const Step& step, const TorchCall& call, Frame& frame, const at::Tensor& choice,
              std::size_t first, std::size_t second) {
  Part<T> a;
  Part<T> b;
  if (!read_part(argument(call, first, frame), call, frame, a) ||
      !read_part(argument(call, second, frame), call, frame, b))
    return false;
  for (Part<T>* part : {&a, &b}) {
    if (part->tensor == nullptr || part->tensor->sizes() == choice.sizes()) continue;
    if (part->tensor->dim() != 0) return false;
    part->array.laid = Laid::kOne;
  }
  at::Tensor out = result_of(choice.sizes(), c10::CppTypeToScalarType<T>::value, call, frame);
  kernels::where<T>(data_of<bool>(choice), a.array, b.array, result_data<T>(out), choice.numel());
  frame[step.results[0]] = std::move(out);
  return true;
}

/// `first` is chosen where the condition, the argument `condition`, is true.
bool try_choice(const Step& step, const TorchCall& call, Frame& frame, std::size_t condition,
                std::size_t first, std::size_t second) {
  const at::Tensor* choice = small_tensor(argument(call, condition, frame), call, frame);
  if (choice == nullptr || choice->scalar_type() != at::kBool) return false;
  const Value& one = argument(call, first, frame);
  const Value& other = argument(call, second, frame);
  for (const Value* value : {&one, &other}) {
    if (!value->isTensor() || !value->toTensor().defined() ||
        value->toTensor().unsafeGetTensorImpl()->is_wrapped_number())
      continue;
    switch (value->toTensor().scalar_type()) {
      case at::kFloat:
        return where_of<float>(step, call, frame, *choice, first, second);
      case at::kDouble:
        return where_of<double>(step, call, frame, *choice, first, second);
      case at::kLong:
        return where_of<std::int64_t>(step, call, frame, *choice, first, second);
      default:
        return false;
    }
  }
  return false;
}

/// aten::where(condition, a, b)
bool try_where(const Step& step, const TorchCall& call, Frame& frame) {
  return try_choice(step, call, frame, 0, 1, 2);
}

/// aten::masked_fill.Scalar(x, mask, number)
bool try_masked_fill(const Step& step, const TorchCall& call, Frame& frame) {
  const Value& x = argument(call, 0, frame);
  const Value& mask = argument(call, 1, frame);
  if (!x.isTensor() || !mask.isTensor() || x.toTensor().sizes() != mask.toTensor().sizes())
    return false;
  return try_choice(step, call, frame, 1, 2, 0);
}

/// The one element of a tensor in main memory.
std::optional<Value> element(const Value& value) {
  if (!value.isTensor() || !value.toTensor().defined()) return std::nullopt;
  const at::Tensor& tensor = value.toTensor();
  if (!is_plain(*tensor.unsafeGetTensorImpl()) || tensor.numel() != 1) return std::nullopt;
  switch (tensor.scalar_type()) {
    case at::kBool:
      return Value(*data_of<bool>(tensor));
    case at::kFloat:
      return Value(static_cast<double>(*data_of<float>(tensor)));
    case at::kDouble:
      return Value(*data_of<double>(tensor));
    case at::kLong:
      return Value(*data_of<std::int64_t>(tensor));
    default:
      return std::nullopt;
  }
}

/// aten::item(x)
bool try_item(const Step& step, const TorchCall& call, Frame& frame) {
  auto found = element(argument(call, 0, frame));
  if (!found) return false;
  frame[step.results[0]] = std::move(*found);
  return true;
}

/// aten::is_nonzero(x)
bool try_is_nonzero(const Step& step, const TorchCall& call, Frame& frame) {
  const auto found = element(argument(call, 0, frame));
  if (!found) return false;
  frame[step.results[0]] = is_true(*found);
  return true;
}

/// The third argument of `add` and `sub`, alpha, must be 1.
bool alpha_is_one(const TorchCall& call, const std::vector<Value>& constants) {
  const Value* alpha = constant_of(call, 2, constants);
  return alpha != nullptr && alpha->isInt() && alpha->toInt() == 1;
}

bool exponent_is_two(const TorchCall& call, const std::vector<Value>& constants) {
  const Value* exponent = constant_of(call, 1, constants);
  return exponent != nullptr && is_real(*exponent) && double_of(*exponent) == 2.0;
}

template <class Operation>
SmallRow compares() {
  return {run_small<try_binary<Operation>>, 2};
}

}  // namespace

const SmallRow* pointwise_row(const std::string& name) {
  static const std::unordered_map<std::string, SmallRow> rows = {
      {"aten::add.Tensor", {run_small<try_binary<kernels::Add>>, 3, 1, alpha_is_one}},
      {"aten::sub.Tensor", {run_small<try_binary<kernels::Sub>>, 3, 1, alpha_is_one}},
      {"aten::rsub.Scalar", {run_small<try_binary<Reversed>>, 3, 1, alpha_is_one}},
      {"aten::mul.Tensor", {run_small<try_binary<kernels::Mul>>, 2}},
      {"aten::div.Tensor", {run_small<try_binary<kernels::Div>>, 2}},
      {"aten::lt.Tensor", compares<kernels::Less>()},
      {"aten::le.Tensor", compares<kernels::LessEqual>()},
      {"aten::gt.Tensor", compares<kernels::Greater>()},
      {"aten::ge.Tensor", compares<kernels::GreaterEqual>()},
      {"aten::eq.Tensor", compares<kernels::Equal>()},
      {"aten::ne.Tensor", compares<kernels::NotEqual>()},
      {"aten::lt.Scalar", compares<kernels::Less>()},
      {"aten::le.Scalar", compares<kernels::LessEqual>()},
      {"aten::gt.Scalar", compares<kernels::Greater>()},
      {"aten::ge.Scalar", compares<kernels::GreaterEqual>()},
      {"aten::eq.Scalar", compares<kernels::Equal>()},
      {"aten::ne.Scalar", compares<kernels::NotEqual>()},
      {"aten::logical_and", {run_small<try_logical<kernels::Both>>, 2}},
      {"aten::logical_or", {run_small<try_logical<kernels::Either>>, 2}},
      {"aten::logical_xor", {run_small<try_logical<kernels::OneOf>>, 2}},
      {"aten::bitwise_and.Tensor", {run_small<try_logical<kernels::Both>>, 2}},
      {"aten::bitwise_or.Tensor", {run_small<try_logical<kernels::Either>>, 2}},
      {"aten::bitwise_xor.Tensor", {run_small<try_logical<kernels::OneOf>>, 2}},
      {"aten::__and__.Tensor", {run_small<try_logical<kernels::Both>>, 2}},
      {"aten::__or__.Tensor", {run_small<try_logical<kernels::Either>>, 2}},
      {"aten::logical_not", {run_small<try_not>, 1}},
      {"aten::bitwise_not", {run_small<try_not>, 1}},
      {"aten::neg", {run_small<try_unary<kernels::Negative>>, 1}},
      {"aten::abs", {run_small<try_unary<kernels::Absolute>>, 1}},
      {"aten::relu", {run_small<try_unary<kernels::Relu>>, 1}},
      {"aten::pow.Tensor_Scalar", {run_small<try_unary<kernels::Square>>, 2, 1, exponent_is_two}},
      {"aten::square", {run_small<try_unary<kernels::Square>>, 1}},
      {"aten::where.self", {run_small<try_where>, 3}},
      {"aten::where.ScalarOther", {run_small<try_where>, 3}},
      {"aten::where.ScalarSelf", {run_small<try_where>, 3}},
      {"aten::masked_fill.Scalar", {run_small<try_masked_fill>, 3}},
      {"aten::item", {run_small<try_item>, 1}},
      {"aten::_local_scalar_dense", {run_small<try_item>, 1}},
      {"aten::is_nonzero", {run_small<try_is_nonzero>, 1}},
  };
  static const SmallRow by_iteration{run_small<try_iteration>, 1};
  const auto found = rows.find(name);
  if (found != rows.end()) return &found->second;
  return kernels::unary_kernel(name) == nullptr ? nullptr : &by_iteration;
}

}  // namespace stator

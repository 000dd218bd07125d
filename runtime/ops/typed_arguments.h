// Typed: an argument of a torch call as the C++ type that the op's function takes.
#pragma once

#include <ATen/core/IListRef.h>
#include <ATen/core/List.h>

#include "interpreter/frame.h"
#include "ops/torch_call.h"

namespace stator {

/// A value that is lent, or made for this call.
template <class T>
struct Typed;

template <>
struct Typed<const at::Tensor&> {
  at::Tensor made;
  const at::Tensor* lent = nullptr;
  Typed(const TorchArgument& given, const Frame& frame) {
    const Value& value = frame.read(given.operand);
    if (value.isTensor()) {
      lent = &value.toTensor();
    } else {
      made = argument_value(given, frame).toTensor();
    }
  }
  const at::Tensor& get() const { return lent == nullptr ? made : *lent; }
};

template <>
struct Typed<const std::optional<at::Tensor>&> {
  std::optional<at::Tensor> tensor;
  Typed(const TorchArgument& given, const Frame& frame) {
    const Value value = argument_value(given, frame);
    if (value.isTensor() && value.toTensor().defined()) tensor = value.toTensor();
  }
  const std::optional<at::Tensor>& get() const { return tensor; }
};

template <>
struct Typed<const at::Scalar&> {
  at::Scalar scalar;
  Typed(const TorchArgument& given, const Frame& frame)
      : scalar(argument_value(given, frame).toScalar()) {}
  const at::Scalar& get() const { return scalar; }
};

template <class T>
struct TypedNumber {
  T number;
  TypedNumber(const TorchArgument& given, const Frame& frame)
      : number(argument_value(given, frame).to<T>()) {}
  T get() const { return number; }
};
template <>
struct Typed<std::int64_t> : TypedNumber<std::int64_t> {
  using TypedNumber::TypedNumber;
};
template <>
struct Typed<double> : TypedNumber<double> {
  using TypedNumber::TypedNumber;
};
template <>
struct Typed<bool> : TypedNumber<bool> {
  using TypedNumber::TypedNumber;
};
template <>
struct Typed<c10::SymInt> : TypedNumber<std::int64_t> {
  using TypedNumber::TypedNumber;
};

template <class T, class Read = T>
struct TypedOptional {
  std::optional<T> number;
  TypedOptional(const TorchArgument& given, const Frame& frame) {
    const Value value = argument_value(given, frame);
    if (!value.isNone()) number = static_cast<T>(value.to<Read>());
  }
  std::optional<T> get() const { return number; }
};
template <>
struct Typed<std::optional<std::int64_t>> : TypedOptional<std::int64_t> {
  using TypedOptional::TypedOptional;
};
template <>
struct Typed<std::optional<double>> : TypedOptional<double> {
  using TypedOptional::TypedOptional;
};
template <>
struct Typed<std::optional<bool>> : TypedOptional<bool> {
  using TypedOptional::TypedOptional;
};
template <>
struct Typed<std::optional<c10::SymInt>> : TypedOptional<c10::SymInt, std::int64_t> {
  using TypedOptional::TypedOptional;
};
template <>
struct Typed<std::optional<at::ScalarType>> : TypedOptional<at::ScalarType, std::int64_t> {
  using TypedOptional::TypedOptional;
};
template <>
struct Typed<std::optional<at::MemoryFormat>> : TypedOptional<at::MemoryFormat, std::int64_t> {
  using TypedOptional::TypedOptional;
};

template <>
struct Typed<const std::optional<at::Scalar>&> {
  std::optional<at::Scalar> scalar;
  Typed(const TorchArgument& given, const Frame& frame) {
    const Value value = argument_value(given, frame);
    if (!value.isNone()) scalar = value.toScalar();
  }
  const std::optional<at::Scalar>& get() const { return scalar; }
};

template <>
struct Typed<std::string_view> {
  std::string text;
  Typed(const TorchArgument& given, const Frame& frame)
      : text(argument_value(given, frame).toStringRef()) {}
  std::string_view get() const { return text; }
};

/// A list of integers.
struct TypedIntegers {
  c10::SmallVector<std::int64_t, 6> numbers;
  bool is_absent = false;
  TypedIntegers(const TorchArgument& given, const Frame& frame) {
    const Value value = argument_value(given, frame);
    is_absent = value.isNone();
    if (is_absent) return;
    for (const std::int64_t number : value.toIntList()) numbers.push_back(number);
  }
};
template <>
struct Typed<at::IntArrayRef> : TypedIntegers {
  using TypedIntegers::TypedIntegers;
  at::IntArrayRef get() const { return numbers; }
};
template <>
struct Typed<c10::SymIntArrayRef> : TypedIntegers {
  using TypedIntegers::TypedIntegers;
  c10::SymIntArrayRef get() const { return c10::fromIntArrayRefUnchecked(numbers); }
};
template <>
struct Typed<at::OptionalIntArrayRef> : TypedIntegers {
  using TypedIntegers::TypedIntegers;
  at::OptionalIntArrayRef get() const {
    return is_absent ? at::OptionalIntArrayRef() : at::OptionalIntArrayRef(numbers);
  }
};

/// A list of tensors.
struct TypedTensors {
  std::vector<at::Tensor> tensors;
  TypedTensors(const TorchArgument& given, const Frame& frame)
      : tensors(argument_value(given, frame).toTensorVector()) {}
};
template <>
struct Typed<at::TensorList> : TypedTensors {
  using TypedTensors::TypedTensors;
  at::TensorList get() const { return tensors; }
};
template <>
struct Typed<const at::ITensorListRef&> : TypedTensors {
  using TypedTensors::TypedTensors;
  at::ITensorListRef get() const { return at::ITensorListRef(at::TensorList(tensors)); }
};

}  // namespace stator

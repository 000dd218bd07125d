// run_torch(): a call of a torch op, through the dispatcher, with its arguments on a stack.
#include "ops/torch_call.h"

#include <ATen/ScalarOps.h>
#include <ATen/core/List.h>
#include <c10/core/impl/LocalDispatchKeySet.h>

#include "ops/handlers.h"
#include "ops/overflow.h"

namespace stator {
namespace {

double as_double(const Value& value) {
  if (value.isTensor()) return value.toTensor().item().toDouble();
  return double_of(value);
}

std::int64_t as_integer(const Value& value) {
  if (value.isTensor()) return value.toTensor().item().toLong();
  return integer_of(value);
}

std::optional<at::Tensor> as_optional_tensor(const Value& value) {
  if (value.isNone()) return std::nullopt;
  return value.isTensor() ? value.toTensor() : wrapped_number(value);
}

template <class Element, class Convert>
Value typed_list(at::ArrayRef<Value> items, const Convert& convert) {
  c10::List<Element> list;
  list.reserve(items.size());
  for (const Value& item : items) list.push_back(convert(item));
  return list;
}

Value typed_list(at::ArrayRef<Value> items, Coercion coercion) {
  switch (coercion) {
    case Coercion::kTensorList: {
      return typed_list<at::Tensor>(items, [](const Value& item) {
        return item.isTensor() ? item.toTensor() : wrapped_number(item);
      });
    }
    case Coercion::kOptionalTensorList:
      return typed_list<std::optional<at::Tensor>>(items, as_optional_tensor);
    case Coercion::kFloatList:
      return typed_list<double>(items, as_double);
    case Coercion::kBoolList:
      return typed_list<bool>(items, [](const Value& item) { return item.toBool(); });
    case Coercion::kScalarList:
      return typed_list<at::Scalar>(items, [](const Value& item) { return item.toScalar(); });
    default:
      return typed_list<std::int64_t>(items, as_integer);
  }
}

bool is_list_coercion(Coercion coercion) { return coercion >= Coercion::kTensorList; }

Value list_argument(const TorchArgument& argument, const Frame& frame) {
  c10::SmallVector<Value, 8> items;
  for (const Operand item : argument.items) items.push_back(frame.read(item));
  return typed_list(items, argument.coercion);
}

}  // namespace

void spread(const Value& list, const Step& step, Frame& frame) {
  const auto items = items_of(list);
  if (items.size() != step.results.size()) {
    throw demand_error(step.op->name + " gives " + std::to_string(items.size()) +
                       " values; it was captured to give " + std::to_string(step.results.size()));
  }
  for (std::size_t k = 0; k < items.size(); ++k) frame[step.results[k]] = Value(items[k]);
}

namespace {

/// A result of torch as a value of the program: an unsigned integer is one of 64 bits with a sign.
Value to_result(Value value) {
  if (!value.isUnsigned()) return value;
  const std::uint64_t number = value.toUInt();
  if (number > static_cast<std::uint64_t>(INT64_MAX)) too_large(static_cast<Wide>(number));
  return static_cast<std::int64_t>(number);
}

}  // namespace

at::Tensor wrapped_number(const Value& number) {
  at::Tensor tensor = c10::scalar_to_tensor(number.toScalar());
  tensor.unsafeGetTensorImpl()->set_wrapped_number(true);
  return tensor;
}

at::Tensor cast_number(const Value& number, at::ScalarType dtype) {
  return c10::scalar_to_tensor(number.toScalar()).to(dtype);
}

Value coerced(Value value, Coercion coercion, std::int32_t repeat) {
  if (value.isNone() && coercion != Coercion::kTensor) return value;
  if (is_list_coercion(coercion)) {
    if (value.isList()) return typed_list(items_of(value), coercion);
    return typed_list(std::vector<Value>(static_cast<std::size_t>(repeat), value), coercion);
  }
  switch (coercion) {
    case Coercion::kTensor:
      if (value.isTensor()) return value;
      return value.isNone() ? Value(at::Tensor()) : Value(wrapped_number(value));
    case Coercion::kInt:
      return value.isInt() ? value : Value(as_integer(value));
    case Coercion::kFloat:
      return value.isDouble() ? value : Value(as_double(value));
    case Coercion::kDevice:
      return value.isString() ? Value(at::Device(value.toStringRef())) : value;
    default:
      return value;
  }
}

Value argument_value(const TorchArgument& argument, const Frame& frame) {
  if (argument.is_literal_list) return list_argument(argument, frame);
  const Value& value = frame.read(argument.operand);
  if (argument.operand.from == Operand::From::kConstant) return value;  // coerced when planned
  return coerced(value, argument.coercion, argument.repeat);
}

void run_torch(const Step& step, Frame& frame) {
  const auto& call = std::get<TorchCall>(step.detail);
  torch::jit::Stack& stack = frame.memory->stack;
  ++frame.run->counts.boxed;
  stack.clear();  // an op that failed may have left something
  for (const TorchArgument& argument : call.arguments)
    stack.push_back(argument_value(argument, frame));
  if (!call.conditions.empty()) check_arguments(step.op->name, call.conditions, stack);
  if (frame.run->skips_autograd && !call.tracks_views) {
    // views and versions are of no interest either to an op that neither gives a view nor writes
    const c10::impl::ExcludeDispatchKeyGuard below(c10::DispatchKey::ADInplaceOrView);
    call.op.callBoxed(&stack);
  } else {
    call.op.callBoxed(&stack);
  }
  if (call.spreads_list) {
    spread(stack.back(), step, frame);
  } else {
    for (std::size_t k = 0; k < step.results.size(); ++k)
      frame[step.results[k]] = to_result(std::move(stack[k]));
  }
  stack.clear();
}

}  // namespace stator

// conditions_of(), check_arguments(): the measures are those of src/stator/execute/conditions.py.
#include "ops/conditions.h"

#include <ATen/ops/arange.h>
#include <ATen/ops/isfinite.h>
#include <ATen/ops/result_type.h>
#include <ATen/ops/tensor.h>

#include <charconv>
#include <cmath>
#include <limits>
#include <map>

#include "errors.h"
#include "format/allowed_ops.h"

namespace stator {
namespace {

using Arguments = std::array<Value, 3>;
constexpr std::int64_t kLargest = std::numeric_limits<std::int64_t>::max();

bool is_tensor(const Value& value) { return value.isTensor() && value.toTensor().defined(); }

long double element(const at::Tensor& tensor) {
  const at::Scalar item = tensor.item();
  return item.isFloatingPoint() ? static_cast<long double>(item.toDouble())
                                : static_cast<long double>(item.toLong());
}

Number number_of(const Value& value) {
  if (value.isInt() || value.isBool()) return static_cast<long double>(integer_of(value));
  if (value.isDouble()) return static_cast<long double>(value.toDouble());
  return std::nullopt;
}

/// What a tensor or a list of numbers holds; undefined if it has nothing that can be read.
at::Tensor elements_of(const Value& value) {
  at::Tensor elements;
  if (is_tensor(value)) {
    elements = value.toTensor().detach();
  } else if (value.isIntList()) {
    elements = at::tensor(value.toIntVector());
  } else if (value.isInt()) {
    elements = at::tensor(value.toInt());
  } else if (value.isDouble()) {
    elements = at::tensor(value.toDouble());
  }
  if (elements.defined() && (elements.is_meta() || elements.numel() == 0)) return {};
  return elements;
}

Number least_in(const at::Tensor& tensor) {
  if (!tensor.defined() || tensor.numel() == 0) return std::nullopt;
  return element(tensor.min());
}

Number most_in(const at::Tensor& tensor) {
  if (!tensor.defined() || tensor.numel() == 0) return std::nullopt;
  return element(tensor.max());
}

at::Tensor sums_of(const Value& value) {
  const at::Tensor elements = elements_of(value);
  return elements.defined() && elements.dim() > 0 ? elements.sum(-1) : at::Tensor();
}

at::Tensor steps_of(const Value& value) {
  const at::Tensor elements = elements_of(value);
  return elements.defined() && elements.dim() > 0 ? elements.diff() : at::Tensor();
}

/// The elements at the start of each row that `counts` has; all of them in one dimension.
at::Tensor first_of(const Value& value, const Value& counts) {
  const at::Tensor elements = elements_of(value);
  const at::Tensor lengths = elements_of(counts);
  if (!elements.defined() || !lengths.defined() || elements.dim() != 2) return elements;
  const at::Tensor places =
      at::arange(elements.size(1), at::TensorOptions().device(elements.device()));
  const at::Tensor wanted = places.lt(lengths.to(elements.device()).reshape({-1, 1}));
  return elements.masked_select(wanted);
}

Number numel(const Arguments& a) {
  if (!is_tensor(a[0])) return std::nullopt;
  return a[0].toTensor().numel();
}

Number dim(const Arguments& a) {
  if (!is_tensor(a[0])) return std::nullopt;
  return a[0].toTensor().dim();
}

Number size(const Arguments& a) {
  if (!is_tensor(a[0])) return std::nullopt;
  const at::Tensor& tensor = a[0].toTensor();
  const std::int64_t position = a[1].isInt() ? a[1].toInt() : 0;
  if (position < -tensor.dim() || position >= tensor.dim()) return -1.0L;
  return tensor.size(position);
}

Number side(const Arguments& a) {
  if (a[1].isInt() && a[1].toInt() < 0) return std::nullopt;
  return size(a);
}

Number count_given(const Arguments& a) {
  long double count = 0;
  for (const Value& value : a) {
    const bool is_false = value.isBool() && !value.toBool();
    const bool is_missing = value.isNone() || (value.isTensor() && !value.toTensor().defined());
    if (!is_false && !is_missing) ++count;
  }
  return count;
}

Number total(const Arguments& a) {
  if (!number_of(a[0])) return std::nullopt;
  long double sum = 0;
  for (const Value& value : a) sum += number_of(value).value_or(0.0L);
  return sum;
}

/// A sum that integers do not have is taken for the largest.
Number sum(const Arguments& a) {
  const at::Tensor elements = elements_of(a[0]);
  if (!elements.defined()) return 0.0L;
  const double approximate = elements.to(at::kDouble).sum().item().toDouble();
  if (std::abs(approximate) > 0x1p62) return static_cast<long double>(kLargest);
  return element(elements.sum());
}

/// The sum of the repeats; one number is for each element of the tensor along the dimension.
Number repeated(const Arguments& a) {
  const Number total_repeats = sum(a);
  if (numel(a) != 1.0L || !is_tensor(a[1])) return total_repeats;
  const Number length = a[2].isInt() ? size({a[1], a[2]}) : numel({a[1]});
  return *total_repeats * *length;
}

/// Whether an element is infinite or NaN.
Number infinite(const Arguments& a) {
  const at::Tensor elements = elements_of(a[0]);
  if (!elements.defined()) return 0.0L;
  return at::isfinite(elements).all().item().toBool() ? 0.0L : 1.0L;
}

/// The lowest integer of a dtype that division does not widen; 0.5 if there is none.
long double lowest_of(at::ScalarType dtype) {
  if (dtype == at::kLong) return -0x1p63L;
  return dtype == at::kInt ? -0x1p31L : 0.5L;
}

/// Whether an element has no opposite.
Number lowest(const Arguments& a) {
  for (const Value& value : a) {
    if (!is_tensor(value)) continue;
    if (least_in(elements_of(value)) == lowest_of(value.toTensor().scalar_type())) return 1.0L;
  }
  return 0.0L;
}

/// Whether an integer that has no opposite is divided by -1.
Number overflows(const Arguments& a) {
  if (!a[2].isString() || a[2].toStringRef() != "trunc" || !is_tensor(a[0])) return 0.0L;
  const at::Tensor divisor = elements_of(a[1]);
  if (!divisor.defined()) return 0.0L;
  const at::Tensor& dividend = a[0].toTensor();
  const at::ScalarType dtype = is_tensor(a[1]) ? at::result_type(dividend, a[1].toTensor())
                                               : at::result_type(dividend, a[1].toScalar());
  if (least_in(elements_of(a[0])) != lowest_of(dtype)) return 0.0L;
  return divisor.eq(-1).any().item().toBool() ? 1.0L : 0.0L;
}

Number constant(const Arguments& a) { return number_of(a[0]); }

const std::map<std::string_view, Measure> kMeasures = {
    {"number", constant},
    {"numel", numel},
    {"dim", dim},
    {"size", size},
    {"side", side},
    {"given", count_given},
    {"value", total},
    {"total", total},
    {"least", [](const Arguments& a) { return least_in(elements_of(a[0])); }},
    {"most", [](const Arguments& a) { return most_in(elements_of(a[0])); }},
    {"sum", sum},
    {"least_sum", [](const Arguments& a) { return least_in(sums_of(a[0])); }},
    {"most_sum", [](const Arguments& a) { return most_in(sums_of(a[0])); }},
    {"least_step", [](const Arguments& a) { return least_in(steps_of(a[0])); }},
    {"least_of", [](const Arguments& a) { return least_in(first_of(a[0], a[1])); }},
    {"most_of", [](const Arguments& a) { return most_in(first_of(a[0], a[1])); }},
    {"repeated", repeated},
    {"infinite", infinite},
    {"lowest", lowest},
    {"overflows", overflows},
};

const std::map<std::string_view, Condition::Relation> kRelations = {
    {"==", Condition::Relation::kEqual},   {"<=", Condition::Relation::kAtMost},
    {">=", Condition::Relation::kAtLeast}, {"<", Condition::Relation::kBelow},
    {">", Condition::Relation::kAbove},
};

/// Nothing if the overload has no such argument.
std::optional<Quantity> planned(const QuantityRow& row, const c10::FunctionSchema& schema) {
  Quantity made{kMeasures.at(row.measure), {}};
  for (std::size_t k = 0; k < row.arguments.size(); ++k) {
    const std::string_view name = row.arguments[k];
    if (name.empty()) continue;
    Measured argument;
    const char* end = name.data() + name.size();
    if (std::from_chars(name.data(), end, argument.number).ptr != end) {
      const auto place = schema.argumentIndexWithName(name);
      if (!place) return std::nullopt;
      argument.place = static_cast<std::size_t>(*place);
    }
    made.arguments[k] = argument;
  }
  return made;
}

Number measured(const Quantity& quantity, const std::vector<Value>& given) {
  Arguments arguments;
  for (std::size_t k = 0; k < arguments.size(); ++k) {
    const auto& argument = quantity.arguments[k];
    if (!argument) continue;
    arguments[k] = argument->place ? given[*argument->place] : Value(argument->number);
  }
  if (arguments[0].isNone()) return std::nullopt;
  return quantity.measure(arguments);
}

bool holds(long double left, Condition::Relation relation, long double right) {
  switch (relation) {
    case Condition::Relation::kEqual:
      return left == right;
    case Condition::Relation::kAtMost:
      return left <= right;
    case Condition::Relation::kAtLeast:
      return left >= right;
    case Condition::Relation::kBelow:
      return left < right;
    default:
      return left > right;
  }
}

std::string shown(long double number) {
  if (number == std::floor(number) && std::abs(number) <= static_cast<long double>(kLargest))
    return std::to_string(static_cast<std::int64_t>(number));
  return std::to_string(static_cast<double>(number));
}

}  // namespace

std::vector<Condition> conditions_of(const c10::FunctionSchema& schema, const std::string& name) {
  std::vector<Condition> conditions;
  for (const ConditionRow& row : condition_rows(name)) {
    const auto left = planned(row.left, schema);
    const auto right = planned(row.right, schema);
    if (left && right)
      conditions.push_back({std::string(row.text), *left, kRelations.at(row.relation), *right});
  }
  return conditions;
}

void check_arguments(const std::string& name, const std::vector<Condition>& conditions,
                     const std::vector<Value>& arguments) {
  for (const Condition& condition : conditions) {
    const Number left = measured(condition.left, arguments);
    const Number right = measured(condition.right, arguments);
    if (!left || !right || holds(*left, condition.relation, *right)) continue;
    throw Error("RuntimeError", name + " needs " + condition.text + ", and has " + shown(*left) +
                                    " and " + shown(*right));
  }
}

}  // namespace stator

// Conditions on the arguments of torch ops, which torch leaves to the caller.
#pragma once

#include <ATen/core/function_schema.h>

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "value.h"

namespace stator {

/// An argument of a measure: a place among the arguments of the call, or a number.
struct Measured {
  std::optional<std::size_t> place;
  std::int64_t number = 0;
};

/// What a measure gives: an integer of 64 bits, or a double. Nothing if there is nothing to measure.
using Number = std::optional<long double>;
using Measure = Number (*)(const std::array<Value, 3>& arguments);

struct Quantity {
  Measure measure = nullptr;
  std::array<std::optional<Measured>, 3> arguments;
};

struct Condition {
  enum class Relation : std::uint8_t { kEqual, kAtMost, kAtLeast, kBelow, kAbove };
  std::string text;
  Quantity left;
  Relation relation = Relation::kEqual;
  Quantity right;
};

/// The conditions on calls of this op.
std::vector<Condition> conditions_of(const c10::FunctionSchema& schema, const std::string& name);

/// RuntimeError if a call of the op `name` breaks one of its conditions.
void check_arguments(const std::string& name, const std::vector<Condition>& conditions,
                     const std::vector<Value>& arguments);

}  // namespace stator

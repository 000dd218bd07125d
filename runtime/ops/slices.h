// Slices: which items of a sequence `sequence[start:stop:step]` has.
#pragma once

#include <algorithm>
#include <cstdint>

#include "errors.h"
#include "interpreter/frame.h"
#include "interpreter/step.h"
#include "value.h"

namespace stator {

/// Python's `slice(start, stop, step).indices(count)`.
struct Range {
  std::int64_t start, stop, step;
};

inline Range range_of(const Value& start, const Value& stop, const Value& step,
                      std::int64_t count) {
  const std::int64_t stride = step.isNone() ? 1 : integer_of(step);
  if (stride == 0) throw Error("ValueError", "slice step cannot be zero");
  const std::int64_t lowest = stride < 0 ? -1 : 0;
  const std::int64_t highest = stride < 0 ? count - 1 : count;
  const auto bound = [&](const Value& given, std::int64_t usual) {
    if (given.isNone()) return usual;
    const std::int64_t index = integer_of(given);
    return index < 0 ? std::max(index + count, lowest) : std::min(index, highest);
  };
  return {bound(start, stride < 0 ? highest : lowest), bound(stop, stride < 0 ? lowest : highest),
          stride};
}

inline Value operand_or_none(const Step& step, Frame& frame, std::size_t k) {
  return k < step.args.size() ? frame.read(step.args[k]) : Value();
}

}  // namespace stator

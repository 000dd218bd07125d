// The table of Stator's own ops: how many arguments each takes, and the function that runs it.
#pragma once

#include <string_view>
#include <vector>

#include "interpreter/step.h"

namespace stator {

constexpr std::size_t kAnyNumber = 1'000'000;

struct OpRow {
  std::string_view name;
  Handler run;
  std::size_t least_args;
  std::size_t most_args;
  std::size_t results;                          // kAnyNumber: as many as the op has
  std::vector<std::string_view> trailing = {};  // attributes that become the last arguments
  bool spreads_lists = false;                   // a list of arguments becomes arguments
};

/// The row of an op; null if Stator has no such op, or if it needs Python.
const OpRow* find_row(std::string_view name);

}  // namespace stator

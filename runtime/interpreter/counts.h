// Counts: how often torch ops were run in which way. Tests read them, so that no fast path decays
// unseen.
#pragma once

#include <cstdint>

namespace stator {

struct Counts {
  std::uint64_t small = 0;     // by a kernel for small tensors, without the dispatcher
  std::uint64_t recorded = 0;  // the same, with a gradient recorded
  std::uint64_t unboxed = 0;   // by a typed call of the dispatcher
  std::uint64_t boxed = 0;     // with the arguments on a stack
  std::uint64_t numbers = 0;   // loops and branches of numbers, run by their own code
  std::uint64_t compiled = 0;  // regions, by the code of a library
};

/// The sum over all runs of the process that have ended.
Counts counts_so_far();

/// Adds what one run has counted.
void add_counts(const Counts& counts);

}  // namespace stator

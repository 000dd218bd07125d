#include "interpreter/counts.h"

#include <atomic>

namespace stator {
namespace {

struct Totals {
  std::atomic<std::uint64_t> small, recorded, unboxed, boxed, numbers, compiled;
};

Totals& totals() {
  static Totals all{};
  return all;
}

void add(std::atomic<std::uint64_t>& total, std::uint64_t count) {
  if (count != 0) total.fetch_add(count, std::memory_order_relaxed);
}

}  // namespace

Counts counts_so_far() {
  const Totals& all = totals();
  return {all.small.load(), all.recorded.load(), all.unboxed.load(),
          all.boxed.load(), all.numbers.load(),  all.compiled.load()};
}

void add_counts(const Counts& counts) {
  Totals& all = totals();
  add(all.small, counts.small);
  add(all.recorded, counts.recorded);
  add(all.unboxed, counts.unboxed);
  add(all.boxed, counts.boxed);
  add(all.numbers, counts.numbers);
  add(all.compiled, counts.compiled);
}

}  // namespace stator

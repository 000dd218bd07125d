// FrameMemory: what a frame works with, kept between runs. FramePool: what is kept.
//
// A run of a small program takes microseconds, so it must not begin with allocations. No value
// outlives its run here: registers are empty between runs, and a tensor of `scratch` that anyone
// else holds when the run ends is let go.
#pragma once

#include <ATen/core/stack.h>

#include <array>
#include <atomic>
#include <memory>
#include <vector>

#include "interpreter/plan.h"

namespace stator {

namespace kernels {
class Iteration;
}

struct FrameMemory {
  explicit FrameMemory(const Routine& routine);
  ~FrameMemory();
  FrameMemory(const FrameMemory&) = delete;
  FrameMemory& operator=(const FrameMemory&) = delete;

  /// Forgets the values of a run.
  void clear();

  std::vector<Value> registers;
  std::vector<at::Tensor> scratch;  // memory of results, by TorchCall::scratch
  std::vector<std::unique_ptr<kernels::Iteration>> iterations;  // by TorchCall::iteration
  torch::jit::Stack stack;                                      // for boxed calls
};

/// Memory of frames that no run uses now. Any thread may take from it and give to it.
class FramePool {
 public:
  explicit FramePool(std::size_t routines) : routines_(routines) {}
  ~FramePool();
  FramePool(const FramePool&) = delete;
  FramePool& operator=(const FramePool&) = delete;

  std::unique_ptr<FrameMemory> take(const Routine& routine);
  void give(const Routine& routine, std::unique_ptr<FrameMemory> memory);

 private:
  static constexpr std::size_t kKept = 4;  // of each routine; more are allocated as needed
  using Places = std::array<std::atomic<FrameMemory*>, kKept>;
  std::vector<Places> routines_;
};

/// May the memory of a result be written again? Only if nothing else holds it, and nothing has
/// made it more than a plain tensor.
bool is_free(const at::Tensor& tensor);

}  // namespace stator

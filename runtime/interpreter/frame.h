// Run and Frame: the state of one run, and of one activation in it.
#pragma once

#include <chrono>
#include <memory>
#include <vector>

#include "interpreter/counts.h"
#include "interpreter/frame_memory.h"
#include "interpreter/plan.h"
#include "stator/host.h"

namespace stator {

/// What one run shares between its frames. Backward blocks may outlive the call that made them, so
/// the inputs, the stored tensors and the plan are held here.
struct Run {
  std::shared_ptr<const Plan> plan;
  std::shared_ptr<const std::vector<Value>> stored;
  std::vector<Value> inputs;
  bool is_plain = false;        // no mode of torch watches, casts or transforms what the run does
  bool caller_records = false;  // gradients, where the caller has not turned them off
  bool skips_autograd = false;  // no gradient is recorded: ops are dispatched below autograd
  bool may_record = false;      // autograd's nodes may be made without the dispatcher
  Counts counts;                // of the ways in which torch ops were run
  Host* host = nullptr;         // lent; outlives every backward pass of what the run has made

  /// What Python objects hold by now, should the program raise: the last `stator::note`.
  struct Noted {
    std::int64_t number;
    std::vector<Value> values;
  };
  std::optional<Noted> noted;

  /// Calls Host::poll_interrupt about every 20 ms, however long an iteration takes.
  void poll_interrupt();

 private:
  std::uint32_t countdown_ = 1;
  std::uint32_t stride_ = 1;
  std::chrono::steady_clock::time_point last_poll_;
};

/// One activation of a routine, on one thread.
class Frame {
 public:
  /// The first frame of a run, or of a backward block, on this thread.
  Frame(const Routine& routine, const std::shared_ptr<Run>& run);

  /// The frame of a function that `caller` calls.
  Frame(const Routine& routine, const Frame& caller);
  Frame(const Frame&) = delete;
  Frame& operator=(const Frame&) = delete;
  ~Frame();

  Value& operator[](Register index) { return registers_[index]; }

  /// The value of an operand, lent.
  const Value& read(Operand operand) const {
    return bases_[static_cast<std::size_t>(operand.from)][operand.index];
  }

  /// The value of an operand, moved out of its register at its last use.
  Value take(Operand operand) {
    if (operand.last) return std::move(registers_[operand.index]);
    return read(operand);
  }

  const Routine& routine;
  std::shared_ptr<Run> run;
  std::int64_t depth;                    // of calls
  const char* stack_base;                // where the C++ stack of this run begins
  std::vector<std::vector<Value>> kept;  // for handlers, by slot
  std::vector<Error> caught;             // what the handlers that run have caught
  std::unique_ptr<FrameMemory> memory;
  std::optional<bool> full_precision;  // of products of floats, as the caller has set it

 private:
  Value* registers_;
  const Value* bases_[4];
};

/// Runs the steps of a block. Errors leave with the place of the innermost op that failed.
void run_block(const Steps& block, Frame& frame);

/// Runs one step, as `run_block` does.
void run_step(const Step& step, Frame& frame);

/// Assigns `sources` to `targets` as one step, the way `a, b = b, a` does in Python.
void assign_all(const std::vector<Register>& targets, const Operand* sources, Frame& frame);

/// The outputs of the plan's program.
std::vector<Value> run_plan(const std::shared_ptr<Run>& run);

}  // namespace stator

// Plan: a program, ready to run. Immutable after it is made, and shared by all threads.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "compiled/region.h"
#include "interpreter/step.h"

namespace stator {

/// The body of the program, or one of its functions: its steps and the size of its frame.
struct Routine {
  std::string name;
  Steps steps;
  std::uint32_t index = 0;  // among the routines of the plan
  std::uint32_t registers = 0;
  std::uint32_t slots = 0;                              // of `try` ops
  std::uint32_t scratch = 0;                            // results that fast ops reuse
  std::uint32_t iterations = 0;                         // loops of ATen's that fast ops reuse
  std::vector<std::pair<std::string, Register>> names;  // registers that hold the user's variables
};

class FramePool;

struct Plan {
  Plan();
  ~Plan();
  Plan(const Plan&) = delete;
  Plan& operator=(const Plan&) = delete;

  Program program;
  std::vector<Value> constants;
  Routine checks;  // what the program demands of the sizes of its inputs, checked first
  Routine body;
  std::vector<Routine> functions;
  std::vector<at::DeviceType> autocast_devices;
  bool sets_modes = false;
  bool enables_gradients = false;     // records gradients even if the caller does not
  bool starts_gradients = false;      // makes tensors that need gradients, or asks for gradients
  std::unique_ptr<FramePool> frames;  // memory between runs; not part of what the plan says
};

/// Where a program comes from. One from a file may only call ops that a file may name.
enum class Trust : std::uint8_t { kFile, kOwnProcess };

/// The plan of `program`, which must have passed `verify`. Throws an Error (ST400) for an op that
/// does not exist, or a call that its schema does not allow. A program with `stator::region` ops
/// needs the code for them.
std::shared_ptr<const Plan> make_plan(Program program, Trust trust, CompiledRegions regions = {});

}  // namespace stator

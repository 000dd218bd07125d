// NumberCode: a loop or a branch of plain Python numbers, as code for a small machine of its own.
//
// Where everything inside a `while` or an `if` is an int, a float or a bool, their types are known
// when the plan is made. Then no value needs a tag: it lives in a slot of 8 bytes, and an
// instruction is one operation of the processor and a check. Whatever goes wrong (an overflow, a
// division by zero) is done again by the step that the instruction was made of, which raises the
// error as it always does.
#pragma once

#include <cstdint>
#include <vector>

#include "interpreter/step.h"

namespace stator {

enum class NumberType : std::uint8_t { kBool, kInt, kFloat };

/// A number without its type. A bool is an integer.
union NumberSlot {
  std::int64_t integer;
  double real;
};

enum class NumberAction : std::uint8_t {
  kMove,     // to = a
  kToFloat,  // to = float(a), of an integer
  kAddInt,   // to = a + b, checked; so are the next two
  kSubInt,
  kMulInt,
  kFloorDivInt,  // to = a // b
  kModInt,       // to = a % b
  kAddFloat,
  kSubFloat,
  kMulFloat,
  kDivFloat,
  kLessInt,
  kLessEqualInt,
  kEqualInt,
  kNotEqualInt,
  kLessFloat,
  kLessEqualFloat,
  kEqualFloat,
  kNotEqualFloat,
  kNot,  // to = not a, of an integer or bool
  kAnd,  // of bools
  kOr,
  kJump,       // to the instruction `target`
  kJumpIfNot,  // if the bool a is false
  kLoop,       // to the instruction `target` if the bool a is true; looks for Ctrl-C
  kStep,       // runs `step` in the frame, over slots copied there and back
};

struct NumberInstruction {
  NumberAction action = NumberAction::kMove;
  std::uint16_t to = 0;
  std::uint16_t a = 0;
  std::uint16_t b = 0;
  std::uint32_t target = 0;  // of a jump; of an op, the place in `steps` of what it was made of
};

/// A number of the frame, and the slot that holds it.
struct NumberPlace {
  Operand operand;
  std::uint16_t slot = 0;
  NumberType type = NumberType::kInt;
};

/// What an instruction was made of: the step, its arguments and its result.
struct NumberStep {
  const Op* op = nullptr;  // finds the step while the plan is made
  const Step* step = nullptr;
  std::vector<NumberPlace> args;
  NumberPlace result;
};

struct NumberCode {
  std::vector<NumberPlace> inputs;   // read from the frame before
  std::vector<NumberPlace> outputs;  // written to the frame after
  std::vector<std::pair<std::uint16_t, NumberSlot>> constants;
  std::vector<NumberInstruction> instructions;
  std::vector<NumberStep> steps;
  std::uint16_t slots = 0;
};

}  // namespace stator

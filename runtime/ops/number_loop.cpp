#include "ops/number_loop.h"

#include "ops/handlers.h"

namespace stator {
namespace {

constexpr std::uint32_t kIterationsBetweenPolls = 64;

bool read_slot(const Value& value, NumberType type, NumberSlot& slot) {
  switch (type) {
    case NumberType::kBool:
      if (!value.isBool()) return false;
      slot.integer = value.toBool() ? 1 : 0;
      return true;
    case NumberType::kInt:
      if (!value.isInt()) return false;
      slot.integer = value.toInt();
      return true;
    case NumberType::kFloat:
      if (!value.isDouble()) return false;
      slot.real = value.toDouble();
      return true;
  }
  return false;
}

Value value_of(NumberSlot slot, NumberType type) {
  switch (type) {
    case NumberType::kBool:
      return Value(slot.integer != 0);
    case NumberType::kInt:
      return Value(slot.integer);
    case NumberType::kFloat:
      break;
  }
  return Value(slot.real);
}

/// Runs a step of the interpreter over slots.
void run_in_frame(const NumberStep& made, NumberSlot* slots, Frame& frame) {
  for (const NumberPlace& arg : made.args)
    frame[arg.operand.index] = value_of(slots[arg.slot], arg.type);
  run_step(*made.step, frame);
  const NumberPlace& result = made.result;
  if (!read_slot(frame[result.operand.index], result.type, slots[result.slot]))
    throw demand_error(made.step->op->name + " gives another type than the program says");
}

std::int64_t floor_quotient(std::int64_t a, std::int64_t b) {
  return a / b - static_cast<std::int64_t>(a % b != 0 && (a < 0) != (b < 0));
}

std::int64_t floor_rest(std::int64_t a, std::int64_t b) {
  const std::int64_t rest = a % b;
  return rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
}

/// Division needs no care if the divisor is neither 0 nor -1.
bool is_easy_divisor(std::int64_t b) { return b != 0 && b != -1; }

void run_code(const NumberCode& code, NumberSlot* slots, Frame& frame) {
  const NumberInstruction* const begin = code.instructions.data();
  const NumberInstruction* const end = begin + code.instructions.size();
  std::uint32_t until_poll = kIterationsBetweenPolls;
  for (const NumberInstruction* now = begin; now != end;) {
    const NumberInstruction& at = *now++;
    NumberSlot& to = slots[at.to];
    const NumberSlot a = slots[at.a];
    const NumberSlot b = slots[at.b];
    bool is_done = true;  // or the step must do it
    switch (at.action) {
      case NumberAction::kMove:
        to = a;
        break;
      case NumberAction::kToFloat:
        to.real = static_cast<double>(a.integer);
        break;
      case NumberAction::kAddInt: {
        std::int64_t sum = 0;
        is_done = !__builtin_add_overflow(a.integer, b.integer, &sum);
        if (is_done) to.integer = sum;
        break;
      }
      case NumberAction::kSubInt: {
        std::int64_t difference = 0;
        is_done = !__builtin_sub_overflow(a.integer, b.integer, &difference);
        if (is_done) to.integer = difference;
        break;
      }
      case NumberAction::kMulInt: {
        std::int64_t product = 0;
        is_done = !__builtin_mul_overflow(a.integer, b.integer, &product);
        if (is_done) to.integer = product;
        break;
      }
      case NumberAction::kFloorDivInt:
        is_done = is_easy_divisor(b.integer);
        if (is_done) to.integer = floor_quotient(a.integer, b.integer);
        break;
      case NumberAction::kModInt:
        is_done = is_easy_divisor(b.integer);
        if (is_done) to.integer = floor_rest(a.integer, b.integer);
        break;
      case NumberAction::kAddFloat:
        to.real = a.real + b.real;
        break;
      case NumberAction::kSubFloat:
        to.real = a.real - b.real;
        break;
      case NumberAction::kMulFloat:
        to.real = a.real * b.real;
        break;
      case NumberAction::kDivFloat:
        is_done = b.real != 0.0;
        if (is_done) to.real = a.real / b.real;
        break;
      case NumberAction::kLessInt:
        to.integer = a.integer < b.integer;
        break;
      case NumberAction::kLessEqualInt:
        to.integer = a.integer <= b.integer;
        break;
      case NumberAction::kEqualInt:
        to.integer = a.integer == b.integer;
        break;
      case NumberAction::kNotEqualInt:
        to.integer = a.integer != b.integer;
        break;
      case NumberAction::kLessFloat:
        to.integer = a.real < b.real;
        break;
      case NumberAction::kLessEqualFloat:
        to.integer = a.real <= b.real;
        break;
      case NumberAction::kEqualFloat:
        to.integer = a.real == b.real;
        break;
      case NumberAction::kNotEqualFloat:
        to.integer = a.real != b.real;
        break;
      case NumberAction::kNot:
        to.integer = a.integer == 0;
        break;
      case NumberAction::kAnd:
        to.integer = a.integer & b.integer;
        break;
      case NumberAction::kOr:
        to.integer = a.integer | b.integer;
        break;
      case NumberAction::kJump:
        now = begin + at.target;
        break;
      case NumberAction::kJumpIfNot:
        if (a.integer == 0) now = begin + at.target;
        break;
      case NumberAction::kLoop:
        if (a.integer == 0) break;
        now = begin + at.target;
        if (--until_poll == 0) {
          frame.run->poll_interrupt();
          until_poll = kIterationsBetweenPolls;
        }
        break;
      case NumberAction::kStep:
        is_done = false;
        break;
    }
    if (!is_done) run_in_frame(code.steps[at.target], slots, frame);
  }
}

}  // namespace

void run_numbers(const Step& step, Frame& frame) {
  const auto& code = *std::get<std::shared_ptr<NumberCode>>(step.detail);
  std::vector<NumberSlot> slots(code.slots);
  for (const NumberPlace& input : code.inputs) {
    if (!read_slot(frame.read(input.operand), input.type, slots[input.slot]))
      return step.blocks.size() == 1 ? run_while(step, frame) : run_if(step, frame);
  }
  for (const auto& [slot, value] : code.constants) slots[slot] = value;
  run_code(code, slots.data(), frame);
  for (const NumberStep& made : code.steps) {  // what they left in the frame is inside the loop
    for (const NumberPlace& arg : made.args) frame[arg.operand.index] = Value();
    frame[made.result.operand.index] = Value();
  }
  for (const NumberPlace& output : code.outputs)
    frame[output.operand.index] = value_of(slots[output.slot], output.type);
  ++frame.run->counts.numbers;
}

}  // namespace stator

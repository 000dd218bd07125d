// run_plan() and run_block(): the loop of the interpreter, and what it adds to errors.
#include <ATen/core/grad_mode.h>
#include <c10/core/impl/LocalDispatchKeySet.h>

#include <algorithm>
#include <cctype>

#include "interpreter/frame.h"
#include "ops/modes.h"

namespace stator {
namespace {

constexpr auto kPollInterval = std::chrono::milliseconds(20);
constexpr std::uint32_t kLongestStride = 4096;   // iterations between two looks at the clock
constexpr std::ptrdiff_t kStackLimit = 5 << 20;  // bytes; threads have 8 MiB
constexpr const char* kNote = "  in the program";

/// The variables of the user that still have a value, and their types.
std::vector<std::pair<std::string, std::string>> variables(Frame& frame) {
  std::vector<std::pair<std::string, std::string>> found;
  const Program& program = frame.run->plan->program;
  const auto add = [&](const std::string& name, const Value& value) {
    const bool is_number =
        std::ranges::all_of(name, [](unsigned char c) { return std::isdigit(c); });
    const bool is_tag = name.ends_with(".tag");  // of an input that may be None
    if (!is_number && !is_tag && !value.isNone()) found.emplace_back(name, describe(value));
  };
  for (std::size_t k = 0; k < program.inputs.size(); ++k) {
    add(program.values[program.inputs[k]].name, frame.run->inputs[k]);
  }
  for (std::size_t k = 0; k < program.stored.size(); ++k) {
    add(program.values[program.stored[k].value].name, (*frame.run->stored)[k]);
  }
  for (const auto& [name, index] : frame.routine.names) add(name, frame[index]);
  return found;
}

bool is_effect(const std::string& name) {
  static constexpr std::array kEffects = std::to_array<std::string_view>(
      {"stator::assert", "stator::raise", "stator::demand", "stator::print", "stator::set_grad",
       "stator::set_inference", "stator::set_autocast", "stator::seed",
       "stator::set_random_state"});
  return std::ranges::find(kEffects, name) != kEffects.end();
}

std::string given_to(const Step& step, const Frame& frame) {
  std::string text;
  const auto add = [&](const std::string& shown) { text += (text.empty() ? "" : ", ") + shown; };
  const auto* call = std::get_if<TorchCall>(&step.detail);
  for (std::size_t k = 0; k < step.op->args.size(); ++k) {
    if (call == nullptr) {
      if (k < step.args.size()) add(describe(frame.read(step.args[k])));
    } else if (!call->arguments[k].is_literal_list) {
      add(describe(frame.read(call->arguments[k].operand)));
    } else {
      std::vector<Value> items;
      for (const Operand item : call->arguments[k].items) items.push_back(frame.read(item));
      add(describe(make_list(std::move(items))));
    }
  }
  return text;
}

/// Says where the op that failed is, and what it was given. The innermost op does, once.
void add_notes(Error& error, const Step& step, Frame& frame) {
  if (step.op == nullptr) return;
  if (!error.code.empty()) {
    if (!error.place) error.place = step.op->place;
    if (error.involved.empty() && error.code == "ST302") error.involved = variables(frame);
    return;
  }
  if (!error.notes.empty()) return;
  error.place = step.op->place;
  error.notes.emplace_back(error.place ? kNote + (" at " + to_text(*error.place)) : kNote);
  if (!is_effect(step.op->name)) {
    error.notes.push_back("  " + step.op->name + " was given (" + given_to(step, frame) + ")");
    return;
  }
  std::string named;
  for (const auto& [name, type] : variables(frame)) {
    named += (named.empty() ? "" : ", ") + name + ": " + type;
  }
  if (!named.empty()) error.notes.push_back("  called with " + named);
}

/// Blocks within blocks, and calls within calls, use the C++ stack: how much is limited.
void check_stack(const Frame& frame) {
  const char here = 0;
  const std::ptrdiff_t used = frame.stack_base - &here;
  if (used > kStackLimit || used < -kStackLimit) {
    throw Error("RecursionError", "the program is nested too deeply");
  }
}

void check_sizes(const std::shared_ptr<Run>& run) {
  Frame frame(run->plan->checks, run);
  try {
    run_block(run->plan->checks.steps, frame);
  } catch (Error& error) {
    error.before_running = true;
    throw;
  }
}

}  // namespace

void Run::poll_interrupt() {
  if (--countdown_ != 0 || host == nullptr) return;
  const auto now = std::chrono::steady_clock::now();
  const auto passed = now - last_poll_;
  if (passed < kPollInterval) {
    stride_ = passed < kPollInterval / 4 ? std::min(stride_ * 2, kLongestStride) : stride_;
  } else {
    stride_ = std::max(stride_ / 4, 1U);
    last_poll_ = now;
    host->poll_interrupt();
  }
  countdown_ = stride_;
}

Frame::Frame(const Routine& of, const std::shared_ptr<Run>& shared)
    : routine(of),
      run(shared),
      depth(0),
      stack_base(reinterpret_cast<const char*>(this)),
      kept(of.slots),
      memory(shared->plan->frames->take(of)),
      registers_(memory->registers.data()),
      bases_{registers_, shared->inputs.data(), shared->stored->data(),
             shared->plan->constants.data()} {}

Frame::~Frame() { run->plan->frames->give(routine, std::move(memory)); }

Frame::Frame(const Routine& of, const Frame& caller) : Frame(of, caller.run) {
  depth = caller.depth + 1;
  stack_base = caller.stack_base;
}

void run_block(const Steps& block, Frame& frame) {
  check_stack(frame);
  const Step* step = block.steps.data();
  try {
    for (const Step* end = step + block.steps.size(); step != end; ++step) {
      step->run(*step, frame);
      for (const Register index : step->released) frame[index] = Value();
    }
  } catch (const std::exception&) {
    Error error = current_error();
    add_notes(error, *step, frame);
    throw error;
  }
}

void run_step(const Step& step, Frame& frame) {
  try {
    step.run(step, frame);
  } catch (const std::exception&) {
    Error error = current_error();
    add_notes(error, step, frame);
    throw error;
  }
}

void assign_all(const std::vector<Register>& targets, const Operand* sources, Frame& frame) {
  c10::SmallVector<Value, 8> values;
  for (std::size_t k = 0; k < targets.size(); ++k) values.push_back(frame.take(sources[k]));
  for (std::size_t k = 0; k < targets.size(); ++k) frame[targets[k]] = std::move(values[k]);
}

namespace {

/// Does autocast change the dtype of nothing, from the start of the run to its end?
bool is_without_autocast(const Plan& plan) {
  return plan.autocast_devices.empty() && !is_autocast_on();
}

bool needs_gradients(const std::vector<Value>& values) {
  return std::ranges::any_of(values, [](const Value& value) {
    if (value.isTensor()) return value.toTensor().defined() && value.toTensor().requires_grad();
    return value.isList() && needs_gradients(items_of(value).vec());
  });
}

/// Can no op of the run record a gradient, whatever it is given?
bool records_nothing(const Run& run) {
  if (run.plan->enables_gradients) return false;
  if (!at::GradMode::is_enabled()) return true;
  return !run.plan->starts_gradients && !needs_gradients(run.inputs) &&
         !needs_gradients(*run.stored);
}

/// Adds up what the run counts, however it ends.
struct Counted {
  explicit Counted(const Run& of) : run(of) {}
  ~Counted() { add_counts(run.counts); }
  Counted(const Counted&) = delete;
  Counted& operator=(const Counted&) = delete;
  const Run& run;
};

}  // namespace

std::vector<Value> run_plan(const std::shared_ptr<Run>& run) {
  const Plan& plan = *run->plan;
  const bool is_seen = !is_plain_dispatch();
  run->is_plain = !is_seen && is_without_autocast(plan);
  run->caller_records = at::GradMode::is_enabled();
  run->skips_autograd = !is_seen && records_nothing(*run);
  run->may_record = run->is_plain && !run->skips_autograd && !is_recording_watched();
  const Counted counted(*run);
  std::optional<c10::impl::ExcludeDispatchKeyGuard> below_autograd;
  if (run->skips_autograd) below_autograd.emplace(c10::autograd_dispatch_keyset);
  if (!plan.checks.steps.steps.empty()) check_sizes(run);
  const ModesRestored modes(plan.sets_modes, plan.autocast_devices);
  Frame frame(plan.body, run);
  run_block(plan.body.steps, frame);
  std::vector<Value> outputs;
  outputs.reserve(plan.body.steps.outputs.size());
  for (const Operand output : plan.body.steps.outputs) outputs.push_back(frame.take(output));
  return outputs;
}

}  // namespace stator

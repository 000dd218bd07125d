// The control ops: if, while, call, try, keep, reraise.
#include "ops/handlers.h"
#include "ops/modes.h"

namespace stator {

/// stator::if(condition) {then} {else}
/// Runs one of the two blocks; the results are what it yields.
void run_if(const Step& step, Frame& frame) {
  const Steps& block = step.blocks[is_true(frame.read(step.args[0])) ? 0 : 1];
  run_block(block, frame);
  assign_all(step.results, block.outputs.data(), frame);
  for (const Register index : block.released) frame[index] = Value();
}

/// stator::while(condition, *init) {body}
/// Runs the body as long as the condition that it yielded last is true. The results are the values
/// that the body yielded last: `init` if there was no iteration.
void run_while(const Step& step, Frame& frame) {
  const Steps& body = step.blocks[0];
  bool running = is_true(frame.read(step.args[0]));
  if (!running) {
    assign_all(step.results, step.args.data() + 1, frame);
    return;
  }
  assign_all(body.inputs, step.args.data() + 1, frame);
  while (true) {
    frame.run->poll_interrupt();  // so that Ctrl-C ends an endless loop
    run_block(body, frame);
    running = is_true(frame.read(body.outputs[0]));
    assign_all(running ? body.inputs : step.results, body.outputs.data() + 1, frame);
    for (const Register index : body.released) frame[index] = Value();
    if (!running) return;
  }
}

/// stator::call(*args) function="name"
/// Runs a function of the program in a frame of its own.
void run_call(const Step& step, Frame& frame) {
  const Routine& function = frame.run->plan->functions[std::get<Call>(step.detail).function];
  const std::int64_t limit = frame.run->host == nullptr ? 1000 : frame.run->host->recursion_limit();
  if (frame.depth >= limit) {
    throw Error("RecursionError", "`" + function.name + "` calls itself more than " +
                                      std::to_string(limit) + " times deep");
  }
  frame.run->poll_interrupt();
  Frame inner(function, frame);
  for (std::size_t k = 0; k < step.args.size(); ++k) {
    inner[function.steps.inputs[k]] = frame.take(step.args[k]);
  }
  run_block(function.steps, inner);
  for (std::size_t k = 0; k < step.results.size(); ++k) {
    frame[step.results[k]] = inner.read(function.steps.outputs[k]);
  }
}

namespace {

bool is_any_of(const Error& error, const std::vector<std::string>& names) {
  for (const std::string& name : names) {
    if (error.is_a(name)) return true;
  }
  return false;
}

/// A handler gets the class and the message of the error, what was kept, and the answers.
void run_handler(const Step& step, std::size_t index, const Error& error, Frame& frame) {
  const auto& attempt = std::get<TryClauses>(step.detail);
  const Steps& handler = step.blocks[index + 1];
  std::vector<Value> given = {Value(error.shown_type()), Value(error.message)};
  for (const Value& kept : frame.kept[attempt.slot]) given.push_back(kept);
  for (const auto& asked : attempt.clauses[index].asks) given.emplace_back(is_any_of(error, asked));
  for (std::size_t k = 0; k < given.size(); ++k) frame[handler.inputs[k]] = std::move(given[k]);
  frame.caught.push_back(error);
  try {
    run_block(handler, frame);
  } catch (...) {  // whatever it is goes on, without the error that was handled
    frame.caught.pop_back();
    throw;
  }
  frame.caught.pop_back();
  assign_all(step.results, handler.outputs.data(), frame);
  for (const Register released : handler.released) frame[released] = Value();
}

}  // namespace

/// stator::try(*start) {body} {handler}... number= catches= asks=
/// Runs the body. If it raises an exception of a class that a handler catches, runs that handler
/// instead. Errors of Stator's own are not caught.
void run_try(const Step& step, Frame& frame) {
  const auto& attempt = std::get<TryClauses>(step.detail);
  auto& kept = frame.kept[attempt.slot];
  kept.clear();
  for (const Operand start : step.args) kept.push_back(frame.read(start));
  std::optional<Error> error;
  try {
    const ModesRestored modes(true, frame.run->plan->autocast_devices);
    run_block(step.blocks[0], frame);
  } catch (const Error& raised) {
    if (!raised.code.empty()) throw;
    error = raised;
  }
  if (!error) {
    assign_all(step.results, step.blocks[0].outputs.data(), frame);
    for (const Register index : step.blocks[0].released) frame[index] = Value();
    return;
  }
  for (std::size_t k = 0; k < attempt.clauses.size(); ++k) {
    if (is_any_of(*error, attempt.clauses[k].catches)) return run_handler(step, k, *error, frame);
  }
  throw *error;
}

/// stator::keep(*values) number=
/// What the handlers of that `try` are given, should the next op raise.
void run_keep(const Step& step, Frame& frame) {
  auto& kept = frame.kept[std::get<Keep>(step.detail).slot];
  kept.clear();
  for (const Operand value : step.args) kept.push_back(frame.read(value));
}

/// stator::reraise()
/// In a handler: raises what it has caught.
void run_reraise(const Step& /*step*/, Frame& frame) {
  if (frame.caught.empty()) throw Error("RuntimeError", "No active exception to reraise");
  throw frame.caught.back();
}

}  // namespace stator

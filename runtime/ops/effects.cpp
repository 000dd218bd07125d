// The effect and text ops.
#include <ATen/CPUGeneratorImpl.h>
#include <ATen/Context.h>

#include <mutex>

#include "ops/handlers.h"
#include "ops/modes.h"
#include "text/format_spec.h"
#include "text/repr.h"

namespace stator {
namespace {

std::optional<std::string> text_or_none(const Value& value) {
  if (value.isNone()) return std::nullopt;
  return value.toStringRef();
}

}  // namespace

/// stator::assert(condition, message)
/// Raises AssertionError if the condition is false.
void run_assert(const Step& step, Frame& frame) {
  if (is_true(frame.read(step.args[0]))) return;
  std::vector<Value> args;
  if (step.args.size() > 1 && !frame.read(step.args[1]).isNone()) {
    args.push_back(frame.read(step.args[1]));
  }
  throw raised("AssertionError", std::move(args));
}

/// stator::raise(type, *args) names= fields=
/// Raises the builtin exception of that name. `names` are the classes of it that users wrote; the
/// last of the arguments are its attributes `fields`, of which `text__` is Python's `str` of it
/// where the builtin class would quote its argument.
void run_raise(const Step& step, Frame& frame) {
  const auto& detail = std::get<Raise>(step.detail);
  std::vector<Value> args;
  for (std::size_t k = 1; k < step.args.size(); ++k) args.push_back(frame.read(step.args[k]));
  const std::size_t count = args.size() - detail.fields.size();
  std::vector<Value> fields(args.begin() + static_cast<std::ptrdiff_t>(count), args.end());
  args.resize(count);
  Error error = raised(frame.read(step.args[0]).toStringRef(), std::move(args));
  error.names = detail.names;
  for (std::size_t k = 0; k < fields.size(); ++k) {
    if (detail.fields[k] == "text__") error.message = str(fields[k]);
    error.fields.emplace_back(detail.fields[k], std::move(fields[k]));
  }
  throw error;
}

/// stator::demand(condition, text)
/// Raises ST302 if what the capture relied on does not hold.
void run_demand(const Step& step, Frame& frame) {
  if (!is_true(frame.read(step.args[0]))) throw demand_error(str(frame.read(step.args[1])));
}

/// stator::print(*parts) sep= end=
void run_print(const Step& step, Frame& frame) {
  const std::size_t count = step.args.size() - 2;
  const std::string separator = text_or_none(frame.read(step.args[count])).value_or(" ");
  std::string text;
  for (std::size_t k = 0; k < count; ++k)
    text += (k == 0 ? "" : separator) + str(frame.read(step.args[k]));
  text += text_or_none(frame.read(step.args[count + 1])).value_or("\n");
  if (frame.run->host != nullptr) frame.run->host->print(text);
}

/// stator::set_grad(enabled), with `inherited` where a context of the program ends: gradients are
/// on again only if the caller has them on.
void run_set_grad(const Step& step, Frame& frame) {
  const bool is_allowed = frame.run->caller_records || !step.op->attributes.contains("inherited");
  set_grad(is_allowed && is_true(frame.read(step.args[0])));
}

/// stator::set_inference(enabled)
void run_set_inference(const Step& step, Frame& frame) {
  set_inference(is_true(frame.read(step.args[0])));
}

/// stator::set_autocast(device, enabled, dtype, cache, deeper)
void run_set_autocast(const Step& step, Frame& frame) {
  const auto given = [&](std::size_t k) {
    return k < step.args.size() ? frame.read(step.args[k]) : Value();
  };
  const Value device = given(0);
  const at::DeviceType kind =
      device.isDevice() ? device.toDevice().type() : at::Device(device.toStringRef()).type();
  std::optional<at::ScalarType> dtype;
  if (!given(2).isNone()) dtype = static_cast<at::ScalarType>(given(2).toInt());
  const bool cache = given(3).isNone() || is_true(given(3));
  set_autocast(kind, is_true(given(1)), dtype, cache, given(4).isNone() ? 0 : integer_of(given(4)));
}

/// stator::seed(seed)
/// `torch.manual_seed(seed)`: the generators of all devices.
void run_seed(const Step& step, Frame& frame) {
  at::manual_seed(static_cast<std::uint64_t>(integer_of(frame.read(step.args[0]))));
}

/// stator::random_state()
/// The state of the random generator of the CPU.
void run_random_state(const Step& step, Frame& frame) {
  at::Generator generator = at::detail::getDefaultCPUGenerator();
  const std::lock_guard<std::mutex> lock(generator.mutex());
  frame[step.results[0]] = generator.get_state();
}

/// stator::set_random_state(state)
void run_set_random_state(const Step& step, Frame& frame) {
  at::Generator generator = at::detail::getDefaultCPUGenerator();
  const std::lock_guard<std::mutex> lock(generator.mutex());
  generator.set_state(frame.read(step.args[0]).toTensor());
}

/// stator::format(value, conversion, spec)
/// What `{value!conversion:spec}` gives in an f-string.
void run_format(const Step& step, Frame& frame) {
  const auto text_at = [&](std::size_t k) {
    return k < step.args.size() ? text_or_none(frame.read(step.args[k])).value_or("")
                                : std::string();
  };
  frame[step.results[0]] = format_value(frame.read(step.args[0]), text_at(1), text_at(2));
}

/// stator::join(*parts)
void run_join(const Step& step, Frame& frame) {
  std::string text;
  for (const Operand part : step.args) text += frame.read(part).toStringRef();
  frame[step.results[0]] = std::move(text);
}

/// stator::note(*values) effects=
/// What Python objects hold by now, should the program raise from here on. Never in a file.
void run_note(const Step& step, Frame& frame) {
  Run::Noted noted{std::get<Note>(step.detail).number, {}};
  for (const Operand value : step.args) noted.values.push_back(frame.read(value));
  frame.run->noted = std::move(noted);
}

}  // namespace stator

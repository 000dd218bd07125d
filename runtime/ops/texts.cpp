// The ops that take strings apart. Positions are numbers of code points.
#include "ops/handlers.h"
#include "ops/slices.h"
#include "text/parse.h"
#include "text/unicode.h"

namespace stator {
namespace {

const std::string& text_at(const Step& step, Frame& frame, std::size_t k) {
  return frame.read(step.args[k]).toStringRef();
}

/// A bound of `text.find`, from the start of the string.
std::int64_t bound_of(const Value& given, std::int64_t usual, std::int64_t count) {
  if (given.isNone()) return usual;
  const std::int64_t index = integer_of(given);
  return index < 0 ? std::max<std::int64_t>(index + count, 0) : index;
}

/// Every `step.step`th character, perhaps backwards.
std::string every(const std::string& text, const Range& range) {
  std::vector<std::size_t> starts;
  for (std::size_t at = 0; at < text.size(); at += decode(text, at).second) starts.push_back(at);
  std::string made;
  std::int64_t k = range.start;
  while (range.step > 0 ? k < range.stop : k > range.stop) {
    const std::size_t at = starts[static_cast<std::size_t>(k)];
    made += text.substr(at, decode(text, at).second);
    if (__builtin_add_overflow(k, range.step, &k)) break;
  }
  return made;
}

}  // namespace

/// stator::text_length(text)
void run_text_length(const Step& step, Frame& frame) {
  frame[step.results[0]] = length_of(text_at(step, frame, 0));
}

/// stator::text_slice(text, start, stop, step)
void run_text_slice(const Step& step, Frame& frame) {
  const std::string& text = text_at(step, frame, 0);
  const std::int64_t count = length_of(text);
  const Range range = range_of(operand_or_none(step, frame, 1), operand_or_none(step, frame, 2),
                               operand_or_none(step, frame, 3), count);
  if (range.step != 1) {
    frame[step.results[0]] = every(text, range);
    return;
  }
  const std::size_t first = offset_of(text, range.start);
  const std::int64_t taken = std::max<std::int64_t>(range.stop - range.start, 0);
  const std::string_view rest = std::string_view(text).substr(first);
  frame[step.results[0]] = std::string(rest.substr(0, offset_of(rest, taken)));
}

/// stator::text_find(text, part, start, stop, last)
void run_text_find(const Step& step, Frame& frame) {
  const std::string& text = text_at(step, frame, 0);
  const std::string& part = text_at(step, frame, 1);
  const bool last = step.args.size() > 4 && is_true(frame.read(step.args[4]));
  const std::int64_t count = length_of(text);
  const std::int64_t start = bound_of(operand_or_none(step, frame, 2), 0, count);
  const std::int64_t stop = std::min(bound_of(operand_or_none(step, frame, 3), count, count), count);
  std::int64_t found = -1;
  if (start <= stop) {
    const std::size_t first = offset_of(text, start);
    const auto window = std::string_view(text).substr(first, offset_of(text, stop) - first);
    const std::size_t at = last ? window.rfind(part) : window.find(part);
    if (at != std::string_view::npos) found = start + length_of(window.substr(0, at));
  }
  frame[step.results[0]] = found;
}

/// stator::text_code(text)
void run_text_code(const Step& step, Frame& frame) {
  const std::string& text = text_at(step, frame, 0);
  const std::int64_t count = length_of(text);
  if (count != 1) {
    throw Error("TypeError", "ord() expected a character, but string of length " +
                                 std::to_string(count) + " found");
  }
  frame[step.results[0]] = static_cast<std::int64_t>(decode(text, 0).first);
}

/// stator::text_case(text, case)
void run_text_case(const Step& step, Frame& frame) {
  const std::string& text = text_at(step, frame, 0);
  const std::string& name = text_at(step, frame, 1);
  if (name != "upper" && name != "lower")
    throw Error("ValueError", "no case of strings is called " + name);
  frame[step.results[0]] = name == "upper" ? to_upper(text) : to_lower(text);
}

/// stator::text_is(text, question)
void run_text_is(const Step& step, Frame& frame) {
  const std::string& question = text_at(step, frame, 1);
  const auto found = answer(question, text_at(step, frame, 0));
  if (!found) throw Error("ValueError", "no question about strings is called " + question);
  frame[step.results[0]] = *found;
}

/// stator::text_int(text, base)
void run_text_int(const Step& step, Frame& frame) {
  const std::int64_t base = step.args.size() > 1 ? integer_of(frame.read(step.args[1])) : 10;
  frame[step.results[0]] = parse_int(text_at(step, frame, 0), base);
}

/// stator::text_float(text)
void run_text_float(const Step& step, Frame& frame) {
  frame[step.results[0]] = parse_float(text_at(step, frame, 0));
}

}  // namespace stator

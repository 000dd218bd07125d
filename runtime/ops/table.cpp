#include "ops/table.h"

#include <algorithm>
#include <unordered_map>

#include "ops/handlers.h"
#include "ops/math.h"
#include "ops/numbers.h"

namespace stator {
namespace {

template <Unary function>
void run_one(const Step& step, Frame& frame) {
  frame[step.results[0]] = function(frame.read(step.args[0]));
}

template <Binary function>
void run_two(const Step& step, Frame& frame) {
  frame[step.results[0]] = function(frame.read(step.args[0]), frame.read(step.args[1]));
}

/// The functions of `math`, found by name: they are too many, and too rare, for one instance each.
void run_math(const Step& step, Frame& frame) {
  const std::string_view name = std::string_view(step.op->name).substr(8);  // without `stator::`
  const Value& first = frame.read(step.args[0]);
  if (step.args.size() == 1) {
    frame[step.results[0]] = math_function(name)(first);
  } else if (name == "log") {
    frame[step.results[0]] =
        truediv(math_function(name)(first), math_function(name)(frame.read(step.args[1])));
  } else {
    frame[step.results[0]] = math_function_of_two(name)(first, frame.read(step.args[1]));
  }
}

/// stator::and(*values): the first false one, or the last.
void run_and(const Step& step, Frame& frame) {
  std::size_t k = 0;
  while (k + 1 < step.args.size() && is_true(frame.read(step.args[k]))) ++k;
  frame[step.results[0]] = Value(frame.read(step.args[k]));
}

/// stator::or(*values): the first true one, or the last.
void run_or(const Step& step, Frame& frame) {
  std::size_t k = 0;
  while (k + 1 < step.args.size() && !is_true(frame.read(step.args[k]))) ++k;
  frame[step.results[0]] = Value(frame.read(step.args[k]));
}

Value logical_not(const Value& value) { return !is_true(value); }

/// stator::min and stator::max: the first of equals.
void run_min(const Step& step, Frame& frame) {
  std::size_t best = 0;
  for (std::size_t k = 1; k < step.args.size(); ++k) {
    if (less(frame.read(step.args[k]), frame.read(step.args[best]), "<")) best = k;
  }
  frame[step.results[0]] = Value(frame.read(step.args[best]));
}

void run_max(const Step& step, Frame& frame) {
  std::size_t best = 0;
  for (std::size_t k = 1; k < step.args.size(); ++k) {
    if (less(frame.read(step.args[best]), frame.read(step.args[k]), ">")) best = k;
  }
  frame[step.results[0]] = Value(frame.read(step.args[best]));
}

/// stator::complex(real, imaginary)
void run_complex(const Step& step, Frame& frame) {
  const Complex real = complex_of(frame.read(step.args[0]));
  const Complex imaginary =
      step.args.size() > 1 ? complex_of(frame.read(step.args[1])) : Complex(0.0, 0.0);
  frame[step.results[0]] = Complex(real.real() - imaginary.imag(), real.imag() + imaginary.real());
}

void run_round(const Step& step, Frame& frame) {
  frame[step.results[0]] =
      step.args.size() == 1 ? round_to_int(frame.read(step.args[0]))
                            : round_to_digits(frame.read(step.args[0]), frame.read(step.args[1]));
}

/// stator::select(index, items): the items are the arguments after the first.
void run_select(const Step& step, Frame& frame) {
  const auto count = static_cast<std::int64_t>(step.args.size()) - 1;
  std::int64_t index = integer_of(frame.read(step.args[0]));
  if (index < 0) index += count;
  if (index < 0 || index >= count) throw Error("IndexError", "list index out of range");
  frame[step.results[0]] = Value(frame.read(step.args[static_cast<std::size_t>(index) + 1]));
}

// clang-format off
const std::vector<OpRow>& rows() {
  static const std::vector<OpRow> table = {
      {"add", run_two<add>, 2, 2, 1}, {"sub", run_two<sub>, 2, 2, 1}, {"mul", run_two<mul>, 2, 2, 1},
      {"truediv", run_two<truediv>, 2, 2, 1}, {"floordiv", run_two<floordiv>, 2, 2, 1},
      {"mod", run_two<mod>, 2, 2, 1}, {"pow", run_two<power>, 2, 2, 1},
      {"neg", run_one<negative>, 1, 1, 1}, {"abs", run_one<absolute>, 1, 1, 1},
      {"min", run_min, 1, kAnyNumber, 1}, {"max", run_max, 1, kAnyNumber, 1},
      {"bitand", run_two<bitand_>, 2, 2, 1}, {"bitor", run_two<bitor_>, 2, 2, 1},
      {"bitxor", run_two<bitxor>, 2, 2, 1}, {"lshift", run_two<lshift>, 2, 2, 1},
      {"rshift", run_two<rshift>, 2, 2, 1}, {"invert", run_one<invert>, 1, 1, 1},
      {"eq", run_two<eq>, 2, 2, 1}, {"ne", run_two<ne>, 2, 2, 1}, {"lt", run_two<lt>, 2, 2, 1},
      {"le", run_two<le>, 2, 2, 1}, {"gt", run_two<gt>, 2, 2, 1}, {"ge", run_two<ge>, 2, 2, 1},
      {"and", run_and, 1, kAnyNumber, 1}, {"or", run_or, 1, kAnyNumber, 1},
      {"not", run_one<logical_not>, 1, 1, 1},
      {"int", run_one<to_int>, 1, 1, 1}, {"float", run_one<to_float>, 1, 1, 1},
      {"bool", run_one<to_bool>, 1, 1, 1}, {"complex", run_complex, 1, 2, 1},
      {"real", run_one<real_part>, 1, 1, 1}, {"imag", run_one<imaginary_part>, 1, 1, 1},
      {"round", run_round, 1, 2, 1}, {"floor", run_one<floor_of>, 1, 1, 1},
      {"ceil", run_one<ceil_of>, 1, 1, 1}, {"trunc", run_one<trunc_of>, 1, 1, 1},
      {"select", run_select, 2, kAnyNumber, 1, {}, true},
      {"if", run_if, 1, 1, kAnyNumber}, {"while", run_while, 1, kAnyNumber, kAnyNumber},
      {"call", run_call, 0, kAnyNumber, kAnyNumber}, {"try", run_try, 0, kAnyNumber, kAnyNumber},
      {"keep", run_keep, 0, kAnyNumber, 0}, {"reraise", run_reraise, 0, 0, 0},
      {"region", run_region, 0, kAnyNumber, kAnyNumber},
      {"custom_gradient", run_custom_gradient, 2, 2, kAnyNumber},
      {"gradients", run_gradients, 3, 3, kAnyNumber, {"retain", "create", "materialize"}},
      {"hook", run_hook, 1, 1, 0},
      {"assert", run_assert, 1, 2, 0}, {"raise", run_raise, 1, kAnyNumber, 0},
      {"demand", run_demand, 2, 2, 0}, {"print", run_print, 0, kAnyNumber, 0, {"sep", "end"}},
      {"set_grad", run_set_grad, 1, 1, 0}, {"set_inference", run_set_inference, 1, 1, 0},
      {"set_autocast", run_set_autocast, 2, 5, 0},
      {"seed", run_seed, 1, 1, 0}, {"random_state", run_random_state, 0, 0, 1},
      {"set_random_state", run_set_random_state, 1, 1, 0},
      {"format", run_format, 1, 3, 1}, {"join", run_join, 0, kAnyNumber, 1},
      {"text_length", run_text_length, 1, 1, 1}, {"text_slice", run_text_slice, 1, 4, 1},
      {"text_find", run_text_find, 2, 5, 1}, {"text_code", run_text_code, 1, 1, 1},
      {"text_case", run_text_case, 2, 2, 1}, {"text_is", run_text_is, 2, 2, 1},
      {"text_int", run_text_int, 1, 2, 1}, {"text_float", run_text_float, 1, 1, 1},
      {"note", run_note, 0, kAnyNumber, 0},
      {"list_make", run_list_make, 0, kAnyNumber, 1}, {"list_length", run_list_length, 1, 1, 1},
      {"list_get", run_list_get, 2, 2, 1}, {"list_slice", run_list_slice, 1, 4, 1},
      {"list_append", run_list_append, 2, 2, 1}, {"list_insert", run_list_insert, 3, 3, 1},
      {"list_set", run_list_set, 3, 3, 1}, {"list_delete", run_list_delete, 2, 2, 1},
      {"list_pop", run_list_pop, 2, 2, 1}, {"list_extend", run_list_extend, 2, 2, 1},
      {"list_repeat", run_list_repeat, 2, 2, 1}, {"list_reverse", run_list_reverse, 1, 1, 1},
      {"list_take", run_list_take, 2, 2, 1}, {"list_order", run_list_order, 2, kAnyNumber, 1},
      {"list_tensor", run_list_tensor, 1, 1, 1, {"dtype", "device"}},
      {"tensor_list", run_tensor_list, 1, 1, 1},
  };
  return table;
}
// clang-format on

}  // namespace

const OpRow* find_row(std::string_view name) {
  if (name == "host::note") name = "stator::note";
  if (!name.starts_with("stator::")) return nullptr;
  name.remove_prefix(8);
  const auto found = std::ranges::find(rows(), name, &OpRow::name);
  if (found != rows().end()) return &*found;
  static const OpRow math{"", run_math, 1, 1, 1};
  static const OpRow math_of_two{"", run_math, 2, 2, 1};
  static const OpRow logarithm{"", run_math, 1, 2, 1};
  if (name == "log") return &logarithm;
  if (math_function_of_two(name) != nullptr) return &math_of_two;
  return math_function(name) == nullptr ? nullptr : &math;
}

}  // namespace stator

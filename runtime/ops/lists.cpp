// The list ops. A list is a value: an op that changes one gives a new list.
//
// NOTE: a list whose register is read for the last time, and that nothing else holds, is changed in
// place: no one can see the difference, and a loop that appends takes linear time.
#include <ATen/core/List.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/eq.h>
#include <ATen/ops/lt.h>

#include <algorithm>
#include <numeric>

#include "ops/handlers.h"
#include "ops/numbers.h"
#include "ops/slices.h"
#include "ops/torch_call.h"

namespace stator {
namespace {

using List = c10::impl::GenericList;

/// The first argument as a list that may be changed.
List changeable(const Step& step, Frame& frame) {
  Value taken = frame.take(step.args[0]);
  if (step.args[0].last && taken.isList()) {
    List list = std::move(taken).toList();
    if (list.use_count() == 1 && list.elementType()->kind() == c10::TypeKind::AnyType) return list;
    taken = list;
  }
  const auto items = items_of(taken);
  return make_list(std::vector<Value>(items.begin(), items.end())).toList();
}

/// The position of an item; a negative index counts from the end.
std::int64_t position(std::int64_t index, std::int64_t count, const char* message) {
  const std::int64_t found = index < 0 ? index + count : index;
  if (found < 0 || found >= count) throw Error("IndexError", message);
  return found;
}

std::int64_t count_of(at::ArrayRef<Value> items) { return static_cast<std::int64_t>(items.size()); }

at::Tensor tensor_of(const Value& value) {
  return value.isTensor() ? value.toTensor() : wrapped_number(value);
}

/// Python's `a < b` and `a == b` of items, which may be tensors of one element.
bool item_less(const Value& a, const Value& b) {
  if (!a.isTensor() && !b.isTensor()) return less(a, b, "<");
  return at::lt(tensor_of(a), tensor_of(b)).is_nonzero();
}

bool item_equal(const Value& a, const Value& b) {
  if (!a.isTensor() && !b.isTensor()) return equal(a, b);
  return tensor_of(a).is_same(tensor_of(b)) || at::eq(tensor_of(a), tensor_of(b)).is_nonzero();
}

/// Python's `a < b` of two rows: tuples of one item from each column.
bool row_less(const std::vector<at::ArrayRef<Value>>& columns, std::size_t a, std::size_t b) {
  if (columns.size() == 1) return item_less(columns[0][a], columns[0][b]);
  for (const auto& column : columns) {
    if (!item_equal(column[a], column[b])) return item_less(column[a], column[b]);
  }
  return false;
}

/// The sizes of nested lists, as `torch.tensor` finds them.
std::vector<std::int64_t> sizes_of(const Value& items) {
  std::vector<std::int64_t> sizes;
  const Value* inner = &items;
  while (inner->isList()) {
    sizes.push_back(count_of(items_of(*inner)));
    if (items_of(*inner).empty()) break;
    inner = &items_of(*inner)[0];
  }
  return sizes;
}

/// Writes nested lists of numbers into `data`, row by row.
template <class Element, class Convert>
void fill(const Value& item, at::ArrayRef<std::int64_t> sizes, Element*& data,
          const Convert& convert) {
  if (sizes.empty()) {
    *data++ = item.isTensor() ? convert(Value(item.toTensor().item())) : convert(item);
    return;
  }
  if (!item.isList() || count_of(items_of(item)) != sizes[0]) {
    const std::int64_t found = item.isList() ? count_of(items_of(item)) : 0;
    throw Error("ValueError", "expected sequence of length " + std::to_string(sizes[0]) +
                                  " at dim 1 (got " + std::to_string(found) + ")");
  }
  for (const Value& part : items_of(item)) fill(part, sizes.slice(1), data, convert);
}

template <class Element, class Convert>
at::Tensor filled(const Value& items, at::ScalarType dtype, const Convert& convert) {
  const std::vector<std::int64_t> sizes = sizes_of(items);
  at::Tensor made = at::empty(sizes, at::TensorOptions().dtype(dtype));
  auto* data = made.mutable_data_ptr<Element>();
  fill(items, sizes, data, convert);
  return made;
}

Value nested_list(const at::Tensor& tensor) {
  if (tensor.dim() == 0) return tensor.item();
  std::vector<Value> items;
  items.reserve(static_cast<std::size_t>(tensor.size(0)));
  for (std::int64_t k = 0; k < tensor.size(0); ++k) items.push_back(nested_list(tensor[k]));
  return make_list(std::move(items));
}

}  // namespace

/// stator::list_make(*items)
void run_list_make(const Step& step, Frame& frame) {
  std::vector<Value> items;
  items.reserve(step.args.size());
  for (const Operand item : step.args) items.push_back(frame.read(item));
  frame[step.results[0]] = make_list(std::move(items));
}

/// stator::list_length(list)
void run_list_length(const Step& step, Frame& frame) {
  frame[step.results[0]] = count_of(items_of(frame.read(step.args[0])));
}

/// stator::list_get(list, index)
void run_list_get(const Step& step, Frame& frame) {
  const auto items = items_of(frame.read(step.args[0]));
  const std::int64_t index = integer_of(frame.read(step.args[1]));
  const auto found =
      static_cast<std::size_t>(position(index, count_of(items), "list index out of range"));
  frame[step.results[0]] = Value(items[found]);
}

/// stator::list_slice(list, start, stop, step)
void run_list_slice(const Step& step, Frame& frame) {
  const auto items = items_of(frame.read(step.args[0]));
  const Range range = range_of(operand_or_none(step, frame, 1), operand_or_none(step, frame, 2),
                               operand_or_none(step, frame, 3), count_of(items));
  std::vector<Value> chosen;
  for (std::int64_t k = range.start; range.step > 0 ? k < range.stop : k > range.stop;
       k += range.step) {
    chosen.push_back(items[static_cast<std::size_t>(k)]);
  }
  frame[step.results[0]] = make_list(std::move(chosen));
}

/// stator::list_append(list, item)
void run_list_append(const Step& step, Frame& frame) {
  const Value item = frame.read(step.args[1]);
  List list = changeable(step, frame);
  list.push_back(item);
  frame[step.results[0]] = std::move(list);
}

/// stator::list_insert(list, index, item)
void run_list_insert(const Step& step, Frame& frame) {
  const Value item = frame.read(step.args[2]);
  std::int64_t index = integer_of(frame.read(step.args[1]));
  List list = changeable(step, frame);
  const auto count = static_cast<std::int64_t>(list.size());
  if (index < 0) index = std::max<std::int64_t>(index + count, 0);
  list.insert(list.begin() + std::min(index, count), item);
  frame[step.results[0]] = std::move(list);
}

/// stator::list_set(list, index, item)
void run_list_set(const Step& step, Frame& frame) {
  const Value item = frame.read(step.args[2]);
  const std::int64_t index = integer_of(frame.read(step.args[1]));
  List list = changeable(step, frame);
  const auto count = static_cast<std::int64_t>(list.size());
  list.set(static_cast<std::size_t>(position(index, count, "list assignment index out of range")),
           item);
  frame[step.results[0]] = std::move(list);
}

/// stator::list_delete(list, index)
void run_list_delete(const Step& step, Frame& frame) {
  const std::int64_t index = integer_of(frame.read(step.args[1]));
  List list = changeable(step, frame);
  const auto count = static_cast<std::int64_t>(list.size());
  list.erase(list.begin() + position(index, count, "list assignment index out of range"));
  frame[step.results[0]] = std::move(list);
}

/// stator::list_pop(list, index)
/// The list without that item, as `pop` leaves it.
void run_list_pop(const Step& step, Frame& frame) {
  const std::int64_t index = integer_of(frame.read(step.args[1]));
  List list = changeable(step, frame);
  const auto count = static_cast<std::int64_t>(list.size());
  const char* message = count == 0 ? "pop from empty list" : "pop index out of range";
  list.erase(list.begin() + position(index, count, message));
  frame[step.results[0]] = std::move(list);
}

/// stator::list_extend(list, other)
void run_list_extend(const Step& step, Frame& frame) {
  const Value other = frame.read(step.args[1]);
  List list = changeable(step, frame);
  for (const Value& item : std::vector<Value>(items_of(other).begin(), items_of(other).end())) {
    list.push_back(item);
  }
  frame[step.results[0]] = std::move(list);
}

/// stator::list_repeat(list, times)
void run_list_repeat(const Step& step, Frame& frame) {
  const auto items = items_of(frame.read(step.args[0]));
  const std::int64_t times = integer_of(frame.read(step.args[1]));
  std::vector<Value> made;
  for (std::int64_t k = 0; k < times && !items.empty(); ++k)
    made.insert(made.end(), items.begin(), items.end());
  frame[step.results[0]] = make_list(std::move(made));
}

/// stator::list_reverse(list)
void run_list_reverse(const Step& step, Frame& frame) {
  const auto items = items_of(frame.read(step.args[0]));
  frame[step.results[0]] = make_list(std::vector<Value>(items.rbegin(), items.rend()));
}

/// stator::list_take(list, indexes)
void run_list_take(const Step& step, Frame& frame) {
  const auto items = items_of(frame.read(step.args[0]));
  std::vector<Value> chosen;
  for (const Value& index : items_of(frame.read(step.args[1]))) {
    const std::int64_t found =
        position(integer_of(index), count_of(items), "list index out of range");
    chosen.push_back(items[static_cast<std::size_t>(found)]);
  }
  frame[step.results[0]] = make_list(std::move(chosen));
}

/// stator::list_order(reverse, *columns)
/// The positions of the items in the order that `sorted` gives them.
/// NOTE: `sorted(reverse=True)` keeps equal items in their order, so the list is not just reversed.
void run_list_order(const Step& step, Frame& frame) {
  std::vector<at::ArrayRef<Value>> columns;
  for (std::size_t k = 1; k < step.args.size(); ++k)
    columns.push_back(items_of(frame.read(step.args[k])));
  for (const auto& column : columns) {
    if (column.size() != columns[0].size())
      throw Error("ValueError", "the columns have different lengths");
  }
  std::vector<std::size_t> order(columns[0].size());
  std::iota(order.begin(), order.end(), 0);
  const bool reverse = is_true(frame.read(step.args[0]));
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return reverse ? row_less(columns, b, a) : row_less(columns, a, b);
  });
  std::vector<Value> places;
  for (const std::size_t place : order) places.emplace_back(static_cast<std::int64_t>(place));
  frame[step.results[0]] = make_list(std::move(places));
}

/// stator::list_tensor(list) dtype= device=
/// `torch.tensor(list, dtype=dtype, device=device)`.
void run_list_tensor(const Step& step, Frame& frame) {
  const Value& items = frame.read(step.args[0]);
  const auto dtype = static_cast<at::ScalarType>(frame.read(step.args[1]).toInt());
  at::Tensor made;
  if (c10::isComplexType(dtype)) {
    made = filled<Complex>(items, at::kComplexDouble,
                           [](const Value& value) { return complex_of(value); });
  } else if (c10::isFloatingType(dtype)) {
    made = filled<double>(items, at::kDouble,
                          [](const Value& value) { return to_float(value).toDouble(); });
  } else {
    const bool truth = dtype == at::kBool;
    made = filled<std::int64_t>(items, at::kLong, [truth](const Value& value) {
      return truth ? static_cast<std::int64_t>(is_true(value)) : to_int(value).toInt();
    });
  }
  const Value& device = frame.read(step.args[2]);
  frame[step.results[0]] =
      made.to(device.isNone() ? at::Device(at::kCPU) : device.toDevice(), dtype);
}

/// stator::tensor_list(tensor)
/// `tensor.tolist()`.
void run_tensor_list(const Step& step, Frame& frame) {
  const at::Tensor tensor =
      frame.read(step.args[0]).toTensor().detach().to(at::kCPU).resolve_conj().resolve_neg();
  frame[step.results[0]] = nested_list(tensor);
}

}  // namespace stator

#include "python/entry.h"

#include <torch/csrc/autograd/python_variable.h>

#include <map>
#include <string_view>

namespace stator {
namespace {

PyObject* setting(PyObject* settings, const char* name) {
  PyObject* found = PyDict_GetItemString(settings, name);  // borrowed
  if (found != nullptr) return found;
  PyErr_Format(PyExc_TypeError, "an entry needs `%s`", name);
  throw PythonFailure{};
}

Entry::Result result_named(PyObject* name) {
  static const std::map<std::string_view, Entry::Result> results = {
      {"argument", Entry::Result::kArgument},
      {"leaf", Entry::Result::kLeaf},
      {"tuple", Entry::Result::kTuple},
      {"list", Entry::Result::kList},
      {"python", Entry::Result::kByPython}};
  return results.at(checked(PyObject_Str(name)).get() == nullptr ? "" : PyUnicode_AsUTF8(name));
}

/// The facts of an argument; `sizes` has None for a size that may be any.
TensorFacts facts_of(PyObject* tensor, PyObject* sizes) {
  std::optional<TensorFacts> facts =
      THPVariable_Check(tensor) ? TensorFacts::of(tensor) : std::nullopt;
  if (!facts) throw input_error("an entry takes plain tensors");
  std::vector<bool> any;
  for (const Reference& size : items_in(sizes)) any.push_back(size.get() == Py_None);
  facts->allow_sizes(any);
  return *facts;
}

}  // namespace

Entry::Entry(PyObject* settings)
    : result_(result_named(setting(settings, "result"))),
      watch_(new_reference(setting(settings, "watch"))),
      hold_(new_reference(setting(settings, "hold"))),
      finish_(new_reference(setting(settings, "finish"))) {
  const std::vector<Reference> tensors = items_in(setting(settings, "tensors"));
  const std::vector<Reference> sizes = items_in(setting(settings, "sizes"));
  if (tensors.size() != sizes.size()) throw input_error("there are sizes for other tensors");
  for (std::size_t k = 0; k < tensors.size(); ++k) {
    facts_.push_back(facts_of(tensors[k].get(), sizes[k].get()));
    types_.push_back(new_reference(reinterpret_cast<PyObject*>(Py_TYPE(tensors[k].get()))));
  }
  for (const Reference& position : items_in(setting(settings, "positions")))
    positions_.push_back(static_cast<std::size_t>(to_value(position.get()).toInt()));
  PyObject* run = setting(settings, "run");
  if (run != Py_None) run_ = new_reference(run);
  const bool are_ours =
      Object<Watch>::is(watch_.get()) && (!run_ || Object<BoundProgram>::is(run_.get()));
  if (!are_ours) throw input_error("an entry takes a watch and a run of this module");
}

bool Entry::fits(PyObject* const* args, std::size_t count) const {
  if (count != facts_.size()) return false;
  for (std::size_t k = 0; k < count; ++k) {
    if (!facts_[k].fit(args[k])) return false;
    for (std::size_t other = 0; other < k; ++other) {
      if (args[other] == args[k]) return false;  // one tensor twice is a call of another kind
    }
  }
  return modes_.hold();
}

Reference Entry::call(PyObject* const* args, std::size_t count, PyObject* miss) {
  if (!fits(args, count)) return new_reference(miss);
  if (!Object<Watch>::of(watch_.get()).is_valid()) {
    const Reference answer = checked(PyObject_CallNoArgs(hold_.get()));
    if (answer.get() != Py_True) return new_reference(miss);
  }
  if (result_ == Result::kArgument) return new_reference(args[positions_.at(0)]);
  return run_ ? run(args, count) : finish(Py_None, args, count);
}

Reference Entry::run(PyObject* const* args, std::size_t count) {
  std::vector<Value> inputs;
  inputs.reserve(count);
  for (std::size_t k = 0; k < count; ++k) inputs.emplace_back(THPVariable_Unpack(args[k]));
  Reference outcome;
  const std::vector<Value> outputs =
      Object<BoundProgram>::of(run_.get()).run(std::move(inputs), outcome);
  if (outcome) return finish(outcome.get(), args, count);
  if (result_ == Result::kByPython) return finish(to_tuple(outputs).get(), args, count);
  return result_of(outputs);
}

Reference Entry::result_of(const std::vector<Value>& outputs) const {
  if (result_ == Result::kLeaf) return to_object(outputs.at(positions_.at(0)));
  const auto size = static_cast<Py_ssize_t>(positions_.size());
  const bool is_tuple = result_ == Result::kTuple;
  Reference made = checked(is_tuple ? PyTuple_New(size) : PyList_New(size));
  for (Py_ssize_t k = 0; k < size; ++k) {
    PyObject* item = to_object(outputs.at(positions_[static_cast<std::size_t>(k)])).release();
    if (is_tuple) {
      PyTuple_SET_ITEM(made.get(), k, item);
    } else {
      PyList_SET_ITEM(made.get(), k, item);
    }
  }
  return made;
}

Reference Entry::finish(PyObject* outcome, PyObject* const* args, std::size_t count) {
  const Reference given = checked(PyTuple_New(static_cast<Py_ssize_t>(count)));
  for (std::size_t k = 0; k < count; ++k)
    PyTuple_SET_ITEM(given.get(), static_cast<Py_ssize_t>(k), Py_NewRef(args[k]));
  return checked(PyObject_CallFunctionObjArgs(finish_.get(), outcome, given.get(), nullptr));
}

int Entry::traverse(visitproc visit, void* arg) const {
  for (const Reference* one : {&watch_, &hold_, &run_, &finish_}) Py_VISIT(one->get());
  for (const Reference& one : types_) Py_VISIT(one.get());
  return 0;
}

void Entry::clear() {
  facts_.clear();
  result_ = Result::kByPython;
  const Reference watch = std::move(watch_), hold = std::move(hold_), run = std::move(run_),
                  finish = std::move(finish_);
  const std::vector<Reference> types = std::move(types_);
}

Reference Entries::call(PyObject* const* args, std::size_t count, bool has_keywords) {
  if (has_keywords || count == 0) return new_reference(miss_.get());
  for (std::size_t k = 0; k < entries_.size(); ++k) {
    const Reference entry = new_reference(entries_[k].get());  // the call may change the table
    Reference made = Object<Entry>::of(entry.get()).call(args, count, miss_.get());
    if (made.get() != miss_.get()) return made;
  }
  return new_reference(miss_.get());
}

void Entries::add(PyObject* entry, std::size_t limit) {
  entries_.insert(entries_.begin(), new_reference(entry));
  if (entries_.size() > limit) entries_.pop_back();
}

int Entries::traverse(visitproc visit, void* arg) const {
  Py_VISIT(miss_.get());
  for (const Reference& one : entries_) Py_VISIT(one.get());
  return 0;
}

void Entries::clear() {
  const std::vector<Reference> entries = std::move(entries_);
  entries_.clear();
}

namespace {

PyObject* call_entries(PyObject* self, PyObject* const* args, size_t flags, PyObject* keywords) {
  const bool has_keywords = keywords != nullptr && PyTuple_GET_SIZE(keywords) > 0;
  const auto count = static_cast<std::size_t>(PyVectorcall_NARGS(flags));
  return with_warnings([&] { return Object<Entries>::of(self).call(args, count, has_keywords); });
}

PyObject* add_entry(PyObject* self, PyObject* args) {
  PyObject* entry = nullptr;
  Py_ssize_t limit = 0;
  if (!PyArg_ParseTuple(args, "O!n:add", &Object<Entry>::type, &entry, &limit)) return nullptr;
  return guarded([&] {
    Object<Entries>::of(self).add(entry, static_cast<std::size_t>(limit));
    return new_reference(Py_None);
  });
}

PyMethodDef entries_methods[] = {
    {"add", add_entry, METH_VARARGS, "This entry is tried first; so many are kept."}, {}};

}  // namespace

PyObject* make_entry(PyObject* /*module*/, PyObject* /*args*/, PyObject* settings) {
  return guarded([&] { return Object<Entry>::make(std::make_unique<Entry>(settings)); });
}

PyObject* make_entries(PyObject* /*module*/, PyObject* miss) {
  return guarded(
      [&] { return Object<Entries>::make(std::make_unique<Entries>(miss), call_entries); });
}

bool ready_entries() {
  return Object<Entry>::ready("stator_native.Entry", nullptr) &&
         Object<Entries>::ready("stator_native.Entries", entries_methods);
}

}  // namespace stator

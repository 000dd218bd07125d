#include "python/snapshot.h"

#include <torch/csrc/autograd/python_variable.h>

#include <algorithm>
#include <unordered_map>

namespace stator {
namespace {

#if PY_VERSION_HEX >= 0x030C0000
/// Which snapshots watch a dict; changed and read with the GIL only.
std::unordered_map<PyObject*, std::vector<Snapshot*>>& watchers() {
  static auto& table = *new std::unordered_map<PyObject*, std::vector<Snapshot*>>();
  return table;
}

int on_write(PyDict_WatchEvent event, PyObject* dict, PyObject* /*key*/, PyObject* /*value*/) {
  const auto found = watchers().find(dict);
  if (found == watchers().end()) return 0;
  for (Snapshot* const snapshot : found->second) snapshot->note_write(dict);
  if (event == PyDict_EVENT_DEALLOCATED) watchers().erase(found);  // of a loose object
  return 0;
}

int watcher_id() {
  static const int id = PyDict_AddWatcher(on_write);
  if (id < 0) throw PythonFailure{};
  return id;
}

/// The values of a dict leave the object whose attributes they are, if they are there.
/// NOTE: Python 3.13 writes values that are inside of an object without telling the watchers of the
/// object's dict. A key that is no string makes Python give the dict a table of its own.
void own_values(PyObject* dict) {
#if PY_VERSION_HEX >= 0x030D0000
  const auto* table = reinterpret_cast<const PyDictObject*>(dict);
  if (table->ma_values == nullptr) return;
  const Reference key =
      checked(PyObject_CallNoArgs(reinterpret_cast<PyObject*>(&PyBaseObject_Type)));
  if (PyDict_SetItem(dict, key.get(), Py_None) != 0) throw PythonFailure{};
  if (PyDict_DelItem(dict, key.get()) != 0) throw PythonFailure{};
  if (table->ma_values == nullptr) return;
  PyErr_SetString(PyExc_RuntimeError, "a dict of this Python cannot be watched");
  throw PythonFailure{};
#else
  (void)dict;
#endif
}
#else
std::uint64_t version_of(PyObject* dict) {
  return reinterpret_cast<PyDictObject*>(dict)->ma_version_tag;
}
#endif

[[noreturn]] void refuse(const char* wanted, PyObject* given) {
  PyErr_Format(PyExc_TypeError, "a snapshot takes a %s, not a %s", wanted, Py_TYPE(given)->tp_name);
  throw PythonFailure{};
}

/// The dict that holds the attributes of an object; null if it has none.
PyObject* dict_of(PyObject* object) {
  PyObject** const place = _PyObject_GetDictPtr(object);
  return place == nullptr ? nullptr : *place;
}

/// Where an object has that dict, for as long as it is of its class; null if it has none.
/// NOTE: Python may have to make the dict first; after that, the place holds it.
PyObject* const* dict_place(PyObject* object) {
  return dict_of(object) == nullptr ? nullptr : _PyObject_GetDictPtr(object);
}

/// What a weak reference refers to; empty if that is gone.
Reference referent(PyObject* weak) {
#if PY_VERSION_HEX >= 0x030D0000
  PyObject* object = nullptr;
  if (PyWeakref_GetRef(weak, &object) < 0) throw PythonFailure{};
  return Reference(object);
#else
  PyObject* const object = PyWeakref_GetObject(weak);
  return object == Py_None ? Reference() : new_reference(object);
#endif
}

/// Is what an object has in its dict, or null, what an attribute check expects?
bool is_expected(PyObject* now, PyObject* expected, bool by_type) {
  if (expected == Py_NotImplemented) return now == nullptr;
  if (now == nullptr) return false;
  if (by_type) return reinterpret_cast<PyObject*>(Py_TYPE(now)) == expected;
  if (PyWeakref_CheckRefExact(expected) != 0) return referent(expected).get() == now;
  return now == expected;
}

/// What an `AttributeCheck` of state/snapshot.py, which is a tuple, says for certain; false if it
/// must be called.
bool attributes_hold(PyObject* check) {
  if (PyTuple_Check(check) == 0 || PyTuple_GET_SIZE(check) != 5) return false;
  PyObject* const given = PyTuple_GET_ITEM(check, 0);
  const Reference owner =
      PyWeakref_CheckRefExact(given) != 0 ? referent(given) : new_reference(given);
  PyObject* const dict = owner ? dict_of(owner.get()) : nullptr;
  if (dict == nullptr) return false;
  PyObject* const names = PyTuple_GET_ITEM(check, 1);
  PyObject* const expected = PyTuple_GET_ITEM(check, 2);
  const bool by_type = PyTuple_GET_ITEM(check, 3) == Py_True;
  for (Py_ssize_t k = 0; k < PyTuple_GET_SIZE(names); ++k) {
    PyObject* const now = PyDict_GetItemWithError(dict, PyTuple_GET_ITEM(names, k));
    if (now == nullptr && PyErr_Occurred() != nullptr) throw PythonFailure{};
    if (!is_expected(now, PyTuple_GET_ITEM(expected, k), by_type)) return false;
  }
  return true;
}

int visit_all(const std::vector<Reference>& references, visitproc visit, void* arg) {
  for (const Reference& one : references) Py_VISIT(one.get());
  return 0;
}

}  // namespace

std::vector<Reference> items_in(PyObject* sequence) {
  const Reference items = checked(PySequence_Fast(sequence, "a sequence is needed"));
  std::vector<Reference> made;
  for (Py_ssize_t k = 0; k < PySequence_Fast_GET_SIZE(items.get()); ++k)
    made.push_back(new_reference(PySequence_Fast_GET_ITEM(items.get(), k)));
  return made;
}

Snapshot::Snapshot(PyObject* dicts, PyObject* owners, PyObject* functions, PyObject* tensors,
                   PyObject* again) {
  try {
    for (const Reference& one : items_in(owners)) add_owner(one.get());
    for (const Reference& one : items_in(dicts)) add_dict(one.get());
    for (const Reference& one : items_in(functions)) add_function(one.get());
    for (const Reference& one : items_in(tensors)) add_tensor(one.get());
    again_ = items_in(again);
  } catch (...) {  // the destructor does not run for a snapshot that was never made
    unwatch();
    throw;
  }
}

Snapshot::~Snapshot() { unwatch(); }

void Snapshot::add_owner(PyObject* given) {
  const bool is_loose = PyWeakref_CheckRefExact(given) != 0;
  const Reference object = is_loose ? referent(given) : new_reference(given);
  if (!object) refuse("weak reference to an object that is there", given);
  if (!is_loose) keep(object.get());
  keep(reinterpret_cast<PyObject*>(Py_TYPE(object.get())));
  owners_.push_back({object.get(), Py_TYPE(object.get()), dict_of(object.get()),
                     dict_place(object.get()), is_loose ? new_reference(given) : Reference()});
}

void Snapshot::add_dict(PyObject* dict) {
  if (!PyDict_Check(dict)) refuse("dict", dict);
  const bool is_loose = std::ranges::any_of(
      owners_, [&](const Owner& one) { return one.weak && one.dict == dict; });
  if (!is_loose) keep(dict);
#if PY_VERSION_HEX >= 0x030C0000
  own_values(dict);
  if (PyDict_Watch(watcher_id(), dict) != 0) throw PythonFailure{};
  watchers()[dict].push_back(this);
  dicts_.push_back({dict, 0, is_loose});
#else
  dicts_.push_back({dict, version_of(dict), is_loose});
#endif
}

void Snapshot::add_function(PyObject* function) {
  if (!PyFunction_Check(function)) refuse("function", function);
  auto* made = reinterpret_cast<PyFunctionObject*>(function);
  const FunctionParts parts{made, made->func_code, made->func_defaults, made->func_kwdefaults};
  for (PyObject* part : {function, parts.code, parts.defaults, parts.keyword_defaults}) {
    if (part != nullptr) keep(part);
  }
  functions_.push_back(parts);
}

void Snapshot::add_tensor(PyObject* tensor) {
  if (!THPVariable_Check(tensor)) refuse("tensor", tensor);
  const std::optional<TensorFacts> facts = TensorFacts::of(tensor);
  if (!facts) refuse("tensor whose sizes it can read", tensor);
  keep(tensor);
  keep(reinterpret_cast<PyObject*>(Py_TYPE(tensor)));
  tensors_.push_back({tensor, THPVariable_Unpack(tensor).unsafeGetTensorImpl(), *facts});
}

bool Snapshot::is_valid() const {
  if (is_written_ || is_cleared_ || !owners_hold()) return false;
#if PY_VERSION_HEX < 0x030C0000
  for (const DictVersion& one : dicts_) {
    if (version_of(one.dict) != one.version) return false;
  }
#endif
  for (const FunctionParts& one : functions_) {
    if (one.function->func_code != one.code || one.function->func_defaults != one.defaults ||
        one.function->func_kwdefaults != one.keyword_defaults)
      return false;
  }
  for (const WatchedTensor& one : tensors_) {
    const bool is_same = THPVariable_Unpack(one.object).unsafeGetTensorImpl() == one.impl;
    if (!is_same || !one.facts.hold(one.object)) return false;
  }
  for (const Reference& one : again_) {
    if (attributes_hold(one.get())) continue;
    const Reference answer = checked(PyObject_CallNoArgs(one.get()));
    const int is_true = PyObject_IsTrue(answer.get());
    if (is_true < 0) throw PythonFailure{};
    if (is_true == 0) return false;
  }
  return true;
}

bool Snapshot::owners_hold() const {
  return std::ranges::all_of(owners_, [](const Owner& one) {
    if (one.weak && !referent(one.weak.get())) return false;
    if (Py_TYPE(one.object) != one.type) return false;
    return (one.place == nullptr ? dict_of(one.object) : *one.place) == one.dict;
  });
}

Reference Snapshot::written() const {
  Reference list = checked(PyList_New(0));
  const bool may_be_gone = !owners_hold();
  for (const DictVersion& one : dicts_) {
    if (one.is_loose && may_be_gone) continue;
#if PY_VERSION_HEX >= 0x030C0000
    const bool is_same = one.version == 0;
#else
    const bool is_same = version_of(one.dict) == one.version;
#endif
    if (!is_same && PyList_Append(list.get(), one.dict) != 0) throw PythonFailure{};
  }
  return list;
}

void Snapshot::note_write(PyObject* dict) {
  is_written_ = true;
  for (DictVersion& one : dicts_) {
    if (one.dict == dict) one.version = 1;
  }
}

void Snapshot::unwatch() {
#if PY_VERSION_HEX >= 0x030C0000
  for (const DictVersion& one : dicts_) {
    const auto found = watchers().find(one.dict);
    if (found == watchers().end()) continue;
    std::erase(found->second, this);
    if (!found->second.empty()) continue;
    watchers().erase(found);
    if (PyDict_Unwatch(watcher_id(), one.dict) != 0) PyErr_Clear();  // it was not watched
  }
#endif
  dicts_.clear();
}

int Snapshot::traverse(visitproc visit, void* arg) const {
  const int stopped = visit_all(kept_, visit, arg);
  return stopped != 0 ? stopped : visit_all(again_, visit, arg);
}

void Snapshot::clear() {
  is_cleared_ = true;
  unwatch();
  owners_.clear();
  functions_.clear();
  tensors_.clear();
  const std::vector<Reference> kept = std::move(kept_), again = std::move(again_);
}

bool Watch::is_valid() const {
  if (!snapshot_) return false;
  const Reference current = new_reference(snapshot_.get());  // Python code may put another one
  return Object<Snapshot>::of(current.get()).is_valid();
}

int Watch::traverse(visitproc visit, void* arg) const {
  Py_VISIT(snapshot_.get());
  return 0;
}

namespace {

PyObject* snapshot_is_valid(PyObject* self, PyObject* /*none*/) {
  return guarded([&] { return Reference(PyBool_FromLong(Object<Snapshot>::of(self).is_valid())); });
}

PyObject* snapshot_written(PyObject* self, PyObject* /*none*/) {
  return guarded([&] { return Object<Snapshot>::of(self).written(); });
}

PyObject* watch_is_valid(PyObject* self, PyObject* /*none*/) {
  return guarded([&] { return Reference(PyBool_FromLong(Object<Watch>::of(self).is_valid())); });
}

PyObject* watch_put(PyObject* self, PyObject* snapshot) {
  return guarded([&] {
    if (!Object<Snapshot>::is(snapshot)) {
      PyErr_SetString(PyExc_TypeError, "a watch holds a snapshot");
      throw PythonFailure{};
    }
    Object<Watch>::of(self).put(snapshot);
    return new_reference(Py_None);
  });
}

PyMethodDef snapshot_methods[] = {
    {"is_valid", snapshot_is_valid, METH_NOARGS, "Has nothing changed since, for certain?"},
    {"written", snapshot_written, METH_NOARGS, "The dicts that have been written since."},
    {}};
PyMethodDef watch_methods[] = {
    {"is_valid", watch_is_valid, METH_NOARGS, "Is there a snapshot, and is it valid?"},
    {"put", watch_put, METH_O, "This snapshot is current from now on."},
    {}};

}  // namespace

bool ready_snapshots() {
  return Object<Snapshot>::ready("stator_native.Snapshot", snapshot_methods) &&
         Object<Watch>::ready("stator_native.Watch", watch_methods);
}

}  // namespace stator

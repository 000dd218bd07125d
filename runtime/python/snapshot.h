// Snapshot: cheap proof that nothing which guards depend on has changed since it was taken.
//
//     dicts      not written: by Python's watchers (from 3.12 on), or by their versions (3.11)
//     objects    of the class that they were of, with the dict that they had
//     functions  with the code and the defaults that they had
//     tensors    with the facts that they had
//     the rest   functions of Python, called each time, which must give a true value; those that
//                only ask for attributes of an object are answered here
//
// All of it is kept alive, but for objects that hold the snapshot themselves: these are loose, and
// are given by weak references. While one is gone, neither it nor its dict is looked at.
//
// A snapshot that says no says "perhaps": the caller then compares everything. A Watch holds the
// snapshot that is current: it is replaced as a whole, so that no thread sees half of one.
#pragma once

#include <vector>

#include "python/object.h"
#include "python/tensor_facts.h"

namespace stator {

class Snapshot {
 public:
  /// What is to be watched; throws PythonFailure for what is of another type.
  Snapshot(PyObject* dicts, PyObject* owners, PyObject* functions, PyObject* tensors,
           PyObject* again);
  Snapshot(const Snapshot&) = delete;
  Snapshot& operator=(const Snapshot&) = delete;
  ~Snapshot();

  /// Throws PythonFailure where a function of Python raises.
  bool is_valid() const;

  /// The dicts that have been written since.
  Reference written() const;

  /// A watcher of Python says so, before `dict` is changed.
  void note_write(PyObject* dict);

  int traverse(visitproc visit, void* arg) const;
  void clear();

 private:
  struct DictVersion {
    PyObject* dict;
    std::uint64_t version;  // 0 until it is written, where Python has watchers
    bool is_loose;          // of a loose object, which alone keeps it alive
  };
  struct Owner {
    PyObject* object;
    PyTypeObject* type;
    PyObject* dict;  // of its attributes, which `__dict__ = ...` replaces; null if it has none
    PyObject* const* place;  // where it has that dict; null if it has none
    Reference weak;          // to a loose object; empty for one that is kept
  };
  struct FunctionParts {
    PyFunctionObject* function;
    PyObject* code;
    PyObject* defaults;
    PyObject* keyword_defaults;
  };
  struct WatchedTensor {
    PyObject* object;
    c10::TensorImpl* impl;  // torch.utils.swap_tensors gives an object another one
    TensorFacts facts;
  };

  void add_owner(PyObject* given);
  void add_dict(PyObject* dict);
  void add_function(PyObject* function);
  void add_tensor(PyObject* tensor);
  void keep(PyObject* object) { kept_.push_back(new_reference(object)); }
  bool owners_hold() const;
  void unwatch();

  bool is_written_ = false;  // where Python has watchers
  bool is_cleared_ = false;
  std::vector<DictVersion> dicts_;
  std::vector<Owner> owners_;
  std::vector<FunctionParts> functions_;
  std::vector<WatchedTensor> tensors_;
  std::vector<Reference> again_;
  std::vector<Reference> kept_;  // all that the pointers above point to
};

/// The snapshot of some guards that is current.
class Watch {
 public:
  /// Throws PythonFailure where a function of Python raises.
  bool is_valid() const;
  void put(PyObject* snapshot) { snapshot_ = new_reference(snapshot); }
  int traverse(visitproc visit, void* arg) const;
  void clear() { snapshot_ = Reference(); }

 private:
  Reference snapshot_;
};

/// Readies the types `Snapshot` and `Watch`.
bool ready_snapshots();

}  // namespace stator

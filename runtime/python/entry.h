// Entry: the short way into a program, for calls like one that came before.
//
//     entry(*args)    the result, or MISS if the call may be of another kind
//
// A call is like the earlier one if its arguments are tensors with the same facts, torch's modes
// are the same, and the guards hold. Entries tries the latest few of one function.
#pragma once

#include <vector>

#include "python/object.h"
#include "python/run.h"
#include "python/snapshot.h"

namespace stator {

class Entry {
 public:
  /// How the result of the program is put together from its outputs.
  enum class Result : std::uint8_t { kArgument, kLeaf, kTuple, kList, kByPython };

  /// By keyword: `tensors` (the arguments of the earlier call), `sizes` (theirs, None for any),
  /// `watch` and `hold` (of the guards), `run` (of the runtime, or None), `result` ("argument",
  /// "leaf", "tuple", "list" or "python"), `positions` (of the parts of the result), `finish`.
  ///
  /// `finish(outcome, args)` gives the result of a call where this class does not. Its `outcome` is
  /// what the run gave, or None if there is no run of the runtime.
  explicit Entry(PyObject* settings);

  /// The result, or a new reference to `miss`.
  Reference call(PyObject* const* args, std::size_t count, PyObject* miss);

  int traverse(visitproc visit, void* arg) const;
  void clear();

 private:
  bool fits(PyObject* const* args, std::size_t count) const;
  Reference run(PyObject* const* args, std::size_t count);
  Reference result_of(const std::vector<Value>& outputs) const;
  Reference finish(PyObject* outcome, PyObject* const* args, std::size_t count);

  std::vector<TensorFacts> facts_;
  Modes modes_ = Modes::now();
  Result result_ = Result::kByPython;
  std::vector<std::size_t> positions_;
  Reference watch_, hold_, run_, finish_;
  std::vector<Reference> types_;  // of the arguments, which the facts point to
};

/// The entries of one function, the latest first.
class Entries {
 public:
  explicit Entries(PyObject* miss) : miss_(new_reference(miss)) {}

  Reference call(PyObject* const* args, std::size_t count, bool has_keywords);
  void add(PyObject* entry, std::size_t limit);

  int traverse(visitproc visit, void* arg) const;
  void clear();

 private:
  Reference miss_;
  std::vector<Reference> entries_;
};

/// `Entry(**settings)` and `Entries(miss)` of the module.
PyObject* make_entry(PyObject* module, PyObject* args, PyObject* settings);
PyObject* make_entries(PyObject* module, PyObject* miss);

/// Readies the types `Entry` and `Entries`.
bool ready_entries();

}  // namespace stator

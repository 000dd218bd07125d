// Plan and Run as Python has them: a program that is ready, and the same over its stored tensors.
#pragma once

#include <memory>
#include <vector>

#include "compiled/manifest.h"
#include "interpreter/frame.h"
#include "python/object.h"

namespace stator {

/// A program, planned.
class PlannedProgram {
 public:
  PlannedProgram(const char* text, std::size_t size, PyObject* on_error);
  PlannedProgram(const CompiledProgram& compiled, PyObject* on_error);

  int traverse(visitproc visit, void* arg) const;
  void clear() { on_error = Reference(); }

  std::shared_ptr<const Plan> plan;
  Reference on_error;
};

/// A planned program over tensors of Python. They are the live ones: an object that is given
/// another TensorImpl (torch.utils.swap_tensors) is seen.
class BoundProgram {
 public:
  BoundProgram(const PlannedProgram& planned, PyObject* tensors);

  /// The outputs of a run. Where the program raises, nothing, and `outcome` is what `on_error`
  /// makes of the error. The GIL is released while it runs.
  std::vector<Value> run(std::vector<Value> inputs, Reference& outcome);

  const Program& program() const { return plan_->program; }

  int traverse(visitproc visit, void* arg) const;
  void clear();

 private:
  std::shared_ptr<const std::vector<Value>> stored();
  Reference report(const Error& error, const Run& run) const;

  std::shared_ptr<const Plan> plan_;
  std::vector<Reference> objects_;  // the stored tensors
  std::shared_ptr<const std::vector<Value>> stored_;
  Reference on_error_;
};

/// The flat outputs as a tuple of Python objects.
Reference to_tuple(const std::vector<Value>& outputs);

/// `prepare(text, on_error)` of the module.
PyObject* prepare(PyObject* module, PyObject* args);

/// `compiled(folder, digest, device)` of the module.
PyObject* compiled(PyObject* module, PyObject* args);

/// Readies the types `Plan` and `Run`.
bool ready_runs();

}  // namespace stator

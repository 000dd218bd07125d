#include "python/run.h"

#include <torch/csrc/Exceptions.h>
#include <torch/csrc/autograd/python_variable.h>

#include <algorithm>

#include "format/decode.h"
#include "python/python_host.h"

namespace stator {

PlannedProgram::PlannedProgram(const char* text, std::size_t size, PyObject* given)
    : on_error(new_reference(given)) {
  Program program = decode_program(parse_json(std::span(text, size), SIZE_MAX), "the program");
  verify(program);
  plan = make_plan(std::move(program), Trust::kOwnProcess);
}

PlannedProgram::PlannedProgram(const CompiledProgram& compiled, PyObject* given)
    : plan(make_plan(compiled.program, Trust::kFile, compiled.regions)),
      on_error(new_reference(given)) {}

int PlannedProgram::traverse(visitproc visit, void* arg) const {
  Py_VISIT(on_error.get());
  return 0;
}

BoundProgram::BoundProgram(const PlannedProgram& planned, PyObject* tensors)
    : plan_(planned.plan),
      objects_(items_in(tensors)),
      on_error_(new_reference(planned.on_error.get())) {
  const bool are_tensors = std::ranges::all_of(
      objects_, [](const Reference& one) { return THPVariable_Check(one.get()); });
  if (!are_tensors || objects_.size() != program().stored.size())
    throw input_error("other tensors than the program has");
}

std::shared_ptr<const std::vector<Value>> BoundProgram::stored() {
  const auto is_same = [](const Reference& object, const Value& value) {
    return THPVariable_Unpack(object.get()).unsafeGetTensorImpl() == value.unsafeToTensorImpl();
  };
  if (stored_ != nullptr && std::ranges::equal(objects_, *stored_, is_same)) return stored_;
  auto made = std::make_shared<std::vector<Value>>();
  for (const Reference& one : objects_) made->emplace_back(THPVariable_Unpack(one.get()));
  stored_ = std::move(made);
  return stored_;
}

std::vector<Value> BoundProgram::run(std::vector<Value> inputs, Reference& outcome) {
  if (inputs.size() != program().inputs.size()) {
    throw input_error("program " + program().name + " takes " +
                      std::to_string(program().inputs.size()) + " inputs, not " +
                      std::to_string(inputs.size()));
  }
  auto run = std::make_shared<Run>();
  run->plan = plan_;
  run->stored = stored();
  run->inputs = std::move(inputs);
  run->host = python_host();
  std::vector<Value> outputs;
  std::optional<Error> error;
  {
    const WithoutGil released;
    try {
      outputs = run_plan(run);
    } catch (const Error& raised) {
      error = raised;
    }
  }
  if (error) outcome = report(*error, *run);
  return outputs;
}

/// What `on_error` makes of an error. One that the program cannot catch is raised instead.
Reference BoundProgram::report(const Error& error, const Run& run) const {
  const Reference original = original_exception(error);
  if (error.code == "interrupt") {
    PyErr_SetObject(reinterpret_cast<PyObject*>(Py_TYPE(original.get())), original.get());
    throw PythonFailure{};
  }
  const Reference fields = error_fields(error);
  PyObject* shown = original ? original.get() : Py_None;
  if (PyDict_SetItemString(fields.get(), "error", shown) != 0) throw PythonFailure{};
  if (run.noted) {
    const Reference values = to_object(make_list(run.noted->values));
    const Reference noted =
        checked(Py_BuildValue("(LO)", static_cast<long long>(run.noted->number), values.get()));
    if (PyDict_SetItemString(fields.get(), "noted", noted.get()) != 0) throw PythonFailure{};
  }
  return checked(PyObject_CallOneArg(on_error_.get(), fields.get()));
}

int BoundProgram::traverse(visitproc visit, void* arg) const {
  Py_VISIT(on_error_.get());
  for (const Reference& one : objects_) Py_VISIT(one.get());
  return 0;
}

void BoundProgram::clear() {
  on_error_ = Reference();
  const std::vector<Reference> dropped = std::move(objects_);
}

Reference to_tuple(const std::vector<Value>& outputs) {
  Reference tuple = checked(PyTuple_New(static_cast<Py_ssize_t>(outputs.size())));
  for (std::size_t k = 0; k < outputs.size(); ++k) {
    PyTuple_SET_ITEM(tuple.get(), static_cast<Py_ssize_t>(k), to_object(outputs[k]).release());
  }
  return tuple;
}

namespace {

PyObject* call_run(PyObject* self, PyObject* const* args, size_t flags, PyObject* keywords) {
  if (PyVectorcall_NARGS(flags) != 1 || keywords != nullptr) {
    PyErr_SetString(PyExc_TypeError, "a run takes its inputs, as one sequence");
    return nullptr;
  }
  return with_warnings([&] {
    std::vector<Value> inputs;
    for (const Reference& one : items_in(args[0])) inputs.push_back(to_value(one.get()));
    Reference outcome;
    const std::vector<Value> outputs =
        Object<BoundProgram>::of(self).run(std::move(inputs), outcome);
    return outcome ? std::move(outcome) : to_tuple(outputs);
  });
}

PyObject* bind(PyObject* self, PyObject* tensors) {
  return guarded([&] {
    const PlannedProgram& planned = Object<PlannedProgram>::of(self);
    return Object<BoundProgram>::make(std::make_unique<BoundProgram>(planned, tensors), call_run);
  });
}

/// The libraries of a model, as Python has them.
struct CompiledLibraries {
  CompiledModel model;

  int traverse(visitproc /*visit*/, void* /*arg*/) const { return 0; }
  void clear() {}
};

PyObject* prepare_compiled(PyObject* self, PyObject* args) {
  const char* name = nullptr;
  PyObject* on_error = nullptr;
  if (!PyArg_ParseTuple(args, "sO:prepare", &name, &on_error)) return nullptr;
  return guarded([&] {
    const auto& programs = Object<CompiledLibraries>::of(self).model.programs;
    const auto found = programs.find(name);
    if (found == programs.end()) return new_reference(Py_None);
    return Object<PlannedProgram>::make(std::make_unique<PlannedProgram>(found->second, on_error));
  });
}

PyMethodDef libraries_methods[] = {
    {"prepare", prepare_compiled, METH_VARARGS, "A program of the model, ready to be bound."}, {}};

PyMethodDef plan_methods[] = {{"bind", bind, METH_O, "The program over these stored tensors."}, {}};

}  // namespace

PyObject* prepare(PyObject* /*module*/, PyObject* args) {
  const char* text = nullptr;
  Py_ssize_t size = 0;
  PyObject* on_error = nullptr;
  if (!PyArg_ParseTuple(args, "s#O:prepare", &text, &size, &on_error)) return nullptr;
  return guarded([&] {
    return Object<PlannedProgram>::make(
        std::make_unique<PlannedProgram>(text, static_cast<std::size_t>(size), on_error));
  });
}

PyObject* compiled(PyObject* /*module*/, PyObject* args) {
  const char *folder = nullptr, *digest = nullptr, *device = nullptr;
  if (!PyArg_ParseTuple(args, "sss:compiled", &folder, &digest, &device)) return nullptr;
  return guarded([&] {
    auto made = std::make_unique<CompiledLibraries>();
    made->model = read_compiled(folder, digest, device);
    return Object<CompiledLibraries>::make(std::move(made));
  });
}

bool ready_runs() {
  return Object<PlannedProgram>::ready("stator_native.Plan", plan_methods) &&
         Object<BoundProgram>::ready("stator_native.Run", nullptr) &&
         Object<CompiledLibraries>::ready("stator_native.Libraries", libraries_methods);
}

}  // namespace stator

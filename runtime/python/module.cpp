// stator_native: the runtime in Python's process, by CPython's own API.
//
//     plan = stator_native.prepare(text, on_error)   a program, as JSON text
//     run = plan.bind(tensors)                        over its stored tensors, in the program's
//     order run(inputs)                                     the flat outputs, or what `on_error`
//     makes of
//                                                     the error, which it is given as data
//
// The GIL is released while a program runs; PythonHost takes it again to print and to look for
// signals.
#define PY_SSIZE_T_CLEAN  // lengths are Py_ssize_t in PyArg_ParseTuple
#include <Python.h>
#include <torch/csrc/Exceptions.h>

#include "format/decode.h"
#include "interpreter/frame.h"
#include "python/convert.h"
#include "text/repr.h"

namespace stator {
namespace {

class Gil {
 public:
  Gil() : state_(PyGILState_Ensure()) {}
  ~Gil() { PyGILState_Release(state_); }
  Gil(const Gil&) = delete;
  Gil& operator=(const Gil&) = delete;

 private:
  PyGILState_STATE state_;
};

class WithoutGil {
 public:
  WithoutGil() : state_(PyEval_SaveThread()) {}
  ~WithoutGil() { PyEval_RestoreThread(state_); }
  WithoutGil(const WithoutGil&) = delete;
  WithoutGil& operator=(const WithoutGil&) = delete;

 private:
  PyThreadState* state_;
};

/// Throws the Python error that is set. One that is no Exception (Ctrl-C) cannot be caught by the
/// program.
[[noreturn]] void throw_python_error() {
  const bool is_exception = PyErr_ExceptionMatches(PyExc_Exception) != 0;
  python_error raised;
  raised.persist();
  if (is_exception) throw raised;
  Error error("KeyboardInterrupt", "");
  error.code = "interrupt";
  error.original = std::make_exception_ptr(raised);
  throw error;
}

class PythonHost : public Host {
 public:
  void print(const std::string& text) override {
    const Gil gil;
    PyObject* out = PySys_GetObject("stdout");  // borrowed
    if (out == nullptr || out == Py_None) return;
    const Reference kept(Py_NewRef(out));
    const Reference shown(
        PyUnicode_DecodeUTF8(text.data(), static_cast<Py_ssize_t>(text.size()), "surrogatepass"));
    if (!shown || PyFile_WriteObject(shown.get(), out, Py_PRINT_RAW) != 0) throw_python_error();
  }

  void poll_interrupt() override {
    const Gil gil;
    if (PyErr_CheckSignals() != 0) throw_python_error();
  }

  std::int64_t recursion_limit() const override { return Py_GetRecursionLimit(); }
};

Host* python_host() {
  static PythonHost host;
  return &host;
}

/// Python's own `repr` of a tensor, which follows torch.set_printoptions.
std::string python_repr(const at::Tensor& tensor) {
  const Gil gil;
  try {
    const Reference object = to_object(Value(tensor));
    const Reference text = checked(PyObject_Repr(object.get()));
    return to_value(text.get()).toStringRef();
  } catch (const PythonFailure&) {
    throw_python_error();
  }
}

struct PlanObject {
  PyObject_HEAD std::shared_ptr<const Plan> plan;
  PyObject* on_error;
};

struct RunObject {
  PyObject_HEAD vectorcallfunc call;
  std::shared_ptr<const Plan> plan;
  std::shared_ptr<const std::vector<Value>> stored;
  PyObject* on_error;
};

extern PyTypeObject plan_type;
extern PyTypeObject run_type;

/// Runs `body`; a C++ exception becomes the Python error, and null is returned.
template <class Body>
PyObject* guarded(const Body& body) noexcept {
  try {
    return body().release();
  } catch (const PythonFailure&) {
    return nullptr;
  } catch (const std::exception&) {
    const Error error = current_error();
    const std::string text = (error.code.empty() ? "" : "[" + error.code + "] ") + error.message;
    PyErr_SetString(PyExc_ValueError, text.c_str());
    return nullptr;
  }
}

PyObject* prepare(PyObject* /*module*/, PyObject* args) {
  const char* text = nullptr;
  Py_ssize_t size = 0;
  PyObject* on_error = nullptr;
  if (!PyArg_ParseTuple(args, "s#O:prepare", &text, &size, &on_error)) return nullptr;
  return guarded([&] {
    Program program = decode_program(
        parse_json(std::span(text, static_cast<std::size_t>(size)), SIZE_MAX), "the program");
    verify(program);
    auto plan = make_plan(std::move(program), Trust::kOwnProcess);
    auto* made = PyObject_New(PlanObject, &plan_type);
    if (made == nullptr) throw PythonFailure{};
    new (&made->plan)
        std::shared_ptr<const Plan>(std::move(plan));  // NOLINT: CPython made the memory
    made->on_error = Py_NewRef(on_error);
    return Reference(reinterpret_cast<PyObject*>(made));
  });
}

PyObject* call_run(PyObject* self, PyObject* const* args, size_t flags, PyObject* keywords);

PyObject* bind(PyObject* self, PyObject* tensors) {
  auto* object = reinterpret_cast<PlanObject*>(self);
  return guarded([&] {
    const Reference items = checked(PySequence_Fast(tensors, "bind takes a sequence of tensors"));
    auto stored = std::make_shared<std::vector<Value>>();
    for (Py_ssize_t k = 0; k < PySequence_Fast_GET_SIZE(items.get()); ++k) {
      stored->push_back(to_value(PySequence_Fast_GET_ITEM(items.get(), k)));
    }
    if (stored->size() != object->plan->program.stored.size()) {
      throw input_error("another number of tensors than the program has");
    }
    auto* made = PyObject_New(RunObject, &run_type);
    if (made == nullptr) throw PythonFailure{};
    made->call = call_run;
    new (&made->plan) std::shared_ptr<const Plan>(object->plan);                       // NOLINT
    new (&made->stored) std::shared_ptr<const std::vector<Value>>(std::move(stored));  // NOLINT
    made->on_error = Py_NewRef(object->on_error);
    return Reference(reinterpret_cast<PyObject*>(made));
  });
}

/// What `on_error` makes of an error. One that the program cannot catch is raised instead.
Reference report(const Error& error, const Run& run, PyObject* on_error) {
  Reference original = original_exception(error);
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
  return checked(PyObject_CallOneArg(on_error, fields.get()));
}

Reference run_inputs(const RunObject& object, PyObject* inputs) {
  const Reference items = checked(PySequence_Fast(inputs, "a run takes a sequence of inputs"));
  auto run = std::make_shared<Run>();
  run->plan = object.plan;
  run->stored = object.stored;
  run->host = python_host();
  const Py_ssize_t count = PySequence_Fast_GET_SIZE(items.get());
  for (Py_ssize_t k = 0; k < count; ++k)
    run->inputs.push_back(to_value(PySequence_Fast_GET_ITEM(items.get(), k)));
  const Program& program = object.plan->program;
  if (run->inputs.size() != program.inputs.size()) {
    throw input_error("program " + program.name + " takes " +
                      std::to_string(program.inputs.size()) + " inputs, not " +
                      std::to_string(count));
  }
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
  if (error) return report(*error, *run, object.on_error);
  Reference tuple = checked(PyTuple_New(static_cast<Py_ssize_t>(outputs.size())));
  for (std::size_t k = 0; k < outputs.size(); ++k) {
    PyTuple_SET_ITEM(tuple.get(), static_cast<Py_ssize_t>(k), to_object(outputs[k]).release());
  }
  return tuple;
}

PyObject* call_run(PyObject* self, PyObject* const* args, size_t flags, PyObject* keywords) {
  if (PyVectorcall_NARGS(flags) != 1 || keywords != nullptr) {
    PyErr_SetString(PyExc_TypeError, "a run takes its inputs, as one sequence");
    return nullptr;
  }
  try {
    torch::PyWarningHandler warnings;  // torch's warnings become Python's when the run has ended
    PyObject* made =
        guarded([&] { return run_inputs(*reinterpret_cast<RunObject*>(self), args[0]); });
    if (made == nullptr) warnings.set_in_exception();
    return made;
  } catch (const python_error&) {  // a warning that is an error
    return nullptr;
  }
}

void delete_plan(PyObject* self) {
  auto* object = reinterpret_cast<PlanObject*>(self);
  object->plan.~shared_ptr();
  Py_XDECREF(object->on_error);
  PyObject_Free(self);
}

void delete_run(PyObject* self) {
  auto* object = reinterpret_cast<RunObject*>(self);
  object->plan.~shared_ptr();
  object->stored.~shared_ptr();
  Py_XDECREF(object->on_error);
  PyObject_Free(self);
}

PyMethodDef plan_methods[] = {{"bind", bind, METH_O, "The program over these stored tensors."}, {}};
PyMethodDef module_methods[] = {
    {"prepare", prepare, METH_VARARGS, "A program, from its JSON text, ready to be bound."}, {}};

PyTypeObject plan_type = {PyVarObject_HEAD_INIT(nullptr, 0)};
PyTypeObject run_type = {PyVarObject_HEAD_INIT(nullptr, 0)};
PyModuleDef module_definition = {PyModuleDef_HEAD_INIT,
                                 "stator_native",
                                 "The native runtime.",
                                 -1,
                                 module_methods,
                                 nullptr,
                                 nullptr,
                                 nullptr,
                                 nullptr};

bool ready_types() {
  plan_type.tp_name = "stator_native.Plan";
  plan_type.tp_basicsize = sizeof(PlanObject);
  plan_type.tp_flags = Py_TPFLAGS_DEFAULT;
  plan_type.tp_dealloc = delete_plan;
  plan_type.tp_methods = plan_methods;
  run_type.tp_name = "stator_native.Run";
  run_type.tp_basicsize = sizeof(RunObject);
  run_type.tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_VECTORCALL;
  run_type.tp_vectorcall_offset = offsetof(RunObject, call);
  run_type.tp_call = PyVectorcall_Call;
  run_type.tp_dealloc = delete_run;
  return PyType_Ready(&plan_type) == 0 && PyType_Ready(&run_type) == 0;
}

}  // namespace
}  // namespace stator

PyMODINIT_FUNC PyInit_stator_native() {
  if (!stator::ready_types()) return nullptr;
  stator::set_tensor_printer(stator::python_repr);
  return PyModule_Create(&stator::module_definition);
}

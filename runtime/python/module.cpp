// stator_native: the runtime in Python's process, by CPython's own API.
//
//     plan = prepare(text, on_error)    a program, as JSON text
//     code = compiled(folder, digest, device)    the libraries of a model that is trusted
//     plan = code.prepare(name, on_error)        a program of it; None if it has none of that name
//     run = plan.bind(tensors)          over its stored tensors, in the program's order
//     run(inputs)                       the flat outputs, or what `on_error` makes of the error,
//                                       which it is given as data
//     snapshot(...), watch()            have guards changed?
//     entries(miss), entry(...)         the short way into a program
//
// The GIL is released while a program runs; PythonHost takes it again to print and to look for
// signals.
#include "kernels/chains.h"
#include "python/entry.h"
#include "python/python_host.h"
#include "text/repr.h"

namespace stator {
namespace {

PyObject* make_snapshot(PyObject* /*module*/, PyObject* args) {
  PyObject *dicts, *owners, *functions, *tensors, *again;
  if (!PyArg_ParseTuple(args, "OOOOO:snapshot", &dicts, &owners, &functions, &tensors, &again))
    return nullptr;
  return guarded([&] {
    return Object<Snapshot>::make(
        std::make_unique<Snapshot>(dicts, owners, functions, tensors, again));
  });
}

PyObject* make_watch(PyObject* /*module*/, PyObject* /*none*/) {
  return guarded([] { return Object<Watch>::make(std::make_unique<Watch>()); });
}

PyObject* can_watch(PyObject* /*module*/, PyObject* tensor) {
  return guarded([&] { return Reference(PyBool_FromLong(TensorFacts::of(tensor).has_value())); });
}

/// How torch ops were run so far, by way: see interpreter/counts.h.
PyObject* counts(PyObject* /*module*/, PyObject* /*none*/) {
  const Counts all = counts_so_far();
  return Py_BuildValue("{s:K,s:K,s:K,s:K,s:K,s:K}", "small",
                       static_cast<unsigned long long>(all.small), "recorded",
                       static_cast<unsigned long long>(all.recorded), "unboxed",
                       static_cast<unsigned long long>(all.unboxed), "boxed",
                       static_cast<unsigned long long>(all.boxed), "numbers",
                       static_cast<unsigned long long>(all.numbers), "compiled",
                       static_cast<unsigned long long>(all.compiled));
}

PyObject* known_chains(PyObject* /*module*/, PyObject* /*none*/) {
  return PyLong_FromSize_t(kernels::known_chains());
}

PyMethodDef module_methods[] = {
    {"counts", counts, METH_NOARGS, "How often torch ops were run in which way."},
    {"known_chains", known_chains, METH_NOARGS,
     "How many sizes of products are computed without BLAS: see kernels/chains.h."},
    {"compiled", compiled, METH_VARARGS, "The libraries beside a model, which is trusted."},
    {"prepare", prepare, METH_VARARGS, "A program, from its JSON text, ready to be bound."},
    {"snapshot", make_snapshot, METH_VARARGS,
     "Of dicts, owners (a loose one by a weak reference), functions, tensors, functions to call "
     "again."},
    {"watch", make_watch, METH_NOARGS, "Holds the snapshot that is current."},
    {"can_watch", can_watch, METH_O, "Can a snapshot, or an entry, read what this tensor is?"},
    {"entry", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(make_entry)),
     METH_VARARGS | METH_KEYWORDS, "The short way into a program."},
    {"entries", make_entries, METH_O, "The entries of one function."},
    {}};

PyModuleDef module_definition = {PyModuleDef_HEAD_INIT,
                                 "stator_native",
                                 "The native runtime.",
                                 -1,
                                 module_methods,
                                 nullptr,
                                 nullptr,
                                 nullptr,
                                 nullptr};

}  // namespace
}  // namespace stator

PyMODINIT_FUNC PyInit_stator_native() {
  const bool is_ready =
      stator::ready_runs() && stator::ready_snapshots() && stator::ready_entries();
  if (!is_ready) return nullptr;
  stator::set_tensor_printer(stator::python_repr);
  return PyModule_Create(&stator::module_definition);
}

// Object<State>: a Python object that holds a C++ one, seen by Python's garbage collector.
//
// A State has `traverse(visit, arg)`, which visits the references that it owns, and `clear()`, which
// drops them.
#pragma once

#include <Python.h>
#include <torch/csrc/Exceptions.h>

#include <memory>
#include <vector>

#include "python/convert.h"

namespace stator {

template <class State>
struct Object {
  PyObject_HEAD  // NOLINT: CPython's
      vectorcallfunc call;
  State* state;

  static inline PyTypeObject type = {PyVarObject_HEAD_INIT(nullptr, 0)};

  static State& of(PyObject* self) { return *reinterpret_cast<Object*>(self)->state; }

  static bool is(PyObject* object) { return Py_TYPE(object) == &type; }

  static Reference make(std::unique_ptr<State> state, vectorcallfunc call = nullptr) {
    Object* made = PyObject_GC_New(Object, &type);
    if (made == nullptr) throw PythonFailure{};
    made->call = call;
    made->state = state.release();
    PyObject_GC_Track(reinterpret_cast<PyObject*>(made));
    return Reference(reinterpret_cast<PyObject*>(made));
  }

  static bool ready(const char* name, PyMethodDef* methods) {
    type.tp_name = name;
    type.tp_basicsize = sizeof(Object);
    type.tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_HAVE_VECTORCALL;
    type.tp_vectorcall_offset = offsetof(Object, call);
    type.tp_call = PyVectorcall_Call;
    type.tp_methods = methods;
    type.tp_traverse = [](PyObject* self, visitproc visit, void* arg) {
      return of(self).traverse(visit, arg);
    };
    type.tp_clear = [](PyObject* self) {
      of(self).clear();
      return 0;
    };
    type.tp_dealloc = [](PyObject* self) {
      PyObject_GC_UnTrack(self);
      delete &of(self);
      PyObject_GC_Del(self);
    };
    return PyType_Ready(&type) == 0;
  }
};

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

/// The same for what runs a program: torch's warnings become Python's when it has ended.
template <class Body>
PyObject* with_warnings(const Body& body) noexcept {
  try {
    torch::PyWarningHandler warnings;
    PyObject* made = guarded(body);
    if (made == nullptr) warnings.set_in_exception();
    return made;
  } catch (const python_error&) {  // a warning that is an error
    return nullptr;
  }
}

inline Reference new_reference(PyObject* object) { return Reference(Py_NewRef(object)); }

/// The items of a sequence, each with a reference of its own.
std::vector<Reference> items_in(PyObject* sequence);

}  // namespace stator

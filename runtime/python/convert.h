// Python objects <-> values.
#pragma once

#include <Python.h>

#include "errors.h"
#include "value.h"

namespace stator {

/// Owns one reference to a Python object.
class Reference {
 public:
  Reference() = default;
  explicit Reference(PyObject* object) : object_(object) {}
  Reference(Reference&& other) noexcept : object_(other.release()) {}
  Reference& operator=(Reference&& other) noexcept {
    std::swap(object_, other.object_);
    return *this;
  }
  Reference(const Reference&) = delete;
  Reference& operator=(const Reference&) = delete;
  ~Reference() { Py_XDECREF(object_); }

  PyObject* get() const { return object_; }
  PyObject* release() { return std::exchange(object_, nullptr); }
  explicit operator bool() const { return object_ != nullptr; }

 private:
  PyObject* object_ = nullptr;
};

/// Thrown where a function of CPython has failed: its error is set.
struct PythonFailure {};

/// The object that a function of CPython has made; throws PythonFailure if it made none.
Reference checked(PyObject* object);

/// A tensor, number, string, list or None. Throws PythonFailure for anything else.
Value to_value(PyObject* object);

Reference to_object(const Value& value);
Reference to_object(const std::string& text);

/// What `on_error` of a run is called with: the parts of the error, as data.
Reference error_fields(const Error& error);

/// If the error came from another library, the Python exception that torch makes of it.
Reference original_exception(const Error& error);

}  // namespace stator

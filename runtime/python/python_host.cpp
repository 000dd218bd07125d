#include "python/python_host.h"

#include <torch/csrc/Exceptions.h>

#include <atomic>

#include "python/convert.h"

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

  std::int64_t recursion_limit() const override { return limit_; }

  /// Python's limit can be asked for with the GIL only, which a run does not have.
  void note_limit() { limit_ = Py_GetRecursionLimit(); }

 private:
  std::atomic<std::int64_t> limit_ = 1000;
};

}  // namespace

Host* python_host() {
  static PythonHost host;
  host.note_limit();
  return &host;
}

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

}  // namespace stator

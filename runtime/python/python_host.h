// The process around a run is Python: its standard output, its signals, its lock.
#pragma once

#include <Python.h>

#include <string>

#include "stator/host.h"
#include "value.h"

namespace stator {

/// Inside, the GIL is released.
class WithoutGil {
 public:
  WithoutGil() : state_(PyEval_SaveThread()) {}
  ~WithoutGil() { PyEval_RestoreThread(state_); }
  WithoutGil(const WithoutGil&) = delete;
  WithoutGil& operator=(const WithoutGil&) = delete;

 private:
  PyThreadState* state_;
};

/// To be asked for with the GIL, before each run.
Host* python_host();

/// Python's own `repr` of a tensor, which follows torch.set_printoptions.
std::string python_repr(const at::Tensor& tensor);

}  // namespace stator

// TensorFacts: what of a tensor a program relies on; Modes: what of torch's state it relies on.
//
// Both are read by the accessors of TensorImpl and of torch's own state.
#pragma once

#include <Python.h>
#include <c10/core/impl/LocalDispatchKeySet.h>

#include <array>
#include <optional>
#include <vector>

#include "value.h"

namespace stator {

class TensorFacts {
 public:
  /// What holds of `object`, which must be a tensor. Nothing for one that cannot be described so: a
  /// nested tensor, one whose class computes its sizes, one with symbolic sizes.
  static std::optional<TensorFacts> of(PyObject* object);

  /// Any number will do as the size of these dimensions; then the tensor must be dense in place of
  /// having the same strides.
  void allow_sizes(const std::vector<bool>& any);

  /// Does the same hold of this object?
  bool fit(PyObject* object) const;

  /// Does the same hold of the tensor, and is it still a leaf, or none, of the autograd graph?
  bool hold(PyObject* object) const;

 private:
  bool fits_storage(const c10::TensorImpl& impl) const;
  bool fits_sizes(const c10::TensorImpl& impl) const;

  PyTypeObject* type_ = nullptr;  // kept alive by the owner of the facts
  c10::DispatchKeySet keys_;
  caffe2::TypeMeta dtype_;
  c10::Device device_ = at::kCPU;
  bool requires_grad_ = false;
  bool is_leaf_ = true;
  bool is_strided_ = true;
  bool has_any_size_ = false;
  c10::SmallVector<std::int64_t, 5> sizes_;  // -1: any
  c10::SmallVector<std::int64_t, 5> strides_;
};

/// Grad mode, inference mode, autocast, default dtype, determinism, modes that see calls.
class Modes {
 public:
  static Modes now();

  /// Are they so now? No while a mode sees the calls of torch functions, such as a default device.
  bool hold() const;

 private:
  struct Autocast {
    bool is_on;
    at::ScalarType dtype;
  };
  static std::array<Autocast, 4> autocast_now();

  c10::impl::PODLocalDispatchKeySet keys_{};
  bool gradients_ = true;
  bool autocast_cache_ = true;
  bool deterministic_ = false;
  bool warns_only_ = false;
  bool has_autocast_ = false;
  caffe2::TypeMeta default_dtype_;
  std::array<Autocast, 4> autocast_{};
};

}  // namespace stator

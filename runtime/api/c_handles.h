// What the handles of the C API are, and the one place where exceptions become errors of C.
#pragma once

#include <string>
#include <vector>

#include "errors.h"
#include "stator/model.h"
#include "stator/stator.h"

struct stator_error {
  stator::Error error;
  std::string type;
  std::string text;
};

struct stator_value {
  stator::Value value;
  at::Tensor dense;  // of a tensor: in main memory, row by row
  std::string text;  // of a text; the name of a tensor's dtype
};

struct stator_outputs {
  std::vector<stator_value> values;
};

namespace stator {

stator_error* error_handle(Error error) noexcept;

/// A handle of `value`, with what its accessors point to.
stator_value handle_of(Value value);

/// Runs `body`; what it throws becomes the error that is returned.
template <class Body>
stator_error* guarded(const Body& body) noexcept {
  try {
    body();
    return nullptr;
  } catch (const std::exception&) {
    return error_handle(current_error());
  } catch (...) {  // nothing may leave a function of C
    return error_handle(Error("RuntimeError", "an exception of an unknown class"));
  }
}

}  // namespace stator

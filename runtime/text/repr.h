// Python's `repr` and `str` of values.
#pragma once

#include <string>

#include "value.h"

namespace stator {

/// The digits of a finite float that read back as the same float, as few as can be, as Python
/// writes them: `0.1`, `1e+16`, `inf`, `nan`.
std::string repr_float(double number);

std::string repr_complex(Complex number);

/// A string in quotes, as Python's `repr` writes it; `ascii` escapes all that is not ASCII.
std::string repr_text(const std::string& text, bool ascii = false);

/// Python's `repr(value)`, `str(value)` and `ascii(value)`.
std::string repr(const Value& value);
std::string str(const Value& value);
std::string ascii(const Value& value);

/// What `repr` of a tensor prints, with torch's default print options.
std::string repr_tensor(const at::Tensor& tensor);

/// From now on `repr` of tensors is this function's: Python's process has print options of its own.
using TensorPrinter = std::string (*)(const at::Tensor&);
void set_tensor_printer(TensorPrinter printer);

}  // namespace stator

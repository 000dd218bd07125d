// One call of a model, from files and into a file.
#pragma once

#include <string>
#include <vector>

#include "stator/model.h"

namespace stator {

/// The inputs of a method, in its order, from safetensors files and NumPy arrays.
std::vector<Value> read_inputs(const std::vector<std::string>& files, const Signature& signature);

/// What a call gave: its outputs or its error, and what it printed.
struct CallResult {
  std::vector<Value> outputs;
  std::optional<Error> error;
  std::string printed;
};

/// Writes the tensors of the outputs, by their path in the result, and all the rest as metadata:
/// `outputs` is a JSON list of the flat outputs, in which `{"tensor": name}` is a tensor of the
/// file.
void write_result(const std::string& path, const CallResult& result, const Signature& signature);

/// The methods of a model, with the names and types of their inputs and outputs.
std::string describe_model(const Model& model);

}  // namespace stator

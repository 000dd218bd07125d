// read_model(): `NAME.stator` and `NAME.safetensors` -> programs and tensors, checked.
#pragma once

#include <map>
#include <string>

#include "program/program.h"

namespace stator {

struct Method {
  std::map<std::string, std::string> programs;  // by mode
  std::map<std::string, std::string> refused;   // why there is none, by mode
};

struct StoredTensor {
  at::Tensor tensor;
  std::string kind;
  bool requires_grad = false;
};

/// What a state is at first: its values, as a run takes and gives them.
using InitialState = std::vector<Value>;

struct ModelFiles {
  std::map<std::string, Program> programs;
  std::map<std::string, StoredTensor> tensors;
  std::map<std::string, Method> methods;
  std::map<std::string, InitialState> states;
  bool training = false;
  std::string stem;    // the path, without an ending
  std::string digest;  // of the text
};

ModelFiles read_model(const std::string& path);

}  // namespace stator

// The C++ API: load a saved model, and run it.
//
//     const stator::Model model = stator::Model::load("out/model");
//     std::vector<stator::Value> outputs = model.run({x});
//
// A model is immutable: any number of threads may run it at once. (A program that writes into
// buffers of the model writes into memory that all runs share, as a module in Python does.)
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "errors.h"
#include "interpreter/host.h"
#include "program/program.h"
#include "value.h"

namespace stator {

class Model {
 public:
  /// What a run can be told.
  struct Options {
    std::string method = "forward";
    std::string mode;      // `train` or `eval`; empty: the mode that the model was saved in
    Host* host = nullptr;  // null: print to the standard output
  };

  /// The model at `path` (`out/model`, or `out/model.stator`). Throws an Error with the code ST400
  /// if its files are damaged, and names the place.
  static Model load(const std::string& path);

  /// The outputs of a method, in the order of the program. Throws an Error: one with a code is
  /// Stator's own, one without is an exception of the program.
  std::vector<Value> run(std::vector<Value> inputs, const Options& options) const;
  std::vector<Value> run(std::vector<Value> inputs) const;

  std::vector<std::string> methods() const;

  /// The mode that the model was saved in.
  std::string mode() const;

  /// The program that a method runs: the names and types of its inputs, how its result is put
  /// together.
  const Program& program(const Options& options) const;

 private:
  struct Data;
  explicit Model(std::shared_ptr<const Data> data) : data_(std::move(data)) {}
  std::shared_ptr<const Data> data_;
};

}  // namespace stator

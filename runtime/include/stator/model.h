// The C++ API: load a saved model, and run it.
//
//     const stator::Model model = stator::Model::load("out/model");
//     std::vector<stator::Value> outputs = model.run({x});
//     at::Tensor y = outputs.at(0).toTensor();
//
// Any number of threads may run a model at once, and a copy of a Model is another handle of the same
// one. (A program that writes into buffers of the model writes into memory that all runs share, as a
// module in Python does.)
//
// A model that keeps something between calls (a cache, a counter) has a state. Runs that use it wait
// for each other; `with_own_state` gives each client of a server one of its own.
//
// Every function throws a stator::Error and nothing else, but for std::bad_alloc.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "stator/error.h"
#include "stator/export.h"
#include "stator/host.h"
#include "stator/type.h"
#include "stator/value.h"

namespace stator {

/// What a method takes and gives.
struct Signature {
  struct Input {
    std::string name;
    Type type;
  };
  struct Output {
    std::string name;          // its path in the result: `output`, `output.loss`, `output.0`
    std::optional<Type> type;  // none for a constant
  };
  std::vector<Input> inputs;
  std::vector<Output> outputs;
  std::vector<std::string> state;  // names of what the method keeps from one run to the next
};

class ModelState;

class STATOR_API Model {
 public:
  /// What a run can be told.
  struct Options {
    std::string method = "forward";
    std::string mode;        // `train` or `eval`; empty: the mode that the model was saved in
    Host* host = nullptr;    // lent; null: print to the standard output
    bool gradients = false;  // record gradients, so that `backward` reaches inputs and parameters
  };

  /// The model at `path` (`out/model`, or `out/model.stator`). Throws an Error with the code ST400
  /// if its files are damaged, and names the place. Weights stay in the file, which is mapped: they
  /// are read when they are first used, and shared by all processes that load the model.
  static Model load(const std::string& path);

  /// What loading can be told.
  struct LoadOptions {
    /// Run the libraries in `out/model.compiled/`, which `stator compile` has made. They are machine
    /// code, and can do whatever this process can do: say so only of a folder whose origin you know.
    bool trust_compiled = false;
  };

  /// The same. Libraries that do not fit this model, torch or processor are not used: the model then
  /// runs without them, and `compiled_problem` says why.
  static Model load(const std::string& path, const LoadOptions& options);

  /// Does it run libraries?
  bool is_compiled() const;

  /// Why it runs none, though they were to be trusted; empty otherwise.
  const std::string& compiled_problem() const;

  /// The outputs of a method, in the order of the signature. The inputs are checked: an Error with
  /// the code ST301 says which one does not fit. One without a code is an exception of the program.
  std::vector<Value> run(std::vector<Value> inputs, const Options& options) const;
  std::vector<Value> run(std::vector<Value> inputs) const;

  /// The state is again what it was when the model was saved.
  void reset_state() const;

  /// The same model with a state of its own, as it was when the model was saved. Weights and buffers
  /// are shared.
  Model with_own_state() const;

  std::vector<std::string> methods() const;

  /// The mode that the model was saved in.
  std::string mode() const;

  const Signature& signature(const Options& options) const;
  const Signature& signature() const;

  /// The tensors of the model by their names in the file: parameters, buffers and constants. They
  /// are the live ones.
  std::vector<std::pair<std::string, at::Tensor>> tensors() const;

 private:
  struct Data;
  explicit Model(std::shared_ptr<const Data> data);
  std::shared_ptr<const Data> data_;
  std::shared_ptr<ModelState> state_;
};

/// The version of the runtime, and the version of torch that it was built for.
STATOR_API std::string version();
STATOR_API std::string torch_version();

}  // namespace stator

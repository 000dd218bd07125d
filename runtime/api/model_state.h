// ModelState: what a model keeps from one run to the next.
#pragma once

#include <map>
#include <memory>
#include <mutex>

#include "interpreter/frame.h"

namespace stator {

/// A run that uses the state waits for one that does.
class ModelState {
 public:
  using Values = std::map<std::string, std::vector<Value>>;

  explicit ModelState(const Values& initial);

  void reset(const Values& initial);

  /// Runs a program that uses state: the outputs of the call. The state becomes what the run leaves,
  /// or, where it fails, what it had noted by then. A program that `writes` to tensors is given no
  /// argument in the memory of the state.
  std::vector<Value> run(const std::shared_ptr<Run>& run, bool writes);

 private:
  std::vector<Value> taken(const Program& program) const;
  void keep(const Program& program, const Value* values);

  std::mutex mutex_;
  Values values_;
};

/// Does some op of the program write to a tensor that it is given?
bool writes_in_place(const Program& program);

}  // namespace stator

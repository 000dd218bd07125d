// Uses: where the values of a program go, and what that allows for the ops that make them.
#pragma once

#include <vector>

#include "program/program.h"

namespace stator {

class Uses {
 public:
  explicit Uses(const Program& program);

  /// Is the value read by torch ops alone, none of which writes it or gives or keeps a part of it?
  bool is_private(ValueId value) const { return found_[value].is_private; }

  /// Can no gradient flow through the value? It is only read by ops that decide or count (`lt`,
  /// `argmax`, `item`), or that make values of this kind.
  bool is_discrete(ValueId value) const { return found_[value].is_discrete; }

 private:
  struct Found {
    bool is_private = true;
    bool is_discrete = true;
  };
  void add_block(const Block& block, std::vector<const Op*>& ops);
  void add_uses(const Op& op);

  std::vector<Found> found_;  // by value
};

/// Does the op give something that has no gradient, whatever it is given?
bool decides(const std::string& name);

/// Does the op give a view of its first argument, whatever its sizes are?
bool is_view(const std::string& name);

}  // namespace stator

// Host: what a run needs of the process around it.
#pragma once

#include <cstdint>
#include <string>

#include "stator/export.h"

namespace stator {

class STATOR_API Host {
 public:
  virtual ~Host() = default;

  /// Writes what the program prints.
  virtual void print(const std::string& text) = 0;

  /// Called about every 20 ms in loops; throws to end the run.
  virtual void poll_interrupt() {}

  /// How deep functions of the program may call each other.
  virtual std::int64_t recursion_limit() const { return 1000; }
};

}  // namespace stator

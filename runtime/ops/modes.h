// Grad mode, inference mode and autocast, and their restoration.
#pragma once

#include <c10/core/Device.h>

#include <vector>

#include "value.h"

namespace stator {

/// Is nothing in this thread to see torch's ops, but its own kernels?
bool is_plain_dispatch();

/// Does autocast change dtypes on the CPU, in this thread?
bool is_autocast_on();

/// Does someone watch in this thread what autograd saves, and where it was recorded?
bool is_recording_watched();

void set_grad(bool enabled);

/// Inference mode from here on: the context that was opened last ends, or a new one begins.
void set_inference(bool enabled);

/// Autocast for one kind of device from here on. `deeper` is the change in the number of open
/// contexts; when none is left, torch forgets the weights that it has cast.
void set_autocast(at::DeviceType device, bool enabled, std::optional<at::ScalarType> dtype,
                  bool cache, std::int64_t deeper);

/// When this goes out of scope, the modes are again what they were before.
class ModesRestored {
 public:
  ModesRestored(bool active, const std::vector<at::DeviceType>& devices);
  ~ModesRestored();
  ModesRestored(const ModesRestored&) = delete;
  ModesRestored& operator=(const ModesRestored&) = delete;

 private:
  struct Cast {
    at::DeviceType device;
    bool enabled;
    at::ScalarType dtype;
  };
  bool active_;
  bool grad_ = false;
  bool cache_ = false;
  std::size_t inferences_ = 0;
  std::int64_t nesting_ = 0;
  std::vector<Cast> casts_;
};

}  // namespace stator

#include "ops/modes.h"

#include <ATen/SavedTensorHooks.h>
#include <ATen/autocast_mode.h>
#include <ATen/core/grad_mode.h>
#include <c10/core/InferenceMode.h>
#include <c10/core/impl/LocalDispatchKeySet.h>
#include <torch/csrc/autograd/anomaly_mode.h>
#include <torch/csrc/autograd/forward_grad.h>

#include <memory>

namespace stator {
namespace {

/// An inference context that a program has open in this thread, and the mode before it.
struct OpenInference {
  bool before;
  std::unique_ptr<c10::InferenceMode> context;
};

std::vector<OpenInference>& open_inferences() {
  thread_local std::vector<OpenInference> open;
  return open;
}

std::int64_t nesting() {
  at::autocast::increment_nesting();
  return at::autocast::decrement_nesting();
}

void nest(std::int64_t deeper) {
  for (; deeper > 0; --deeper) at::autocast::increment_nesting();
  for (; deeper < 0; ++deeper) {
    if (at::autocast::decrement_nesting() == 0) at::autocast::clear_cache();
  }
}

}  // namespace

bool is_plain_dispatch() {
  static const c10::DispatchKeySet usual =
      c10::DispatchKeySet({c10::DispatchKey::BackendSelect, c10::DispatchKey::ADInplaceOrView}) |
      c10::autocast_dispatch_keyset;
  // forward gradients are carried by tensors that look like others, in whatever grad mode
  return (c10::impl::tls_local_dispatch_key_set().included_ | usual) == usual &&
         torch::autograd::ForwardADLevel::try_get_by_idx(0) == nullptr;
}

bool is_autocast_on() {
  return !c10::impl::tls_local_dispatch_key_set().excluded_.has(c10::DispatchKey::AutocastCPU);
}

bool is_recording_watched() {
  return torch::autograd::AnomalyMode::is_enabled() ||
         !at::SavedTensorDefaultHooks::get_tls_state().stack.empty();
}

void set_grad(bool enabled) { at::GradMode::set_enabled(enabled); }

void set_inference(bool enabled) {
  auto& open = open_inferences();
  if (!open.empty() && open.back().before == enabled) {
    open.pop_back();
    return;
  }
  const bool before = c10::InferenceMode::is_enabled();
  open.push_back({before, std::make_unique<c10::InferenceMode>(enabled)});
}

void set_autocast(at::DeviceType device, bool enabled, std::optional<at::ScalarType> dtype,
                  bool cache, std::int64_t deeper) {
  at::autocast::set_autocast_enabled(device, enabled);
  if (dtype) at::autocast::set_autocast_dtype(device, *dtype);
  at::autocast::set_autocast_cache_enabled(cache);
  nest(deeper);
}

ModesRestored::ModesRestored(bool active, const std::vector<at::DeviceType>& devices)
    : active_(active) {
  if (!active_) return;
  grad_ = at::GradMode::is_enabled();
  cache_ = at::autocast::is_autocast_cache_enabled();
  inferences_ = open_inferences().size();
  nesting_ = nesting();
  for (const at::DeviceType device : devices) {
    casts_.push_back({device, at::autocast::is_autocast_enabled(device),
                      at::autocast::get_autocast_dtype(device)});
  }
}

ModesRestored::~ModesRestored() {
  if (!active_) return;
  while (open_inferences().size() > inferences_) open_inferences().pop_back();
  set_grad(grad_);
  for (const Cast& cast : casts_) set_autocast(cast.device, cast.enabled, cast.dtype, cache_, 0);
  nest(nesting_ - nesting());
  // the cache has copies of weights, which may change before the next run
  if (nesting_ == 0) at::autocast::clear_cache();
}

}  // namespace stator

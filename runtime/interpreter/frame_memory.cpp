#include "interpreter/frame_memory.h"

#include "kernels/iteration.h"

namespace stator {
namespace {

const c10::DispatchKeySet kPlainKeys({c10::DispatchKey::CPU, c10::DispatchKey::ADInplaceOrView,
                                      c10::DispatchKey::AutogradCPU,
                                      c10::DispatchKey::AutocastCPU});

/// Has Python seen the tensor? Its object may carry attributes and weak references.
template <class Slot>
bool has_object(const Slot* slot) {
  if constexpr (requires { slot->load_pyobj(); }) {
    return slot->load_pyobj() != nullptr;
  } else {
    return slot->_unchecked_untagged_pyobj() != nullptr;
  }
}

}  // namespace

bool is_free(const at::Tensor& tensor) {
  if (tensor.use_count() != 1) return false;
  const at::TensorImpl& impl = *tensor.unsafeGetTensorImpl();
  // NOTE: a union, since the difference of two key sets keeps the bits of backends
  return impl.unsafe_storage().use_count() == 1 && impl.autograd_meta() == nullptr &&
         (impl.key_set() | kPlainKeys) == kPlainKeys && impl.is_contiguous() &&
         impl.storage_offset() == 0 && !has_object(impl.pyobj_slot());
}

FrameMemory::FrameMemory(const Routine& routine)
    : registers(routine.registers), scratch(routine.scratch), iterations(routine.iterations) {}

FrameMemory::~FrameMemory() = default;

void FrameMemory::clear() {
  for (Value& value : registers) {
    if (!value.isNone()) value = Value();
  }
  for (at::Tensor& tensor : scratch) {
    if (tensor.defined() && !is_free(tensor)) tensor.reset();
  }
  stack.clear();
}

FramePool::~FramePool() {
  for (Places& places : routines_) {
    for (auto& place : places) std::unique_ptr<FrameMemory>(place.load());
  }
}

std::unique_ptr<FrameMemory> FramePool::take(const Routine& routine) {
  for (auto& place : routines_[routine.index]) {
    if (place.load(std::memory_order_relaxed) == nullptr) continue;
    if (FrameMemory* found = place.exchange(nullptr, std::memory_order_acquire)) {
      return std::unique_ptr<FrameMemory>(found);
    }
  }
  return std::make_unique<FrameMemory>(routine);
}

void FramePool::give(const Routine& routine, std::unique_ptr<FrameMemory> memory) {
  memory->clear();
  for (auto& place : routines_[routine.index]) {
    FrameMemory* empty = nullptr;
    if (place.compare_exchange_strong(empty, memory.get(), std::memory_order_release)) {
      memory.release();
      return;
    }
  }
}

}  // namespace stator

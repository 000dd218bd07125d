// The op `stator::region`: code of a library, or the block where there is none for the call.
#include "compiled/region.h"

#include <ATen/autocast_mode.h>
#include <c10/util/Exception.h>

#include "ops/handlers.h"
#include "ops/small.h"

namespace stator {
namespace {

/// Dense, on a GPU, and nothing more than that.
bool is_plain_on_gpu(const at::TensorImpl& impl) {
  static const c10::DispatchKeySet plain({c10::DispatchKey::CUDA, c10::DispatchKey::ADInplaceOrView,
                                          c10::DispatchKey::AutogradCUDA,
                                          c10::DispatchKey::AutocastCUDA});
  return (impl.key_set() | plain) == plain && impl.unsafe_storage();
}

/// A tensor that compiled code may read, in a run in which no gradient is recorded for it.
bool is_readable(const at::Tensor& tensor, const Frame& frame) {
  if (!tensor.defined()) return false;
  const at::TensorImpl& impl = *tensor.unsafeGetTensorImpl();
  const bool is_recorded =
      !frame.run->skips_autograd && impl.requires_grad() && at::GradMode::is_enabled();
  return !is_recorded && (is_plain(impl) || is_plain_on_gpu(impl));
}

/// Runs the code for the call; false if there is none, and nothing has been done.
bool run_compiled(const Step& step, const CompiledRegion& region, Frame& frame) {
  if (region.codes.empty() || !frame.run->is_plain) return false;
  if (region.device != at::kCPU && at::autocast::is_autocast_enabled(region.device)) return false;
  std::vector<at::Tensor> tensors;
  std::vector<std::int64_t> numbers;
  for (const Operand operand : step.args) {
    const Value& value = frame.read(operand);
    if (value.isTensor() && is_readable(value.toTensor(), frame)) {
      tensors.push_back(value.toTensor());
    } else if (value.isInt()) {
      numbers.push_back(value.toInt());
    } else {
      return false;
    }
  }
  std::optional<std::vector<at::Tensor>> results;
  try {
    results = region.run(std::move(tensors), numbers);
  } catch (const std::exception& error) {  // the block gives the results, or the error of the op
    TORCH_WARN_ONCE("the library of a region failed, and its ops run instead: ", error.what());
    return false;
  }
  if (!results || results->size() != step.results.size()) return false;
  for (std::size_t k = 0; k < results->size(); ++k)
    frame[step.results[k]] = std::move((*results)[k]);
  return true;
}

}  // namespace

/// stator::region(*inputs) {block} region=
/// What the block gives, by the code of a library where there is some for the inputs: tensors, then
/// integers. The block names its inputs itself.
void run_region(const Step& step, Frame& frame) {
  const auto& call = std::get<RegionCall>(step.detail);
  if (call.compiled != nullptr && run_compiled(step, *call.compiled, frame)) {
    ++frame.run->counts.compiled;
    return;
  }
  const Steps& block = step.blocks[0];
  run_block(block, frame);
  assign_all(step.results, block.outputs.data(), frame);
  for (const Register index : block.released) frame[index] = Value();
}

}  // namespace stator

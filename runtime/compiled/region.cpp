#include "compiled/region.h"

#include <ATen/ops/zeros.h>

#include <algorithm>

namespace stator {
namespace {

constexpr std::uintptr_t kAlignment = 16;  // of memory that code for a GPU reads

/// A library takes tensors only, so a number is the size of one, which has no memory of its own.
at::Tensor carrier(std::int64_t number, at::DeviceType device) {
  return at::zeros({1}, at::TensorOptions(device).dtype(at::kChar)).expand({number});
}

const CompiledCode* code_for(const std::vector<CompiledCode>& codes,
                             std::span<const at::Tensor> tensors,
                             std::span<const std::int64_t> numbers) {
  for (const CompiledCode& code : codes) {
    const auto sizes = code.layout.dynamic_sizes(tensors, numbers);
    if (sizes && std::ranges::all_of(code.conditions, [&](const SizeCondition& condition) {
          return condition.holds(*sizes);
        })) {
      return &code;
    }
  }
  return nullptr;
}

bool is_aligned(const at::Tensor& tensor) {
  return reinterpret_cast<std::uintptr_t>(tensor.const_data_ptr()) % kAlignment == 0;
}

}  // namespace

std::optional<std::vector<at::Tensor>> CompiledRegion::run(
    std::vector<at::Tensor> tensors, std::span<const std::int64_t> numbers) const {
  const bool is_gpu = device != at::DeviceType::CPU;
  for (const at::Tensor& tensor : tensors) {
    if (tensor.numel() == 0 || tensor.device().type() != device) return std::nullopt;
    if (is_gpu && (tensor.get_device() != 0 || !is_aligned(tensor))) return std::nullopt;
  }
  const CompiledCode* code = code_for(codes, tensors, numbers);
  if (code == nullptr) return std::nullopt;
  for (std::size_t k = 0; k < numbers.size(); ++k) {
    if (code->layout.is_dynamic(k)) tensors.push_back(carrier(numbers[k], device));
  }
  return code->library->run(tensors);
}

}  // namespace stator

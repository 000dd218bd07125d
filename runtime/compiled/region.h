// CompiledRegion: a region of a program with the code that there is for it.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "compiled/layout.h"
#include "compiled/library.h"
#include "compiled/size_condition.h"

namespace stator {

/// Code for one layout of a region's inputs.
struct CompiledCode {
  RegionLayout layout;
  std::vector<SizeCondition> conditions;
  std::shared_ptr<Library> library;
};

struct CompiledRegion {
  at::DeviceType device = at::DeviceType::CPU;
  std::vector<CompiledCode> codes;

  /// The results of a call; nothing if there is no code for what it is given.
  std::optional<std::vector<at::Tensor>> run(std::vector<at::Tensor> tensors,
                                             std::span<const std::int64_t> numbers) const;
};

/// The regions of a program, by their numbers; one without code is null.
using CompiledRegions = std::vector<std::shared_ptr<const CompiledRegion>>;

}  // namespace stator

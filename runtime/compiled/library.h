// Library: machine code that AOTInductor has made of a region, in this process.
#pragma once

#include <ATen/core/Tensor.h>

#include <memory>
#include <span>
#include <string>
#include <vector>

namespace stator {

class Library {
 public:
  /// The library of these bytes, whose digest has been checked, for a device (`cpu` or `cuda`).
  /// Loading it runs code of it: the caller has said that it is trusted. One that is loaded stays
  /// so, and the same digest gives the same library. Throws ST400 where the linker refuses it.
  static std::shared_ptr<Library> load(std::span<const char> bytes, const std::string& digest,
                                       const std::string& device);
  virtual ~Library() = default;

  /// The results for these inputs; any number of threads may call it.
  virtual std::vector<at::Tensor> run(const std::vector<at::Tensor>& inputs) = 0;
};

}  // namespace stator

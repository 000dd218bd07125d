// Files of tensors: safetensors, read by memory map and written; `.npy` arrays, read.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "format/mapped_file.h"
#include "value.h"

namespace stator {

struct TensorFile {
  std::map<std::string, at::Tensor> tensors;
  std::map<std::string, std::string> metadata;
};

/// The tensors of a safetensors file, where they are in its memory. Throws ST400 if its header is
/// wrong. The tensors keep the file mapped.
TensorFile read_safetensors(const std::shared_ptr<MappedFile>& file);

/// Writes tensors, in this order, each at a multiple of 64 bytes.
void write_safetensors(const std::string& path,
                       const std::vector<std::pair<std::string, at::Tensor>>& tensors,
                       const std::map<std::string, std::string>& metadata);

/// The array of a `.npy` file (NumPy's format, version 1 to 3, little-endian, not Fortran-ordered).
at::Tensor read_npy(const std::string& path);

}  // namespace stator

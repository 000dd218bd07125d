// read_compiled(): `NAME.compiled/` -> the programs of a model with code for their regions.
#pragma once

#include <map>
#include <string>

#include "compiled/region.h"
#include "program/program.h"

namespace stator {

struct CompiledProgram {
  Program program;  // with `stator::region` ops, whose attribute `region` is their number
  CompiledRegions regions;
};

struct CompiledModel {
  std::map<std::string, CompiledProgram> programs;
};

/// The code in the folder `path` for the model whose text has the digest `model`, to be run on
/// `device`. Throws ST400 that says why it is not to be used: it is damaged, or made of another
/// model, for another torch, or for another processor. Loading it runs code of it: only a caller
/// that trusts the folder may ask for it.
CompiledModel read_compiled(const std::string& path, const std::string& model,
                            const std::string& device);

}  // namespace stator

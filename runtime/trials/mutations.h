// Mutations of saved models, for the programs that try the loader.
#pragma once

#include <random>
#include <string>
#include <vector>

#include "format/json.h"

namespace stator {

using Draw = std::mt19937_64;

/// A saved model as it is mutated: without its digests, which are those of the mutation.
struct Seed {
  Json data;            // the text without the head
  std::string text;     // the same, as it is in the file
  std::string weights;  // the bytes of the .safetensors
  std::string version;
};

/// The two files of a model.
struct Mutant {
  std::string text;
  std::string weights;
};

/// One change somewhere in the tree; `donor` is a tree to take parts from.
void mutate_tree(Json& tree, Json& donor, Draw& draw);

/// The text after the head, as it is in a file.
std::string headless(const Json& data);

/// The digests of these weights, as a model has them: a damaged header may have the right ones.
Json digests_of(const std::string& weights);

/// The text with the head that belongs to it.
std::string with_head(const std::string& headless, const std::string& version);

/// A few changes in one of the seeds.
Mutant mutated(const std::vector<Seed>& seeds, Draw& draw);

/// Loads a model and runs its methods; gives whether it could be loaded. Throws if it was refused
/// with another error than that of a damaged file.
bool try_model(const std::string& path);

}  // namespace stator

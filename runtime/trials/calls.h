// Calls of a model for trials: inputs that its types ask for, and an outcome that can be compared.
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "stator/model.h"

namespace stator {

constexpr const char* kTooLong =
    "the trial is over";  // part of the outcome of a run that was ended

/// Inputs of these types, the same for the same `seed`.
std::vector<Value> drawn_inputs(const Signature& signature, std::uint64_t seed);

/// What a call gave, as bytes: its outputs to the bit, and the gradients of the model's parameters
/// if `options` ask for them; or its error. A run that takes longer than `limit` is ended, where it
/// has a loop.
std::string outcome_of(const Model& model, const std::vector<Value>& inputs,
                       const Model::Options& options, std::chrono::milliseconds limit);

}  // namespace stator

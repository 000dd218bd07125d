// What a method takes and gives, read off its program.
#pragma once

#include "program/program.h"
#include "stator/model.h"

namespace stator {

Signature signature_of(const Program& program);

/// Must gradients be recorded for the values, texts and errors to be those of Python? A program
/// that computes gradients needs them, and the text of a tensor says whether it has one.
bool shows_gradients(const Program& program);

}  // namespace stator

// may_be_called(): the ops of torch that a saved model may call.
#pragma once

#include <string>

namespace stator {

/// Is this an op that a saved model may call, if it is registered? The rule is that of
/// src/stator/program/opset/in_files.py, from which the build takes its lists.
bool may_be_called(const std::string& name);

}  // namespace stator

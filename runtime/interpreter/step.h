// Step and Steps: an op and a block, ready to run. Data only; `plan` makes them.
#pragma once

#include <ATen/core/dispatch/Dispatcher.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "ops/conditions.h"
#include "program/program.h"
#include "value.h"

namespace at {
struct TensorIteratorBase;
}

namespace stator {

using Register = std::uint32_t;

/// Where an op finds an argument.
struct Operand {
  enum class From : std::uint8_t { kRegister, kInput, kStored, kConstant };
  From from = From::kConstant;
  bool last = false;  // nothing reads the register later: its value may be moved out
  std::uint32_t index = 0;
};

struct Step;
class Frame;
using Handler = void (*)(const Step&, Frame&);

/// A block, ready to run.
struct Steps {
  std::vector<Register> inputs;
  std::vector<Step> steps;
  std::vector<Operand> outputs;
  std::vector<Register> released;  // the block's own values that nothing reads after it
};

/// How a value becomes what an argument of a torch op must be.
enum class Coercion : std::uint8_t {
  kNone,
  kTensor,
  kInt,
  kFloat,
  kDevice,
  kTensorList,
  kOptionalTensorList,
  kIntList,
  kFloatList,
  kBoolList,
  kScalarList,
};

struct TorchArgument {
  Operand operand;
  Coercion coercion = Coercion::kNone;
  std::int32_t repeat = 1;       // a single number for `int[2]` means two of them
  bool is_literal_list = false;  // the argument is the list of `items`
  std::vector<Operand> items;
};

/// A call of a torch op: its arguments in the order of the schema, defaults included.
struct TorchCall {
  c10::OperatorHandle op;
  std::vector<TorchArgument> arguments;
  bool spreads_list = false;    // the results are the tensors of one list
  bool aliases = true;          // a result may share memory with an argument, or one is written
  bool tracks_views = true;     // it, or an op that it is made of, gives views or writes
  bool is_private = false;      // the result is only read, and only by torch ops that keep nothing
  bool is_discrete = false;     // no gradient can flow through the result: it decides, or counts
  std::uint32_t scratch = 0;    // two places in FrameMemory::scratch
  std::uint32_t iteration = 0;  // two places in FrameMemory::iterations
  void (*kernel)(at::TensorIteratorBase&) = nullptr;                  // ATen's, of a pointwise op
  bool (*recorded)(const Step&, const TorchCall&, Frame&) = nullptr;  // the same, for autograd
  Handler otherwise = nullptr;       // what runs the op where its kernel for small tensors cannot
  std::optional<Value> cast_number;  // the second argument, a number, in the dtype of the first
  std::vector<Condition> conditions = {};  // checked before each call
};

struct TryClauses {
  struct Clause {
    std::vector<std::string> catches;
    std::vector<std::vector<std::string>> asks;
  };
  std::uint32_t slot = 0;  // what was kept, in the frame
  std::vector<Clause> clauses;
};

struct Keep {
  std::uint32_t slot = 0;
};
struct Call {
  std::uint32_t function = 0;
};
struct Note {
  std::int64_t number = 0;
};

struct Raise {
  std::vector<std::string> names;
  std::vector<std::string> fields;
};

/// The registers that a backward block reads from the frame around it.
struct Captured {
  std::vector<Register> registers;
};

struct CompiledRegion;

/// Code for a region of the program; its block runs what there is no code for.
struct RegionCall {
  std::shared_ptr<const CompiledRegion> compiled;
};

struct NumberCode;

using Detail = std::variant<std::monostate, TorchCall, TryClauses, Keep, Call, Note, Raise,
                            Captured, RegionCall, std::shared_ptr<NumberCode>>;

/// An op, ready to run.
struct Step {
  Handler run = nullptr;
  std::vector<Operand> args;
  std::vector<Register> results;
  std::vector<Register> released;  // read here for the last time, or never
  std::vector<Steps> blocks;
  Detail detail;
  const Op* op = nullptr;  // for error messages; null for a step that `plan` added
};

}  // namespace stator

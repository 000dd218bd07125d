#include "stator/model.h"

#include <ATen/core/grad_mode.h>

#include <cstdio>

#include "format/model_files.h"
#include "interpreter/frame.h"

namespace stator {
namespace {

class StandardOutput : public Host {
 public:
  void print(const std::string& text) override {
    std::fwrite(text.data(), 1, text.size(), stdout);
    std::fflush(stdout);
  }
};

Host* standard_output() {
  static StandardOutput host;
  return &host;
}

/// A program, ready to run, and its tensors.
struct Ready {
  std::shared_ptr<const Plan> plan;
  std::shared_ptr<const std::vector<Value>> stored;
};

void check_tensor(const Value& given, const Type& type, const std::string& name,
                  std::map<std::string, std::int64_t>& sizes) {
  const auto refuse = [&](const std::string& reason) {
    throw mismatch_error(name + " must be a tensor " + to_text(type) + ", not " + describe(given) +
                         reason);
  };
  if (!given.isTensor()) return refuse("");
  const at::Tensor& tensor = given.toTensor();
  if (tensor.scalar_type() != type.dtype)
    refuse(": its dtype is " + dtype_name(tensor.scalar_type()) + ", not " +
           dtype_name(type.dtype));
  if (static_cast<std::size_t>(tensor.dim()) != type.shape.size()) {
    refuse(": it has " + std::to_string(tensor.dim()) + " dimensions, not " +
           std::to_string(type.shape.size()));
  }
  for (std::size_t k = 0; k < type.shape.size(); ++k) {
    const std::int64_t size = tensor.size(static_cast<std::int64_t>(k));
    const auto& [number, symbol] = type.shape[k];
    const std::string which = ": its size " + std::to_string(k) + " is " + std::to_string(size);
    if (number && *number != size) refuse(which + ", not " + std::to_string(*number));
    const bool is_name =
        !symbol.empty() &&
        symbol.find_first_not_of(
            "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789") == std::string::npos;
    if (is_name && sizes.try_emplace(symbol, size).first->second != size) {
      refuse(which + ", and " + symbol + " is " + std::to_string(sizes[symbol]) + " elsewhere");
    }
  }
}

void check_input(const Value& given, const Type& type, const std::string& name,
                 std::map<std::string, std::int64_t>& sizes) {
  switch (type.kind) {
    case Type::Kind::kTensor:
      return check_tensor(given, type, name, sizes);
    case Type::Kind::kNumber:
      if (class_name(given) != type.number)
        throw mismatch_error(name + " must be " + (type.number == "int" ? "an " : "a ") +
                             type.number + ", not " + describe(given));
      return;
    case Type::Kind::kText:
      if (!given.isString()) throw mismatch_error(name + " must be a str, not " + describe(given));
      return;
    case Type::Kind::kOptional:
      if (!given.isNone()) check_input(given, type.element.at(0), name, sizes);
      return;
    case Type::Kind::kList:
      break;
  }
  if (!given.isList()) throw mismatch_error(name + " must be a list, not " + describe(given));
  std::size_t k = 0;
  for (const Value& item : items_of(given)) {
    auto own_sizes = sizes;
    check_input(item, type.element.at(0), name + "[" + std::to_string(k++) + "]", own_sizes);
  }
}

void check_inputs(const Program& program, const std::vector<Value>& inputs) {
  if (inputs.size() != program.inputs.size()) {
    throw input_error("program " + program.name + " takes " +
                      std::to_string(program.inputs.size()) + " inputs, not " +
                      std::to_string(inputs.size()));
  }
  std::map<std::string, std::int64_t> sizes;
  for (std::size_t k = 0; k < inputs.size(); ++k) {
    const Definition& expected = program.values[program.inputs[k]];
    check_input(inputs[k], expected.type, expected.name, sizes);
  }
}

}  // namespace

struct Model::Data {
  std::map<std::string, Ready> programs;
  std::map<std::string, Method> methods;
  bool training = false;

  const Ready& ready(const Options& options) const;
};

const Ready& Model::Data::ready(const Options& options) const {
  const auto method = methods.find(options.method);
  if (method == methods.end()) {
    std::string listed;
    for (const auto& [name, other] : methods) listed += (listed.empty() ? "" : ", ") + name;
    throw mismatch_error("this model was saved without a method '" + options.method + "'; it has " +
                         (listed.empty() ? "none" : listed));
  }
  const std::string mode = !options.mode.empty() ? options.mode : training ? "train" : "eval";
  const auto chosen = method->second.programs.find(mode);
  if (chosen == method->second.programs.end()) {
    const auto reason = method->second.refused.find(mode);
    throw mismatch_error("`" + options.method + "` of this model could not be captured in " + mode +
                         " mode" +
                         (reason == method->second.refused.end() ? "" : ": " + reason->second));
  }
  return programs.at(chosen->second);
}

Model Model::load(const std::string& path) {
  ModelFiles files = read_model(path);
  auto data = std::make_shared<Data>();
  data->methods = std::move(files.methods);
  data->training = files.training;
  for (auto& [name, entry] : files.tensors) entry.tensor.set_requires_grad(entry.requires_grad);
  for (auto& [name, program] : files.programs) {
    auto stored = std::make_shared<std::vector<Value>>();
    for (const Stored& item : program.stored)
      stored->emplace_back(files.tensors.at(item.name).tensor);
    data->programs[name] = {make_plan(std::move(program), Trust::kFile), std::move(stored)};
  }
  return Model(std::move(data));
}

std::vector<Value> Model::run(std::vector<Value> inputs, const Options& options) const {
  const Ready& ready = data_->ready(options);
  check_inputs(ready.plan->program, inputs);
  auto run = std::make_shared<Run>();
  run->plan = ready.plan;
  run->stored = ready.stored;
  run->inputs = std::move(inputs);
  run->host = options.host == nullptr ? standard_output() : options.host;
  return run_plan(run);
}

std::vector<Value> Model::run(std::vector<Value> inputs) const {
  return run(std::move(inputs), Options());
}

std::vector<std::string> Model::methods() const {
  std::vector<std::string> names;
  for (const auto& [name, method] : data_->methods) names.push_back(name);
  return names;
}

std::string Model::mode() const { return data_->training ? "train" : "eval"; }

const Program& Model::program(const Options& options) const {
  return data_->ready(options).plan->program;
}

}  // namespace stator

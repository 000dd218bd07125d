#include "stator/model.h"

#include <ATen/core/grad_mode.h>
#include <torch/headeronly/version.h>

#include <cstdio>

#include "api/check_inputs.h"
#include "api/model_state.h"
#include "api/signature.h"
#include "compiled/manifest.h"
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
  Signature signature;
  bool shows_gradients = false;
  bool writes = false;  // to tensors, in place
};

}  // namespace

struct Model::Data {
  std::map<std::string, Ready> programs;
  std::map<std::string, Method> methods;
  std::map<std::string, StoredTensor> tensors;
  std::map<std::string, InitialState> states;
  bool training = false;
  bool is_compiled = false;
  std::string compiled_problem;

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

Model::Model(std::shared_ptr<const Data> data)
    : data_(std::move(data)), state_(std::make_shared<ModelState>(data_->states)) {}

namespace {

/// The libraries beside a model; none, and why, if they are not to be used.
CompiledModel compiled_beside(const ModelFiles& files, std::string& problem) {
  try {
    return read_compiled(files.stem + ".compiled", files.digest, "cpu");
  } catch (const Error& error) {
    problem = error.message;
    return {};
  }
}

}  // namespace

Model Model::load(const std::string& path) { return load(path, LoadOptions()); }

Model Model::load(const std::string& path, const LoadOptions& options) {
  ModelFiles files = read_model(path);
  auto data = std::make_shared<Data>();
  CompiledModel compiled;
  if (options.trust_compiled) compiled = compiled_beside(files, data->compiled_problem);
  data->is_compiled = !compiled.programs.empty();
  data->methods = std::move(files.methods);
  data->training = files.training;
  for (auto& [name, entry] : files.tensors) entry.tensor.set_requires_grad(entry.requires_grad);
  for (auto& [name, program] : files.programs) {
    auto stored = std::make_shared<std::vector<Value>>();
    for (const Stored& item : program.stored)
      stored->emplace_back(files.tensors.at(item.name).tensor);
    Signature signature = signature_of(program);
    const bool shows = shows_gradients(program);
    const bool writes = writes_in_place(program);
    const auto found = compiled.programs.find(name);
    auto plan = found == compiled.programs.end()
                    ? make_plan(std::move(program), Trust::kFile)
                    : make_plan(std::move(found->second.program), Trust::kFile,
                                std::move(found->second.regions));
    data->programs[name] = {std::move(plan), std::move(stored), std::move(signature), shows,
                            writes};
  }
  data->tensors = std::move(files.tensors);
  data->states = std::move(files.states);
  return Model(std::move(data));
}

std::vector<Value> Model::run(std::vector<Value> inputs, const Options& options) const {
  const Ready& ready = data_->ready(options);
  check_inputs(ready.plan->program, inputs);
  const bool records = (options.gradients || ready.shows_gradients) && at::GradMode::is_enabled();
  const at::AutoGradMode recording(records);
  auto run = std::make_shared<Run>();
  run->plan = ready.plan;
  run->stored = ready.stored;
  run->inputs = std::move(inputs);
  run->host = options.host == nullptr ? standard_output() : options.host;
  return ready.plan->program.state.empty() ? run_plan(run) : state_->run(run, ready.writes);
}

std::vector<Value> Model::run(std::vector<Value> inputs) const {
  return run(std::move(inputs), Options());
}

void Model::reset_state() const { state_->reset(data_->states); }

Model Model::with_own_state() const { return Model(data_); }

bool Model::is_compiled() const { return data_->is_compiled; }

const std::string& Model::compiled_problem() const { return data_->compiled_problem; }

std::vector<std::string> Model::methods() const {
  std::vector<std::string> names;
  for (const auto& [name, method] : data_->methods) names.push_back(name);
  return names;
}

std::string Model::mode() const { return data_->training ? "train" : "eval"; }

const Signature& Model::signature(const Options& options) const {
  return data_->ready(options).signature;
}

const Signature& Model::signature() const { return signature(Options()); }

std::vector<std::pair<std::string, at::Tensor>> Model::tensors() const {
  std::vector<std::pair<std::string, at::Tensor>> made;
  for (const auto& [name, entry] : data_->tensors) {
    if (entry.kind != "state") made.emplace_back(name, entry.tensor);
  }
  return made;
}

std::string version() { return STATOR_VERSION; }

std::string torch_version() { return TORCH_VERSION; }

}  // namespace stator

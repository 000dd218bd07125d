// stator-run: a saved model from the command line, without Python.
#include <ATen/Context.h>
#include <ATen/Parallel.h>

#include <chrono>
#include <cstdio>
#include <fstream>
#include <iostream>
#include <stdexcept>

#include "cli/arguments.h"
#include "cli/calls.h"
#include "errors.h"
#include "format/json.h"

namespace stator {
namespace {

/// Keeps what a call prints.
class Recorder : public Host {
 public:
  void print(const std::string& text) override { printed += text; }
  std::string printed;
};

Model::Options options_of(const Arguments& arguments) {
  Model::Options options;
  options.method = arguments.method;
  options.mode = arguments.mode;
  return options;
}

/// The model; one line where it was to be trusted to run libraries, and does not.
Model load(const Arguments& arguments) {
  Model model = Model::load(arguments.model, {.trust_compiled = arguments.trust_compiled});
  if (const std::string& problem = model.compiled_problem(); !problem.empty())
    std::cerr << "stator-run: " << arguments.model << " runs without its libraries: " << problem
              << "\n";
  return model;
}

void run_once(const Arguments& arguments) {
  const Model model = load(arguments);
  if (arguments.describe) {
    std::cout << describe_model(model);
    return;
  }
  const Model::Options options = options_of(arguments);
  const Signature& signature = model.signature(options);
  const std::vector<Value> inputs = read_inputs(arguments.inputs, signature);
  if (arguments.seed) at::manual_seed(static_cast<std::uint64_t>(*arguments.seed));
  CallResult result;
  for (int k = 0; k < arguments.repeat; ++k) {
    const auto begin = std::chrono::steady_clock::now();
    result.outputs = model.run(inputs, options);
    const std::chrono::duration<double, std::micro> took = std::chrono::steady_clock::now() - begin;
    if (arguments.repeat > 1) std::fprintf(stderr, "call %d: %.1f us\n", k + 1, took.count());
  }
  if (!arguments.outputs.empty()) write_result(arguments.outputs, result, signature);
}

/// One job of a batch: an error of the call is part of its result.
void run_job(const Json& job, bool trust_compiled, std::map<std::string, Model>& models) {
  Arguments arguments;
  arguments.model = text_at(field(job, "model", "the job"), "model");
  arguments.outputs = text_at(field(job, "outputs", "the job"), "outputs");
  for (const Json& file : field(job, "inputs", "the job"))
    arguments.inputs.push_back(text_at(file, "inputs"));
  arguments.method = job.value("method", "forward");
  arguments.mode = job.value("mode", "");
  arguments.trust_compiled = trust_compiled;
  Recorder recorder;
  Model::Options options = options_of(arguments);
  options.gradients = job.contains("gradients");
  options.host = &recorder;
  CallResult result;
  const Signature none;
  const Signature* signature = &none;
  try {
    auto model = models.find(arguments.model);
    if (model == models.end()) model = models.emplace(arguments.model, load(arguments)).first;
    signature = &model->second.signature(options);
    if (job.contains("seed")) at::manual_seed(integer_at(job["seed"], "seed"));
    result.outputs = model->second.run(read_inputs(arguments.inputs, *signature), options);
  } catch (const Error& error) {
    result.error = error;
  }
  result.printed = recorder.printed;
  write_result(arguments.outputs, result, *signature);
}

void run_batch(const std::string& path, bool trust_compiled) {
  std::ifstream stream(path);
  if (!stream) throw format_error(path + " cannot be read", "check the path");
  std::map<std::string, Model> models;
  for (std::string line; std::getline(stream, line);) {
    if (!line.empty()) run_job(parse_json(line, 0), trust_compiled, models);
  }
}

}  // namespace
}  // namespace stator

int main(int count, char** given) {
  try {
    const stator::Arguments arguments = stator::parse_arguments(count, given);
    if (arguments.help) {
      std::cout << stator::kUsage;
      return 0;
    }
    if (arguments.threads) at::set_num_threads(*arguments.threads);
    if (arguments.batch.empty()) {
      stator::run_once(arguments);
    } else {
      stator::run_batch(arguments.batch, arguments.trust_compiled);
    }
    return 0;
  } catch (const std::invalid_argument& error) {
    std::cerr << "stator-run: " << error.what() << "\n\n" << stator::kUsage;
    return 2;
  } catch (const stator::Error& error) {
    std::cerr << error.text() << "\n";
    return 1;
  } catch (const std::exception& error) {
    std::cerr << "stator-run: " << error.what() << "\n";
    return 1;
  }
}

// The C API: models and runs.
#include <ATen/Parallel.h>

#include "api/c_handles.h"

struct stator_model {
  stator::Model model;
  std::vector<std::string> methods;
  // by method and mode: what `stator_input` and `stator_output` point to
  struct Described {
    std::string name;
    std::string type;
  };
  struct Texts {
    std::vector<Described> inputs;
    std::vector<Described> outputs;
  };
  std::map<std::pair<std::string, std::string>, Texts> texts;
};

namespace stator {
namespace {

constexpr const char* kInterrupt = "interrupt";

/// The functions of the caller as a host.
class Callbacks : public Host {
 public:
  explicit Callbacks(const stator_options& options) : options_(options) {}

  void print(const std::string& text) override {
    if (options_.print != nullptr)
      return options_.print(options_.context, text.data(), text.size());
    std::fwrite(text.data(), 1, text.size(), stdout);
    std::fflush(stdout);
  }

  void poll_interrupt() override {
    if (options_.is_interrupted == nullptr || options_.is_interrupted(options_.context) == 0)
      return;
    Error error("KeyboardInterrupt", "the run was interrupted");
    error.code = kInterrupt;
    throw error;
  }

 private:
  stator_options options_;
};

Model::Options options_of(const char* method, const char* mode) {
  Model::Options made;
  if (method != nullptr) made.method = method;
  if (mode != nullptr) made.mode = mode;
  return made;
}

stator_model::Texts texts_of(const Signature& signature) {
  stator_model::Texts made;
  for (const auto& input : signature.inputs)
    made.inputs.push_back({input.name, to_text(input.type)});
  for (const auto& output : signature.outputs)
    made.outputs.push_back({output.name, output.type ? to_text(*output.type) : ""});
  return made;
}

/// A model, with the texts of every program that it has.
std::unique_ptr<stator_model> described(Model model) {
  auto made = std::make_unique<stator_model>(stator_model{std::move(model), {}, {}});
  made->methods = made->model.methods();
  for (const std::string& method : made->methods) {
    for (const char* mode : {"train", "eval"}) {
      try {
        made->texts[{method, mode}] =
            texts_of(made->model.signature(options_of(method.c_str(), mode)));
      } catch (const Error&) {
        // there is no program for this mode: a call that asks for it is told
      }
    }
  }
  return made;
}

const stator_model::Texts& texts_for(const stator_model* model, const char* method,
                                     const char* mode) {
  Model::Options options = options_of(method, mode);
  model->model.signature(options);  // an error if there is none
  if (options.mode.empty()) options.mode = model->model.mode();
  return model->texts.at({options.method, options.mode});
}

void give(const std::vector<stator_model::Described>& all, std::size_t index, const char** name,
          const char** type) {
  if (index >= all.size()) throw mismatch_error("there is no number " + std::to_string(index));
  *name = all[index].name.c_str();
  *type = all[index].type.c_str();
}

}  // namespace
}  // namespace stator

using stator::guarded;

extern "C" {

const char* stator_version() {
  static const std::string text = stator::version();
  return text.c_str();
}

const char* stator_torch_version() {
  static const std::string text = stator::torch_version();
  return text.c_str();
}

stator_error* stator_set_threads(int32_t count) {
  return guarded([&] { at::set_num_threads(count); });
}

stator_error* stator_load(const char* path, stator_model** model) {
  return guarded([&] { *model = stator::described(stator::Model::load(path)).release(); });
}

stator_error* stator_load_compiled(const char* path, stator_model** model, const char** problem) {
  return guarded([&] {
    *model = stator::described(stator::Model::load(path, {.trust_compiled = true})).release();
    const std::string& found = (*model)->model.compiled_problem();
    *problem = found.empty() ? nullptr : found.c_str();
  });
}

stator_error* stator_reset_state(const stator_model* model) {
  return guarded([&] { model->model.reset_state(); });
}

stator_error* stator_own_state_new(const stator_model* model, stator_model** other) {
  return guarded([&] { *other = stator::described(model->model.with_own_state()).release(); });
}

void stator_model_free(stator_model* model) { delete model; }

size_t stator_method_count(const stator_model* model) { return model->methods.size(); }

const char* stator_method_name(const stator_model* model, size_t index) {
  return index < model->methods.size() ? model->methods[index].c_str() : nullptr;
}

stator_error* stator_input_count(const stator_model* model, const char* method, const char* mode,
                                 size_t* count) {
  return guarded([&] { *count = stator::texts_for(model, method, mode).inputs.size(); });
}

stator_error* stator_output_count(const stator_model* model, const char* method, const char* mode,
                                  size_t* count) {
  return guarded([&] { *count = stator::texts_for(model, method, mode).outputs.size(); });
}

stator_error* stator_input(const stator_model* model, const char* method, const char* mode,
                           size_t index, const char** name, const char** type) {
  return guarded(
      [&] { stator::give(stator::texts_for(model, method, mode).inputs, index, name, type); });
}

stator_error* stator_output(const stator_model* model, const char* method, const char* mode,
                            size_t index, const char** name, const char** type) {
  return guarded(
      [&] { stator::give(stator::texts_for(model, method, mode).outputs, index, name, type); });
}

stator_error* stator_run(const stator_model* model, const stator_options* options,
                         stator_value* const* inputs, size_t count, stator_outputs** outputs) {
  return guarded([&] {
    const stator_options given = options == nullptr ? stator_options{} : *options;
    stator::Callbacks host(given);
    stator::Model::Options how = stator::options_of(given.method, given.mode);
    how.host = &host;
    std::vector<stator::Value> values;
    for (size_t k = 0; k < count; ++k) values.push_back(inputs[k]->value);
    auto made = std::make_unique<stator_outputs>();
    for (stator::Value& value : model->model.run(std::move(values), how))
      made->values.push_back(stator::handle_of(std::move(value)));
    *outputs = made.release();
  });
}

size_t stator_outputs_count(const stator_outputs* outputs) { return outputs->values.size(); }

const stator_value* stator_outputs_get(const stator_outputs* outputs, size_t index) {
  return index < outputs->values.size() ? &outputs->values[index] : nullptr;
}

void stator_outputs_free(stator_outputs* outputs) { delete outputs; }

}  // extern "C"

// Loads a saved model and runs it on several threads at once: the C++ API.
//
//     classify MODEL
//
// The model takes one float tensor x and gives a tensor; see examples/save_model.py.
#include <stator/model.h>

#include <ATen/ops/full.h>

#include <cstdio>
#include <thread>
#include <vector>

namespace {

constexpr int kThreads = 4;
constexpr std::int64_t kFeatures = 4;

void describe(const stator::Model& model) {
  for (const std::string& method : model.methods()) {
    stator::Model::Options options;
    options.method = method;
    std::printf("%s\n", method.c_str());
    const stator::Signature& signature = model.signature(options);
    for (const auto& input : signature.inputs)
      std::printf("  takes %s: %s\n", input.name.c_str(), to_text(input.type).c_str());
    for (const auto& output : signature.outputs)
      std::printf("  gives %s\n", output.name.c_str());
  }
}

/// The sum of what the model gives for a row of `number`s.
float score(const stator::Model& model, float number) {
  const at::Tensor x = at::full({1, kFeatures}, number);
  const std::vector<stator::Value> outputs = model.run({x});
  return outputs.at(0).toTensor().sum().item<float>();
}

/// Runs the model on an input that does not fit, to show what an error says.
void show_error(const stator::Model& model) {
  try {
    model.run({at::full({1, kFeatures + 1}, 1.0F)});
  } catch (const stator::Error& error) {
    std::printf("refused [%s] %s\n", error.code.c_str(), error.message.c_str());
  }
  try {
    score(model, -1.0F);
  } catch (const stator::Error& error) {
    std::printf("raised %s: %s (line %lld)\n", error.shown_type().c_str(), error.message.c_str(),
                error.place ? static_cast<long long>(error.place->line) : 0LL);
  }
}

}  // namespace

int main(int count, char** words) {
  if (count != 2) {
    std::fprintf(stderr, "usage: classify MODEL\n");
    return 2;
  }
  try {
    const stator::Model model = stator::Model::load(words[1]);
    describe(model);
    std::vector<float> scores(kThreads);
    std::vector<std::thread> threads;
    for (int k = 0; k < kThreads; ++k)
      threads.emplace_back([&, k] { scores[k] = score(model, static_cast<float>(k + 1)); });
    for (std::thread& thread : threads) thread.join();
    for (const float one : scores) std::printf("score %.6f\n", one);
    show_error(model);
    return 0;
  } catch (const stator::Error& error) {
    std::fprintf(stderr, "%s\n", error.text().c_str());
    return 1;
  }
}

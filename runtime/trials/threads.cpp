// stator-threads: models run by many threads at once give the same bits each time.
//
//     stator-threads FOLDER --seconds N [--threads N]
//
// First all threads run one model, then each its own, for all models of the folder in turn. The
// exit status is 1 if an outcome differs from that of the same call made alone, or if memory grows.
// Built with -DSTATOR_TRIALS=ON.
#include <ATen/CPUGeneratorImpl.h>
#include <ATen/Context.h>
#include <ATen/Parallel.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <map>
#include <thread>

#include "trials/calls.h"

namespace stator {
namespace {

namespace fs = std::filesystem;

constexpr auto kRunLimit = std::chrono::milliseconds(2000);
constexpr double kMostGrowth = 64;  // MiB, from the first tenth of the time to the end

struct Trial {
  std::string name;
  Model model;
  std::vector<Value> inputs;
  Model::Options options;
  std::string wanted;
};

/// Where torch's random numbers are: a call that draws one moves on.
at::Tensor random_state() { return at::detail::getDefaultCPUGenerator().get_state(); }

/// Does a model draw from a generator of its own? It borrows torch's while it draws, so its calls
/// must not run side by side: see docs/cpp.md.
bool borrows_generator(const fs::path& file) {
  std::ifstream stream(file);
  const std::string text{std::istreambuf_iterator<char>(stream), {}};
  return text.find("\"stator::set_random_state\"") != std::string::npos;
}

/// Adds a call of the model, if it gives the same outcome each time, and soon: others draw random
/// numbers, keep state or wait for an input that ends their loop.
void add_trial(const std::string& name, const Model& model, const Model::Options& options,
               std::vector<Trial>& trials) {
  const std::vector<Value> inputs = drawn_inputs(model.signature(), 1);
  const at::Tensor before = random_state();
  const std::string first = outcome_of(model, inputs, options, kRunLimit);
  const std::string second = outcome_of(model, inputs, options, kRunLimit);
  const std::string third = outcome_of(model, inputs, options, kRunLimit);
  if (first != second || first != third || first.find(kTooLong) != std::string::npos ||
      !before.equal(random_state()))
    return;
  trials.push_back({name, model, inputs, options, first});
}

bool has_parameters(const Model& model) {
  return std::ranges::any_of(model.tensors(),
                             [](const auto& entry) { return entry.second.requires_grad(); });
}

/// A call of each model, and one with gradients of each that has parameters.
std::vector<Trial> read_trials(const fs::path& folder) {
  std::vector<Trial> trials;
  for (const auto& entry : fs::directory_iterator(folder)) {
    if (entry.path().extension() != ".stator" || borrows_generator(entry.path())) continue;
    try {
      const Model model = Model::load(entry.path().string());
      const std::string name = entry.path().stem();
      Model::Options options;
      add_trial(name, model, options, trials);
      options.gradients = true;
      if (has_parameters(model)) add_trial(name + " with gradients", model, options, trials);
    } catch (const Error&) {  // no method `forward` in this mode
    }
  }
  std::ranges::sort(trials, {}, &Trial::name);
  return trials;
}

double memory_in_use() {  // MiB
  std::ifstream stream("/proc/self/statm");
  double all = 0;
  double resident = 0;
  stream >> all >> resident;
  return resident * static_cast<double>(sysconf(_SC_PAGESIZE)) / (1 << 20);
}

struct Tally {
  std::atomic<std::int64_t> calls = 0;
  std::atomic<std::int64_t> wrong = 0;
};

/// One thread: calls of the trial at `place`, then of every `step`th, until `end`.
void work(const std::vector<Trial>& trials, std::size_t place, std::size_t step,
          std::chrono::steady_clock::time_point end, Tally& tally) {
  while (std::chrono::steady_clock::now() < end) {
    const Trial& trial = trials[place % trials.size()];
    for (int k = 0; k < 20; ++k) {
      ++tally.calls;
      if (outcome_of(trial.model, trial.inputs, trial.options, kRunLimit) == trial.wanted) continue;
      if (tally.wrong++ < 10) std::cerr << trial.name << " gives another outcome\n";
    }
    place += step;
  }
}

/// All threads on one model (`step` places on for the next), or each on another one.
void run_threads(const std::vector<Trial>& trials, std::size_t count, bool apart,
                 std::chrono::milliseconds time, Tally& tally) {
  std::vector<std::thread> threads;
  const auto end = std::chrono::steady_clock::now() + time;
  for (std::size_t k = 0; k < count; ++k) {
    threads.emplace_back(work, std::cref(trials), apart ? k : 0, 1, end, std::ref(tally));
  }
  for (std::thread& one : threads) one.join();
}

int run(const std::string& folder, std::int64_t seconds, std::size_t threads) {
  const std::vector<Trial> trials = read_trials(folder);
  if (trials.empty()) throw std::invalid_argument("there are no models in " + folder);
  Tally tally;
  const std::chrono::milliseconds half(seconds * 500);
  run_threads(trials, threads, true, half / 5, tally);
  const double before = memory_in_use();
  run_threads(trials, threads, false, half, tally);
  run_threads(trials, threads, true, half - half / 5, tally);
  const double growth = memory_in_use() - before;
  std::cout << trials.size() << " calls of models, " << threads << " threads, " << tally.calls
            << " runs, " << tally.wrong << " wrong, memory grew by " << growth << " MiB\n";
  return tally.wrong == 0 && growth < kMostGrowth ? 0 : 1;
}

}  // namespace
}  // namespace stator

int main(int count, char** given) {
  std::map<std::string, std::int64_t> numbers = {{"--seconds", 30}, {"--threads", 8}};
  std::string folder;
  for (int k = 1; k < count; ++k) {
    const std::string word = given[k];
    if (numbers.contains(word) && k + 1 < count) {
      numbers[word] = std::stoll(given[++k]);
    } else {
      folder = word;
    }
  }
  try {
    at::set_num_threads(1);
    return stator::run(folder, numbers["--seconds"],
                       static_cast<std::size_t>(numbers["--threads"]));
  } catch (const std::exception& error) {
    std::cerr << "stator-threads: " << error.what() << "\n";
    return 1;
  }
}

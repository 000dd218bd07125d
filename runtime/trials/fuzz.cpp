// stator-fuzz: mutated models, by the thousand. Each is loaded or refused, and what loads is run.
//
//     stator-fuzz FOLDER --seconds N [--seed N]     mutations of the models in FOLDER
//     stator-fuzz FOLDER --seed N --only K          mutation K once more
//
// A model may be refused and a run may raise; the process must live. Sanitizers, and the exit
// status, say whether it did. Built with -DSTATOR_TRIALS=ON.
#include <ATen/Parallel.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <map>

#include "trials/mutations.h"

namespace stator {
namespace {

namespace fs = std::filesystem;

std::string read_file(const fs::path& path) {
  std::ifstream stream(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), {}};
}

void write_file(const fs::path& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary) << bytes;
}

std::vector<Seed> read_seeds(const fs::path& folder) {
  std::vector<Seed> seeds;
  std::vector<fs::path> paths;
  for (const auto& entry : fs::directory_iterator(folder)) {
    if (entry.path().extension() == ".stator") paths.push_back(entry.path());
  }
  std::ranges::sort(paths);
  for (const fs::path& path : paths) {
    Seed seed;
    const std::string whole = read_file(path);
    seed.data = Json::parse(whole);
    seed.version = seed.data["version"].dump();
    for (const char* key : {"format", "version", "digest"}) seed.data.erase(key);
    seed.text = seed.data.dump().substr(1);
    seed.weights = read_file(fs::path(path).replace_extension(".safetensors"));
    seeds.push_back(std::move(seed));
  }
  return seeds;
}

struct FuzzArguments {
  std::string folder;
  std::map<std::string, std::int64_t> numbers = {{"seconds", 60}, {"seed", 0}, {"only", -1}};
};

FuzzArguments parse(int count, char** given) {
  FuzzArguments arguments;
  for (int k = 1; k < count; ++k) {
    const std::string word = given[k];
    if (!word.starts_with("--")) {
      arguments.folder = word;
    } else if (arguments.numbers.contains(word.substr(2)) && k + 1 < count) {
      arguments.numbers[word.substr(2)] = std::stoll(given[++k]);
    } else {
      throw std::invalid_argument("unknown option " + word);
    }
  }
  if (arguments.folder.empty()) throw std::invalid_argument("a folder of models is needed");
  return arguments;
}

int run(const FuzzArguments& arguments) {
  const std::vector<Seed> seeds = read_seeds(arguments.folder);
  if (seeds.empty()) throw std::invalid_argument("there are no models in " + arguments.folder);
  const fs::path scratch = fs::temp_directory_path() / ("stator-fuzz-" + std::to_string(getpid()));
  fs::create_directories(scratch);
  const auto seed = static_cast<std::uint64_t>(arguments.numbers.at("seed"));
  const std::int64_t only = arguments.numbers.at("only");
  const auto end =
      std::chrono::steady_clock::now() + std::chrono::seconds(arguments.numbers.at("seconds"));
  std::int64_t tried = 0;
  std::int64_t loaded = 0;
  for (std::int64_t k = std::max<std::int64_t>(only, 0); std::chrono::steady_clock::now() < end;
       ++k) {
    Draw draw(seed * 1000003 + static_cast<std::uint64_t>(k));
    const Mutant mutant = mutated(seeds, draw);
    write_file(scratch / "model.stator", mutant.text);
    write_file(scratch / "model.safetensors", mutant.weights);
    write_file(scratch / "number", std::to_string(k));  // what was tried, should the process die
    try {
      loaded += static_cast<std::int64_t>(try_model((scratch / "model").string()));
    } catch (const std::exception& error) {
      const std::string text = error.what();
      throw std::runtime_error("mutation " + std::to_string(k) + " of seed " +
                               std::to_string(seed) + ": " + text.substr(0, text.find('\n')));
    }
    ++tried;
    if (only >= 0) break;
  }
  fs::remove_all(scratch);
  std::cout << seeds.size() << " models, " << tried << " mutations, " << loaded << " loaded\n";
  return 0;
}

}  // namespace
}  // namespace stator

int main(int count, char** given) {
  try {
    at::set_num_threads(1);
    return stator::run(stator::parse(count, given));
  } catch (const std::exception& error) {
    std::cerr << "stator-fuzz: " << error.what() << "\n";
    return 1;
  }
}

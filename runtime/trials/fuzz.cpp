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
#include <random>

#include "format/json.h"
#include "format/sha256.h"
#include "trials/calls.h"

namespace stator {
namespace {

namespace fs = std::filesystem;
using Draw = std::mt19937_64;

constexpr auto kRunLimit = std::chrono::milliseconds(200);

struct Seed {
  Json data;            // the text without the head
  std::string text;     // the same, as it is in the file
  std::string weights;  // the bytes of the .safetensors
  std::string version;
};

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

std::size_t below(Draw& draw, std::size_t count) { return count == 0 ? 0 : draw() % count; }

/// Every place in a tree, in no particular order.
void collect(Json& node, std::vector<Json*>& places) {
  places.push_back(&node);
  if (node.is_structured()) {
    for (Json& item : node) collect(item, places);
  }
}

Json drawn_leaf(Draw& draw) {
  static const std::vector<Json> leaves = {0,
                                           1,
                                           -1,
                                           2,
                                           3,
                                           64,
                                           101,
                                           255,
                                           2147483647,
                                           4294967296,
                                           INT64_MAX,
                                           INT64_MIN,
                                           UINT64_MAX,
                                           0.5,
                                           1e308,
                                           true,
                                           false,
                                           nullptr,
                                           "",
                                           "x",
                                           "forward",
                                           "0",
                                           "float32",
                                           "int64",
                                           "complex64",
                                           "bfloat16",
                                           "cpu",
                                           "cuda:0",
                                           "meta",
                                           "inf",
                                           "nan",
                                           "../x",
                                           "stator::if",
                                           "stator::while",
                                           "stator::call",
                                           "stator::try",
                                           "stator::raise",
                                           "aten::as_strided",
                                           "aten::view",
                                           "aten::index_select",
                                           "aten::gather",
                                           "aten::embedding",
                                           "aten::add.Tensor",
                                           "aten::resize_",
                                           "aten::linear",
                                           "aten::mm",
                                           "aten::cat",
                                           "aten::gru_cell",
                                           "aten::layer_norm",
                                           "aten::sum",
                                           std::string(300, 'x'),
                                           Json::array(),
                                           Json::object(),
                                           Json::array({0, 1, 2})};
  return leaves[below(draw, leaves.size())];
}

void mutate_object(Json& node, const Json& other, Draw& draw) {
  auto at = node.begin();
  std::advance(at, static_cast<std::ptrdiff_t>(below(draw, node.size())));
  if (draw() % 2 == 0) {
    node.erase(at);
  } else {
    at.value() = other;
  }
}

void mutate_list(Json& node, const Json& other, Draw& draw) {
  const std::size_t k = below(draw, node.size());
  const std::size_t n = below(draw, node.size());
  switch (draw() % 4) {
    case 0:
      node.erase(k);
      break;
    case 1:
      node.push_back(node[k]);
      break;
    case 2:
      std::swap(node[k], node[n]);
      break;
    default:
      node[k] = other;
  }
}

/// One change somewhere in the tree; `donor` is a tree to take parts from.
void mutate_tree(Json& tree, Json& donor, Draw& draw) {
  std::vector<Json*> places;
  std::vector<Json*> parts;
  collect(tree, places);
  collect(donor, parts);
  Json& node = *places[below(draw, places.size())];
  const Json other = draw() % 2 == 0 ? *parts[below(draw, parts.size())] : drawn_leaf(draw);
  if (node.is_number_integer() && draw() % 2 == 0) {
    node = static_cast<std::int64_t>(static_cast<std::uint64_t>(node.get<std::int64_t>()) +
                                     draw() % 5 - 2);
  } else if (node.is_object() && !node.empty() && draw() % 2 == 0) {
    mutate_object(node, other, draw);
  } else if (node.is_array() && !node.empty() && draw() % 4 != 0) {
    mutate_list(node, other, draw);
  } else {
    node = other;
  }
}

/// A few bytes of a text changed, left out or said twice.
void mutate_bytes(std::string& bytes, std::size_t within, Draw& draw) {
  for (std::size_t k = 1 + below(draw, 4); k > 0 && !bytes.empty(); --k) {
    const std::size_t at = below(draw, std::min(within, bytes.size()));
    const std::size_t length = 1 + below(draw, 8);
    switch (draw() % 3) {
      case 0:
        bytes[at] = static_cast<char>(draw());
        break;
      case 1:
        bytes.erase(at, length);
        break;
      default:
        bytes.insert(at, bytes.substr(at, length));
    }
  }
}

struct Mutant {
  std::string text;
  std::string weights;
};

Mutant mutated(const std::vector<Seed>& seeds, Draw& draw) {
  const Seed& seed = seeds[below(draw, seeds.size())];
  Json donor = seeds[below(draw, seeds.size())].data;
  Json data = seed.data;
  Mutant made{seed.text, seed.weights};
  const auto way = draw() % 8;
  if (way == 0) {
    mutate_bytes(made.text, made.text.size(), draw);
  } else {
    if (way == 1 && made.weights.size() > 8) {
      mutate_bytes(made.weights, 8 + static_cast<unsigned char>(made.weights[0]), draw);
    } else {
      for (std::size_t k = 1 + below(draw, 3); k > 0; --k) mutate_tree(data, donor, draw);
    }
    if (way == 1 && data.contains("weights")) {  // a damaged header that has the right digest
      data["weights"] = {{"bytes", made.weights.size()},
                         {"chunk", std::max<std::size_t>(made.weights.size(), 1)},
                         {"sha256", Json::array({sha256(made.weights)})}};
    }
    made.text = data.is_object() ? data.dump(-1, ' ', false, Json::error_handler_t::replace) : "{}";
    made.text = made.text.substr(1);
  }
  made.text = R"({"format":"stator","version":)" + seed.version + R"(,"digest":")" +
              sha256(made.text) + R"(",)" + made.text;
  return made;
}

/// Loads a model and runs its methods; gives whether it could be loaded.
bool try_model(const std::string& path) {
  try {
    const Model model = Model::load(path);
    for (const std::string& method : model.methods()) {
      for (const char* mode : {"eval", "train"}) {
        try {
          const Model::Options options{method, mode, nullptr, true};
          outcome_of(model, drawn_inputs(model.signature(options), 0), options, kRunLimit);
        } catch (const Error&) {  // a mode that the model lacks
        }
      }
    }
    return true;
  } catch (const Error& error) {
    if (error.code != "ST400") throw;
    return false;
  }
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

#include "cli/arguments.h"

#include <functional>
#include <map>
#include <stdexcept>

namespace stator {

const char* const kUsage =
    "usage: stator-run MODEL --inputs FILE... --outputs FILE [options]\n"
    "       stator-run MODEL --describe\n"
    "       stator-run --batch FILE\n"
    "\n"
    "Runs a saved model (MODEL.stator and MODEL.safetensors) without Python.\n"
    "\n"
    "  --inputs FILE...   safetensors files, whose entries have the names of the inputs, or NumPy\n"
    "                     arrays: x.npy for the input x, NAME=FILE.npy for another name\n"
    "  --outputs FILE     where the outputs go, a safetensors file\n"
    "  --method NAME      the method to run (forward)\n"
    "  --mode MODE        train or eval (the mode that the model was saved in)\n"
    "  --threads N        threads of each op\n"
    "  --repeat N         run N times, print the time of each call\n"
    "  --seed N           the seed of torch's random numbers\n"
    "  --trust-compiled   run the libraries in MODEL.compiled, which is machine code: only for a\n"
    "                     folder whose origin you know\n"
    "  --describe         print the methods, with their inputs and outputs\n"
    "  --batch FILE       many calls in one process: one JSON object on each line, with the keys\n"
    "                     model, inputs, outputs, method, mode, seed. What a call prints, and the\n"
    "                     error it raises, go to the metadata of its outputs\n";

namespace {

std::int64_t number_of(const std::string& name, const std::string& text) {
  try {
    std::size_t used = 0;
    const std::int64_t number = std::stoll(text, &used);
    if (used == text.size()) return number;
  } catch (const std::logic_error&) {
    // reported below
  }
  throw std::invalid_argument(name + " takes a number, not `" + text + "`");
}

int count_of(const std::string& name, const std::string& text) {
  const std::int64_t number = number_of(name, text);
  if (number < 1 || number > INT32_MAX)
    throw std::invalid_argument(name + " takes a number from 1, not `" + text + "`");
  return static_cast<int>(number);
}

}  // namespace

Arguments parse_arguments(int count, char** given) {
  const std::vector<std::string> words(given + 1, given + count);
  Arguments made;
  std::size_t at = 0;
  const auto next = [&](const std::string& name) {
    if (++at >= words.size()) throw std::invalid_argument(name + " takes a value");
    return words[at];
  };
  const std::map<std::string, std::function<void(const std::string&)>> options = {
      {"--outputs", [&](const std::string& name) { made.outputs = next(name); }},
      {"--method", [&](const std::string& name) { made.method = next(name); }},
      {"--mode", [&](const std::string& name) { made.mode = next(name); }},
      {"--batch", [&](const std::string& name) { made.batch = next(name); }},
      {"--threads", [&](const std::string& name) { made.threads = count_of(name, next(name)); }},
      {"--repeat", [&](const std::string& name) { made.repeat = count_of(name, next(name)); }},
      {"--seed", [&](const std::string& name) { made.seed = number_of(name, next(name)); }},
      {"--trust-compiled", [&](const std::string&) { made.trust_compiled = true; }},
      {"--describe", [&](const std::string&) { made.describe = true; }},
      {"--help", [&](const std::string&) { made.help = true; }},
      {"-h", [&](const std::string&) { made.help = true; }},
  };
  for (; at < words.size(); ++at) {
    const std::string& word = words[at];
    if (word == "--inputs") {
      while (at + 1 < words.size() && !words[at + 1].starts_with("--"))
        made.inputs.push_back(words[++at]);
    } else if (const auto option = options.find(word); option != options.end()) {
      option->second(word);
    } else if (word.starts_with("-") || !made.model.empty()) {
      throw std::invalid_argument("there is no argument `" + word + "`");
    } else {
      made.model = word;
    }
  }
  if (made.model.empty() && made.batch.empty() && !made.help)
    throw std::invalid_argument("name a model");
  return made;
}

}  // namespace stator

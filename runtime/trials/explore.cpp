// stator-explore: libFuzzer's inputs as saved models. Each is loaded or refused, and what loads is
// run.
//
//     stator-explore CORPUS -max_total_time=600
//
// An input is the text of a model, a zero byte, and its weights; `tests.native.saved_models` writes
// such a corpus. The digests that it names are made right, or nothing would be read. Built by
// clang, with `fuzzer` in STATOR_SANITIZE.
#include <ATen/Parallel.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "format/sha256.h"
#include "trials/mutations.h"

extern "C" std::size_t LLVMFuzzerMutate(std::uint8_t* data, std::size_t size, std::size_t most);

namespace stator {
namespace {

namespace fs = std::filesystem;

/// The files of a model, as they are in an input.
Mutant read_input(const std::uint8_t* data, std::size_t size) {
  const std::string whole(reinterpret_cast<const char*>(data), size);
  const std::size_t end = whole.find('\0');
  if (end == std::string::npos) return {whole, {}};
  return {whole.substr(0, end), whole.substr(end + 1)};
}

/// Writes the input; gives its size, or zero if it is too long.
std::size_t write_input(const Mutant& model, std::uint8_t* data, std::size_t most) {
  std::string whole = model.text;
  if (!model.weights.empty()) whole += '\0' + model.weights;
  if (whole.size() > most) return 0;
  std::memcpy(data, whole.data(), whole.size());
  return whole.size();
}

/// The text with the digest that it must name; as it is if it has no such place.
std::string with_right_digest(const std::string& text) {
  static constexpr std::string_view kBefore = R"("digest":")";
  static constexpr std::size_t kDigits = 64;
  const std::size_t at = text.substr(0, 64).find(kBefore);
  const std::size_t rest = at + kBefore.size() + kDigits + 2;
  if (at == std::string::npos || rest > text.size()) return text;
  return text.substr(0, at + kBefore.size()) + sha256(text.substr(rest)) +
         text.substr(rest - 2);
}

void write_file(const fs::path& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary) << bytes;
}

/// A folder for the two files of each input, in memory where the system has such a place.
const fs::path& scratch() {
  static const fs::path folder = [] {
    const fs::path memory = "/dev/shm";
    const fs::path made = (fs::exists(memory) ? memory : fs::temp_directory_path()) /
                          ("stator-explore-" + std::to_string(getpid()));
    fs::create_directories(made);
    return made;
  }();
  return folder;
}

/// The model as data; null if its text is no JSON.
Json parsed(const std::string& text) {
  Json data = Json::parse(text, nullptr, false);
  return data.is_discarded() ? Json() : data;
}

void change_tree(Mutant& model, Json& donor, Draw& draw) {
  Json data = parsed(model.text);
  if (!data.is_object()) return;
  for (std::size_t k = 1 + draw() % 3; k > 0; --k) mutate_tree(data, donor, draw);
  if (!data.is_object()) return;
  const std::string version = data.contains("version") ? data["version"].dump() : "1";
  for (const char* key : {"format", "version", "digest"}) data.erase(key);
  model.text = with_head(headless(data), version);
}

/// A few bytes of the weights' header; their digests stay right.
void change_weights(Mutant& model, unsigned int seed) {
  std::vector<std::uint8_t> bytes(model.weights.begin(), model.weights.end());
  bytes.resize(bytes.size() + 64);
  const std::size_t size = LLVMFuzzerMutate(bytes.data(), model.weights.size(), bytes.size());
  model.weights.assign(bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(size));
  Json data = parsed(model.text);
  if (seed % 2 == 0 || !data.is_object() || !data.contains("weights")) return;
  const std::string version = data.contains("version") ? data["version"].dump() : "1";
  for (const char* key : {"format", "version", "digest"}) data.erase(key);
  data["weights"] = digests_of(model.weights);
  model.text = with_head(headless(data), version);
}

}  // namespace
}  // namespace stator

extern "C" int LLVMFuzzerInitialize(int* /*count*/, char*** /*given*/) {
  at::set_num_threads(1);
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const stator::Mutant model = stator::read_input(data, size);
  stator::write_file(stator::scratch() / "model.stator", stator::with_right_digest(model.text));
  stator::write_file(stator::scratch() / "model.safetensors", model.weights);
  stator::try_model((stator::scratch() / "model").string());
  return 0;
}

extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size,
                                               std::size_t most, unsigned int seed) {
  stator::Mutant model = stator::read_input(data, size);
  if (seed % 8 == 0) return LLVMFuzzerMutate(data, size, most);
  stator::Draw draw(seed);
  if (seed % 8 == 1 && !model.weights.empty()) {
    stator::change_weights(model, seed / 8);
  } else {
    stator::Json donor = stator::parsed(model.text);
    stator::change_tree(model, donor, draw);
  }
  const std::size_t written = stator::write_input(model, data, most);
  return written == 0 ? size : written;
}

/// Parts of another model in the place of parts of this one.
extern "C" std::size_t LLVMFuzzerCustomCrossOver(const std::uint8_t* data, std::size_t size,
                                                 const std::uint8_t* other, std::size_t other_size,
                                                 std::uint8_t* out, std::size_t most,
                                                 unsigned int seed) {
  stator::Mutant model = stator::read_input(data, size);
  stator::Json donor = stator::parsed(stator::read_input(other, other_size).text);
  stator::Draw draw(seed);
  stator::change_tree(model, donor, draw);
  return stator::write_input(model, out, most);
}

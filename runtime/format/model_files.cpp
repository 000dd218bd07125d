#include "format/model_files.h"

#include <ATen/ops/view_as_complex.h>
#include <torch/csrc/jit/frontend/function_schema_parser.h>

#include <algorithm>
#include <future>
#include <regex>
#include <set>

#include "format/decode.h"
#include "format/mapped_file.h"
#include "format/safetensors.h"
#include "format/sha256.h"

namespace stator {
namespace {

constexpr int kNewestVersion = 4;
constexpr int kStateDepth = 100;  // of lists in lists
constexpr std::int64_t kOpSet = 3;
constexpr std::size_t kTextLimit = std::size_t{1} << 28;
constexpr int kTries = 100;                 // of a reader, while writers put other models in place
constexpr std::size_t kSchemaLimit = 4000;  // characters

/// The files of one model, never of two: see "Saving" in docs/format.md.
struct OpenFiles {
  std::string stem;
  std::shared_ptr<MappedFile> text;
  std::vector<std::pair<std::string, std::shared_ptr<MappedFile>>> weights;
};

OpenFiles open_files(const std::string& path) {
  OpenFiles files;
  files.stem = path.ends_with(".stator") ? path.substr(0, path.size() - 7) : path;
  const std::string text = files.stem + ".stator";
  for (int k = 0; k < kTries; ++k) {
    files.text = MappedFile::open(text);
    files.weights.clear();
    for (const char* ending : {".safetensors", ".safetensors.old"}) {
      auto file = MappedFile::open_if_there(files.stem + ending);
      if (file != nullptr) files.weights.emplace_back(files.stem + ending, std::move(file));
    }
    if (files.text->is_at(text)) return files;
  }
  throw format_error(text + " was replaced " + std::to_string(kTries) + " times while it was read",
                     "load it when no one writes it");
}

/// The version of the text; ST400 unless it is one that we can read, whole.
int check_head(const std::string& file, std::span<const char> text) {
  static const std::regex form(
      R"re(\{"format":"stator","version":(\d{1,9}),"digest":"([0-9a-f]{64})",)re");
  constexpr std::size_t kLongestHead = 150;
  if (text.size() > kTextLimit)
    throw format_error(file + " is larger than " + std::to_string(kTextLimit) + " bytes");
  const std::string head(text.data(), std::min(text.size(), kLongestHead));
  std::smatch found;
  if (!std::regex_search(head, found, form, std::regex_constants::match_continuous)) {
    throw format_error(file + " is not a Stator model", "give a file written by `save`");
  }
  const int version = std::stoi(found[1]);
  if (version < 1 || version > kNewestVersion) {
    throw format_error(file + " has format version " + found[1].str() +
                           "; this Stator reads versions 1 to " + std::to_string(kNewestVersion),
                       "load it with the Stator that wrote it, or a newer one");
  }
  if (sha256(text.subspan(static_cast<std::size_t>(found.length()))) != found[2]) {
    throw format_error(file + " is damaged: its text does not have the digest it names");
  }
  return version;
}

/// What the weights must be: their size, and the digest of each chunk.
struct Digests {
  std::size_t size = 0;
  std::size_t chunk = 1;
  std::vector<std::string> chunks;
};

Digests decode_digests(const Json& data, int version) {
  const std::string at = "weights";
  Digests digests;
  const std::int64_t size = integer_at(field(data, "bytes", at), at + ".bytes");
  if (size < 0) damaged(at + ".bytes", "must be a size");
  digests.size = static_cast<std::size_t>(size);
  if (version == 1) {
    digests.chunk = std::max<std::size_t>(digests.size, 1);
    if (size > 0) digests.chunks.push_back(text_at(field(data, "sha256", at), at));
    return digests;
  }
  const std::int64_t chunk = integer_at(field(data, "chunk", at), at + ".chunk");
  for (const Json& digest : list_at(field(data, "sha256", at), at))
    digests.chunks.push_back(text_at(digest, at));
  if (chunk <= 0 || digests.chunks.size() != (digests.size + static_cast<std::size_t>(chunk) - 1) /
                                                 static_cast<std::size_t>(chunk)) {
    damaged(at + ".sha256", "must have a digest for each chunk");
  }
  digests.chunk = static_cast<std::size_t>(chunk);
  return digests;
}

/// How the file differs from its digests; empty if it does not.
std::string fault(const Digests& digests, std::span<const char> bytes) {
  if (bytes.size() != digests.size) {
    return "it has " + std::to_string(bytes.size()) + " bytes, and " +
           std::to_string(digests.size) + " are named there";
  }
  constexpr std::size_t kThreads = 4;
  std::vector<std::future<std::size_t>> parts;
  const auto first_fault = [&](std::size_t begin) {
    for (std::size_t k = begin; k < digests.chunks.size(); k += kThreads) {
      const std::size_t start = k * digests.chunk;
      if (sha256(bytes.subspan(start, std::min(digests.chunk, bytes.size() - start))) !=
          digests.chunks[k])
        return k;
    }
    return digests.chunks.size();
  };
  for (std::size_t k = 0; k < std::min(kThreads, digests.chunks.size()); ++k) {
    parts.push_back(std::async(std::launch::async, first_fault, k));
  }
  std::size_t found = digests.chunks.size();
  for (auto& part : parts) found = std::min(found, part.get());
  if (found == digests.chunks.size()) return "";
  const std::size_t start = found * digests.chunk;
  return "its bytes " + std::to_string(start) + " to " +
         std::to_string(std::min(start + digests.chunk, bytes.size()) - 1) +
         " do not have the digest named there";
}

TensorFile read_weights(const OpenFiles& files, const Digests& digests) {
  if (files.weights.empty()) {
    throw format_error(files.stem + ".safetensors does not exist",
                       "keep it beside the .stator file");
  }
  std::string problem;
  for (const auto& [name, file] : files.weights) {
    const std::string found = fault(digests, file->bytes());
    if (found.empty()) {
      try {
        return read_safetensors(file);
      } catch (const Error& error) {
        throw format_error(name + " is damaged: " + error.message);
      }
    }
    if (problem.empty()) {
      problem = name + " is damaged, or belongs to another model than " + files.stem +
                ".stator: " + found;
    }
  }
  throw format_error(problem);
}

at::Tensor as_declared(const at::Tensor& stored, const std::string& dtype) {
  const bool paired = stored.dim() > 0 && stored.size(-1) == 2 && stored.is_floating_point();
  return dtype.starts_with("complex") && paired ? at::view_as_complex(stored) : stored;
}

void check_declared(const at::Tensor& tensor, const Json& item, const std::string& at) {
  const auto shape = decode_shape(field(item, "shape", at), at);
  const bool same_sizes =
      shape.size() == static_cast<std::size_t>(tensor.dim()) &&
      std::ranges::equal(shape, tensor.sizes(), [](const Type::Size& declared, std::int64_t size) {
        return declared.number == size;
      });
  if (!same_sizes || dtype_named(text_at(field(item, "dtype", at), at)) != tensor.scalar_type()) {
    damaged(at, "is of another dtype or shape in the weights: " + describe(Value(tensor)));
  }
}

std::map<std::string, StoredTensor> decode_tensors(const Json& table, const TensorFile& weights) {
  std::map<std::string, StoredTensor> tensors;
  std::map<std::string, at::Tensor> made;  // by key: names with one key are one tensor
  for (const auto& [name, item] : object_at(table, "tensors").items()) {
    const std::string at = "tensors." + name;
    const std::string& key = text_at(field(item, "key", at), at);
    const auto stored = weights.tensors.find(key);
    if (stored == weights.tensors.end())
      damaged(at, "names the key '" + key + "', which the weights lack");
    const auto [entry, is_new] = made.try_emplace(key);
    if (is_new) entry->second = as_declared(stored->second, text_at(field(item, "dtype", at), at));
    check_declared(entry->second, item, at);
    const bool requires_grad = bool_at(field(item, "requires_grad", at), at);
    if (requires_grad && !entry->second.is_floating_point() && !entry->second.is_complex()) {
      damaged(at, "cannot require gradients");
    }
    tensors[name] = {entry->second, text_at(field(item, "kind", at), at), requires_grad};
  }
  return tensors;
}

void check_stored(const Program& program, const std::map<std::string, StoredTensor>& tensors,
                  const std::string& at) {
  for (const Stored& stored : program.stored) {
    const auto found = tensors.find(stored.name);
    if (found == tensors.end())
      damaged(at, "needs the " + stored.kind + " `" + stored.name + "`, which is not there");
    const Type& type = program.values[stored.value].type;
    const at::Tensor& tensor = found->second.tensor;
    const bool fits = type.kind == Type::Kind::kTensor && type.dtype == tensor.scalar_type() &&
                      std::ranges::equal(type.shape, tensor.sizes(),
                                         [](const Type::Size& size, std::int64_t found_size) {
                                           return !size.number || *size.number == found_size;
                                         });
    if (!fits) damaged(at, "takes `" + stored.name + "` for " + to_text(type));
  }
}

Value decode_state_value(const Json& data, const std::string& at,
                         const std::map<std::string, StoredTensor>& tensors, int depth) {
  if (depth > kStateDepth) damaged(at, "is nested too deeply");
  if (data.is_array()) {
    std::vector<Value> items;
    for (const Json& item : data)
      items.push_back(decode_state_value(item, at, tensors, depth + 1));
    return make_list(std::move(items));
  }
  if (!data.is_object() || !data.contains("tensor")) return decode_constant(data, at).value;
  const std::string& name = text_at(data["tensor"], at);
  const auto found = tensors.find(name);
  if (found == tensors.end()) damaged(at, "names the tensor '" + name + "', which is not there");
  return found->second.tensor;
}

std::map<std::string, InitialState> decode_states(
    const Json& table, const std::map<std::string, StoredTensor>& tensors) {
  std::map<std::string, InitialState> states;
  for (const auto& [name, item] : object_at(table, "states").items()) {
    const std::string at = "states." + name;
    InitialState& values = states[name];
    for (const Json& value : list_at(field(item, "initial", at), at + ".initial"))
      values.push_back(decode_state_value(value, at + ".initial", tensors, 0));
  }
  return states;
}

/// ST400 unless the states that a program uses are there, and have as many values as it takes.
void check_state(const Program& program, const std::map<std::string, InitialState>& states,
                 const std::string& at) {
  for (const StateUse& use : program.state) {
    const auto found = states.find(use.name);
    if (found == states.end()) damaged(at, "names the state '" + use.name + "', which is not there");
    if (found->second.size() != use.count) {
      damaged(at, "has " + std::to_string(use.count) + " values of `" + use.name +
                      "`, which has " + std::to_string(found->second.size()));
    }
  }
}

void collect_names(const Block& block, std::set<std::string>& names) {
  for (const Op& op : block.ops) {
    if (!op.name.starts_with("stator::")) names.insert(op.name);
    for (const Block& inner : op.blocks) collect_names(inner, names);
  }
}

/// ST400 unless calls that fit the schema of the writer fit the op that this torch has.
void check_schema(const std::string& name, const std::string& saved) {
  static const std::regex form(R"([\w:.]+\([^()]*(\([^()]*\)[^()]*)*\) -> [^\n]*)");
  const std::size_t dot = name.find('.');
  const auto op = c10::Dispatcher::singleton().findSchema(
      {name.substr(0, dot), dot == std::string::npos ? "" : name.substr(dot + 1)});
  if (!op) damaged("ops." + name, "is not in this version of torch");
  const std::string own = c10::toString(op->schema());
  if (own == saved) return;
  if (saved.size() > kSchemaLimit || std::ranges::count(saved, '[') > 64 ||
      !std::regex_match(saved, form)) {
    damaged("ops." + name, "is no schema");
  }
  bool holds = false;
  try {
    holds = op->schema().isBackwardCompatibleWith(torch::jit::parseSchema(saved));
  } catch (const std::exception&) {
    damaged("ops." + name, "is no schema");
  }
  if (!holds) damaged("ops." + name, "is '" + saved + "', and this torch has '" + own + "'");
}

void check_ops(const Json& ops, const std::map<std::string, Program>& programs) {
  std::set<std::string> names;
  for (const auto& [program_name, program] : programs) {
    collect_names(program.body, names);
    for (const auto& [function_name, function] : program.functions) collect_names(function, names);
  }
  for (const std::string& name : names) {
    const auto found = object_at(ops, "ops").find(name);
    if (found == ops.end()) damaged("ops", "has no schema of " + name);
    check_schema(name, text_at(*found, "ops." + name));
  }
}

std::map<std::string, Method> first_version_methods(const ModelFiles& model, const Json& data) {
  std::map<std::string, Method> methods;
  if (!model.programs.contains("forward")) return methods;
  const std::string mine = model.training ? "train" : "eval";
  const std::string other = model.training ? "eval" : "train";
  const Json none = Json::object();
  const Json metadata = data.value("metadata", none).value("dict", none);
  const bool has_modes = !metadata.contains("modes") || metadata["modes"] != Json(false);
  Method& forward = methods["forward"];
  forward.programs[mine] = "forward";
  if (!has_modes) forward.programs[other] = "forward";
  if (has_modes && model.programs.contains(other)) forward.programs[other] = other;
  return methods;
}

std::map<std::string, Method> decode_methods(const ModelFiles& model, const Json& data) {
  std::map<std::string, Method> methods;
  for (const auto& [name, item] :
       object_at(field(data, "methods", "the model"), "methods").items()) {
    const std::string at = "methods." + name;
    for (const auto& [mode, program] : object_at(field(item, "programs", at), at).items()) {
      const std::string& chosen = text_at(program, at);
      if (!model.programs.contains(chosen))
        damaged(at, "names the program '" + chosen + "', which is not there");
      methods[name].programs[mode] = chosen;
    }
    for (const auto& [mode, reason] : object_at(field(item, "refused", at), at).items()) {
      methods[name].refused[mode] = text_at(reason, at);
    }
  }
  return methods;
}

ModelFiles decode_model(const Json& data, int version, const OpenFiles& files) {
  const std::string at = "the model";
  if (version > 1) {
    const std::int64_t op_set =
        integer_at(field(field(data, "op_sets", at), "stator", at), "op_sets.stator");
    if (op_set > kOpSet)
      damaged("op_sets.stator", "is " + std::to_string(op_set) + ", and this Stator has " +
                                    std::to_string(kOpSet) + ": a newer one is needed");
  }
  ModelFiles model;
  model.stem = files.stem;
  model.digest = text_at(field(data, "digest", at), "digest");
  for (const auto& [name, program] : object_at(field(data, "programs", at), "programs").items()) {
    model.programs[name] = decode_program(program, "programs." + name);
    verify(model.programs[name]);
  }
  if (version > 1) check_ops(field(data, "ops", at), model.programs);
  model.training = bool_at(field(data, "training", at), "training");
  model.methods = version == 1 ? first_version_methods(model, data) : decode_methods(model, data);
  const Digests digests = decode_digests(field(data, "weights", at), version);
  model.tensors = decode_tensors(field(data, "tensors", at), read_weights(files, digests));
  if (data.contains("states")) model.states = decode_states(data["states"], model.tensors);
  for (const auto& [name, program] : model.programs) {
    check_stored(program, model.tensors, "programs." + name + ".stored");
    check_state(program, model.states, "programs." + name + ".state");
  }
  return model;
}

}  // namespace

ModelFiles read_model(const std::string& path) {
  const OpenFiles files = open_files(path);
  const std::string text = files.stem + ".stator";
  const int version = check_head(text, files.text->bytes());
  std::size_t size = files.text->bytes().size();
  std::size_t weights = 0;
  for (const auto& [name, file] : files.weights) weights = std::max(weights, file->bytes().size());
  size += weights;
  try {
    return decode_model(parse_json(files.text->bytes(), size), version, files);
  } catch (Error& error) {
    if (error.code == "ST400" && error.message.find(files.stem) == std::string::npos) {
      error.message = text + " is damaged: " + error.message;
    }
    throw;
  }
}

}  // namespace stator

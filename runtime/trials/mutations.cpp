#include "trials/mutations.h"

#include <algorithm>

#include "format/sha256.h"
#include "trials/calls.h"

namespace stator {
namespace {

constexpr auto kRunLimit = std::chrono::milliseconds(200);

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

}  // namespace

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

std::string headless(const Json& data) {
  if (!data.is_object()) return "}";
  return data.dump(-1, ' ', false, Json::error_handler_t::replace).substr(1);
}

Json digests_of(const std::string& weights) {
  return {{"bytes", weights.size()},
          {"chunk", std::max<std::size_t>(weights.size(), 1)},
          {"sha256", Json::array({sha256(weights)})}};
}

std::string with_head(const std::string& headless, const std::string& version) {
  return R"({"format":"stator","version":)" + version + R"(,"digest":")" + sha256(headless) +
         R"(",)" + headless;
}

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
      data["weights"] = digests_of(made.weights);
    }
    made.text = headless(data);
  }
  made.text = with_head(made.text, seed.version);
  return made;
}

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

}  // namespace stator

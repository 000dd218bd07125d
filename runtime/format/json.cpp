#include "format/json.h"

#include <algorithm>
#include <set>
#include <vector>

#include "errors.h"

namespace stator {
namespace {

constexpr int kMaxDepth = 1000;  // of the JSON itself: several levels for a block
constexpr std::size_t kMemoryFloor = std::size_t{1} << 26;  // bytes that any file may take

/// About the most memory that the data of `text` can take; counting takes none.
std::size_t memory_needed(std::span<const char> text) {
  std::size_t needed = 0;
  for (const char c : text) {
    if (c == '{') needed += 184;
    if (c == '[') needed += 72;
    if (c == ',') needed += 60;
    if (c == ':') needed += 80;
  }
  return needed;
}

/// Refuses what nlohmann::json accepts: deep nesting, and a key that an object has twice.
class Watcher {
 public:
  bool operator()(int depth, Json::parse_event_t event, Json& parsed) {
    if (depth > kMaxDepth) throw format_error("it is nested too deeply");
    if (event == Json::parse_event_t::object_start) {
      keys_.emplace_back();
    } else if (event == Json::parse_event_t::object_end) {
      keys_.pop_back();
    } else if (event == Json::parse_event_t::key) {
      const auto& key = parsed.get_ref<const std::string&>();
      if (!keys_.back().insert(key).second) {
        throw format_error("an object has the key '" + key.substr(0, 100) + "' twice");
      }
    }
    return true;
  }

 private:
  std::vector<std::set<std::string>> keys_;
};

[[noreturn]] void wrong_kind(const Json& data, const char* wanted, const std::string& at) {
  const char* found = data.is_object()           ? "an object"
                      : data.is_array()          ? "a list"
                      : data.is_string()         ? "a text"
                      : data.is_boolean()        ? "true or false"
                      : data.is_number_integer() ? "an integer"
                      : data.is_number_float()   ? "a fraction"
                                                 : "null";
  damaged(at, std::string("must be ") + wanted + ", not " + found);
}

}  // namespace

Json parse_json(std::span<const char> text, std::size_t size) {
  const std::size_t needed = memory_needed(text);
  const std::size_t allowed = std::max(size, kMemoryFloor);
  if (needed > allowed) {
    throw format_error("its data would take " + std::to_string(needed) +
                       " bytes of memory, more than " + std::to_string(allowed));
  }
  Watcher watcher;
  const auto watch = [&watcher](int depth, Json::parse_event_t event, Json& parsed) {
    return watcher(depth, event, parsed);
  };
  try {
    return Json::parse(text.begin(), text.end(), watch);
  } catch (const Json::exception& error) {
    throw format_error(error.what());
  }
}

void damaged(const std::string& at, const std::string& problem) {
  throw format_error(at + " " + problem);
}

const Json& object_at(const Json& data, const std::string& at) {
  if (!data.is_object()) wrong_kind(data, "an object", at);
  return data;
}

const Json& list_at(const Json& data, const std::string& at) {
  if (!data.is_array()) wrong_kind(data, "a list", at);
  return data;
}

const std::string& text_at(const Json& data, const std::string& at) {
  if (!data.is_string()) wrong_kind(data, "a text", at);
  return data.get_ref<const std::string&>();
}

bool bool_at(const Json& data, const std::string& at) {
  if (!data.is_boolean()) wrong_kind(data, "true or false", at);
  return data.get<bool>();
}

std::int64_t integer_at(const Json& data, const std::string& at) {
  if (!data.is_number_integer()) wrong_kind(data, "an integer", at);
  if (data.is_number_unsigned() && data.get<std::uint64_t>() > INT64_MAX)
    damaged(at, "is no constant");
  return data.get<std::int64_t>();
}

const Json& field(const Json& data, const char* key, const std::string& at) {
  const Json* found = optional_field(data, key, at);
  if (found == nullptr) damaged(at, std::string("has no '") + key + "'");
  return *found;
}

const Json* optional_field(const Json& data, const char* key, const std::string& at) {
  const auto found = object_at(data, at).find(key);
  return found == data.end() ? nullptr : &*found;
}

std::pair<std::string, const Json*> only_field(const Json& data, const std::string& at) {
  if (object_at(data, at).size() != 1) damaged(at, "must be an object with one key");
  return {data.begin().key(), &*data.begin()};
}

void check_depth(int depth, const std::string& at) {
  if (depth > kMaxNesting)
    damaged(at, "is nested more than " + std::to_string(kMaxNesting) + " deep");
}

}  // namespace stator

#include "format/json.h"

#include <algorithm>
#include <vector>

#include "errors.h"

namespace stator {
namespace {

constexpr std::size_t kMaxDepth = 1000;  // of the JSON itself: several levels for a block
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

/// Builds the data that nlohmann::json reads, and refuses what it accepts: deep nesting, and a key
/// that an object has twice.
/// NOTE: its own builder, asked to call back, looks through a container after each part of it.
class Builder final : public Json::json_sax_t {
 public:
  Json take() { return std::move(root_); }

  bool null() override { return add(Json()); }
  bool boolean(bool value) override { return add(Json(value)); }
  bool number_integer(number_integer_t value) override { return add(Json(value)); }
  bool number_unsigned(number_unsigned_t value) override { return add(Json(value)); }
  bool number_float(number_float_t value, const string_t& /*text*/) override {
    return add(Json(value));
  }
  bool string(string_t& value) override { return add(Json(std::move(value))); }
  bool binary(binary_t& value) override { return add(Json(std::move(value))); }  // not in a text

  bool start_object(std::size_t /*size*/) override { return open(Json::object()); }
  bool key(string_t& name) override {
    const auto [place, is_new] =
        open_.back()->get_ref<Json::object_t&>().try_emplace(std::move(name));
    if (!is_new)
      throw format_error("an object has the key '" + place->first.substr(0, 100) + "' twice");
    keyed_ = &place->second;
    return true;
  }
  bool end_object() override { return close(); }
  bool start_array(std::size_t /*size*/) override { return open(Json::array()); }
  bool end_array() override { return close(); }

  bool parse_error(std::size_t /*position*/, const std::string& /*token*/,
                   const Json::exception& error) override {
    throw format_error(error.what());
  }

 private:
  /// Where the next value goes: the root, the last key of an object, or the end of a list.
  Json& put(Json value) {
    if (open_.empty()) return root_ = std::move(value);
    if (open_.back()->is_object()) return *keyed_ = std::move(value);
    return open_.back()->get_ref<Json::array_t&>().emplace_back(std::move(value));
  }
  bool add(Json value) {
    put(std::move(value));
    return true;
  }
  bool open(Json container) {
    if (open_.size() >= kMaxDepth) throw format_error("it is nested too deeply");
    open_.push_back(&put(std::move(container)));
    return true;
  }
  bool close() {
    open_.pop_back();
    return true;
  }

  Json root_;
  std::vector<Json*> open_;  // the containers that the next value is in
  Json* keyed_ = nullptr;
};

[[noreturn]] void wrong_kind(const Json& data, const char* wanted, const std::string& at) {
  const char* found = data.is_object()           ? "an object"
                      : data.is_array()          ? "a list"
                      : data.is_string()         ? "a string"
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
  Builder builder;
  Json::sax_parse(text.begin(), text.end(), &builder);
  return builder.take();
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
  if (!data.is_string()) wrong_kind(data, "a string", at);
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

// Reading JSON that no one vouches for: what is of the wrong kind is named by its place.
#pragma once

#include <nlohmann/json.hpp>
#include <span>
#include <string>

namespace stator {

using Json = nlohmann::json;

constexpr int kMaxNesting = 100;  // blocks in blocks, lists in lists, structures in structures

/// The data of `text`. Throws ST400 if it is no JSON, is nested too deeply, has a key twice, or
/// would take more memory than `size`, the bytes of all files.
Json parse_json(std::span<const char> text, std::size_t size);

/// Throws ST400: what is wrong, and where: `programs.forward.body.ops[3] has no 'name'`.
[[noreturn]] void damaged(const std::string& at, const std::string& problem);

const Json& object_at(const Json& data, const std::string& at);
const Json& list_at(const Json& data, const std::string& at);
const std::string& text_at(const Json& data, const std::string& at);
bool bool_at(const Json& data, const std::string& at);
std::int64_t integer_at(const Json& data, const std::string& at);

/// `data[key]`, which must be there.
const Json& field(const Json& data, const char* key, const std::string& at);

/// `data[key]`, or null where it is left out.
const Json* optional_field(const Json& data, const char* key, const std::string& at);

/// An object of one key: the key and what it holds.
std::pair<std::string, const Json*> only_field(const Json& data, const std::string& at);

void check_depth(int depth, const std::string& at);

}  // namespace stator

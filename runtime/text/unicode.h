// Characters of strings in UTF-8: code points, their positions, and what Python knows of them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace stator {

/// The code point at `at`, and how many bytes it takes.
std::pair<char32_t, std::size_t> decode(std::string_view text, std::size_t at);

/// The number of code points in a UTF-8 string.
std::int64_t length_of(std::string_view text);

/// Where the code point of that number begins, in bytes; the end of the string if there is none.
std::size_t offset_of(std::string_view text, std::int64_t position);

/// Python's `text.upper()` and `text.lower()`.
std::string to_upper(std::string_view text);
std::string to_lower(std::string_view text);

/// Python's `text.isdigit()` and its like; nothing if no method has this name.
std::optional<bool> answer(std::string_view question, std::string_view text);

bool is_space(char32_t point);
bool is_printable(char32_t point);

/// The value of a decimal digit of any script.
std::optional<int> digit_value(char32_t point);

}  // namespace stator

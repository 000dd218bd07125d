#include "text/unicode.h"

#include <algorithm>
#include <iterator>
#include <span>
#include <vector>

namespace stator {
namespace {

struct CodeRange {
  char32_t first, last;
};

struct CaseRow {
  char32_t point;
  const char* text;
};

#include "generated/unicode.inc"

constexpr char32_t kSigma = 0x3A3;
constexpr std::string_view kFinalSigma = "\xCF\x82";

/// The range that has `point`, or nullptr.
const CodeRange* find(std::span<const CodeRange> table, char32_t point) {
  const auto after = std::ranges::upper_bound(table, point, {}, &CodeRange::first);
  if (after == table.begin()) return nullptr;
  const CodeRange& found = *std::prev(after);
  return point <= found.last ? &found : nullptr;
}

bool has(std::span<const CodeRange> table, char32_t point) { return find(table, point) != nullptr; }

bool is_alphanumeric(char32_t point) {
  return has(kAlpha, point) || has(kDecimal, point) || has(kDigit, point) || has(kNumeric, point);
}

/// Are there characters, and `holds` for each?
template <class Predicate>
bool all_of(std::string_view text, const Predicate& holds) {
  for (std::size_t at = 0; at < text.size();) {
    const auto [point, size] = decode(text, at);
    if (!holds(point)) return false;
    at += size;
  }
  return !text.empty();
}

/// Is there a character of the case `wanted`, and none of the other one, or in title case?
bool is_of_case(std::string_view text, std::span<const CodeRange> wanted,
                std::span<const CodeRange> other) {
  bool found = false;
  for (std::size_t at = 0; at < text.size();) {
    const auto [point, size] = decode(text, at);
    if (has(other, point) || has(kTitle, point)) return false;
    found = found || has(wanted, point);
    at += size;
  }
  return found;
}

std::vector<char32_t> points_of(std::string_view text) {
  std::vector<char32_t> points;
  for (std::size_t at = 0; at < text.size();) {
    const auto [point, size] = decode(text, at);
    points.push_back(point);
    at += size;
  }
  return points;
}

/// Does the sigma at `at` end a word?
bool is_final(const std::vector<char32_t>& points, std::size_t at) {
  std::size_t before = at;
  while (before > 0 && has(kIgnored, points[before - 1])) --before;
  if (before == 0 || !has(kCased, points[before - 1])) return false;
  std::size_t after = at + 1;
  while (after < points.size() && has(kIgnored, points[after])) ++after;
  return after == points.size() || !has(kCased, points[after]);
}

void append_case(std::string& made, std::span<const CaseRow> table, std::string_view own,
                 char32_t point) {
  const auto found = std::ranges::lower_bound(table, point, {}, &CaseRow::point);
  const bool changes = found != table.end() && found->point == point;
  made += changes ? std::string_view(found->text) : own;
}

}  // namespace

std::pair<char32_t, std::size_t> decode(std::string_view text, std::size_t at) {
  const auto byte = [&](std::size_t k) {
    return at + k < text.size() ? static_cast<unsigned char>(text[at + k]) : 0U;
  };
  const auto size = [&](std::size_t bytes) { return std::min(bytes, text.size() - at); };
  const unsigned first = byte(0);
  if (first < 0x80) return {first, size(1)};
  if (first < 0xE0) return {(first & 0x1FU) << 6 | (byte(1) & 0x3FU), size(2)};
  if (first < 0xF0) {
    return {(first & 0x0FU) << 12 | (byte(1) & 0x3FU) << 6 | (byte(2) & 0x3FU), size(3)};
  }
  return {
      (first & 0x07U) << 18 | (byte(1) & 0x3FU) << 12 | (byte(2) & 0x3FU) << 6 | (byte(3) & 0x3FU),
      size(4)};
}

std::int64_t length_of(std::string_view text) {
  std::int64_t count = 0;
  for (const char c : text) count += (static_cast<unsigned char>(c) & 0xC0U) != 0x80U;
  return count;
}

std::size_t offset_of(std::string_view text, std::int64_t position) {
  std::size_t at = 0;
  for (std::int64_t k = 0; k < position && at < text.size(); ++k) {
    do ++at;
    while (at < text.size() && (static_cast<unsigned char>(text[at]) & 0xC0U) == 0x80U);
  }
  return at;
}

std::string to_upper(std::string_view text) {
  std::string made;
  for (std::size_t at = 0; at < text.size();) {
    const auto [point, size] = decode(text, at);
    append_case(made, kToUpper, text.substr(at, size), point);
    at += size;
  }
  return made;
}

std::string to_lower(std::string_view text) {
  const std::vector<char32_t> points = points_of(text);
  std::string made;
  std::size_t at = 0;
  for (std::size_t k = 0; k < points.size(); ++k) {
    const std::size_t size = decode(text, at).second;
    if (points[k] == kSigma && is_final(points, k)) {
      made += kFinalSigma;
    } else {
      append_case(made, kToLower, text.substr(at, size), points[k]);
    }
    at += size;
  }
  return made;
}

std::optional<bool> answer(std::string_view question, std::string_view text) {
  const auto each = [&](std::span<const CodeRange> table) {
    return all_of(text, [&](char32_t point) { return has(table, point); });
  };
  if (question == "isdigit") return each(kDigit);
  if (question == "isdecimal") return each(kDecimal);
  if (question == "isnumeric") return each(kNumeric);
  if (question == "isalpha") return each(kAlpha);
  if (question == "isalnum") return all_of(text, is_alphanumeric);
  if (question == "isspace") return each(kSpace);
  if (question == "isprintable") return text.empty() || each(kPrintable);
  if (question == "isupper") return is_of_case(text, kUpper, kLower);
  if (question == "islower") return is_of_case(text, kLower, kUpper);
  if (question == "isascii") return std::ranges::all_of(text, [](char c) { return c >= 0; });
  return std::nullopt;
}

bool is_space(char32_t point) { return has(kSpace, point); }

bool is_printable(char32_t point) { return has(kPrintable, point); }

std::optional<int> digit_value(char32_t point) {
  const CodeRange* found = find(kDecimal, point);
  if (found == nullptr) return std::nullopt;
  return static_cast<int>((point - found->first) % 10);
}

}  // namespace stator

// Sums, largest elements and truth of contiguous arrays.
//
// NOTE: a sum of floating-point numbers depends on the order of the additions. ATen's order is a
// matter of the vector width that it was compiled for, and of the length: `Width` partial sums for
// each of four vectors side by side, and these in groups of 16 and more (its "cascade"). Here the
// same additions are made in the same order; `sum_width` finds the width by trying.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <type_traits>

namespace stator::kernels {

/// `Width` sums side by side.
template <class T, int Width>
struct Lanes {
  std::array<T, Width> at{};
  void add(const T* from) {
    for (int k = 0; k < Width; ++k) at[static_cast<std::size_t>(k)] += from[k];
  }
  void add(const Lanes& other) { add(other.at.data()); }
};

constexpr std::int64_t kLevels = 4;
constexpr std::int64_t kSideBySide = 4;

/// The sums of four rows of lanes that alternate in memory, `rows` of each.
template <class T, int Width>
std::array<Lanes<T, Width>, kSideBySide> cascade(const T* data, std::int64_t rows) {
  using Row = std::array<Lanes<T, Width>, kSideBySide>;
  const auto bits = rows <= 2 ? 1 : std::bit_width(static_cast<std::uint64_t>(rows) - 1);
  const std::int64_t power = std::max<std::int64_t>(4, bits / kLevels);
  const std::int64_t step = std::int64_t{1} << power;
  std::array<Row, kLevels> level{};
  const auto add_row = [&](std::int64_t row) {
    for (std::int64_t k = 0; k < kSideBySide; ++k)
      level[0][static_cast<std::size_t>(k)].add(data + (row * kSideBySide + k) * Width);
  };
  std::int64_t row = 0;
  while (row + step <= rows) {
    for (std::int64_t k = 0; k < step; ++k) add_row(row++);
    for (std::size_t up = 1; up < kLevels; ++up) {
      for (std::size_t k = 0; k < kSideBySide; ++k) {
        level[up][k].add(level[up - 1][k]);
        level[up - 1][k] = {};
      }
      if ((row & ((step - 1) << (static_cast<std::int64_t>(up) * power))) != 0) break;
    }
  }
  while (row < rows) add_row(row++);
  for (std::size_t up = 1; up < kLevels; ++up) {
    for (std::size_t k = 0; k < kSideBySide; ++k) level[0][k].add(level[up][k]);
  }
  return level[0];
}

/// The sum of `count` rows of lanes.
template <class T, int Width>
Lanes<T, Width> sum_lanes(const T* data, std::int64_t count) {
  const std::int64_t rows = count / kSideBySide;
  auto partial = cascade<T, Width>(data, rows);
  for (std::int64_t k = rows * kSideBySide; k < count; ++k) partial[0].add(data + k * Width);
  for (std::size_t k = 1; k < kSideBySide; ++k) partial[0].add(partial[k]);
  return partial[0];
}

/// The sum of floating-point numbers, in ATen's order for vectors of `Width`.
template <class T, int Width>
T sum_in_order(const T* data, std::int64_t count) {
  if (count < Width) return T(0) + sum_lanes<T, 1>(data, count).at[0];
  const std::int64_t vectors = count / Width;
  const Lanes<T, Width> lanes = sum_lanes<T, Width>(data, vectors);
  T total = 0;
  for (std::int64_t k = vectors * Width; k < count; ++k) total += data[k];
  for (const T lane : lanes.at) total += lane;
  return T(0) + total;
}

/// The position of the largest element, the first of equals; a NaN is larger than any number.
template <class T>
std::int64_t argmax(const T* data, std::int64_t count) {
  std::int64_t best = 0;
  for (std::int64_t k = 1; k < count; ++k) {
    if constexpr (std::is_floating_point_v<T>) {
      if (std::isnan(data[best])) return best;
      if (std::isnan(data[k])) return k;
    }
    if (data[k] > data[best]) best = k;
  }
  return best;
}

inline bool all(const bool* data, std::int64_t count) {
  return std::all_of(data, data + count, [](bool truth) { return truth; });
}

inline bool any(const bool* data, std::int64_t count) {
  return std::any_of(data, data + count, [](bool truth) { return truth; });
}

}  // namespace stator::kernels

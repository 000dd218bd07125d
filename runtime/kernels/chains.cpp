#include "kernels/chains.h"

#include <ATen/Parallel.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

namespace stator::kernels {
namespace {

// What is tried at all. BLAS splits longer chains, and computes small products in other ways.
constexpr std::int64_t kLongestChain = 192;
constexpr std::int64_t kLargestSide = std::int64_t{1} << 13;
constexpr std::int64_t kLeastWork = std::int64_t{1} << 15;
constexpr std::int64_t kMostWork = std::int64_t{1} << 24;

/// `Rows` rows of the result, each `Columns` vectors wide, from `out` on. `a` has a row every
/// `row_step` elements, and a column every `column_step`.
template <class T, int Bytes, int Rows, int Columns>
[[gnu::always_inline]] inline void fill_tile(const T* a, std::int64_t row_step,
                                             std::int64_t column_step, const T* b, T* out,
                                             std::int64_t n, std::int64_t k) {
  using Vector [[gnu::vector_size(Bytes)]] = T;
  constexpr std::int64_t width = Bytes / sizeof(T);
  Vector sums[Rows][Columns] = {};
  for (std::int64_t link = 0; link < k; ++link) {
    Vector right[Columns];
    for (int c = 0; c < Columns; ++c)
      std::memcpy(&right[c], b + link * n + c * width, sizeof(Vector));
    for (int r = 0; r < Rows; ++r) {
      const T left = a[r * row_step + link * column_step];
      // one rounding: this file is compiled so that the two are fused
      for (int c = 0; c < Columns; ++c) sums[r][c] += left * right[c];
    }
  }
  for (int r = 0; r < Rows; ++r) {
    for (int c = 0; c < Columns; ++c) {
      const Vector sum = sums[r][c] + T(0);  // BLAS adds the chain to a zero, so none is -0.0
      std::memcpy(out + r * n + c * width, &sum, sizeof(Vector));
    }
  }
}

/// Columns of the result, `Columns` vectors of them, from `out` on.
template <class T, int Bytes, int Rows, int Columns>
[[gnu::always_inline]] inline void fill_columns(const T* a, const T* b, T* out,
                                                const ProductSizes& sizes) {
  const std::int64_t row_step = sizes.is_turned ? 1 : sizes.k;
  const std::int64_t column_step = sizes.is_turned ? sizes.m : 1;
  std::int64_t i = 0;
  for (; i + Rows <= sizes.m; i += Rows)
    fill_tile<T, Bytes, Rows, Columns>(a + i * row_step, row_step, column_step, b,
                                       out + i * sizes.n, sizes.n, sizes.k);
  for (; i < sizes.m; ++i)
    fill_tile<T, Bytes, 1, Columns>(a + i * row_step, row_step, column_step, b, out + i * sizes.n,
                                    sizes.n, sizes.k);
}

/// The product by tiles of `Rows` x `Columns` vectors, as many as the registers hold.
template <class T, int Bytes, int Rows, int Columns>
[[gnu::always_inline]] inline void fill_product(const T* a, const T* b, T* out,
                                                const ProductSizes& sizes) {
  constexpr std::int64_t width = Bytes / sizeof(T);
  std::int64_t j = 0;
  for (; j + Columns * width <= sizes.n; j += Columns * width)
    fill_columns<T, Bytes, Rows, Columns>(a, b + j, out + j, sizes);
  for (; j + width <= sizes.n; j += width)
    fill_columns<T, Bytes, Rows, 1>(a, b + j, out + j, sizes);
  for (; j < sizes.n; ++j) fill_columns<T, sizeof(T), Rows, 1>(a, b + j, out + j, sizes);
}

#if defined(__x86_64__)
template <class T>
[[gnu::target("avx512f,fma")]] void multiply_avx512(const T* a, const T* b, T* out,
                                                    const ProductSizes& sizes) {
  fill_product<T, 64, 8, 3>(a, b, out, sizes);
}

template <class T>
[[gnu::target("avx2,fma")]] void multiply_avx2(const T* a, const T* b, T* out,
                                               const ProductSizes& sizes) {
  fill_product<T, 32, 4, 2>(a, b, out, sizes);
}

/// The function for this processor; null if it cannot fuse.
template <class T>
Product<T> chains_here() {
  __builtin_cpu_init();
  if (__builtin_cpu_supports("avx512f")) return multiply_avx512<T>;
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return multiply_avx2<T>;
  return nullptr;
}
#else
template <class T>
Product<T> chains_here() {
  return nullptr;
}
#endif

/// The numbers of one matrix of a trial.
template <class T>
class Numbers {
 public:
  /// `shift` elements away from where a line of the cache begins.
  Numbers(std::int64_t count, std::int64_t shift)
      : memory_(static_cast<std::size_t>(count + shift + kLine)), shift_(shift) {}

  T* data() {
    const auto address = reinterpret_cast<std::uintptr_t>(memory_.data());
    const std::uintptr_t begin = (address + kLine - 1) / kLine * kLine;
    return memory_.data() + (begin - address) / sizeof(T) + shift_;
  }

  /// Numbers whose products and sums depend on the order, some of them zero. Where they are tiny,
  /// about half of the products are too small for the dtype.
  void draw(std::uint32_t& state, bool are_tiny) {
    const T tiny = std::sqrt(std::numeric_limits<T>::denorm_min()) / T(1 << 18);
    for (T& number : memory_) {
      state = state * 1664525U + 1013904223U;
      const T scale = are_tiny ? tiny : T(1) / static_cast<T>(1U << (state >> 4) % 16);
      const T drawn = static_cast<T>(static_cast<std::int32_t>(state)) / T(7919);  // below 1 << 19
      number = (state >> 10) % 13 == 0 ? T(0) : drawn * scale;
    }
  }

 private:
  static constexpr std::size_t kLine = 64;
  std::vector<T> memory_;
  std::int64_t shift_;
};

double seconds_since(std::chrono::steady_clock::time_point began) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
}

/// Does BLAS give the same, and does it take longer?
template <class T>
bool is_worth_it(Product<T> chains, Product<T> blas, const ProductSizes& sizes) {
  double by_blas = 1;
  double by_chains = 1;
  std::uint32_t state = 1;
  for (const std::int64_t shift : {0, 1, 0}) {
    for (const bool are_tiny : {false, true}) {
      Numbers<T> a(sizes.m * sizes.k, shift);
      Numbers<T> b(sizes.k * sizes.n, shift);
      Numbers<T> wanted(sizes.m * sizes.n, 0);
      Numbers<T> made(sizes.m * sizes.n, 0);
      a.draw(state, are_tiny);
      b.draw(state, are_tiny);
      auto began = std::chrono::steady_clock::now();
      blas(a.data(), b.data(), wanted.data(), sizes);
      if (!are_tiny) by_blas = std::min(by_blas, seconds_since(began));
      began = std::chrono::steady_clock::now();
      chains(a.data(), b.data(), made.data(), sizes);
      if (!are_tiny) by_chains = std::min(by_chains, seconds_since(began));
      const auto size = static_cast<std::size_t>(sizes.m * sizes.n) * sizeof(T);
      if (std::memcmp(wanted.data(), made.data(), size) != 0) return false;
    }
  }
  return by_chains < by_blas;
}

enum class Known : std::uint8_t { kNothing, kSeen, kChains, kBlas };

/// What is known of the products of some sizes, in one word: any thread reads and writes it, and
/// two that try the same sizes find the same.
class Finding {
 public:
  /// Is this the place of these sizes, now or from now on?
  bool takes(std::uint64_t key) {
    std::uint64_t found = word_.load(std::memory_order_relaxed);
    if (found == 0 && word_.compare_exchange_strong(found, key * kStates)) return true;
    return found / kStates == key;
  }
  Known known() const { return static_cast<Known>(word_.load() % kStates); }
  void note(std::uint64_t key, Known known) {
    word_.store(key * kStates + static_cast<std::uint64_t>(known));
  }

 private:
  static constexpr std::uint64_t kStates = 4;  // of Known
  std::atomic<std::uint64_t> word_{0};
};

/// Of the products of one dtype.
template <class T>
auto& findings() {
  static std::array<Finding, 512> all;
  return all;
}

/// The place of these sizes; null if there is no room for more.
template <class T>
Finding* finding_of(std::uint64_t key) {
  constexpr std::size_t tried = 8;
  auto& all = findings<T>();
  const std::uint64_t first = key * 0x9E3779B97F4A7C15U >> 32;
  for (std::uint64_t k = 0; k < tried; ++k) {
    Finding& place = all[(first + k) % all.size()];
    if (place.takes(key)) return &place;
  }
  return nullptr;
}

/// May these sizes be tried? Where BLAS has several threads, it uses them.
bool are_in_range(const ProductSizes& sizes) {
  const auto& [m, n, k, is_turned] = sizes;
  if (k < 2 || k > kLongestChain || m > kLargestSide || n > kLargestSide) return false;
  const std::int64_t work = m * n * k;
  return work >= kLeastWork && work <= kMostWork && at::get_num_threads() == 1;
}

std::uint64_t key_of(const ProductSizes& sizes) {
  const auto& [m, n, k, is_turned] = sizes;
  const std::int64_t sides = m * (kLargestSide + 1) + n;
  return static_cast<std::uint64_t>((sides * (kLongestChain + 1) + k) * 2 + (is_turned ? 1 : 0));
}

template <class T>
bool multiply(const T* a, const T* b, T* out, const ProductSizes& sizes, Product<T> blas) {
  static const Product<T> chains = chains_here<T>();
  if (chains == nullptr || !are_in_range(sizes)) return false;
  const std::uint64_t key = key_of(sizes);
  Finding* finding = finding_of<T>(key);
  if (finding == nullptr) return false;
  const Known known = finding->known();
  if (known == Known::kNothing) finding->note(key, Known::kSeen);
  if (known == Known::kSeen)
    finding->note(key, is_worth_it(chains, blas, sizes) ? Known::kChains : Known::kBlas);
  if (finding->known() != Known::kChains) return false;
  chains(a, b, out, sizes);
  return true;
}

}  // namespace

bool multiply_by_chains(const float* a, const float* b, float* out, const ProductSizes& sizes,
                        Product<float> blas) {
  return multiply(a, b, out, sizes, blas);
}
bool multiply_by_chains(const double* a, const double* b, double* out, const ProductSizes& sizes,
                        Product<double> blas) {
  return multiply(a, b, out, sizes, blas);
}

std::size_t known_chains() {
  const auto count = [](const auto& all) {
    return std::ranges::count(all, Known::kChains, &Finding::known);
  };
  return static_cast<std::size_t>(count(findings<float>()) + count(findings<double>()));
}

}  // namespace stator::kernels

#include "kernels/matrix.h"

#include "kernels/chains.h"

// NOTE: weak, since a torch that was built with another BLAS may keep these names to itself
extern "C" {
__attribute__((weak)) void sgemm_(const char* transpose_a, const char* transpose_b, const int* m,
                                  const int* n, const int* k, const float* alpha, const float* a,
                                  const int* lda, const float* b, const int* ldb, const float* beta,
                                  float* c, const int* ldc);
__attribute__((weak)) void dgemm_(const char* transpose_a, const char* transpose_b, const int* m,
                                  const int* n, const int* k, const double* alpha, const double* a,
                                  const int* lda, const double* b, const int* ldb,
                                  const double* beta, double* c, const int* ldc);
}

namespace stator::kernels {
namespace {

/// A matrix, column by column, or transposed.
template <class T>
struct Factor {
  const T* data;
  bool is_transposed;
  std::int64_t leading;
};

template <class T>
void gemm(Factor<T> a, Factor<T> b, T* c, std::int64_t rows, std::int64_t columns,
          std::int64_t inner, T beta) {
  const int m = static_cast<int>(rows);
  const int n = static_cast<int>(columns);
  const int k = static_cast<int>(inner);
  const int lda = static_cast<int>(a.leading);
  const int ldb = static_cast<int>(b.leading);
  const T alpha = 1;
  const char* transpose_a = a.is_transposed ? "t" : "n";
  const char* transpose_b = b.is_transposed ? "t" : "n";
  if constexpr (sizeof(T) == sizeof(float)) {
    sgemm_(transpose_a, transpose_b, &m, &n, &k, &alpha, a.data, &lda, b.data, &ldb, &beta, c, &m);
  } else {
    dgemm_(transpose_a, transpose_b, &m, &n, &k, &alpha, a.data, &lda, b.data, &ldb, &beta, c, &m);
  }
}

/// BLAS counts by columns: the rows of ours are the columns of its matrices, so it is given
/// out^T = weight * x^T. An `out` of one column is a row as well, and ATen then gives the factors
/// in our order.
template <class T>
void add_linear_of(const T* x, const T* weight, T* out, std::int64_t m, std::int64_t n,
                   std::int64_t k) {
  if (n == 1) {
    gemm<T>({x, true, k}, {weight, false, k}, out, m, 1, k, T(1));
  } else {
    gemm<T>({weight, true, k}, {x, false, k}, out, n, m, k, T(1));
  }
}

template <class T>
void multiply_by_blas(const T* a, const T* b, T* out, const ProductSizes& sizes) {
  const auto& [m, n, k, is_turned] = sizes;
  gemm<T>({b, false, n}, {a, is_turned, is_turned ? m : k}, out, n, m, k, T(0));
}

template <class T>
void multiply_of(const T* a, const T* b, T* out, const ProductSizes& sizes) {
  if (!multiply_by_chains(a, b, out, sizes, multiply_by_blas<T>))
    multiply_by_blas(a, b, out, sizes);
}

}  // namespace

bool has_blas() { return sgemm_ != nullptr && dgemm_ != nullptr; }

void add_linear(const float* x, const float* weight, float* out, std::int64_t m, std::int64_t n,
                std::int64_t k) {
  add_linear_of(x, weight, out, m, n, k);
}
void add_linear(const double* x, const double* weight, double* out, std::int64_t m, std::int64_t n,
                std::int64_t k) {
  add_linear_of(x, weight, out, m, n, k);
}

void multiply(const float* a, const float* b, float* out, std::int64_t m, std::int64_t n,
              std::int64_t k) {
  multiply_of(a, b, out, {m, n, k, false});
}
void multiply(const double* a, const double* b, double* out, std::int64_t m, std::int64_t n,
              std::int64_t k) {
  multiply_of(a, b, out, {m, n, k, false});
}

void multiply_turned(const float* a, const float* b, float* out, std::int64_t m, std::int64_t n,
                     std::int64_t k) {
  multiply_of(a, b, out, {m, n, k, true});
}
void multiply_turned(const double* a, const double* b, double* out, std::int64_t m, std::int64_t n,
                     std::int64_t k) {
  multiply_of(a, b, out, {m, n, k, true});
}

}  // namespace stator::kernels

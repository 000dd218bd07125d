// Products of small matrices, by the BLAS function that ATen would call, with the arguments that it
// would pass: so the results are ATen's to the bit.
#pragma once

#include <cstdint>

namespace stator::kernels {

/// Does this build of torch give out its BLAS?
bool has_blas();

/// out[m, n] += x[m, k] * weight[n, k]^T, all row by row, as `linear` does it. Sizes are above
/// zero.
void add_linear(const float* x, const float* weight, float* out, std::int64_t m, std::int64_t n,
                std::int64_t k);
void add_linear(const double* x, const double* weight, double* out, std::int64_t m, std::int64_t n,
                std::int64_t k);

/// out[m, n] = a[m, k] * b[k, n], as `mm` does it. `n` and `k` are above one.
void multiply(const float* a, const float* b, float* out, std::int64_t m, std::int64_t n,
              std::int64_t k);
void multiply(const double* a, const double* b, double* out, std::int64_t m, std::int64_t n,
              std::int64_t k);

/// out[m, n] = a[k, m]^T * b[k, n], as `mm` does it. `m` and `n` are above one.
void multiply_turned(const float* a, const float* b, float* out, std::int64_t m, std::int64_t n,
                     std::int64_t k);
void multiply_turned(const double* a, const double* b, double* out, std::int64_t m, std::int64_t n,
                     std::int64_t k);

}  // namespace stator::kernels

// Products of matrices whose inner side is short, added up in the order of BLAS but without its
// copies.
//
// NOTE: why the results are BLAS's to the bit. For an inner side of up to some 200, the BLAS of
// torch makes each element by one chain of fused multiplications and additions, from the first to
// the last, on the processors that we know. The functions here make the same chains straight from
// the two matrices. BLAS first copies these, and clears the result, which is most of the work where
// the chains are short: a gradient of weights has one link for each row of the batch. Whether BLAS
// makes such chains is a matter of the processor and of the sizes, so it is found by trying, for
// each combination of sizes.
#pragma once

#include <cstddef>
#include <cstdint>

namespace stator::kernels {

/// out[m, n] = a[m, k] * b[k, n], all row by row; `a` is stored as a[k, m] if it is turned.
struct ProductSizes {
  std::int64_t m = 0;
  std::int64_t n = 0;
  std::int64_t k = 0;
  bool is_turned = false;
};

template <class T>
using Product = void (*)(const T* a, const T* b, T* out, const ProductSizes& sizes);

/// Computes the product as `blas` does, but faster. Gives false and does nothing where that cannot
/// be had, and for the first product of its sizes, which are perhaps never seen again; the second
/// one takes some ten times as long, since it tries.
bool multiply_by_chains(const float* a, const float* b, float* out, const ProductSizes& sizes,
                        Product<float> blas);
bool multiply_by_chains(const double* a, const double* b, double* out, const ProductSizes& sizes,
                        Product<double> blas);

/// For how many combinations of sizes it is known that BLAS makes chains, and makes them slower.
std::size_t known_chains();

}  // namespace stator::kernels

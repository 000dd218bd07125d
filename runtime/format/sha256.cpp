#include "format/sha256.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <cstring>

#ifdef __x86_64__
#include <cpuid.h>
#include <immintrin.h>
#endif

namespace stator {
namespace {

constexpr std::size_t kBlock = 64;  // bytes
using State = std::array<std::uint32_t, 8>;

constexpr std::array<std::uint32_t, 64> kRounds = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

std::uint32_t big_endian(const char* bytes) {
  std::uint32_t word = 0;
  std::memcpy(&word, bytes, sizeof word);
  return std::endian::native == std::endian::little ? __builtin_bswap32(word) : word;
}

void add_block(State& state, const char* block) {
  std::array<std::uint32_t, 64> words;
  for (std::size_t k = 0; k < 16; ++k) words[k] = big_endian(block + 4 * k);
  for (std::size_t k = 16; k < 64; ++k) {
    const std::uint32_t a = words[k - 15];
    const std::uint32_t b = words[k - 2];
    words[k] = words[k - 16] + (std::rotr(a, 7) ^ std::rotr(a, 18) ^ a >> 3) + words[k - 7] +
               (std::rotr(b, 17) ^ std::rotr(b, 19) ^ b >> 10);
  }
  State s = state;
  for (std::size_t k = 0; k < 64; ++k) {
    const std::uint32_t choice = (s[4] & s[5]) ^ (~s[4] & s[6]);
    const std::uint32_t first = s[7] +
                                (std::rotr(s[4], 6) ^ std::rotr(s[4], 11) ^ std::rotr(s[4], 25)) +
                                choice + kRounds[k] + words[k];
    const std::uint32_t majority = (s[0] & s[1]) ^ (s[0] & s[2]) ^ (s[1] & s[2]);
    const std::uint32_t second =
        (std::rotr(s[0], 2) ^ std::rotr(s[0], 13) ^ std::rotr(s[0], 22)) + majority;
    s = {first + second, s[0], s[1], s[2], s[3] + first, s[4], s[5], s[6]};
  }
  for (std::size_t k = 0; k < 8; ++k) state[k] += s[k];
}

/// Adds blocks that follow each other.
using AddBlocks = void (*)(State& state, const char* bytes, std::size_t blocks);

void add_blocks(State& state, const char* bytes, std::size_t blocks) {
  for (std::size_t k = 0; k < blocks; ++k) add_block(state, bytes + k * kBlock);
}

#ifdef __x86_64__

__m128i load(const void* from) { return _mm_loadu_si128(static_cast<const __m128i*>(from)); }

void store(void* to, __m128i value) { _mm_storeu_si128(static_cast<__m128i*>(to), value); }

/// The same by the processor's own instructions for it, some six times as fast. They work on four
/// words at a time, and on the state in the order (a b e f) and (c d g h).
__attribute__((target("sha,sse4.1"))) void add_blocks_in_hardware(State& state, const char* bytes,
                                                                  std::size_t blocks) {
  const __m128i big_endians = _mm_set_epi64x(0x0c0d0e0f08090a0b, 0x0405060700010203);
  const __m128i cdab = _mm_shuffle_epi32(load(state.data()), 0xB1);
  const __m128i efgh = _mm_shuffle_epi32(load(state.data() + 4), 0x1B);
  __m128i abef = _mm_alignr_epi8(cdab, efgh, 8);
  __m128i cdgh = _mm_blend_epi16(efgh, cdab, 0xF0);
  for (; blocks > 0; --blocks, bytes += kBlock) {
    const __m128i abef_before = abef;
    const __m128i cdgh_before = cdgh;
    __m128i words[4];
    for (std::size_t k = 0; k < 4; ++k)
      words[k] = _mm_shuffle_epi8(load(bytes + 16 * k), big_endians);
#pragma GCC unroll 16
    for (std::size_t k = 0; k < 16; ++k) {
      __m128i& now = words[k % 4];
      const __m128i last = words[(k + 3) % 4];
      const __m128i with_rounds = _mm_add_epi32(now, load(&kRounds[4 * k]));
      cdgh = _mm_sha256rnds2_epu32(cdgh, abef, with_rounds);
      abef = _mm_sha256rnds2_epu32(abef, cdgh, _mm_shuffle_epi32(with_rounds, 0x0E));
      // the words of the rounds 16 later
      const __m128i sum = _mm_add_epi32(_mm_sha256msg1_epu32(now, words[(k + 1) % 4]),
                                        _mm_alignr_epi8(last, words[(k + 2) % 4], 4));
      now = _mm_sha256msg2_epu32(sum, last);
    }
    abef = _mm_add_epi32(abef, abef_before);
    cdgh = _mm_add_epi32(cdgh, cdgh_before);
  }
  const __m128i feba = _mm_shuffle_epi32(abef, 0x1B);
  const __m128i dchg = _mm_shuffle_epi32(cdgh, 0xB1);
  store(state.data(), _mm_blend_epi16(feba, dchg, 0xF0));
  store(state.data() + 4, _mm_alignr_epi8(dchg, feba, 8));
}

bool has_instructions() {
  unsigned a = 0, b = 0, c = 0, d = 0;
  return __builtin_cpu_supports("sse4.1") && __get_cpuid_count(7, 0, &a, &b, &c, &d) != 0 &&
         (b & bit_SHA) != 0;
}

AddBlocks fastest() { return has_instructions() ? add_blocks_in_hardware : add_blocks; }

#else

AddBlocks fastest() { return add_blocks; }

#endif

/// The last bytes, a one bit, zeros, and the length in bits.
void add_end(State& state, std::span<const char> rest, std::uint64_t length) {
  std::array<char, 2 * kBlock> end{};
  std::ranges::copy(rest, end.begin());
  end[rest.size()] = static_cast<char>(0x80);
  const std::size_t size = rest.size() + 9 <= kBlock ? kBlock : 2 * kBlock;
  for (std::size_t k = 0; k < 8; ++k) end[size - 1 - k] = static_cast<char>(length * 8 >> 8 * k);
  add_blocks(state, end.data(), size / kBlock);
}

}  // namespace

std::string sha256(std::span<const char> bytes) {
  State state = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                 0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
  static const AddBlocks add = fastest();
  const std::size_t blocks = bytes.size() / kBlock;
  add(state, bytes.data(), blocks);
  add_end(state, bytes.subspan(blocks * kBlock), bytes.size());
  std::string digits;
  for (const std::uint32_t word : state) {
    for (int shift = 28; shift >= 0; shift -= 4) digits += "0123456789abcdef"[word >> shift & 0xFU];
  }
  return digits;
}

}  // namespace stator

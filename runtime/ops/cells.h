// Linear layers and cells of recurrent networks on small tensors: their arguments and their values.
#pragma once

#include <optional>

#include "kernels/iteration.h"
#include "kernels/pointwise.h"
#include "ops/small.h"

namespace stator {

constexpr std::int64_t kMostGates = 4096;

/// May autograd record the call for its arguments?
enum class Records : std::uint8_t { kNothing, kGradients };

/// Are products of floats computed with floats? The caller may have allowed less precise ones.
bool is_full_precision();

/// The same, asked once for a frame, since torch looks it up in a table of strings.
bool is_full_precision(Frame& frame);

/// A matrix, or a row of one: contiguous, of a dtype that BLAS knows.
const at::Tensor* matrix(const Value& value, std::int64_t rank, const TorchCall& call,
                         const Frame& frame, Records records = Records::kNothing);

/// The arguments of aten::linear. `x` is m rows.
struct Linear {
  const at::Tensor* x = nullptr;
  const at::Tensor* weight = nullptr;
  const at::Tensor* bias = nullptr;
  std::int64_t m = 0;
};

/// The layer, if its tensors are small matrices that fit each other.
std::optional<Linear> read_linear(const TorchCall& call, Frame& frame, Records records);

void compute_linear(const Linear& layer, const at::Tensor& out);

/// The arguments of a recurrent cell.
struct Cell {
  const at::Tensor* x = nullptr;
  const at::Tensor* h = nullptr;
  const at::Tensor* of_x = nullptr;  // the weights
  const at::Tensor* of_h = nullptr;
  const at::Tensor* bias_x = nullptr;
  const at::Tensor* bias_h = nullptr;
  std::int64_t batch = 0;
  std::int64_t hidden = 0;
  std::int64_t width = 0;  // of all gates
};

/// The cell, if its tensors are small float matrices that fit each other. `h` is at `state`, the
/// weights begin at `weights`.
std::optional<Cell> read_cell(const TorchCall& call, Frame& frame, const Value& state,
                              std::size_t weights, std::int64_t gates,
                              Records records = Records::kNothing);

/// What the weights make of the input and of the state: all gates of all rows.
struct Gates {
  alignas(64) float of_x[kMostGates];
  alignas(64) float of_h[kMostGates];
};

void fill_gates(const Cell& cell, Gates& gates);

/// ATen's pointwise kernels for one step of a cell. A gate is a part of each row, so it is computed
/// row by row, as ATen does.
class CellKernels {
 public:
  CellKernels(const TorchCall& call, Frame& frame)
      : rows_(iteration_of(call, frame, 0)), whole_(iteration_of(call, frame, 1)) {}

  void sigmoid(float* data, std::int64_t count);
  void tanh(float* data, std::int64_t count);
  /// Of a whole tensor.
  void tanh_all(const float* from, float* to, std::int64_t count);

 private:
  kernels::Iteration& rows_;
  kernels::Iteration& whole_;
};

template <class Operation>
void apply(const float* a, const float* b, float* out, std::int64_t count) {
  kernels::binary<Operation, float>({a}, {b}, out, count);
}

/// What the gradient of a GRU cell needs: for each, `batch` rows of `hidden` numbers.
struct GruRows {
  float* reset;
  float* update;
  float* of_h;     // what the state gives to the new one, before the reset gate
  float* fresh;    // the new state, before the update gate
  float* changed;  // h - fresh
};

/// Writes the next state, and `kept` unless it is null.
void compute_gru(const Cell& cell, const TorchCall& call, Frame& frame, float* next,
                 const GruRows* kept);

}  // namespace stator

// Views, new tensors, and small tensors put together: select, slice, view, zeros, cat, stack,
// embedding.
#include <ATen/EmptyTensor.h>
#include <c10/core/DefaultDtype.h>

#include <cstring>
#include <unordered_map>

#include "ops/small.h"

namespace stator {
namespace {

using Sizes = c10::SmallVector<std::int64_t, 5>;

constexpr std::int64_t kMostBytes = 1 << 18;  // of a tensor that is put together

/// A view of `base`, without the records that autograd and `torch.Tensor._base` need. The plan says
/// that no one can ask for them.
at::Tensor plain_view(const at::Tensor& base, at::IntArrayRef sizes, at::IntArrayRef strides,
                      std::int64_t offset) {
  auto impl = c10::make_intrusive<at::TensorImpl>(
      at::TensorImpl::VIEW, c10::Storage(base.unsafeGetTensorImpl()->storage()), base.key_set(),
      base.dtype());
  impl->set_storage_offset(offset);
  impl->set_sizes_and_strides(sizes, strides);
  return at::Tensor(std::move(impl));
}

/// The tensor of which a view is wanted that only torch ops read; null if ATen must make it.
const at::Tensor* viewed(const TorchCall& call, const Frame& frame) {
  if (!call.is_private || !frame.run->skips_autograd) return nullptr;
  const at::Tensor* base = plain_tensor(argument(call, 0, frame), call, frame);
  return base == nullptr || base->unsafeGetTensorImpl()->is_wrapped_number() ? nullptr : base;
}

/// The place of a dimension; nothing if there is no such dimension.
std::optional<std::size_t> place_of(const Value& dim, std::int64_t rank) {
  if (!dim.isInt()) return std::nullopt;
  const std::int64_t place = dim.toInt() < 0 ? dim.toInt() + rank : dim.toInt();
  if (place < 0 || place >= rank) return std::nullopt;
  return static_cast<std::size_t>(place);
}

/// aten::select.int(x, dim, index)
bool try_select(const Step& step, const TorchCall& call, Frame& frame) {
  const at::Tensor* base = viewed(call, frame);
  if (base == nullptr) return false;
  const auto dim = place_of(argument(call, 1, frame), base->dim());
  const Value& given = argument(call, 2, frame);
  if (!dim || !given.isInt()) return false;
  Sizes sizes(base->sizes().begin(), base->sizes().end());
  Sizes strides(base->strides().begin(), base->strides().end());
  const std::int64_t index = given.toInt() < 0 ? given.toInt() + sizes[*dim] : given.toInt();
  if (index < 0 || index >= sizes[*dim]) return false;
  const std::int64_t offset = base->storage_offset() + index * strides[*dim];
  sizes.erase(sizes.begin() + static_cast<std::ptrdiff_t>(*dim));
  strides.erase(strides.begin() + static_cast<std::ptrdiff_t>(*dim));
  frame[step.results[0]] = plain_view(*base, sizes, strides, offset);
  return true;
}

/// One end of a slice, as Python counts; nothing if it is no number.
std::optional<std::int64_t> bound(const Value& given, std::int64_t usual, std::int64_t size) {
  if (given.isNone()) return usual;
  if (!given.isInt()) return std::nullopt;
  const std::int64_t index = given.toInt();
  if (index < 0) return std::max<std::int64_t>(index + size, 0);
  return std::min(index, size);
}

/// aten::slice.Tensor(x, dim, start, end, step)
bool try_slice(const Step& step, const TorchCall& call, Frame& frame) {
  const at::Tensor* base = viewed(call, frame);
  if (base == nullptr) return false;
  const auto dim = place_of(argument(call, 1, frame), base->dim());
  const Value& stride = argument(call, 4, frame);
  if (!dim || !stride.isInt() || stride.toInt() < 1) return false;
  Sizes sizes(base->sizes().begin(), base->sizes().end());
  Sizes strides(base->strides().begin(), base->strides().end());
  const auto start = bound(argument(call, 2, frame), 0, sizes[*dim]);
  const auto end = bound(argument(call, 3, frame), sizes[*dim], sizes[*dim]);
  if (!start || !end) return false;
  const std::int64_t length = std::max<std::int64_t>(*end - *start, 0);
  sizes[*dim] = (length + stride.toInt() - 1) / stride.toInt();
  const std::int64_t offset = base->storage_offset() + *start * strides[*dim];
  strides[*dim] *= stride.toInt();
  frame[step.results[0]] = plain_view(*base, sizes, strides, offset);
  return true;
}

/// aten::unsqueeze(x, dim)
bool try_unsqueeze(const Step& step, const TorchCall& call, Frame& frame) {
  const at::Tensor* base = viewed(call, frame);
  if (base == nullptr) return false;
  const auto dim = place_of(argument(call, 1, frame), base->dim() + 1);
  if (!dim) return false;
  Sizes sizes(base->sizes().begin(), base->sizes().end());
  Sizes strides(base->strides().begin(), base->strides().end());
  const std::int64_t stride = *dim < sizes.size() ? sizes[*dim] * strides[*dim] : 1;
  sizes.insert(sizes.begin() + static_cast<std::ptrdiff_t>(*dim), 1);
  strides.insert(strides.begin() + static_cast<std::ptrdiff_t>(*dim), stride);
  frame[step.results[0]] = plain_view(*base, sizes, strides, base->storage_offset());
  return true;
}

/// The sizes that an argument lists: constants, or numbers of the run. Nothing for anything else.
std::optional<Sizes> listed(const TorchArgument& given, const Frame& frame) {
  Sizes sizes;
  if (given.is_literal_list) {
    for (const Operand item : given.items) {
      const Value& value = frame.read(item);
      if (!value.isInt()) return std::nullopt;
      sizes.push_back(value.toInt());
    }
    return sizes;
  }
  const Value& list = frame.read(given.operand);
  if (!list.isIntList()) return std::nullopt;
  for (const std::int64_t size : list.toIntList()) sizes.push_back(size);
  return sizes;
}

/// Replaces the one -1 among sizes by what is left; false if they do not fit.
bool complete(Sizes& sizes, std::int64_t count) {
  std::int64_t* open = nullptr;
  std::int64_t known = 1;
  for (std::int64_t& size : sizes) {
    if (size == -1 && open == nullptr) {
      open = &size;
    } else if (size < 0) {
      return false;
    } else {
      known *= size;
    }
  }
  if (open == nullptr) return known == count;
  if (known == 0 || count % known != 0) return false;
  *open = count / known;
  return true;
}

/// aten::view(x, size) and aten::reshape(x, shape) of a contiguous tensor
bool try_view(const Step& step, const TorchCall& call, Frame& frame) {
  const at::Tensor* base = viewed(call, frame);
  if (base == nullptr || !base->is_contiguous() || base->numel() == 0) return false;
  auto sizes = listed(call.arguments[1], frame);
  if (!sizes || !complete(*sizes, base->numel())) return false;
  Sizes strides(sizes->size());
  std::int64_t stride = 1;
  for (std::size_t k = sizes->size(); k-- > 0; stride *= (*sizes)[k]) strides[k] = stride;
  frame[step.results[0]] = plain_view(*base, *sizes, strides, base->storage_offset());
  return true;
}

/// aten::sym_size.int(x, dim)
bool try_size(const Step& step, const TorchCall& call, Frame& frame) {
  const Value& value = argument(call, 0, frame);
  if (!value.isTensor() || !value.toTensor().defined() ||
      !is_plain(*value.toTensor().unsafeGetTensorImpl()))
    return false;
  const auto dim = place_of(argument(call, 1, frame), value.toTensor().dim());
  if (!dim) return false;
  frame[step.results[0]] = value.toTensor().sizes()[*dim];
  return true;
}

template <class T>
void fill(const at::Tensor& out, T value) {
  std::fill_n(result_data<T>(out), out.numel(), value);
}

/// A new tensor of one value, of the dtype that the argument `place` names or else of `usual`.
bool try_filled(const Step& step, const TorchCall& call, Frame& frame, const Value& value,
                std::size_t place, at::ScalarType usual) {
  const auto sizes = listed(call.arguments[0], frame);
  if (!sizes) return false;
  std::int64_t count = 1;
  for (const std::int64_t size : *sizes) {
    if (size < 0 || size > kMostElements) return false;
    count *= size;
    if (count > kMostElements) return false;
  }
  const Value& given = argument(call, place, frame);
  const at::ScalarType dtype = given.isInt() ? static_cast<at::ScalarType>(given.toInt()) : usual;
  if (dtype != at::kFloat && dtype != at::kDouble && dtype != at::kLong && dtype != at::kBool)
    return false;
  if (value.isDouble() && (dtype == at::kLong || dtype == at::kBool)) return false;
  at::Tensor out = result_of(*sizes, dtype, call, frame);
  if (dtype == at::kFloat) fill(out, static_cast<float>(double_of(value)));
  if (dtype == at::kDouble) fill(out, double_of(value));
  if (dtype == at::kLong) fill(out, integer_of(value));
  if (dtype == at::kBool) fill(out, integer_of(value) != 0);
  frame[step.results[0]] = std::move(out);
  return true;
}

/// aten::zeros(size, dtype, layout, device, pin_memory) and aten::ones
template <std::int64_t value>
bool try_constant(const Step& step, const TorchCall& call, Frame& frame) {
  return try_filled(step, call, frame, Value(value), 1, c10::get_default_dtype_as_scalartype());
}

/// aten::full(size, value, dtype, layout, device, pin_memory)
bool try_full(const Step& step, const TorchCall& call, Frame& frame) {
  const Value& value = argument(call, 1, frame);
  if (!is_real(value)) return false;
  const at::ScalarType usual = value.isBool()  ? at::kBool
                               : value.isInt() ? at::kLong
                                               : c10::get_default_dtype_as_scalartype();
  return try_filled(step, call, frame, value, 2, usual);
}

/// Layout and memory are the usual ones, on the CPU; the last four arguments say so.
bool is_on_cpu(const TorchCall& call, const std::vector<Value>& constants) {
  const std::size_t count = call.arguments.size();
  const Value* dtype = constant_of(call, count - 4, constants);
  const Value* layout = constant_of(call, count - 3, constants);
  const Value* device = constant_of(call, count - 2, constants);
  const Value* pinned = constant_of(call, count - 1, constants);
  if (dtype == nullptr || layout == nullptr || device == nullptr || pinned == nullptr) return false;
  const bool is_strided =
      layout->isNone() || (layout->isInt() && layout->toInt() == static_cast<int>(at::kStrided));
  // without a device it is the default one, which the caller may have set
  return is_strided && device->isDevice() && device->toDevice().is_cpu() &&
         (pinned->isNone() || !pinned->toBool());
}

/// The tensors of a list, if all are plain, contiguous and of one dtype.
using Pieces = c10::SmallVector<const at::Tensor*, 16>;

bool add_piece(const Value& value, const TorchCall& call, const Frame& frame, Pieces& pieces) {
  const at::Tensor* piece = plain_tensor(value, call, frame);
  if (piece == nullptr || !piece->is_contiguous() ||
      piece->unsafeGetTensorImpl()->is_wrapped_number())
    return false;
  pieces.push_back(piece);
  return piece->scalar_type() == pieces[0]->scalar_type() && piece->dim() == pieces[0]->dim();
}

bool read_pieces(const TorchCall& call, const Frame& frame, Pieces& pieces) {
  const TorchArgument& given = call.arguments[0];
  const auto add = [&](const Value& value) { return add_piece(value, call, frame, pieces); };
  if (given.is_literal_list) {
    for (const Operand item : given.items) {
      if (!add(frame.read(item))) return false;
    }
    return !pieces.empty();
  }
  const Value& list = frame.read(given.operand);
  if (!list.isList()) return false;
  for (const Value& item : items_of(list)) {
    if (!add(item)) return false;
  }
  return !pieces.empty();
}

/// Puts pieces side by side: of each, `outer` blocks of its own size.
void interleave(const Pieces& pieces, std::int64_t outer, const at::Tensor& out) {
  auto* to = result_data<char>(out);
  for (std::int64_t k = 0; k < outer; ++k) {
    for (const at::Tensor* piece : pieces) {
      const std::size_t block = piece->nbytes() / static_cast<std::size_t>(outer);
      std::memcpy(to, data_of<char>(*piece) + static_cast<std::size_t>(k) * block, block);
      to += block;
    }
  }
}

bool put_together(const Step& step, const TorchCall& call, Frame& frame, const Pieces& pieces,
                  const Sizes& sizes, std::size_t dim) {
  std::int64_t outer = 1;
  std::int64_t count = 1;
  for (std::size_t k = 0; k < sizes.size(); ++k) {
    if (k < dim) outer *= sizes[k];
    count *= sizes[k];
  }
  const auto size = static_cast<std::int64_t>(pieces[0]->itemsize());
  if (count == 0 || count * size > kMostBytes) return false;
  at::Tensor out = result_of(sizes, pieces[0]->scalar_type(), call, frame);
  interleave(pieces, outer, out);
  frame[step.results[0]] = std::move(out);
  return true;
}

/// aten::stack(tensors, dim)
bool try_stack(const Step& step, const TorchCall& call, Frame& frame) {
  Pieces pieces;
  if (!read_pieces(call, frame, pieces)) return false;
  const auto dim = place_of(argument(call, 1, frame), pieces[0]->dim() + 1);
  if (!dim || pieces[0]->dim() > 2) return false;
  for (const at::Tensor* piece : pieces) {
    if (piece->sizes() != pieces[0]->sizes()) return false;
  }
  Sizes sizes(pieces[0]->sizes().begin(), pieces[0]->sizes().end());
  sizes.insert(sizes.begin() + static_cast<std::ptrdiff_t>(*dim),
               static_cast<std::int64_t>(pieces.size()));
  return put_together(step, call, frame, pieces, sizes, *dim);
}

/// aten::cat(tensors, dim)
bool try_cat(const Step& step, const TorchCall& call, Frame& frame) {
  Pieces pieces;
  if (!read_pieces(call, frame, pieces)) return false;
  const auto dim = place_of(argument(call, 1, frame), pieces[0]->dim());
  // a tensor of four dimensions may have its channels last
  if (!dim || pieces[0]->dim() > 3) return false;
  Sizes sizes(pieces[0]->sizes().begin(), pieces[0]->sizes().end());
  sizes[*dim] = 0;
  for (const at::Tensor* piece : pieces) {
    for (std::size_t k = 0; k < sizes.size(); ++k) {
      if (k != *dim && piece->sizes()[k] != sizes[k]) return false;
    }
    if (piece->numel() == 0) return false;
    sizes[*dim] += piece->sizes()[*dim];
  }
  return put_together(step, call, frame, pieces, sizes, *dim);
}

/// aten::embedding(weight, indices, padding_idx, scale_grad_by_freq, sparse)
bool try_embedding(const Step& step, const TorchCall& call, Frame& frame) {
  const at::Tensor* weight = plain_tensor(argument(call, 0, frame), call, frame);
  const at::Tensor* indices = small_tensor(argument(call, 1, frame), call, frame);
  if (weight == nullptr || indices == nullptr || weight->dim() != 2 || !weight->is_contiguous() ||
      indices->scalar_type() != at::kLong)
    return false;
  const std::int64_t rows = weight->size(0);
  const std::int64_t count = indices->numel();
  if (count == 0 || rows == 0 ||
      count * static_cast<std::int64_t>(weight->nbytes()) / rows > kMostBytes)
    return false;
  const auto* index = data_of<std::int64_t>(*indices);
  for (std::int64_t k = 0; k < count; ++k) {
    if (index[k] < 0 || index[k] >= rows) return false;
  }
  Sizes sizes(indices->sizes().begin(), indices->sizes().end());
  sizes.push_back(weight->size(1));
  at::Tensor out = result_of(sizes, weight->scalar_type(), call, frame);
  const std::size_t row = weight->nbytes() / static_cast<std::size_t>(rows);
  for (std::int64_t k = 0; k < count; ++k) {
    std::memcpy(result_data<char>(out) + static_cast<std::size_t>(k) * row,
                data_of<char>(*weight) + static_cast<std::size_t>(index[k]) * row, row);
  }
  frame[step.results[0]] = std::move(out);
  return true;
}

}  // namespace

const SmallRow* shape_row(const std::string& name) {
  static const std::unordered_map<std::string, SmallRow> rows = {
      {"aten::sym_size.int", {run_small<try_size>, 2}},
      {"aten::select.int", {run_small<try_select>, 3}},
      {"aten::slice.Tensor", {run_small<try_slice>, 5}},
      {"aten::unsqueeze", {run_small<try_unsqueeze>, 2}},
      {"aten::view", {run_small<try_view>, 2}},
      {"aten::reshape", {run_small<try_view>, 2}},
      {"aten::zeros", {run_small<try_constant<0>>, 5, 1, is_on_cpu}},
      {"aten::ones", {run_small<try_constant<1>>, 5, 1, is_on_cpu}},
      {"aten::full", {run_small<try_full>, 6, 1, is_on_cpu}},
      {"aten::stack", {run_small<try_stack>, 2}},
      {"aten::cat", {run_small<try_cat>, 2}},
      {"aten::embedding", {run_small<try_embedding>, 5}},
  };
  const auto found = rows.find(name);
  return found == rows.end() ? nullptr : &found->second;
}

}  // namespace stator

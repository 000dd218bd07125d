// The C API: errors and values.
#include <ATen/ops/empty.h>
#include <ATen/ops/from_blob.h>

#include <array>
#include <cstring>

#include "api/c_handles.h"

namespace stator {
namespace {

constexpr std::array kDtypes = std::to_array<std::pair<stator_dtype, at::ScalarType>>({
    {STATOR_FLOAT32, at::kFloat},
    {STATOR_FLOAT64, at::kDouble},
    {STATOR_FLOAT16, at::kHalf},
    {STATOR_BFLOAT16, at::kBFloat16},
    {STATOR_INT64, at::kLong},
    {STATOR_INT32, at::kInt},
    {STATOR_INT16, at::kShort},
    {STATOR_INT8, at::kChar},
    {STATOR_UINT8, at::kByte},
    {STATOR_BOOL8, at::kBool},
    {STATOR_COMPLEX64, at::kComplexFloat},
    {STATOR_COMPLEX128, at::kComplexDouble},
});

at::ScalarType dtype_of(stator_dtype wanted) {
  for (const auto& [dtype, known] : kDtypes) {
    if (dtype == wanted) return known;
  }
  throw mismatch_error("there is no dtype " + std::to_string(static_cast<int>(wanted)));
}

/// The sizes, if a tensor of them takes just as many bytes as there are.
std::vector<std::int64_t> checked_shape(at::ScalarType dtype, const std::int64_t* shape,
                                        std::size_t rank, std::size_t size) {
  std::vector<std::int64_t> sizes(shape, shape + rank);
  std::size_t bytes = c10::elementSize(dtype);
  for (const std::int64_t one : sizes) {
    if (one < 0 || __builtin_mul_overflow(bytes, static_cast<std::size_t>(one), &bytes))
      throw mismatch_error("a size is negative, or the tensor too large");
  }
  if (bytes != size) {
    throw mismatch_error("a tensor of this shape takes " + std::to_string(bytes) + " bytes, not " +
                         std::to_string(size));
  }
  return sizes;
}

const Value& of_kind(const stator_value* value, bool (Value::*is_kind)() const, const char* kind) {
  if (!(value->value.*is_kind)())
    throw mismatch_error("the value is no " + std::string(kind) + " but " + describe(value->value));
  return value->value;
}

const at::Tensor& tensor_of(const stator_value* value) {
  return of_kind(value, &Value::isTensor, "tensor").toTensor();
}

stator_error* give(stator_value** made, const auto& make) noexcept {
  return guarded([&] { *made = new stator_value(handle_of(make())); });
}

}  // namespace

stator_error* error_handle(Error error) noexcept {
  auto made = std::make_unique<stator_error>();
  made->type = error.shown_type();
  made->text = error.text();
  made->error = std::move(error);
  return made.release();
}

stator_value handle_of(Value value) {
  stator_value made;
  if (value.isTensor() && !value.toTensor().defined()) value = Value();
  if (value.isTensor()) {
    made.dense = value.toTensor().detach().to(at::kCPU).resolve_conj().resolve_neg().contiguous();
    made.text = dtype_name(made.dense.scalar_type());
  } else if (value.isString()) {
    made.text = value.toStringRef();
  }
  made.value = std::move(value);
  return made;
}

}  // namespace stator

using stator::guarded;
using stator::Value;

extern "C" {

void stator_error_free(stator_error* error) { delete error; }
const char* stator_error_code(const stator_error* error) { return error->error.code.c_str(); }
const char* stator_error_type(const stator_error* error) { return error->type.c_str(); }
const char* stator_error_message(const stator_error* error) { return error->error.message.c_str(); }
const char* stator_error_text(const stator_error* error) { return error->text.c_str(); }

const char* stator_error_file(const stator_error* error) {
  return error->error.place ? error->error.place->file.c_str() : nullptr;
}

int64_t stator_error_line(const stator_error* error) {
  return error->error.place ? error->error.place->line : 0;
}

const char* stator_error_function(const stator_error* error) {
  return error->error.place ? error->error.place->function.c_str() : nullptr;
}

stator_error* stator_tensor_new(stator_dtype dtype, const int64_t* shape, size_t rank,
                                const void* data, size_t size, stator_value** value) {
  return stator::give(value, [&] {
    const at::ScalarType type = stator::dtype_of(dtype);
    const auto sizes = stator::checked_shape(type, shape, rank, size);
    at::Tensor made = at::empty(sizes, at::TensorOptions().dtype(type));
    if (size > 0) std::memcpy(made.mutable_data_ptr(), data, size);
    return Value(std::move(made));
  });
}

stator_error* stator_tensor_view_new(stator_dtype dtype, const int64_t* shape, size_t rank,
                                     void* data, size_t size, void (*release)(void* context),
                                     void* context, stator_value** value) {
  return stator::give(value, [&] {
    const at::ScalarType type = stator::dtype_of(dtype);
    const auto sizes = stator::checked_shape(type, shape, rank, size);
    const auto released = [release, context](void* /*data*/) {
      if (release != nullptr) release(context);
    };
    return Value(at::from_blob(data, sizes, released, at::TensorOptions().dtype(type)));
  });
}

stator_error* stator_none_new(stator_value** value) {
  return stator::give(value, [] { return Value(); });
}

stator_error* stator_bool_new(int32_t number, stator_value** value) {
  return stator::give(value, [&] { return Value(number != 0); });
}

stator_error* stator_int_new(int64_t number, stator_value** value) {
  return stator::give(value, [&] { return Value(number); });
}

stator_error* stator_float_new(double number, stator_value** value) {
  return stator::give(value, [&] { return Value(number); });
}

stator_error* stator_complex_new(double real, double imaginary, stator_value** value) {
  return stator::give(value, [&] { return Value(stator::Complex(real, imaginary)); });
}

stator_error* stator_text_new(const char* text, size_t size, stator_value** value) {
  return stator::give(value, [&] { return Value(std::string(text, size)); });
}

stator_error* stator_list_new(stator_value* const* items, size_t count, stator_value** value) {
  return stator::give(value, [&] {
    std::vector<Value> values;
    for (size_t k = 0; k < count; ++k) values.push_back(items[k]->value);
    return stator::make_list(std::move(values));
  });
}

void stator_value_free(stator_value* value) { delete value; }

stator_kind stator_value_kind(const stator_value* value) {
  const Value& held = value->value;
  if (held.isTensor()) return STATOR_TENSOR;
  if (held.isBool()) return STATOR_BOOL;
  if (held.isInt()) return STATOR_INT;
  if (held.isDouble()) return STATOR_FLOAT;
  if (held.isComplexDouble()) return STATOR_COMPLEX;
  if (held.isString()) return STATOR_TEXT;
  return held.isList() ? STATOR_LIST : STATOR_NONE;
}

stator_error* stator_value_bool(const stator_value* value, int32_t* number) {
  return guarded([&] {
    *number = static_cast<int32_t>(stator::of_kind(value, &Value::isBool, "bool").toBool());
  });
}

stator_error* stator_value_int(const stator_value* value, int64_t* number) {
  return guarded([&] { *number = stator::of_kind(value, &Value::isInt, "int").toInt(); });
}

stator_error* stator_value_float(const stator_value* value, double* number) {
  return guarded([&] { *number = stator::of_kind(value, &Value::isDouble, "float").toDouble(); });
}

stator_error* stator_value_complex(const stator_value* value, double* real, double* imaginary) {
  return guarded([&] {
    const Value& held = stator::of_kind(value, &Value::isComplexDouble, "complex number");
    *real = held.toComplexDouble().real();
    *imaginary = held.toComplexDouble().imag();
  });
}

stator_error* stator_value_text(const stator_value* value, const char** text, size_t* size) {
  return guarded([&] {
    stator::of_kind(value, &Value::isString, "text");
    *text = value->text.c_str();
    *size = value->text.size();
  });
}

stator_error* stator_list_length(const stator_value* value, size_t* length) {
  return guarded(
      [&] { *length = stator::items_of(stator::of_kind(value, &Value::isList, "list")).size(); });
}

stator_error* stator_list_item_new(const stator_value* value, size_t index, stator_value** item) {
  return stator::give(item, [&] {
    const auto items = stator::items_of(stator::of_kind(value, &Value::isList, "list"));
    if (index >= items.size()) throw stator::mismatch_error("the list has no such item");
    return items[index];
  });
}

stator_error* stator_tensor_dtype(const stator_value* value, stator_dtype* dtype) {
  return guarded([&] {
    const at::ScalarType held = stator::tensor_of(value).scalar_type();
    *dtype = STATOR_OTHER_DTYPE;
    for (const auto& [known, type] : stator::kDtypes) {
      if (type == held) *dtype = known;
    }
  });
}

stator_error* stator_tensor_dtype_name(const stator_value* value, const char** name) {
  return guarded([&] {
    stator::tensor_of(value);
    *name = value->text.c_str();
  });
}

stator_error* stator_tensor_shape(const stator_value* value, const int64_t** shape, size_t* rank) {
  return guarded([&] {
    stator::tensor_of(value);
    *shape = value->dense.sizes().data();
    *rank = value->dense.sizes().size();
  });
}

stator_error* stator_tensor_data(const stator_value* value, const void** data, size_t* size) {
  return guarded([&] {
    stator::tensor_of(value);
    *data = value->dense.const_data_ptr();
    *size = value->dense.nbytes();
  });
}

}  // extern "C"

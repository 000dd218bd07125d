#include "value.h"

#include <ATen/core/List.h>
#include <c10/core/ScalarType.h>

#include <algorithm>
#include <array>

#include "errors.h"
#include "text/repr.h"

namespace stator {
namespace {

struct DtypeName {
  std::string_view name;
  std::string_view short_name;
  at::ScalarType dtype;
};

constexpr std::array kDtypes = std::to_array<DtypeName>({
    {"float32", "f32", at::kFloat},
    {"float64", "f64", at::kDouble},
    {"int64", "i64", at::kLong},
    {"bool", "b8", at::kBool},
    {"float16", "f16", at::kHalf},
    {"bfloat16", "bf16", at::kBFloat16},
    {"int8", "i8", at::kChar},
    {"int16", "i16", at::kShort},
    {"int32", "i32", at::kInt},
    {"uint8", "u8", at::kByte},
    {"uint16", "uint16", at::kUInt16},
    {"uint32", "uint32", at::kUInt32},
    {"uint64", "uint64", at::kUInt64},
    {"complex32", "complex32", at::kComplexHalf},
    {"complex64", "c64", at::kComplexFloat},
    {"complex128", "c128", at::kComplexDouble},
    {"float8_e4m3fn", "float8_e4m3fn", at::kFloat8_e4m3fn},
    {"float8_e5m2", "float8_e5m2", at::kFloat8_e5m2},
});
// Other names that torch has for the same dtypes.
constexpr std::array kDtypeAliases = std::to_array<std::pair<std::string_view, at::ScalarType>>({
    {"float", at::kFloat},
    {"double", at::kDouble},
    {"half", at::kHalf},
    {"long", at::kLong},
    {"int", at::kInt},
    {"short", at::kShort},
    {"cfloat", at::kComplexFloat},
    {"cdouble", at::kComplexDouble},
    {"chalf", at::kComplexHalf},
});

std::string describe_tensor(const at::Tensor& tensor) {
  if (!tensor.defined()) return "None";
  std::string sizes;
  for (const std::int64_t size : tensor.sizes()) {
    sizes += (sizes.empty() ? "" : ", ") + std::to_string(size);
  }
  const std::string where = tensor.is_cpu() ? "" : "@" + tensor.device().str();
  return short_dtype_name(tensor.scalar_type()) + "[" + sizes + "]" + where;
}

}  // namespace

bool is_true(const Value& value) {
  if (value.isBool()) return value.toBool();
  if (value.isTensor()) return value.toTensor().is_nonzero();
  if (value.isInt()) return value.toInt() != 0;
  if (value.isDouble()) return value.toDouble() != 0.0;
  if (value.isComplexDouble()) return value.toComplexDouble() != Complex(0.0, 0.0);
  if (value.isString()) return !value.toStringRef().empty();
  if (value.isList()) return !items_of(value).empty();
  return !value.isNone();
}

Value make_list(std::vector<Value> items) {
  c10::impl::GenericList list(c10::AnyType::get());
  list.reserve(items.size());
  for (Value& item : items) list.push_back(std::move(item));
  return list;
}

const char* class_name(const Value& value) {
  if (value.isTensor()) return "Tensor";
  if (value.isBool()) return "bool";
  if (value.isInt()) return "int";
  if (value.isDouble()) return "float";
  if (value.isComplexDouble()) return "complex";
  if (value.isString()) return "str";
  if (value.isList()) return "list";
  if (value.isNone()) return "NoneType";
  if (value.isDevice()) return "torch.device";
  return "object";
}

std::optional<at::ScalarType> dtype_named(std::string_view name) {
  const auto* found = std::ranges::find(kDtypes, name, &DtypeName::name);
  if (found != kDtypes.end()) return found->dtype;
  for (const auto& [alias, dtype] : kDtypeAliases) {
    if (alias == name) return dtype;
  }
  return std::nullopt;
}

std::string dtype_name(at::ScalarType dtype) {
  const auto* found = std::ranges::find(kDtypes, dtype, &DtypeName::dtype);
  return found == kDtypes.end() ? c10::toString(dtype) : std::string(found->name);
}

std::string short_dtype_name(at::ScalarType dtype) {
  const auto* found = std::ranges::find(kDtypes, dtype, &DtypeName::dtype);
  return found == kDtypes.end() ? c10::toString(dtype) : std::string(found->short_name);
}

std::string describe(const Value& value) {
  if (value.isTensor()) return describe_tensor(value.toTensor());
  if (value.isNone() || is_number(value) || value.isString()) return repr(value);
  if (!value.isList()) return std::string("a ") + class_name(value);
  std::string items;
  for (const Value& item : items_of(value)) items += (items.empty() ? "" : ", ") + describe(item);
  return "[" + items + "]";
}

}  // namespace stator

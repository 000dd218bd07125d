#include "format/safetensors.h"

#include <ATen/ops/empty.h>
#include <ATen/ops/from_blob.h>
#include <ATen/ops/view_as_real.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <regex>

#include "errors.h"
#include "format/json.h"

namespace stator {
namespace {

constexpr std::size_t kAlignment = 64;
constexpr std::size_t kLength = 8;  // bytes at the start, which say how long the header is
constexpr std::size_t kHeaderLimit = std::size_t{1} << 26;
constexpr std::size_t kMaxDimensions = 64;
constexpr const char* kFilling = ".filling.";

constexpr std::array kDtypes = std::to_array<std::pair<std::string_view, at::ScalarType>>({
    {"F32", at::kFloat},
    {"F64", at::kDouble},
    {"F16", at::kHalf},
    {"BF16", at::kBFloat16},
    {"I64", at::kLong},
    {"I32", at::kInt},
    {"I16", at::kShort},
    {"I8", at::kChar},
    {"U8", at::kByte},
    {"BOOL", at::kBool},
    {"U16", at::kUInt16},
    {"U32", at::kUInt32},
    {"U64", at::kUInt64},
    {"F8_E4M3", at::kFloat8_e4m3fn},
    {"F8_E5M2", at::kFloat8_e5m2},
    {"C64", at::kComplexFloat},
});

struct Span {
  std::string name;
  at::ScalarType dtype;
  std::vector<std::int64_t> shape;
  std::size_t start;
  std::size_t stop;
};

std::uint64_t little_endian(std::span<const char> bytes) {
  std::uint64_t number = 0;
  for (std::size_t k = bytes.size(); k-- > 0;)
    number = number << 8 | static_cast<unsigned char>(bytes[k]);
  return number;
}

std::int64_t size_at(const Json& data, const std::string& at) {
  const std::int64_t number = integer_at(data, at);
  if (number < 0) damaged(at, "must hold sizes");
  return number;
}

/// The bytes that a tensor takes; checked, since the sizes are not to be trusted.
std::size_t bytes_of(const std::vector<std::int64_t>& shape, std::size_t element,
                     const std::string& at) {
  std::uint64_t product = element;
  bool is_empty = false;
  for (const std::int64_t size : shape) {
    if (size == 0) is_empty = true;
    if (size > 0 && __builtin_mul_overflow(product, static_cast<std::uint64_t>(size), &product))
      damaged(at, "is too large");
  }
  if (shape.size() > kMaxDimensions || product > static_cast<std::uint64_t>(INT64_MAX) / 16)
    damaged(at, "is too large");
  return is_empty ? 0 : product;
}

Span read_span(const std::string& name, const Json& data, std::size_t start) {
  const std::string at = "the header." + name;
  Span span;
  span.name = name;
  const std::string& dtype = text_at(field(data, "dtype", at), at + ".dtype");
  const auto* found =
      std::ranges::find(kDtypes, dtype, &std::pair<std::string_view, at::ScalarType>::first);
  if (found == kDtypes.end()) damaged(at + ".dtype", "is unknown: '" + dtype + "'");
  span.dtype = found->second;
  for (const Json& size : list_at(field(data, "shape", at), at + ".shape"))
    span.shape.push_back(size_at(size, at + ".shape"));
  const Json& offsets = list_at(field(data, "data_offsets", at), at + ".data_offsets");
  const std::size_t bytes = bytes_of(span.shape, c10::elementSize(span.dtype), at + ".shape");
  if (offsets.size() != 2) damaged(at + ".data_offsets", "must be two");
  span.start = static_cast<std::size_t>(size_at(offsets[0], at + ".data_offsets"));
  span.stop = static_cast<std::size_t>(size_at(offsets[1], at + ".data_offsets"));
  if (span.stop < span.start || span.stop - span.start != bytes) {
    damaged(at + ".data_offsets", "must be two, as far apart as the shape takes bytes");
  }
  span.start += start;
  span.stop += start;
  return span;
}

/// No byte of the data belongs to two entries, or to none.
void check_cover(std::vector<Span>& spans, std::size_t start, std::size_t size) {
  std::ranges::sort(spans, [](const Span& a, const Span& b) {
    return std::pair(a.start, a.stop) < std::pair(b.start, b.stop);
  });
  for (const Span& span : spans) {
    if (span.start != start) {
      damaged("the header." + span.name,
              "starts at byte " + std::to_string(span.start) + ", not at " + std::to_string(start));
    }
    start = span.stop;
  }
  if (start != size) {
    damaged("the header", "has entries up to byte " + std::to_string(start) +
                              ", and the file has " + std::to_string(size));
  }
}

at::Tensor tensor_at(const Span& span, const std::shared_ptr<MappedFile>& file) {
  const auto options = at::TensorOptions().dtype(span.dtype);
  if (span.start == span.stop) return at::empty(span.shape, options);
  const auto keep = [file](void*) {};
  at::Tensor tensor = at::from_blob(file->bytes().data() + span.start, span.shape, keep, options);
  return span.start % kAlignment == 0 ? tensor : tensor.clone();  // a file of another writer
}

/// Tensors as they are stored: dense, in main memory, complex numbers as pairs of real ones.
at::Tensor storable(const at::Tensor& tensor) {
  at::Tensor dense = tensor.detach().to(at::kCPU).resolve_conj().resolve_neg();
  if (dense.is_complex()) dense = at::view_as_real(dense);
  return dense.contiguous();
}

std::string_view stored_dtype(const at::Tensor& tensor) {
  for (const auto& [name, dtype] : kDtypes) {
    if (dtype == tensor.scalar_type()) return name;
  }
  throw format_error("a tensor of dtype " + dtype_name(tensor.scalar_type()) +
                     " cannot be written");
}

void write_bytes(std::ofstream& stream, const char* data, std::size_t size) {
  stream.write(data, static_cast<std::streamsize>(size));
}

}  // namespace

TensorFile read_safetensors(const std::shared_ptr<MappedFile>& file) {
  const std::span<const char> bytes = file->bytes();
  const std::uint64_t length = bytes.size() < kLength ? 0 : little_endian(bytes.first(kLength));
  if (bytes.size() < kLength || length > bytes.size() - kLength) {
    damaged("the header", "is longer than the file");
  }
  if (length > kHeaderLimit)
    damaged("the header", "is longer than " + std::to_string(kHeaderLimit) + " bytes");
  const Json header = parse_json(bytes.subspan(kLength, length), bytes.size());
  TensorFile made;
  std::vector<Span> spans;
  for (const auto& [name, data] : object_at(header, "the header").items()) {
    if (name != "__metadata__") {
      spans.push_back(read_span(name, data, kLength + length));
      continue;
    }
    for (const auto& [key, text] : object_at(data, name).items())
      made.metadata[key] = text_at(text, name);
  }
  check_cover(spans, kLength + length, bytes.size());
  for (const Span& span : spans) {
    if (!span.name.starts_with(kFilling)) made.tensors[span.name] = tensor_at(span, file);
  }
  return made;
}

void write_safetensors(const std::string& path,
                       const std::vector<std::pair<std::string, at::Tensor>>& tensors,
                       const std::map<std::string, std::string>& metadata) {
  Json header = Json::object();
  if (!metadata.empty()) header["__metadata__"] = metadata;
  std::vector<at::Tensor> stored;
  std::size_t at = 0;
  const auto enter = [&](const std::string& name, std::string_view dtype, const auto& shape,
                         std::size_t size) {
    header[name] = {{"dtype", dtype}, {"shape", shape}, {"data_offsets", {at, at + size}}};
    at += size;
  };
  for (const auto& [name, tensor] : tensors) {
    stored.push_back(storable(tensor));
    enter(name, stored_dtype(stored.back()), stored.back().sizes().vec(), stored.back().nbytes());
    const std::size_t gap = (kAlignment - at % kAlignment) % kAlignment;
    if (gap > 0) enter(kFilling + std::to_string(at), "U8", std::vector<std::size_t>{gap}, gap);
  }
  std::string text = header.dump();
  text.append((kAlignment - (kLength + text.size()) % kAlignment) % kAlignment, ' ');
  // A file that is there may be mapped by its readers: it is replaced, not written over.
  std::error_code failed;
  const auto there = std::filesystem::symlink_status(path, failed).type();
  const bool is_replaced = there == std::filesystem::file_type::regular;
  const std::string written = is_replaced ? path + ".new" : path;
  std::ofstream stream(written, std::ios::binary | std::ios::trunc);
  for (std::size_t k = 0; k < kLength; ++k) stream.put(static_cast<char>(text.size() >> 8 * k));
  write_bytes(stream, text.data(), text.size());
  constexpr std::array<char, kAlignment> kZeros{};
  for (const at::Tensor& tensor : stored) {
    write_bytes(stream, static_cast<const char*>(tensor.const_data_ptr()), tensor.nbytes());
    write_bytes(stream, kZeros.data(), (kAlignment - tensor.nbytes() % kAlignment) % kAlignment);
  }
  stream.close();
  failed.clear();
  if (stream && is_replaced) std::filesystem::rename(written, path, failed);
  if (!stream || failed) {
    if (is_replaced) std::filesystem::remove(written, failed);
    throw format_error(path + " cannot be written", "check the path and its permissions");
  }
}

at::Tensor read_npy(const std::string& path) {
  static const std::map<std::string, at::ScalarType> dtypes = {
      {"<f4", at::kFloat},        {"<f8", at::kDouble},        {"<f2", at::kHalf},
      {"<i8", at::kLong},         {"<i4", at::kInt},           {"<i2", at::kShort},
      {"|i1", at::kChar},         {"|u1", at::kByte},          {"|b1", at::kBool},
      {"<c8", at::kComplexFloat}, {"<c16", at::kComplexDouble}};
  static const std::regex form(
      R"(\{'descr': '([^']*)', 'fortran_order': (True|False), 'shape': \(([0-9, ]*)\), \}\s*)");
  const auto file = MappedFile::open(path);
  const std::span<const char> bytes = file->bytes();
  const auto wrong = [&path](const std::string& what) { return format_error(path + " " + what); };
  if (bytes.size() < 12 || std::memcmp(bytes.data(), "\x93NUMPY", 6) != 0)
    throw wrong("is no .npy file");
  const std::size_t wide = bytes[6] == 1 ? 2 : 4;  // bytes of the header's length
  const std::size_t start = 8 + wide;
  const std::size_t length = little_endian(bytes.subspan(8, wide));
  if (length > bytes.size() - start || length > 65536)
    throw wrong("is damaged: its header is too long");
  const std::string header(bytes.data() + start, length);
  std::smatch found;
  if (!std::regex_match(header, found, form)) throw wrong("is damaged: its header is unknown");
  const auto dtype = dtypes.find(found[1]);
  if (dtype == dtypes.end())
    throw wrong("has the dtype " + found[1].str() + ", which cannot be read");
  if (found[2] == "True")
    throw wrong("is in Fortran's order: save it with numpy.ascontiguousarray");
  std::vector<std::int64_t> shape;
  const std::string sizes = found[3];
  const std::regex digits("[0-9]{1,18}");
  for (std::sregex_iterator it(sizes.begin(), sizes.end(), digits), end; it != end; ++it)
    shape.push_back(std::stoll(it->str()));
  const std::size_t needed = bytes_of(shape, c10::elementSize(dtype->second), path);
  if (bytes.size() - start - length != needed) throw wrong("is damaged: its data has another size");
  at::Tensor tensor = at::empty(shape, at::TensorOptions().dtype(dtype->second));
  if (needed > 0) std::memcpy(tensor.mutable_data_ptr(), bytes.data() + start + length, needed);
  return tensor;
}

}  // namespace stator

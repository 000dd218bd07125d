// repr_tensor(): what Python prints for a tensor, with torch's default print options.
//
// The functions follow torch/_tensor_str.py, which defines the text.
#include <ATen/core/grad_mode.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/imag.h>
#include <ATen/ops/real.h>
#include <ATen/ops/stack.h>
#include <torch/csrc/autograd/function.h>

#include <cmath>
#include <cstdio>
#include <functional>

#include "text/repr.h"

namespace stator {
namespace {

constexpr std::int64_t kThreshold = 1000;  // elements; beyond it a tensor is summarized
constexpr std::int64_t kEdgeItems = 3;
constexpr std::int64_t kLineWidth = 80;
constexpr int kPrecision = 4;

std::string printed(const char* form, int precision, double number) {
  std::string text(static_cast<std::size_t>(std::snprintf(nullptr, 0, form, precision, number)),
                   '\0');
  std::snprintf(text.data(), text.size() + 1, form, precision, number);
  return text;
}

std::string fixed(double number, int precision) {
  if (std::isnan(number)) return "nan";  // C may print a sign
  return printed("%.*f", precision, number);
}

std::string scientific(double number) {
  if (std::isnan(number)) return "nan";
  return printed("%.*e", kPrecision, number);
}

/// How the elements of one tensor are written: all with the same width.
class Formatter {
 public:
  explicit Formatter(const at::Tensor& shown) : is_floating_(shown.is_floating_point()) {
    const at::Tensor flat = shown.reshape(-1);
    if (is_floating_) {
      choose_notation(flat.to(at::kDouble));
    } else {
      for (std::int64_t k = 0; k < flat.numel(); ++k) widen(format(flat[k].item()).size());
    }
  }

  std::int64_t width() const { return static_cast<std::int64_t>(width_); }

  std::string format(const at::Scalar& value) const {
    const std::string text = is_floating_ ? float_text(value.toDouble()) : integer_text(value);
    return text.size() < width_ ? std::string(width_ - text.size(), ' ') + text : text;
  }

 private:
  void widen(std::size_t width) { width_ = std::max(width_, width); }

  void choose_notation(const at::Tensor& flat) {
    const double* data = flat.const_data_ptr<double>();
    double least = INFINITY;
    double most = 0.0;
    bool any = false;
    for (std::int64_t k = 0; k < flat.numel(); ++k) {
      if (!std::isfinite(data[k]) || data[k] == 0.0) continue;
      any = true;
      least = std::min(least, std::fabs(data[k]));
      most = std::max(most, std::fabs(data[k]));
      all_whole_ = all_whole_ && data[k] == std::ceil(data[k]);
    }
    if (!any) return;
    is_scientific_ = most / least > 1000.0 || most > 1.0e8 || least < 1.0e-4;
    for (std::int64_t k = 0; k < flat.numel(); ++k) {
      if (std::isfinite(data[k]) && data[k] != 0.0) widen(float_text(data[k]).size());
    }
  }

  std::string float_text(double number) const {
    if (is_scientific_) return scientific(number);
    if (!all_whole_) return fixed(number, kPrecision);
    return fixed(number, 0) + (std::isfinite(number) ? "." : "");
  }

  static std::string integer_text(const at::Scalar& value) {
    if (value.isBoolean()) return value.toBool() ? "True" : "False";
    return value.type() == at::kUInt64 ? std::to_string(value.toUInt64())
                                       : std::to_string(value.toLong());
  }

  bool is_floating_;
  bool all_whole_ = true;
  bool is_scientific_ = false;
  std::size_t width_ = 1;
};

/// Writes one element: a number, or both parts of a complex one.
struct ElementText {
  std::int64_t width;
  std::function<std::string(const at::Scalar&)> format;
};

ElementText plain_elements(const at::Tensor& shown) {
  const Formatter formatter(shown);
  return {formatter.width(),
          [formatter](const at::Scalar& value) { return formatter.format(value); }};
}

ElementText complex_elements(const at::Tensor& shown) {
  const Formatter real(at::real(shown));
  const Formatter imaginary(at::imag(shown));
  const auto format = [real, imaginary](const at::Scalar& value) {
    const auto number = value.toComplexDouble();
    std::string second = imaginary.format(number.imag()) + "j";
    second.erase(0, second.find_first_not_of(' '));
    const bool has_sign = second[0] == '+' || second[0] == '-';
    return real.format(number.real()) + (has_sign ? "" : "+") + second;
  };
  return {real.width() + imaginary.width() + 1, format};
}

bool is_cut(const at::Tensor& tensor, bool summarize) {
  return summarize && tensor.size(0) > 2 * kEdgeItems;
}

std::string vector_text(const at::Tensor& tensor, std::int64_t indent, bool summarize,
                        const ElementText& element) {
  std::vector<std::string> parts;
  const std::int64_t count = tensor.size(0);
  for (std::int64_t k = 0; k < count; ++k) {
    if (is_cut(tensor, summarize) && k == kEdgeItems) {
      parts.emplace_back(" ...");
      k = count - kEdgeItems;
    }
    parts.push_back(element.format(tensor[k].item()));
  }
  const auto per_line = static_cast<std::size_t>(
      std::max<std::int64_t>(1, (kLineWidth - indent) / (element.width + 2)));
  std::string text = "[";
  for (std::size_t k = 0; k < parts.size(); ++k) {
    if (k > 0 && k % per_line == 0) {
      text += ",\n" + std::string(static_cast<std::size_t>(indent + 1), ' ');
    } else if (k > 0) {
      text += ", ";
    }
    text += parts[k];
  }
  return text + "]";
}

std::string nested_text(const at::Tensor& tensor, std::int64_t indent, bool summarize,
                        const ElementText& element) {
  if (tensor.dim() == 0) return element.format(tensor.item());
  if (tensor.dim() == 1) return vector_text(tensor, indent, summarize, element);
  const std::string separator = "," +
                                std::string(static_cast<std::size_t>(tensor.dim() - 1), '\n') +
                                std::string(static_cast<std::size_t>(indent + 1), ' ');
  std::string text = "[";
  for (std::int64_t k = 0; k < tensor.size(0); ++k) {
    if (k > 0) text += separator;
    if (is_cut(tensor, summarize) && k == kEdgeItems) {
      text += "..." + separator;
      k = tensor.size(0) - kEdgeItems;
    }
    text += nested_text(tensor[k], indent + 1, summarize, element);
  }
  return text + "]";
}

/// The elements of a tensor that a summary shows.
at::Tensor summarized(const at::Tensor& tensor) {
  if (tensor.dim() == 0) return tensor;
  const std::int64_t count = tensor.size(0);
  if (tensor.dim() == 1) {
    if (count <= 2 * kEdgeItems) return tensor;
    return at::cat({tensor.slice(0, 0, kEdgeItems), tensor.slice(0, count - kEdgeItems)});
  }
  std::vector<at::Tensor> parts;
  for (std::int64_t k = 0; k < count; ++k) {
    if (count > 2 * kEdgeItems && k == kEdgeItems) k = count - kEdgeItems;
    parts.push_back(summarized(tensor[k]));
  }
  return at::stack(parts);
}

std::string contents(at::Tensor tensor, std::int64_t indent) {
  if (tensor.numel() == 0) return "[]";
  const bool summarize = tensor.numel() > kThreshold;
  tensor = tensor.detach().to(at::kCPU).resolve_conj().resolve_neg();
  if (c10::isFloat8Type(tensor.scalar_type())) tensor = tensor.to(at::kHalf);
  const at::Tensor shown = summarize ? summarized(tensor) : tensor;
  const ElementText element = tensor.is_complex() ? complex_elements(shown) : plain_elements(shown);
  return nested_text(tensor, indent, summarize, element);
}

std::string size_text(const at::Tensor& tensor) {
  std::string text;
  for (const std::int64_t size : tensor.sizes()) {
    text += (text.empty() ? "" : ", ") + std::to_string(size);
  }
  return "size=(" + text + (tensor.dim() == 1 ? ",)" : ")");
}

bool has_default_dtype(const at::Tensor& tensor) {
  const at::ScalarType dtype = tensor.scalar_type();
  const at::ScalarType usual = c10::get_default_dtype_as_scalartype();
  return dtype == usual || dtype == c10::toComplexType(usual) || dtype == at::kLong ||
         dtype == at::kBool;
}

std::vector<std::string> suffixes_of(const at::Tensor& tensor) {
  std::vector<std::string> made;
  if (!tensor.is_cpu()) made.push_back("device='" + tensor.device().str() + "'");
  const bool is_empty = tensor.numel() == 0;
  if (is_empty && tensor.dim() != 1) made.push_back(size_text(tensor));
  const bool is_usual = is_empty ? tensor.scalar_type() == c10::get_default_dtype_as_scalartype()
                                 : has_default_dtype(tensor);
  if (!is_usual) made.push_back("dtype=torch." + dtype_name(tensor.scalar_type()));
  if (tensor.grad_fn()) {
    made.push_back("grad_fn=<" + tensor.grad_fn()->name() + ">");
  } else if (tensor.requires_grad()) {
    made.emplace_back("requires_grad=True");
  }
  return made;
}

}  // namespace

std::string repr_tensor(const at::Tensor& tensor) {
  const at::NoGradGuard no_grad;
  constexpr std::int64_t kIndent = 7;  // of `tensor(`
  std::string text = "tensor(" + contents(tensor, kIndent);
  const std::size_t line = text.rfind('\n');
  // NOTE: torch counts one more for the first line, which has no line break before it
  auto last = static_cast<std::int64_t>(line == std::string::npos ? text.size() + 2
                                                                  : text.size() - line + 1);
  for (const std::string& suffix : suffixes_of(tensor)) {
    const auto size = static_cast<std::int64_t>(suffix.size());
    if (last + size + 2 > kLineWidth) {
      text += ",\n" + std::string(kIndent, ' ') + suffix;
      last = kIndent + size;
    } else {
      text += ", " + suffix;
      last += size + 2;
    }
  }
  return text + ")";
}

}  // namespace stator

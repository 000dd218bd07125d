#include "trials/calls.h"

#include <ATen/ops/contiguous.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/ones_like.h>
#include <ATen/ops/resolve_conj.h>
#include <ATen/ops/resolve_neg.h>
#include <torch/csrc/autograd/autograd.h>

#include <random>

#include "value.h"

namespace stator {
namespace {

constexpr std::int64_t kAnySize = 3;
constexpr std::int64_t kMostElements = 1 << 16;  // of an input

using Draw = std::mt19937_64;

/// Ends a run that takes too long, and keeps what it prints to itself.
class Watchman : public Host {
 public:
  explicit Watchman(std::chrono::milliseconds limit)
      : end_(std::chrono::steady_clock::now() + limit) {}
  void print(const std::string& text) override { printed += text; }
  void poll_interrupt() override {
    if (std::chrono::steady_clock::now() > end_) throw Error("TimeoutError", kTooLong);
  }
  std::string printed;

 private:
  std::chrono::steady_clock::time_point end_;
};

at::Tensor drawn_tensor(const Type& type, Draw& draw) {
  std::vector<std::int64_t> sizes;
  std::int64_t count = 1;
  for (const Type::Size& size : type.shape) {
    sizes.push_back(size.number.value_or(kAnySize));
    if (sizes.back() < 0 || sizes.back() > kMostElements) throw Error("ValueError", "a size");
    count *= sizes.back();
    if (count > kMostElements) throw Error("ValueError", "an input is too large");
  }
  const at::Tensor made = at::empty(sizes, at::TensorOptions(type.dtype));
  if (at::isFloatingType(type.dtype) || at::isComplexType(type.dtype)) {
    std::normal_distribution<double> normal;
    const at::Tensor values = at::empty({count}, at::kDouble);
    for (std::int64_t k = 0; k < count; ++k) values.data_ptr<double>()[k] = normal(draw);
    made.copy_(values.view(sizes));
  } else {
    made.fill_(static_cast<std::int64_t>(draw() % 2));
  }
  return made;
}

Value drawn_number(const std::string& kind, Draw& draw) {
  const auto small = static_cast<std::int64_t>(draw() % 5);
  if (kind == "bool") return small % 2 == 0;
  if (kind == "int") return small;
  if (kind == "complex") return Complex(static_cast<double>(small), 1.0);
  return static_cast<double>(small) / 2;
}

Value drawn_value(const Type& type, Draw& draw) {
  switch (type.kind) {
    case Type::Kind::kTensor:
      return drawn_tensor(type, draw);
    case Type::Kind::kNumber:
      return drawn_number(type.number, draw);
    case Type::Kind::kText:
      return std::string("text");
    case Type::Kind::kList:
      return make_list({drawn_value(type.element.at(0), draw), drawn_value(type.element[0], draw)});
    case Type::Kind::kOptional:
      return draw() % 2 == 0 ? Value() : drawn_value(type.element.at(0), draw);
  }
  return {};
}

void add_bits(std::string& bytes, const Value& value) {
  if (value.isList()) {
    bytes += "[";
    for (const Value& item : items_of(value)) add_bits(bytes, item);
    bytes += "]";
    return;
  }
  bytes += describe(value) + ";";
  if (!value.isTensor() || !value.toTensor().defined()) return;
  const at::Tensor dense = value.toTensor().detach().resolve_conj().resolve_neg().contiguous();
  if (dense.is_sparse() || !dense.is_cpu()) return;
  bytes.append(static_cast<const char*>(dense.const_data_ptr()), dense.nbytes());
}

void collect_tensors(const Value& value, std::vector<at::Tensor>& tensors) {
  if (value.isList()) {
    for (const Value& item : items_of(value)) collect_tensors(item, tensors);
  } else if (value.isTensor() && value.toTensor().defined()) {
    tensors.push_back(value.toTensor());
  }
}

/// The gradients that the outputs give to the model's parameters, or the error.
std::string gradients_of(const Model& model, const std::vector<Value>& outputs) {
  std::vector<at::Tensor> roots;
  for (const Value& output : outputs) collect_tensors(output, roots);
  std::vector<at::Tensor> parameters;
  for (const auto& [name, tensor] : model.tensors()) parameters.push_back(tensor);
  const auto has_none = [](const at::Tensor& tensor) { return !tensor.requires_grad(); };
  std::erase_if(roots, has_none);
  std::erase_if(parameters, has_none);
  if (roots.empty() || parameters.empty()) return {};
  std::vector<at::Tensor> ones;
  for (const at::Tensor& root : roots) ones.push_back(at::ones_like(root));
  std::string bytes;
  for (const at::Tensor& gradient :
       torch::autograd::grad(roots, parameters, ones, std::nullopt, false, true)) {
    add_bits(bytes, gradient.defined() ? Value(gradient) : Value());
  }
  return bytes;
}

}  // namespace

std::vector<Value> drawn_inputs(const Signature& signature, std::uint64_t seed) {
  Draw draw(seed);
  std::vector<Value> inputs;
  for (const Signature::Input& input : signature.inputs)
    inputs.push_back(drawn_value(input.type, draw));
  return inputs;
}

std::string outcome_of(const Model& model, const std::vector<Value>& inputs,
                       const Model::Options& options, std::chrono::milliseconds limit) {
  Watchman host(limit);
  Model::Options watched = options;
  watched.host = &host;
  std::string bytes;
  try {
    const std::vector<Value> outputs = model.run(inputs, watched);
    for (const Value& output : outputs) add_bits(bytes, output);
    if (options.gradients) bytes += gradients_of(model, outputs);
  } catch (const Error& error) {
    bytes = error.code + error.type + ": " + error.message;
  } catch (const c10::Error& error) {  // of torch, in a backward pass
    bytes = error.what_without_backtrace();
  }
  return bytes + host.printed;
}

}  // namespace stator

// Torch ops on small tensors for which autograd records a gradient.
//
// NOTE: what is saved, and why the gradients are equal to eager's to the bit. The result is
// computed by the kernel for small tensors, and the node of autograd's graph is made here, without
// the dispatcher. The node is torch's own class: where the backward pass is a plain one, a subclass
// computes the same formula in a shorter way; everywhere else (second derivatives, transforms,
// autocast, compiled autograd) torch's own function runs. The nodes, their order and their edges
// are those of eager code, so gradients are added up in the same order too.
#pragma once

#include <c10/core/impl/LocalDispatchKeySet.h>
#include <torch/csrc/autograd/function.h>
#include <torch/csrc/autograd/functions/utils.h>

#include "ops/small.h"

namespace stator {

/// A tensor that a gradient may be recorded for: plain, contiguous, of a dtype that the kernels
/// know. Null for any other value.
const at::Tensor* recordable(const Value& value);

/// The same for one that is small as well.
const at::Tensor* small_recordable(const Value& value);

/// Is this a backward pass that computes first derivatives of plain tensors, and nothing else?
bool is_plain_backward(const at::Tensor& gradient);

/// The same, for a gradient that the kernels can read: small, contiguous, a float or a double.
bool is_small_backward(const at::Tensor& gradient);

/// A tensor that no gradient is recorded for yet.
at::Tensor new_result(at::IntArrayRef sizes, at::ScalarType dtype);

/// A node whose gradients go to `inputs`.
template <class Node, class... Tensors>
auto make_node(const Tensors&... inputs) {
  using Pointer = decltype(torch::autograd::Edge::function);
  auto edges = torch::autograd::collect_next_edges(inputs...);
  if constexpr (std::is_same_v<Pointer, std::shared_ptr<torch::autograd::Node>>) {
    std::shared_ptr<Node> made(new Node(), [](Node* node) { deleteNode(node); });
    made->set_next_edges(std::move(edges));
    return made;
  } else {
    auto made = c10::make_intrusive<Node>();
    made->set_next_edges(std::move(edges));
    return made;
  }
}

/// A node that is torch's own, dispatched below autograd where that has nothing to record.
template <class Base>
struct Below : Base {
  torch::autograd::variable_list apply(torch::autograd::variable_list&& gradients) override {
    if (!is_plain_backward(gradients[0])) return Base::apply(std::move(gradients));
    const c10::impl::ExcludeDispatchKeyGuard below(c10::autograd_dispatch_keyset);
    return Base::apply(std::move(gradients));
  }
};

/// The attempt that runs an op and records it; null if there is none.
Attempt recorded_pointwise(const std::string& name);
Attempt recorded_matrix(const std::string& name);
Attempt recorded_attempt(const std::string& name);

}  // namespace stator

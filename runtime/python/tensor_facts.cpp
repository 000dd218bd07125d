#include "python/tensor_facts.h"

#include <ATen/Context.h>
#include <ATen/PythonTorchFunctionTLS.h>
#include <ATen/autocast_mode.h>
#include <ATen/core/grad_mode.h>
#include <torch/csrc/autograd/python_variable.h>
#include <torch/csrc/autograd/variable.h>

#include <algorithm>

namespace stator {
namespace {

constexpr std::array kAutocastDevices = {at::kCPU, at::kCUDA, at::kXPU, at::kMPS};

bool is_plain(const c10::TensorImpl& impl) {
  return !impl.key_set().has_any(
             c10::DispatchKeySet({c10::DispatchKey::Python, c10::DispatchKey::NestedTensor})) &&
         !impl.has_symbolic_sizes_strides();
}

/// What autograd knows of a tensor. Read in one go: a snapshot asks for it hundreds of times.
struct GradState {
  bool requires_grad;
  bool is_leaf;
};

GradState grad_state(const c10::TensorImpl& impl) {
  const auto* meta = static_cast<const torch::autograd::AutogradMeta*>(impl.autograd_meta());
  if (meta == nullptr) return {false, true};
  const bool is_leaf = meta->grad_fn_ == nullptr;
  return {meta->requires_grad_ || !is_leaf, is_leaf};
}

/// Are the two equal? NOTE: a loop, since they are so short that a call of memcmp costs more.
bool same(at::IntArrayRef now, const c10::SmallVectorImpl<std::int64_t>& before) {
  if (now.size() != before.size()) return false;
  for (std::size_t k = 0; k < now.size(); ++k) {
    if (now[k] != before[k]) return false;
  }
  return true;
}

c10::impl::PODLocalDispatchKeySet thread_keys() {
  const c10::impl::LocalDispatchKeySet now = c10::impl::tls_local_dispatch_key_set();
  c10::impl::PODLocalDispatchKeySet made{};
  made.set_included(now.included_);
  made.set_excluded(now.excluded_);
  return made;
}

}  // namespace

std::optional<TensorFacts> TensorFacts::of(PyObject* object) {
  const at::Tensor& tensor = THPVariable_Unpack(object);
  const c10::TensorImpl& impl = *tensor.unsafeGetTensorImpl();
  if (!is_plain(impl)) return std::nullopt;
  TensorFacts made;
  made.type_ = Py_TYPE(object);
  made.keys_ = impl.key_set();
  made.dtype_ = impl.dtype();
  made.device_ = impl.device();
  const GradState state = grad_state(impl);
  made.requires_grad_ = state.requires_grad;
  made.is_leaf_ = state.is_leaf;
  made.is_strided_ = impl.layout() == at::kStrided;
  made.sizes_.append(impl.sizes().begin(), impl.sizes().end());
  if (made.is_strided_) made.strides_.append(impl.strides().begin(), impl.strides().end());
  return made;
}

void TensorFacts::allow_sizes(const std::vector<bool>& any) {
  for (std::size_t k = 0; k < any.size(); ++k) {
    if (!any[k]) continue;
    sizes_[k] = -1;
    has_any_size_ = true;
  }
}

bool TensorFacts::fits_sizes(const c10::TensorImpl& impl) const {
  const at::IntArrayRef sizes = impl.sizes();
  if (!has_any_size_)
    return same(sizes, sizes_) && (!is_strided_ || same(impl.strides(), strides_));
  if (sizes.size() != sizes_.size()) return false;
  for (std::size_t k = 0; k < sizes.size(); ++k) {
    if (sizes_[k] != sizes[k] && sizes_[k] != -1) return false;
  }
  return !is_strided_ || impl.is_contiguous();
}

bool TensorFacts::fits_storage(const c10::TensorImpl& impl) const {
  // the same keys: the tensor is as plain as the first one was, so its sizes can be read
  return impl.key_set() == keys_ && !impl.has_symbolic_sizes_strides() && impl.dtype() == dtype_ &&
         impl.device() == device_ && fits_sizes(impl);
}

bool TensorFacts::fit(PyObject* object) const {
  if (Py_TYPE(object) != type_) return false;
  const c10::TensorImpl& impl = *THPVariable_Unpack(object).unsafeGetTensorImpl();
  return fits_storage(impl) && grad_state(impl).requires_grad == requires_grad_;
}

bool TensorFacts::hold(PyObject* object) const {
  if (Py_TYPE(object) != type_) return false;
  const c10::TensorImpl& impl = *THPVariable_Unpack(object).unsafeGetTensorImpl();
  const GradState state = grad_state(impl);
  return fits_storage(impl) && state.requires_grad == requires_grad_ && state.is_leaf == is_leaf_;
}

std::array<Modes::Autocast, 4> Modes::autocast_now() {
  std::array<Autocast, 4> made{};
  for (std::size_t k = 0; k < made.size(); ++k) {
    made[k].is_on = at::autocast::is_autocast_enabled(kAutocastDevices[k]);
    if (made[k].is_on) made[k].dtype = at::autocast::get_autocast_dtype(kAutocastDevices[k]);
  }
  return made;
}

Modes Modes::now() {
  Modes made;
  made.keys_ = thread_keys();
  made.gradients_ = at::GradMode::is_enabled();
  made.autocast_cache_ = at::autocast::is_autocast_cache_enabled();
  made.deterministic_ = at::globalContext().deterministicAlgorithms();
  made.warns_only_ = at::globalContext().deterministicAlgorithmsWarnOnly();
  made.default_dtype_ = c10::get_default_dtype();
  made.autocast_ = autocast_now();
  made.has_autocast_ =
      std::ranges::any_of(made.autocast_, [](const Autocast& one) { return one.is_on; });
  return made;
}

bool Modes::hold() const {
  const c10::impl::PODLocalDispatchKeySet keys = thread_keys();
  const bool is_same = keys.included_ == keys_.included_ && keys.excluded_ == keys_.excluded_ &&
                       at::GradMode::is_enabled() == gradients_ &&
                       at::impl::PythonTorchFunctionTLS::stack_len() == 0 &&
                       at::impl::PythonTorchFunctionTLS::get_disabled_state() ==
                           at::impl::TorchFunctionDisabledState::ENABLED &&
                       at::autocast::is_autocast_cache_enabled() == autocast_cache_ &&
                       c10::get_default_dtype() == default_dtype_ &&
                       at::globalContext().deterministicAlgorithms() == deterministic_ &&
                       at::globalContext().deterministicAlgorithmsWarnOnly() == warns_only_;
  if (!is_same || !has_autocast_) return is_same;  // the keys say for which devices it is on
  return std::ranges::equal(autocast_, autocast_now(), [](const Autocast& a, const Autocast& b) {
    return a.is_on == b.is_on && (!a.is_on || a.dtype == b.dtype);
  });
}

}  // namespace stator

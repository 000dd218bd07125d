"""may_be_in_file(): the ops of torch that a saved model may call.

NOTE: why not every op that torch has registered. Torch's private ops, and those made for backward
passes and for other back ends, count on their callers: given arguments that no caller of torch
gives, some of them write past their memory. A model that was captured needs but a few of them.
Custom ops are those that the process which loads the model has registered itself.
"""

from __future__ import annotations

import re

TORCH_SPACES = frozenset(
    {
        "_c10d_functional", "_c10d_functional_autograd", "_dtensor", "_native", "_quantized",
        "_test", "c10d", "debug_mode_ops", "debugprims", "export", "fsdp", "inductor",
        "inductor_prims", "mkl", "mkldnn", "mkldnn_prepacked", "onednn", "prim", "prims",
        "profiler", "quantization", "quantized", "rngprims", "sparse", "static_runtime",
        "streams", "symm_mem", "tensorexpr",
    }
)  # fmt: skip
PRIVATE = re.compile(r"aten::_(?!_)\w*")
SPECIAL = re.compile(
    r"aten::(from_file|set_|set_data|data|record_stream|retain_grad|requires_grad_|resize_as_sparse_"
    r"|\w+_backward\w*|cudnn_\w+|miopen_\w+|mkldnn_\w+|mps_\w+|xnnpack_\w+|fbgemm_\w+|quantize\w*"
    r"|dequantize|int_repr|q_\w+|qscheme|sparse_\w+_tensor|sparse_resize\w*|to_mkldnn|to_sparse\w*)"
)
ALLOWED_PRIVATE = frozenset(
    f"aten::_{name}"
    for name in (
        "adaptive_avg_pool2d", "adaptive_avg_pool3d", "addmm_activation", "aminmax",
        "assert_async", "assert_scalar", "assert_tensor_metadata", "batch_norm_impl_index",
        "cast_Byte", "cast_Char", "cast_Double", "cast_Float", "cast_Half", "cast_Int",
        "cast_Long", "cast_Short", "cdist_forward", "conj", "conj_physical", "convolution",
        "convolution_mode", "ctc_loss", "dim_arange", "embedding_bag", "euclidean_dist",
        "fused_rms_norm", "fused_sdp_choice", "grid_sampler_2d_cpu_fallback", "grouped_mm",
        "int_mm", "is_all_true", "is_any_true", "linalg_det", "linalg_eigh", "linalg_slogdet",
        "linalg_solve_ex", "linalg_svd", "local_scalar_dense", "log_softmax", "logcumsumexp",
        "lu_with_info", "masked_softmax", "native_batch_norm_legit",
        "native_multi_head_attention", "neg_view", "pack_padded_sequence", "pad_circular",
        "pad_enum", "pad_packed_sequence", "pdist_forward", "prelu_kernel", "reshape_copy",
        "reshape_from_tensor", "safe_softmax", "sample_dirichlet",
        "scaled_dot_product_attention_math", "scaled_mm", "shape_as_tensor", "sobol_engine_draw",
        "softmax", "stack", "standard_gamma", "thnn_fused_gru_cell", "thnn_fused_lstm_cell",
        "to_copy", "to_cpu", "transformer_encoder_layer_fwd", "trilinear", "unique", "unique2",
        "unsafe_view", "upsample_bicubic2d_aa", "upsample_bilinear2d_aa",
        "upsample_nearest_exact1d", "upsample_nearest_exact2d", "upsample_nearest_exact3d",
        "weight_norm",
    )
)  # fmt: skip


def may_be_in_file(name: str) -> bool:
    """Is this an op of torch that a saved model may call, if it is registered?"""
    space, base = name.partition("::")[0], name.partition(".")[0]
    if space in TORCH_SPACES or SPECIAL.fullmatch(base):
        return False
    return not PRIVATE.fullmatch(base) or base in ALLOWED_PRIVATE

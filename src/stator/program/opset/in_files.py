"""may_be_in_file(): the ops of torch that a saved model may call.

NOTE: why a list of what is allowed. Torch has ops that count on their callers: given arguments that
no caller of torch gives, they read or write memory that is not theirs. So a file may call the ops
that captures record, and no others. `tests/export/op_fuzz.py` calls every overload of these on
arguments that lie against pages without access; an op that reaches outside of them has conditions
(`conditions.py`), or is not in the list.

Custom ops are those that the process which loads the model has registered itself.
"""

from __future__ import annotations

# without the mark of in-place ops: `add` is for `add_` too
ATEN_NAMES = """
__and__ __iand__ __ilshift__ __ior__ __irshift__ __ixor__ __lshift__ __or__ __rshift__ __xor__
_adaptive_avg_pool2d _adaptive_avg_pool3d _addmm_activation _assert_async _assert_scalar
_assert_tensor_metadata _conj _conj_physical _convolution _dirichlet_grad _embedding_bag
_fused_rms_norm _grouped_mm _int_mm _is_all_true _is_any_true _local_scalar_dense _log_softmax
_lu_with_info _masked_softmax _native_batch_norm_legit _native_multi_head_attention
_pack_padded_sequence _pad_packed_sequence _safe_softmax _sample_dirichlet
_scaled_dot_product_attention_math _scaled_mm _sobol_engine_draw _softmax _standard_gamma _to_copy
_to_cpu _transformer_encoder_layer_fwd _unique2 _unsafe_view _upsample_bicubic2d_aa
_upsample_bilinear2d_aa _upsample_nearest_exact1d _upsample_nearest_exact2d
_upsample_nearest_exact3d _weight_norm abs absolute acos acosh adaptive_avg_pool1d
adaptive_avg_pool2d adaptive_avg_pool3d adaptive_max_pool1d adaptive_max_pool2d
adaptive_max_pool3d add addbmm addcdiv addcmul addmm addmv addr adjoint affine_grid_generator
alias alias_copy all allclose alpha_dropout amax amin aminmax angle any arange arccos arccosh
arcsin arcsinh arctan arctan2 arctanh argmax argmin argsort argwhere as_strided as_strided_copy
as_strided_scatter asin asinh atan atan2 atanh atleast_1d atleast_2d atleast_3d avg_pool1d
avg_pool2d avg_pool3d baddbmm bartlett_window batch_norm bernoulli bilinear binary_cross_entropy
binary_cross_entropy_with_logits bincount binomial bitwise_and bitwise_left_shift bitwise_not
bitwise_or bitwise_right_shift bitwise_xor blackman_window block_diag bmm broadcast_tensors
broadcast_to bucketize cartesian_prod cat cauchy cdist ceil celu chain_matmul chalf
channel_shuffle cholesky cholesky_inverse cholesky_solve chunk clamp clamp_max clamp_min clip
clone col2im column_stack combinations complex concat concatenate conj conj_physical
constant_pad_nd contiguous conv1d conv2d conv3d conv_tbc conv_transpose1d conv_transpose2d
conv_transpose3d convolution copy copysign corrcoef cos cosh cosine_embedding_loss
cosine_similarity count_nonzero cov cross cross_entropy_loss ctc_loss cummax cummin cumprod cumsum
cumulative_trapezoid data deg2rad det detach detach_copy diag diag_embed diagflat diagonal
diagonal_copy diagonal_scatter diff digamma dim dist div divide dot dropout dsplit dstack einsum
elu embedding embedding_bag embedding_renorm empty empty_like empty_permuted empty_strided eq
equal erf erfc erfinv exp exp2 expand expand_as expand_copy expm1 exponential eye
fake_quantize_per_channel_affine fake_quantize_per_tensor_affine feature_alpha_dropout
feature_dropout fft_fft fft_fft2 fft_fftfreq fft_fftn fft_fftshift fft_hfft fft_hfft2 fft_hfftn
fft_ifft fft_ifft2 fft_ifftn fft_ifftshift fft_ihfft fft_ihfft2 fft_ihfftn fft_irfft fft_irfft2
fft_irfftn fft_rfft fft_rfft2 fft_rfftfreq fft_rfftn fill fill_diagonal fix flatten flip fliplr
flipud float_power floor floor_divide fmax fmin fmod frac fractional_max_pool2d
fractional_max_pool3d frexp frobenius_norm full full_like gather gcd ge gelu geometric geqrf ger
get_device glu gradient greater greater_equal grid_sampler grid_sampler_2d grid_sampler_3d
group_norm gru gru_cell gt hamming_window hann_window hardshrink hardsigmoid hardswish hardtanh
hash_tensor heaviside hinge_embedding_loss histc histogram histogramdd hsplit hstack huber_loss
hypot i0 igamma igammac im2col imag index index_add index_copy index_fill index_put index_reduce
index_select inner instance_norm inverse is_complex is_conj is_contiguous is_floating_point is_neg
is_nonzero is_same_size is_signed isclose isfinite isin isinf isnan isneginf isposinf isreal istft
item kaiser_window kl_div kron kthvalue l1_loss layer_norm lcm ldexp le leaky_relu lerp less
less_equal lgamma lift lift_fresh lift_fresh_copy linalg__powsum linalg_cholesky
linalg_cholesky_ex linalg_cond linalg_cross linalg_det linalg_diagonal linalg_eig linalg_eigh
linalg_eigvals linalg_eigvalsh linalg_householder_product linalg_inv linalg_inv_ex
linalg_ldl_factor linalg_ldl_factor_ex linalg_ldl_solve linalg_lstsq linalg_lu linalg_lu_factor
linalg_lu_factor_ex linalg_lu_solve linalg_matmul linalg_matrix_exp linalg_matrix_norm
linalg_matrix_power linalg_matrix_rank linalg_multi_dot linalg_norm linalg_pinv linalg_qr
linalg_slogdet linalg_solve linalg_solve_ex linalg_solve_triangular linalg_svd linalg_svdvals
linalg_tensorinv linalg_tensorsolve linalg_vander linalg_vecdot linalg_vector_norm linear linspace
log log10 log1p log2 log_normal log_sigmoid log_sigmoid_forward log_softmax logaddexp logaddexp2
logcumsumexp logdet logical_and logical_not logical_or logical_xor logit logspace logsumexp lstm
lstm_cell lt lu_solve lu_unpack mH mT margin_ranking_loss masked_fill masked_scatter masked_select
matmul matrix_H matrix_exp matrix_power max max_pool1d max_pool1d_with_indices max_pool2d
max_pool2d_with_indices max_pool3d max_pool3d_with_indices max_unpool2d max_unpool3d maximum mean
median meshgrid min minimum mish mm mode moveaxis movedim mse_loss msort mul multi_margin_loss
multilabel_margin_loss multinomial multiply mv mvlgamma nan_to_num nanmean nanmedian nanquantile
nansum narrow narrow_copy native_batch_norm native_channel_shuffle native_dropout
native_group_norm native_layer_norm ne neg negative new_empty new_empty_strided new_full new_ones
new_zeros nextafter nll_loss nll_loss2d nll_loss_nd nonzero nonzero_numpy nonzero_static norm
norm_except_dim normal not_equal nuclear_norm numel numpy_T one_hot ones ones_like orgqr ormqr
outer pad pad_sequence pairwise_distance pdist permute permute_copy pinverse pixel_shuffle
pixel_unshuffle poisson poisson_nll_loss polar polygamma positive pow prelu prod put qr quantile
rad2deg rand rand_like randint randint_like randn randn_like random randperm ravel real reciprocal
reflection_pad1d reflection_pad2d reflection_pad3d relu relu6 remainder renorm repeat
repeat_interleave replication_pad1d replication_pad2d replication_pad3d requires_grad reshape
reshape_as resize
resize_as resolve_conj resolve_neg result_type rms_norm rnn_relu rnn_relu_cell rnn_tanh
rnn_tanh_cell roll rot90 round row_stack rrelu rrelu_with_noise rsqrt rsub scalar_tensor
scaled_dot_product_attention scatter scatter_add scatter_reduce searchsorted segment_reduce select
select_copy select_scatter selu sgn sigmoid sign signbit silu sin sinc sinh size slice slice_copy
slice_scatter slogdet smooth_l1_loss soft_margin_loss softmax softplus softshrink sort
special_airy_ai special_bessel_j0 special_bessel_j1 special_bessel_y0 special_bessel_y1
special_chebyshev_polynomial_t special_chebyshev_polynomial_u special_chebyshev_polynomial_v
special_chebyshev_polynomial_w special_digamma special_entr special_erf special_erfc special_erfcx
special_erfinv special_exp2 special_expit special_expm1 special_gammainc special_gammaincc
special_gammaln special_hermite_polynomial_h special_hermite_polynomial_he special_i0 special_i0e
special_i1 special_i1e special_laguerre_polynomial_l special_legendre_polynomial_p special_log1p
special_log_ndtr special_log_softmax special_logit special_logsumexp special_modified_bessel_i0
special_modified_bessel_i1 special_modified_bessel_k0 special_modified_bessel_k1
special_multigammaln special_ndtr special_ndtri special_polygamma special_psi special_round
special_scaled_modified_bessel_k0 special_scaled_modified_bessel_k1
special_shifted_chebyshev_polynomial_t special_shifted_chebyshev_polynomial_u
special_shifted_chebyshev_polynomial_v special_shifted_chebyshev_polynomial_w special_sinc
special_softmax special_spherical_bessel_j0 special_xlog1py special_xlogy special_zeta split
split_copy split_with_sizes split_with_sizes_copy sqrt square squeeze squeeze_copy stack std
std_mean stft storage_offset stride sub subtract sum sum_to_size svd swapaxes swapdims
sym_is_contiguous sym_numel sym_size sym_storage_offset sym_stride t t_copy take take_along_dim
tan tanh tensor_split tensordot threshold tile to to_dense topk trace transpose transpose_copy
trapezoid trapz triangular_solve tril tril_indices triplet_margin_loss triu triu_indices
true_divide trunc type_as unbind unbind_copy unflatten unfold unfold_copy uniform
unique_consecutive unique_dim unique_dim_consecutive unsafe_chunk unsafe_split
unsafe_split_with_sizes unsqueeze unsqueeze_copy upsample_bicubic2d upsample_bilinear2d
upsample_linear1d upsample_nearest1d upsample_nearest2d upsample_nearest3d upsample_trilinear3d
vander var var_mean vdot view view_as view_as_complex view_as_complex_copy view_as_real
view_as_real_copy view_copy vsplit vstack where xlogy zero zeros zeros_like
"""
FILE_OPS = frozenset(ATEN_NAMES.split())
# whose ops are not the user's own
TORCH_SPACES = frozenset(
    {
        "c10d", "coor", "debugprims", "export", "flex_gemm", "fsdp", "inductor", "inductor_prims",
        "mkl", "mkldnn", "mkldnn_prepacked", "onednn", "prim", "prims", "profiler", "quantization",
        "quantized", "rngprims", "sparse", "static_runtime", "streams", "symm_mem", "tensorexpr",
        "debug_mode_ops",
    }
)  # fmt: skip


def stem_of(name: str) -> str:
    """`aten::add_.Tensor` -> `add`: a name without its namespace, overload and in-place mark."""
    base = name.partition("::")[2].partition(".")[0]
    return base if base.endswith("__") else base.removesuffix("_")


def may_be_in_file(name: str) -> bool:
    """Is this an op of torch that a saved model may call, if it is registered?"""
    space = name.partition("::")[0]
    if space == "aten":
        return stem_of(name) in FILE_OPS
    return space not in TORCH_SPACES and not space.startswith("_")

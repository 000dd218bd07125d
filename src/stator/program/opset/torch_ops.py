"""The rows of torch's ops: derived from their schemas, and one table of exceptions.

A schema tells what an op writes, what a result may alias, and whether the op draws random numbers.
It does not tell whether the op can raise. Torch's tags do so for three families: pointwise ops,
views and reductions fail for wrong sizes only. `EXCEPTIONS` has what is known beyond that, in both
directions. An op that neither speaks of may raise, and a composite op may give back its argument.

NOTE: why not "what a fake tensor accepts cannot raise". Fake tensors have no values, so they say
nothing about a divisor of 0 or an index out of range. tests/program/test_op_samples.py holds the
table against torch's own database of samples.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields
from types import MappingProxyType

from stator.program.opset.conditions import CONDITIONS, Condition
from stator.program.opset.in_files import may_be_in_file, stem_of
from stator.program.opset.row import OpRow, Rule, by_value, settled
from stator.program.opset.torch_raising import (
    counted,
    dividing,
    filling,
    joining,
    masking,
    of_some,
    one_element,
    picking,
    pointwise,
    powering,
    put_by_mask,
    reading,
    sized,
    wrapping,
)
from stator.program.registry import Schema, cached_by_op, schema_of

STATISTICS = ("running_mean", "running_var")  # written in training, though no schema says so


@dataclass(frozen=True, slots=True)
class UndeclaredFacts:
    """What a schema and its tags do not tell about an op."""

    raises: Rule | None = None
    is_fresh: bool = False  # a composite op whose results never alias an argument
    hides_alias: bool = False  # an op whose result aliases an argument, though its schema says not
    reads_nothing: bool = False  # but sizes, strides and dtypes
    is_undefined: bool = False  # the result holds whatever was in memory
    writes_nothing: bool = False  # though the schema says so


FAMILIES: tuple[tuple[str, UndeclaredFacts], ...] = (
    # reads of sizes, and views and copies that exist for every size
    ("sym_size sym_stride sym_numel sym_storage_offset size stride numel storage_offset dim",
     UndeclaredFacts(reading, reads_nothing=True)),
    ("alias detach lift_fresh t transpose permute unsqueeze clone contiguous to _to_copy "
     "movedim swapaxes swapdims adjoint numpy_T mT mH type_as view_as_real",
     UndeclaredFacts(reading)),
    ("zeros_like ones_like rand_like randn_like",
     UndeclaredFacts(reading, reads_nothing=True)),
    ("empty_like empty_strided",
     UndeclaredFacts(reading, reads_nothing=True, is_undefined=True)),
    # composite ops that fail for wrong sizes only and give new memory
    ("linear matmul softmax log_softmax special_softmax special_log_softmax layer_norm "
     "cumsum scaled_dot_product_attention",
     UndeclaredFacts(sized, is_fresh=True)),
    ("batch_norm group_norm instance_norm rms_norm conv1d conv2d conv3d conv_transpose1d "
     "conv_transpose2d conv_transpose3d max_pool1d max_pool2d max_pool3d adaptive_avg_pool1d "
     "adaptive_avg_pool2d adaptive_avg_pool3d lstm gru rnn_tanh rnn_relu",
     UndeclaredFacts(settled, is_fresh=True)),
    ("square selu relu6 var std var_mean std_mean where clip absolute negative multiply divide "
     "true_divide subtract greater greater_equal less less_equal not_equal isfinite isclose "
     "nanmean diff arccos arcsin arctan arctan2 arccosh arcsinh arctanh",
     UndeclaredFacts(is_fresh=True)),
    ("cross_entropy_loss",
     UndeclaredFacts(by_value, is_fresh=True)),
    # the same, with schemas that tell about memory; those that the optimizer may drop if unused
    ("mm bmm addmm addmv addbmm baddbmm mv dot vdot inner outer addr _softmax _log_softmax "
     "native_layer_norm tril triu nanmean cumprod cummax cummin flip roll trace diag_embed "
     "glu logcumsumexp",
     UndeclaredFacts(sized)),
    ("max min",
     UndeclaredFacts(of_some)),
    # fail for wrong sizes and dtypes only
    ("copy native_batch_norm _native_batch_norm_legit native_group_norm "
     "_batch_norm_impl_index convolution _convolution conv_tbc avg_pool1d avg_pool2d "
     "avg_pool3d max_pool2d_with_indices max_pool3d_with_indices max_pool1d_with_indices "
     "adaptive_max_pool1d adaptive_max_pool2d adaptive_max_pool3d _adaptive_avg_pool2d "
     "_adaptive_avg_pool3d upsample_nearest1d upsample_nearest2d upsample_nearest3d "
     "upsample_linear1d upsample_bilinear2d upsample_bicubic2d upsample_trilinear3d "
     "pixel_shuffle pixel_unshuffle channel_shuffle grid_sampler grid_sampler_2d "
     "grid_sampler_3d affine_grid_generator im2col col2im dropout alpha_dropout "
     "feature_dropout feature_alpha_dropout native_dropout rnn_tanh_cell rnn_relu_cell "
     "lstm_cell gru_cell _thnn_fused_lstm_cell _thnn_fused_gru_cell prelu _prelu_kernel "
     "hardswish log_sigmoid log_sigmoid_forward mse_loss l1_loss smooth_l1_loss huber_loss "
     "kl_div binary_cross_entropy_with_logits soft_margin_loss poisson_nll_loss "
     "hinge_embedding_loss cosine_embedding_loss margin_ranking_loss triplet_margin_loss "
     "cosine_similarity pairwise_distance cdist _cdist_forward pdist dist einsum tensordot "
     "bilinear kron cross linalg_cross linalg_vecdot linalg_matmul "
     "frobenius_norm tile hstack vstack dstack column_stack row_stack "
     "broadcast_tensors meshgrid block_diag cartesian_prod atleast_1d atleast_2d atleast_3d "
     "rot90 fliplr flipud diag diagflat diff trapezoid trapz cumulative_trapezoid sort "
     "argsort msort unique_consecutive _unique2 unique_dim nonzero argwhere masked_select "
     "isin allclose isclose equal is_same_size searchsorted bucketize renorm zero "
     "slice_scatter select_scatter diagonal_scatter fft_fft fft_ifft fft_rfft "
     "fft_irfft fft_hfft fft_ihfft fft_fft2 fft_ifft2 fft_rfft2 fft_irfft2 fft_fftn "
     "fft_ifftn fft_rfftn fft_irfftn fft_fftshift fft_ifftshift stft fft_fftfreq "
     "fft_rfftfreq is_floating_point is_complex is_signed result_type can_cast promote_types "
     "get_device detach_copy absolute negative multiply complex polar hann_window "
     "hamming_window bartlett_window blackman_window kaiser_window tril_indices triu_indices "
     "median nanmedian mode matrix_exp linalg_matrix_exp sum_to_size "
     "special_expit special_log1p special_exp2 special_expm1 special_erf special_erfc "
     "special_erfinv special_sinc special_i0 special_gammaln special_psi special_digamma "
     "special_logit special_ndtr special_xlogy special_round special_logsumexp arccos "
     "arccosh arcsin arcsinh arctan arctan2 arctanh fix greater greater_equal less "
     "less_equal not_equal isreal subtract lift",
     UndeclaredFacts(settled)),
    ("detach _native_batch_norm_legit_functional",
     UndeclaredFacts(writes_nothing=True)),
    # given counts or positions, which raise if they are wrong: fine if they are constants
    ("zeros ones arange eye range new_zeros new_ones",
     UndeclaredFacts(counted, reads_nothing=True)),
    ("empty new_empty new_empty_strided empty_permuted resize _empty_affine_quantized",
     UndeclaredFacts(counted, reads_nothing=True, is_undefined=True)),
    ("rand randn randint randperm randint_like random narrow narrow_copy repeat chunk split "
     "split_with_sizes tensor_split topk kthvalue constant_pad_nd "
     "pad reflection_pad1d reflection_pad2d reflection_pad3d replication_pad1d "
     "replication_pad2d replication_pad3d unbind hsplit vsplit dsplit",
     UndeclaredFacts(counted)),
    ("full new_full full_like fill masked_fill scalar_tensor fill_diagonal",
     UndeclaredFacts(filling)),
    # any number is fine: a tensor is made of it first
    ("mul true_divide where eq ne lt le gt ge __and__ __or__ __xor__ __iand__ __ior__ "
     "__ixor__ bitwise_and bitwise_or bitwise_xor __lshift__ __rshift__ bitwise_left_shift "
     "bitwise_right_shift logical_and logical_or logical_xor float_power copysign xlogy",
     UndeclaredFacts(wrapping)),
    # depends on values
    ("floor_divide remainder fmod div divide",
     UndeclaredFacts(dividing)),
    ("pow",
     UndeclaredFacts(powering)),
    ("item is_nonzero _local_scalar_dense",
     UndeclaredFacts(one_element)),
    ("select",
     UndeclaredFacts(picking)),
    ("index",
     UndeclaredFacts(masking)),
    ("index_put _index_put_impl",
     UndeclaredFacts(put_by_mask)),
    ("cat stack concat concatenate hstack vstack dstack column_stack row_stack",
     UndeclaredFacts(joining)),
    ("softshrink celu rrelu nextafter",
     UndeclaredFacts(by_value)),
    ("data", UndeclaredFacts(reading, hides_alias=True)),
    ("lift _unsafe_view",
     UndeclaredFacts(settled, hides_alias=True)),
    ("linspace logspace as_strided", UndeclaredFacts(by_value)),
    ("unsafe_split unsafe_chunk unsafe_split_with_sizes",
     UndeclaredFacts(counted, hides_alias=True)),
)  # fmt: skip


def _merged(old: UndeclaredFacts, new: UndeclaredFacts) -> UndeclaredFacts:
    """Both; the later family decides where both speak."""
    return UndeclaredFacts(
        *(getattr(new, one.name) or getattr(old, one.name) for one in fields(UndeclaredFacts))
    )


def _exceptions() -> Iterator[tuple[str, UndeclaredFacts]]:
    found: dict[str, UndeclaredFacts] = {}
    for names, facts in FAMILIES:
        for name in names.split():
            found[name] = _merged(found.get(name, UndeclaredFacts()), facts)
    yield from found.items()


EXCEPTIONS: Mapping[str, UndeclaredFacts] = MappingProxyType(dict(_exceptions()))


@cached_by_op
def torch_row(name: str) -> OpRow:
    """The row of an op that is registered with torch; LookupError for any other."""
    schema = schema_of(name)
    is_aten = name.startswith("aten::")
    facts = EXCEPTIONS.get(stem_of(name), UndeclaredFacts()) if is_aten else UndeclaredFacts()
    writes = frozenset[str]() if facts.writes_nothing else _writes(schema)
    mutates = schema.is_mutable or bool(writes)
    is_random = "nondeterministic_seeded" in schema.tags
    return OpRow(
        name,
        "torch",
        raises=(facts.raises or _tagged(name)) if is_aten else by_value,
        reads=not facts.reads_nothing,
        writes=writes,
        mutates=mutates,
        aliases=_aliases(schema, facts, is_aten=is_aten),
        random=is_random,
        pure=is_aten and not (mutates or is_random or facts.is_undefined),
        in_file=may_be_in_file(name),
        conditions=_conditions(name, schema) if is_aten else (),
    )


def _conditions(name: str, schema: Schema) -> tuple[Condition, ...]:
    """Those of the op whose arguments this overload has."""
    names = frozenset(one.name for one in schema.arguments)
    stem, overload = stem_of(name), name.partition(".")[2]
    found = CONDITIONS.get(stem, ()) + CONDITIONS.get(f"{stem}.{overload}", ())
    return tuple(condition for condition in found if condition.names <= names)


def _tagged(name: str) -> Rule:
    """What torch's tags tell: those of the op, or of the one that it is the in-place form of."""
    schemas = [schema_of(name)]
    with contextlib.suppress(LookupError):
        schemas.append(
            schema_of(f"aten::{stem_of(name)}{name[name.find('.') :] if '.' in name else ''}")
        )
    if any("pointwise" in schema.tags for schema in schemas):
        return pointwise
    if any("reduction" in schema.tags or schema.is_view for schema in schemas):
        return sized
    return by_value


def _writes(schema: Schema) -> frozenset[str]:
    return frozenset(
        one.name for one in schema.arguments if one.is_written or one.name in STATISTICS
    )


def _aliases(schema: Schema, facts: UndeclaredFacts, *, is_aten: bool) -> frozenset[str]:
    """The arguments whose memory a result may share."""
    annotated = frozenset(one.name for one in schema.arguments if one.may_alias)
    if annotated:
        return annotated
    is_unknown = facts.hides_alias or not is_aten or (schema.is_composite and not facts.is_fresh)
    return frozenset(one.name for one in schema.arguments) if is_unknown else frozenset()

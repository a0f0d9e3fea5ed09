"""Operators that have no meaning here, and why: messages and the table of operators say it."""

from __future__ import annotations

from collections.abc import Mapping
from fnmatch import fnmatchcase

SHAPE = "the shape of its result depends on data"
STEERS = "its value steers the program"
COMPLEX = "it is of complex numbers"
ALGEBRA = "it solves or decomposes matrices"
SPECIAL = "the language has no such function"
SPARSE = "it is of sparse tensors"
QUANTISED = "it is of quantised numbers"
RANDOM = "random numbers count only where they become a mask"
LOSS = "the language has no such loss"
MEMORY = "it looks at how elements lie in memory"
PLACES = "the language has no places of the elements that a pooling takes"

REASONS: Mapping[str, str] = {
    **dict.fromkeys(
        (
            *("aten.unique_dim*", "aten.masked_scatter", "aten.bincount", "aten.histogram*", "aten.combinations"),
            *("aten.repeat_interleave.Tensor", "aten.repeat_interleave.self_Tensor", "aten.segment_reduce"),
        ),
        SHAPE,
    ),
    **dict.fromkeys(
        ("aten.item", "aten._local_scalar_dense", "aten.equal", "aten.allclose", "aten.is_nonzero"), STEERS
    ),
    **dict.fromkeys(("aten.fft_*", "aten._fft_*", "aten.stft", "aten.istft", "aten.angle"), COMPLEX),
    **dict.fromkeys(
        (
            *("aten.linalg_*", "aten._linalg_*", "aten.cholesky*", "aten.lu*", "aten.qr", "aten.svd", "aten.geqrf"),
            *("aten.ormqr", "aten.orgqr", "aten.inverse", "aten.pinverse", "aten.logdet", "aten.slogdet", "aten.det"),
            *("aten.triangular_solve", "aten.matrix_exp"),
        ),
        ALGEBRA,
    ),
    **dict.fromkeys(
        (
            *("aten.special_*", "aten.digamma", "aten.lgamma", "aten.mvlgamma", "aten.polygamma", "aten.i0"),
            *("aten.igamma*", "aten.erfinv", "aten.gcd", "aten.lcm", "aten.nextafter", "aten.frexp", "aten.ldexp*"),
            *("aten.mode", "aten.nanmedian", "aten.nanquantile*", "aten.quantile.default", "aten.gradient"),
            *(
                "torchvision.deform_conv2d",
                "torchvision.ps_roi_align",
                "torchvision.roi_pool",
                "torchvision.ps_roi_pool",
            ),
        ),
        SPECIAL,
    ),
    **dict.fromkeys(("aten.to_sparse*", "aten.sparse_*", "aten._sparse*", "aten.to_dense"), SPARSE),
    **dict.fromkeys(
        (
            *("quantized_decomposed.*", "quantized.*", "torchao.*", "aten.fake_quantize*", "aten.quantize_*"),
            *("aten.dequantize*", "aten._scaled_mm*", "aten._weight_int*", "aten.fused_moving_avg_obs_fake_quant"),
        ),
        QUANTISED,
    ),
    **dict.fromkeys(
        (
            *("aten.randn*", "aten.randint*", "aten.randperm", "aten.normal*", "aten.uniform", "aten.multinomial"),
            *("aten.cauchy", "aten.exponential", "aten.geometric", "aten.log_normal", "aten.poisson", "aten.rrelu"),
            *("aten.alpha_dropout", "aten.feature_dropout", "aten.feature_alpha_dropout"),
            "aten.fractional_max_pool*",
        ),
        RANDOM,
    ),
    **dict.fromkeys(
        (
            *("aten.ctc_loss*", "aten._ctc_loss*", "aten.multi_margin_loss", "aten.multilabel_margin_loss*"),
            *("aten.cosine_embedding_loss", "aten.triplet_margin_loss"),
        ),
        LOSS,
    ),
    **dict.fromkeys(("aten.as_strided*", "aten.set_*", "aten.resize*", "aten.is_contiguous"), MEMORY),
    **dict.fromkeys(("aten.max_pool*_with_indices", "aten.max_unpool*"), PLACES),
}
"""Reasons by patterns of operators, with overload where a name has several meanings; the first that fits counts."""


def reason_of(operator: str) -> str | None:
    """Why an operator such as `aten.bincount.default` has no meaning; None where nothing is known of it."""
    bare = operator.rpartition(".")[0]
    for pattern, reason in REASONS.items():
        if fnmatchcase(operator, pattern) or fnmatchcase(bare, pattern):
            return reason
    return None

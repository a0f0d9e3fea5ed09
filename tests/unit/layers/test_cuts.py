"""In which ways the work of each operation can be shared, and which operations are done as a whole."""

import pytest
from xdsl.dialects.builtin import f64
from xdsl.ir import Block

from npuc.compiler.layers import get_layer
from npuc.compiler.layers.base import rebuilt
from npuc.dialects.tensors import tensor_of
from npuc.dialects.train import OPERATIONS
from tests.cuts import CASES, Case, cut_text

WHOLE = {
    # numbers by their place, or none
    *("arange", "integers", "numbers", "causal_mask", "increment", "random_bits"),
    # exponents, scales and chance of a whole tensor
    *("quantize", "fast_quantize", "amax_scale", "gradient_noise"),
    # thresholds and formats of a whole tensor
    *("prune", "compress", "sr_ste"),
    # one number
    "mask_decay",
    # norms over a whole parameter, its largest elements
    *("lamb", "dropback"),
    # derivatives, which are made of what is shared already
    *("prelu_dx", "prelu_dw", "pow_dbase", "pow_dexponent", "prod_grad", "var_grad", "extreme_grad"),
    *(
        "border_pad_dx",
        "index_select_dx",
        "gather_dx",
        "embedding_dw",
        "index_put_dsrc",
        "index_reduce_dx",
        "index_reduce_dsrc",
    ),
    *("nonzero", "nms"),
    *("softmax_grad", "log_softmax_grad", "max_pool_grad", "avg_pool_grad"),
    *("upsample_nearest_grad", "upsample_bilinear_grad", "roi_align_grad", "local_response_norm_grad"),
    *("batch_norm_dx", "batch_norm_dx_from_sums", "batch_norm_dw", "layer_norm_dx", "layer_norm_dw"),
    *("channel_var_dx", "normalize_dx", "normalize_dstats"),
    *("group_norm_dx", "group_norm_dw", "rms_norm_dx", "rms_norm_dw"),
    *("cross_entropy_grad", "nll_loss_grad", "mse_grad", "l1_loss_grad", "smooth_l1_loss_grad", "huber_loss_grad"),
    *("binary_cross_entropy_grad", "binary_cross_entropy_target_grad"),
    *("binary_cross_entropy_with_logits_grad", "binary_cross_entropy_with_logits_target_grad"),
    *("kl_div_grad", "kl_div_target_grad"),
}
"""The operations that cannot be shared, by kind."""


@pytest.mark.parametrize("case", CASES, ids=str)
def test_cuts_of(case: Case) -> None:
    op = case.build()
    assert "; ".join(map(cut_text, get_layer(op).cuts(op))) == case.cuts


def test_every_operation_can_be_shared_or_is_known_as_whole() -> None:
    shared = {case.kind for case in CASES if case.cuts}
    assert {op.name.removeprefix("train.") for op in OPERATIONS} == shared | WHOLE
    assert not shared & WHOLE


def test_cuts_come_by_the_axis_of_the_first_result_and_those_that_combine_it_last() -> None:
    for case in CASES:
        op = case.build()
        axes = [cut.results[0] for cut in get_layer(op).cuts(op)]
        cut, combined = ([a for a in axes if isinstance(a, kind)] for kind in (int, str))
        assert axes == [*sorted(set(cut)), *combined], case


def test_a_part_of_parts_has_as_many_times_fewer_groups() -> None:
    (depthwise,) = (case for case in CASES if case.kind == "conv2d" and case.params.get("groups") == 8)
    op = depthwise.build()
    cut = next(cut for cut in get_layer(op).cuts(op) if cut.divided)
    x, w, y = (tensor_of(f64, shape) for shape in ((4, 2, 6, 6), (2, 1, 3, 3), (4, 2, 4, 4)))
    part = rebuilt(op, Block(arg_types=[x, w]).args, [y], [(cut, 2), (cut, 2)])
    part.verify()
    assert str(part.properties["groups"]) == "2 : i64"
    assert cut.common(op) == 8
    assert cut.common(part) == 2

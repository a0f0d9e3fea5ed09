"""
Mixed precision against PyTorch.

Types are judged by the dispatch of `torch.autocast("cuda")` itself, which runs on fake tensors without a GPU; values
and gradients by `torch.autocast("cpu")` wherever its lists give the types that CUDA's give.
"""

from collections.abc import Mapping

import numpy as np
import pytest
import torch
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from torch._subclasses.fake_tensor import FakeTensorMode
from xdsl.context import Context

from npuc.compiler.interpreter.execute import execute
from npuc.compiler.layers.base import Array
from npuc.compiler.transforms.autodiff import AutodiffPass
from tests.calls import COUNTED, Call, all_calls
from tests.calls.values import CalledNet, random_values
from tests.pytorch.autocast import TYPES, autocast, called, exactly, mixed, terms, types_of
from tests.pytorch.counterparts import RANDOM

torch.set_num_threads(1)

TYPED = frozenset({"cast", "arange", "zeros", "ones", "full", "one_hot", "tensor"})
"""Functions whose result type their arguments say."""
OTHERS = {
    "slice": "PyTorch asks for a GPU's driver to index a tensor",
    "binary_cross_entropy": "PyTorch refuses it under autocast",
    "roi_align": "its counterpart reads the values of boxes, which fake tensors do not have",
    **dict.fromkeys(
        ("index", "gather_nd", "index_put", "scatter", "scatter_nd"),
        "their counterparts make tensors on another device, or ask for a GPU's driver to index one",
    ),
    **dict.fromkeys(("index_select list", "grouped_mm"), "its counterpart makes a tensor on another device"),
    **dict.fromkeys(COUNTED, "its counterpart reads values, which fake tensors do not have"),
    "fold": "PyTorch asks for a GPU's driver to add windows of an image",
    **dict.fromkeys(("grid_sample", "grid_sample of three axes"), "PyTorch asks for a GPU's library of convolutions"),
    "unfold": "PyTorch asks for a GPU's driver to unfold an image",
    **dict.fromkeys(
        ("einsum", "einsum one"), "PyTorch rounds operands of which no product is made, too; here they stay as they are"
    ),
    "embedding_bag": "its sum over a bag is the language's sum, which PyTorch's autocast keeps in f32",
    "log_sigmoid": "its softplus, which PyTorch's autocast keeps in f32, is the same operation here",
}
"""Calls whose types PyTorch does not say, and why."""
SINGLE = ("group_norm", "instance_norm")
"""Of one channel a group they are one operation, which has the type of group normalisation unless it has no scale."""
ROUNDED = {
    "fold": "PyTorch adds in another order in bf16",
    "conv_transpose": "PyTorch rounds before the bias where it has no kernel for a window",
    "local_response_norm": "PyTorch squares in bf16",
}
"""Where PyTorch rounds more often, so that units in the last place are those of the largest value."""
CANCELLING = ("norm", "logcumsumexp")
"""Functions whose gradients are small differences of large numbers, or exponentials of logarithms that are rounded."""
NAMES = [name for name in all_calls() if name.split()[0] not in RANDOM | TYPED]
GRADIENT = 2.0**-6
NOISE = 2.0**-20
"""What f32 leaves of a sum that cancels, as a share of the largest result."""


def types_on_cuda(call: Call, net: CalledNet, values: Mapping[str, Array], *, short: bool) -> list[torch.dtype]:
    """The types of a call's results under autocast on a GPU, which need not be there."""
    with FakeTensorMode():
        tensors = {
            n: torch.empty(
                v.shape, dtype=torch.float32 if v.dtype.kind == "f" else torch.tensor(v).dtype, device="cuda"
            )
            for n, v in values.items()
        }
        torch.set_autocast_dtype("cuda", torch.bfloat16)
        torch.set_autocast_enabled("cuda", True)
        try:
            return [y.dtype for y in called(call, net, tensors, short=short)]
        finally:
            torch.set_autocast_enabled("cuda", False)


@pytest.mark.parametrize("short", [False, True], ids=["f32", "bf16"])
@pytest.mark.parametrize("name", [name for name in NAMES if name not in OTHERS])
@settings(max_examples=3)
@given(data=st.data())
def test_types_are_those_of_autocast_on_cuda(name: str, short: bool, data: st.DataObject) -> None:
    call = all_calls()[name](data)
    net = mixed(call, short=short)
    theirs = types_on_cuda(call, net, random_values(call, net, seed=0), short=short)
    for ours, type in zip(types_of(net), theirs, strict=True):
        if type.is_floating_point and not _is_view_of_a_sum(call, net) and not _is_single(call):
            assert TYPES[ours] == type


def _is_single(call: Call) -> bool:
    """Whether a group has one channel."""
    x = call.tensors.get("x", ())
    return call.function in SINGLE and (call.function == "instance_norm" or call.arguments["groups"] == x[1])


def _is_view_of_a_sum(call: Call, net: CalledNet) -> bool:
    """Whether a sum has nothing to add up, so that it is a view of its operand."""
    return call.function == "sum" and not any(op.name == "train.reduce" for op in net.module.walk())


@pytest.mark.parametrize("short", [False, True], ids=["f32", "bf16"])
@pytest.mark.parametrize("name", NAMES)
@settings(max_examples=4)
@given(data=st.data())
def test_values_are_those_of_autocast_on_the_cpu(name: str, short: bool, data: st.DataObject) -> None:
    call = all_calls()[name](data)
    assume(not (short and call.arguments.get("antialias")))  # PyTorch smooths no bf16
    net = mixed(call, short=short)
    values = random_values(call, net, seed=data.draw(st.integers(0, 1000)))
    judged = autocast(call, net, values, short=short)
    found = types_of(net)
    if any(y.is_floating_point() and TYPES[t] != y.dtype for y, t in zip(judged.outputs, found, strict=True)):
        return  # the lists of the CPU are not those of CUDA here
    if _rounds_statistics(call):
        judged = exactly(call, net, values, short=short)
    if net.has_loss:
        AutodiffPass().apply(Context(), net.module)
    run = execute(net.module, values)
    for number, (theirs, type) in enumerate(zip(judged.outputs, found, strict=True)):
        ours = np.asarray(run.outputs[f"out{number}"])
        rounded = call.function.startswith(tuple(ROUNDED))
        assert_near(ours, theirs.double().numpy(), type, f"result {number}", rounded=rounded)
    for argument, gradient in run.gradients.items():
        expected = judged.gradients[argument]
        least = 1.0 if call.function.endswith(CANCELLING) else 1e-3
        scale = max(float(np.abs(expected).max(initial=0.0)), least)
        if float(np.abs(gradient - expected).max(initial=0.0)) > GRADIENT * scale:
            scale = max(scale, float(terms(call, net, values)[argument].max(initial=0.0)) / 2)
        np.testing.assert_allclose(gradient, expected, rtol=0, atol=GRADIENT * scale, err_msg=f"gradient of {argument}")


def _rounds_statistics(call: Call) -> bool:
    """
    Whether PyTorch rounds the statistics of a channel to bf16, as it does without running ones.

    Then float64 judges: all that we round is the result.
    """
    return call.function == "instance_norm" or (_is_single(call) and not call.arguments["affine"])


def assert_near(ours: Array, theirs: Array, type: str, what: str, *, rounded: bool) -> None:
    """
    Within one unit in the last place of bf16, but for `NOISE`; f32 to 1e-5 of the largest value.

    What PyTorch has `rounded` before may be of twice the size, where half a unit is a whole one here: with its own
    rounding and ours these are two.
    """
    assert ours.shape == theirs.shape, what
    if type != "bf16" and not rounded:
        scale = max(float(np.abs(theirs).max(initial=0.0)), 1e-3)
        np.testing.assert_allclose(ours, theirs, rtol=1e-5, atol=1e-5 * scale, err_msg=what)
        return
    largest = np.maximum(np.maximum(np.abs(ours), np.abs(theirs)), 2.0**-126)
    if rounded:
        largest = np.full_like(largest, largest.max(initial=2.0**-126))
    unit = 2.0 ** (np.floor(np.log2(largest)) - 7)
    apart = np.maximum(np.abs(ours - theirs) - NOISE * float(np.abs(theirs).max(initial=0.0)), 0.0)
    worst = float((apart / unit).max(initial=0.0))
    assert worst <= (2.0 if rounded else 1.0), f"{what}: {worst} units in the last place apart"

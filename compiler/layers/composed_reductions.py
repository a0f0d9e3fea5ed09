"""Reductions made of other layers."""

from xdsl.dialects.builtin import i1
from xdsl.ir import SSAValue

from npuc.compiler.core.builder import GraphBuilder
from npuc.compiler.layers.activation import clip
from npuc.compiler.layers.arguments import OptInts, Value, normal_axes
from npuc.compiler.layers.arithmetic import add, cast, sub
from npuc.compiler.layers.compare import not_equal
from npuc.compiler.layers.extreme import amax, amin
from npuc.compiler.layers.pointwise import exp, log
from npuc.compiler.layers.reduction import finished, sum
from npuc.compiler.layers.shape import detach
from npuc.dialects.tensors import shape_of, tensor_type

FINITE = 3.3895e38
"""No more than the largest number of f32 and of bf16: an infinite element less itself is no number."""


def logsumexp(b: GraphBuilder, x: Value, axis: OptInts = None, keepdim: bool = False) -> SSAValue:
    """log(sum(exp(x))) over an axis, a list of axes, or all, without overflow, of infinite elements, too."""
    axes = normal_axes("axis", axis, len(shape_of(x)))
    largest = detach(b, clip(b, amax(b, x, axes, keepdim=True), -FINITE, FINITE))
    total = sum(b, exp(b, sub(b, x, largest)), axes, keepdim=True)
    return finished(b, add(b, log(b, total), largest), axes, keepdim)


def _truths(b: GraphBuilder, x: SSAValue) -> SSAValue:
    """1 where x is true or not 0, else 0, as i8."""
    return cast(b, x if tensor_type(x).element_type == i1 else not_equal(b, x, 0), "i8")


def any(b: GraphBuilder, x: Value, axis: OptInts = None, keepdim: bool = False) -> SSAValue:
    """Whether an element over axes is true, or of numbers not 0. A bool tensor."""
    return cast(b, amax(b, _truths(b, x), axis, keepdim), "bool")


def all(b: GraphBuilder, x: Value, axis: OptInts = None, keepdim: bool = False) -> SSAValue:
    """Whether all elements over axes are true, or of numbers not 0. A bool tensor."""
    return cast(b, amin(b, _truths(b, x), axis, keepdim), "bool")


LAYERS = ()
FUNCTIONS = (logsumexp, any, all)

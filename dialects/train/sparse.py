"""
Pruning, and storing tensors in sparse formats.

Sources: magnitude pruning of Han et al., "Learning both weights and connections for efficient neural networks", NIPS
2015; N:M of Mishra et al., "Accelerating sparse deep neural networks", 2021 (arXiv 2104.08378); what a mask drops
times beta, which falls to 0: Kao et al., "Training recipe for N:M structured sparsity with decaying pruning mask", 2022
(arXiv 2209.07617).
"""

from typing import ClassVar

from xdsl.dialects.builtin import AnyFloat, DenseArrayBase, IntegerAttr, StringAttr, TensorType, UnitAttr, i1, i64
from xdsl.irdl import irdl_op_definition, operand_def, opt_prop_def, prop_def, result_def, traits_def, var_operand_def
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException

from npuc.dialects.blockfloat import BlockFloatType
from npuc.dialects.sparse import SparseType
from npuc.dialects.sparse_formats import format_problem
from npuc.dialects.tensors import Tensor, shape_text, tensor_of
from npuc.dialects.train.base import TrainOp, Types
from npuc.dialects.train.rules import check_float, check_scalar

MAGNITUDE, UNIFORM, N_OF_M, BLOCKS, GIVEN = PATTERNS = ("magnitude", "uniform", "n:m", "blocks", "given")
"""What is kept: the largest magnitudes, any by chance, N of each M along an axis, whole blocks, what a mask says."""


@irdl_op_definition
class PruneOp(TrainOp):
    """
    x where a mask keeps it, and zero, or beta * x, elsewhere.

    Of n elements (or blocks) exactly ceil(n * kept / of) are kept, all where nothing is said. `pattern` says which:
    magnitude: the largest, of equal ones the first; uniform: by chance, a function of `seed` and the place, with
    `independent` each for itself; n:m: the `kept` largest of each `of` along `axis`, the last group of which may be
    short, with `across` at most so many along that axis as well (a transposable mask); blocks: of the sizes `block`
    along the last axes, those of the largest norm; given: where a mask of bools is true, without a density.
    Operands: x; the mask, if it is given; beta, a scalar, if there is one. What is dropped is zero without beta, and
    the result may be stored so: its elements are those of x, or a sparse type of them.

        %y = train.prune %x kept 1 of 10 : (tensor<4x32xf32>) -> tensor<4x32x!npu.sparse<f32, 1/10, bitmap>>
        %z = train.prune %x, %beta pattern "n:m" axis 1 kept 2 of 4
            : (tensor<4x32xf32>, tensor<f32>) -> tensor<4x32xf32>
    """

    name = "train.prune"
    TAKES_RESULT: ClassVar[bool] = True

    x = operand_def(TensorType)
    beside = var_operand_def(TensorType)
    pattern = prop_def(StringAttr, default_value=StringAttr(MAGNITUDE))
    axis = prop_def(IntegerAttr, default_value=IntegerAttr(0, i64))
    across = opt_prop_def(IntegerAttr)
    block = opt_prop_def(DenseArrayBase)
    kept = opt_prop_def(IntegerAttr)
    of = opt_prop_def(IntegerAttr)
    independent = opt_prop_def(UnitAttr)
    seed = prop_def(IntegerAttr, default_value=IntegerAttr(0, i64))
    out = result_def(TensorType)
    traits = traits_def(Pure())

    @staticmethod
    def infer(
        x: Tensor,
        *beside: Tensor,
        results: Types,
        pattern: str = MAGNITUDE,
        axis: int = 0,
        across: int | None = None,
        block: tuple[int, ...] = (),
        kept: int = 1,
        of: int = 1,
        independent: bool = False,
        seed: int = 0,
    ) -> Types:
        """The shape of x, its elements or a sparse type of them; a mask has the shape of x, beta is a scalar."""
        if pattern not in PATTERNS:
            raise VerifyException(f"pattern is '{pattern}', expected one of {', '.join(PATTERNS)}")
        if not 1 <= kept <= of:
            raise VerifyException(f"kept is {kept} of {of}, expected 1 to {of}")
        shape = x.get_shape()
        if pattern == N_OF_M and not 0 <= axis < len(shape):
            raise VerifyException(f"axis is {axis}, expected one of x, which has {len(shape)}")
        if across is not None and (pattern != N_OF_M or across == axis or not 0 <= across < len(shape)):
            raise VerifyException(f"across is {across}, expected another axis of x than {axis}, with n:m alone")
        if (pattern == BLOCKS) != bool(block) or len(block) > len(shape) or any(size < 1 for size in block):
            raise VerifyException(f"block is {list(block)}, expected sizes along the last axes of x with blocks alone")
        if independent and pattern != UNIFORM:
            raise VerifyException(f"independent has no effect on pattern '{pattern}', expected 'uniform'")
        rest = _checked_mask(x, beside) if pattern == GIVEN else beside
        if len(rest) > 1:
            raise VerifyException(f"found {len(rest)} operands where beta is, expected one or none")
        for beta in rest:
            check_scalar("beta", beta)
            check_float(x)
        out = _stored(x, results)
        if rest and isinstance(out.element_type, SparseType):
            raise VerifyException("what is dropped times beta is not zero: expected a dense result")
        return (out,)


@irdl_op_definition
class CompressOp(TrainOp):
    """
    x as it is, stored in a sparse format: the density is a statement, which the interpreter holds against the values.

        %y = train.compress %x : (tensor<4x32xf32>) -> tensor<4x32x!npu.sparse<f32, 1/2, bitmap>>
    """

    name = "train.compress"
    TAKES_RESULT: ClassVar[bool] = True

    x = operand_def(TensorType)
    out = result_def(TensorType)
    traits = traits_def(Pure())

    @staticmethod
    def infer(x: Tensor, *, results: Types) -> Types:
        """The shape of x, a sparse type of its elements."""
        out = _stored(x, results)
        if not isinstance(out.element_type, SparseType):
            raise VerifyException(f"the result has elements of {out.element_type}, expected !npu.sparse")
        return (out,)


def _checked_mask(x: Tensor, beside: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
    """The operands behind the mask. Raises where it is none of x."""
    if not beside:
        raise VerifyException("found no mask, expected one with pattern 'given'")
    mask, *rest = beside
    if mask.element_type != i1 or mask.get_shape() != x.get_shape():
        raise VerifyException(
            f"the mask is {shape_text(mask)} of {mask.element_type}, expected {shape_text(x)} of bool as x is"
        )
    return tuple(rest)


def _stored(x: Tensor, results: Types) -> Tensor:
    """The type of the result. Raises for elements that x has not, and for a format that does not fit its shape."""
    if not isinstance(x.element_type, AnyFloat | BlockFloatType):
        raise VerifyException(f"elements are {x.element_type}, expected floats or !npu.bfp")
    element = results[0].element_type if results else x.element_type
    value = element.element if isinstance(element, SparseType) else element
    if value != x.element_type:
        raise VerifyException(f"values of the result are {value}, expected {x.element_type} as of x")
    if isinstance(element, SparseType):
        problem = format_problem(element.format, x.get_shape())
        if problem is not None:
            raise VerifyException(problem)
    return tensor_of(element, x.get_shape())

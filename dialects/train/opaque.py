"""
Operations that are known by their cost alone: custom kernels, operators without a meaning in the language.

A program with such operations is priced, not run. What they cost is written on them, by whoever wrote them: a reader of
graphs takes it from formulas.
"""

from collections.abc import Mapping
from typing import ClassVar, cast

from xdsl.dialects.builtin import DenseArrayBase, IntegerAttr, StringAttr, TensorType
from xdsl.ir import Attribute
from xdsl.irdl import irdl_op_definition, prop_def, traits_def, var_operand_def, var_result_def
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException

from npuc.dialects.tensors import Tensor, shape_text
from npuc.dialects.train.base import TrainOp, Types, encode, ints

MAX_COUNT = 1 << 53
"""The most multiply-accumulates or vector operations of one operation: what numbers of all formats hold exactly."""
MAX_NAME = 256
"""The most characters of an operator's name."""
_NONE, _NO_BATCH = encode(0), encode(())
KINDS = ("opaque", "opaque_grad")
"""The operations of this family, as `npu.vector` names them."""


class OpaqueBase(TrainOp):
    """
    The operator's name and the work of one execution.

    `batch` has for each operand, then for each result, the axis along which parts of the work are independent, -1 for a
    tensor that all parts share; it is empty where the work cannot be split.
    """

    traits = traits_def(Pure())

    @property
    def operator_name(self) -> str:
        """The operator that it stands for."""
        return cast(StringAttr, self.properties["operator"]).data

    @property
    def batch_axes(self) -> tuple[int, ...]:
        """`batch`, empty where nothing is written."""
        batch = self.properties.get("batch")
        return () if batch is None else ints(cast(DenseArrayBase, batch))


def macs_of(kind: str, properties: Mapping[str, Attribute]) -> int:
    """The multiply-accumulates that an operation of a kind says by its properties; 0 of those of other families."""
    found = properties.get("macs") if kind in KINDS else None
    return found.value.data if isinstance(found, IntegerAttr) else 0


def operator_of(kind: str, properties: Mapping[str, Attribute]) -> str | None:
    """The operator that an operation of a kind stands for; None where it has a meaning of its own."""
    found = properties.get("operator") if kind in KINDS else None
    return found.data if isinstance(found, StringAttr) else None


def _check(operator: str, counts: Mapping[str, int], batch: tuple[int, ...], types: Types) -> None:
    if not 0 < len(operator) <= MAX_NAME or not operator.isprintable():
        raise VerifyException(f"operator is {operator[:40]!r}, expected a name of 1 to {MAX_NAME} printable characters")
    for name, count in counts.items():
        if not 0 <= count <= MAX_COUNT:
            raise VerifyException(f"{name} is {count}, expected 0 to {MAX_COUNT}")
    if not batch:
        return
    if len(batch) != len(types):
        raise VerifyException(f"batch is {list(batch)}, expected an axis for each of {len(types)} operands and results")
    split = [(type, axis) for type, axis in zip(types, batch, strict=True) if axis != -1]
    for type, axis in split:
        if not 0 <= axis < len(type.get_shape()):
            raise VerifyException(f"batch is {list(batch)}: {shape_text(type)} has no axis {axis}")
    if len({type.get_shape()[axis] for type, axis in split}) != 1:
        raise VerifyException(f"batch is {list(batch)}, expected axes of one size, of a tensor at least")


@irdl_op_definition
class OpaqueOp(OpaqueBase):
    """
    An operator of which only the cost is known; `grad_macs` and `grad_vector` are the work of its whole derivative.

        %y = train.opaque %x, %w operator "acme.fuse" macs 480 vector 48 grad_macs 960 grad_vector 96
            : (tensor<6x10xf32>, tensor<10x8xf32>) -> tensor<6x8xf32>
    """

    name = "train.opaque"

    args = var_operand_def(TensorType)
    operator = prop_def(StringAttr)
    macs = prop_def(IntegerAttr, default_value=_NONE)
    vector = prop_def(IntegerAttr, default_value=_NONE)
    batch = prop_def(DenseArrayBase, default_value=_NO_BATCH)
    grad_macs = prop_def(IntegerAttr, default_value=_NONE)
    grad_vector = prop_def(IntegerAttr, default_value=_NONE)
    outs = var_result_def(TensorType)

    TAKES_RESULT: ClassVar[bool] = True

    @staticmethod
    def infer(
        *args: Tensor,
        results: Types,
        operator: str,
        macs: int = 0,
        vector: int = 0,
        grad_macs: int = 0,
        grad_vector: int = 0,
        batch: tuple[int, ...] = (),
    ) -> Types:
        """Results of any types, one at least; counts from 0 to 2^53."""
        if not results:
            raise VerifyException("expected a result")
        counts = {"macs": macs, "vector": vector, "grad_macs": grad_macs, "grad_vector": grad_vector}
        _check(operator, counts, batch, (*args, *results))
        return results


@irdl_op_definition
class OpaqueGradOp(OpaqueBase):
    """
    The gradients of some operands of such an operator, whose numbers are `of`.

    Operands are those of the operator, then the gradients of its results.

        %dx = train.opaque_grad %x, %w, %dy operator "acme.fuse" macs 960 vector 96 of [0]
            : (tensor<6x10xf32>, tensor<10x8xf32>, tensor<6x8xf32>) -> tensor<6x10xf32>
    """

    name = "train.opaque_grad"

    args = var_operand_def(TensorType)
    operator = prop_def(StringAttr)
    macs = prop_def(IntegerAttr, default_value=_NONE)
    vector = prop_def(IntegerAttr, default_value=_NONE)
    batch = prop_def(DenseArrayBase, default_value=_NO_BATCH)
    of = prop_def(DenseArrayBase)
    outs = var_result_def(TensorType)

    TAKES_RESULT: ClassVar[bool] = True

    @staticmethod
    def infer(
        *args: Tensor,
        results: Types,
        operator: str,
        of: tuple[int, ...],
        macs: int = 0,
        vector: int = 0,
        batch: tuple[int, ...] = (),
    ) -> Types:
        """A result of the operand's type for each of `of`, which ascend."""
        if not of or list(of) != sorted({number for number in of if 0 <= number < len(args)}):
            raise VerifyException(f"of is {list(of)}, expected ascending numbers of {len(args)} operands")
        _check(operator, {"macs": macs, "vector": vector}, batch, (*args, *results))
        return tuple(args[number] for number in of)

"""What traced arrays write: primitives in place of one operation, with a few of the simplest already left out."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar, cast

import numpy as np
import numpy.typing as npt
from xdsl.dialects.builtin import AnyFloat, IntegerType, f32, f64, i1, i8, i32, i64
from xdsl.ir import Attribute, Operation, SSAValue

from npuc.compiler.core.frozen import frozen
from npuc.dialects.provenance import derive
from npuc.dialects.tensors import shape_of, tensor_of, tensor_type
from npuc.dialects.train.arithmetic import CastOp, DivOp, constant
from npuc.dialects.train.bitwise import BitwiseOrOp, ShiftLeftOp
from npuc.dialects.train.box import PadOp, SliceOp, SlicePutOp
from npuc.dialects.train.compare import GreaterEqualOp, LessOp
from npuc.dialects.train.constant import ArangeOp, IntegersOp, ListedNumbersOp
from npuc.dialects.train.join import ConcatOp
from npuc.dialects.train.order import FlipOp
from npuc.dialects.train.shape import ExpandOp, ReshapeOp, TransposeOp

OpT = TypeVar("OpT", bound=Operation)
Shape = tuple[int, ...]
Concrete = npt.NDArray[Any]

LISTED = 1 << 16
"""The most elements of a table, such as indices, that is written into the program."""
_EXACT = 1 << 53
"""Up to where the number of `train.constant` holds every integer."""


def is_whole(entry: Any) -> bool:
    """Whether an entry of an index, an axis or a size is one integer."""
    return isinstance(entry, int | np.integer)


class Untraceable(Exception):
    """What an operation computes depends on its data in a way that no operations express."""


def is_real(element: Attribute) -> bool:
    """Whether an element type is a float."""
    return isinstance(element, AnyFloat)


def element_of(dtype: np.dtype[Any]) -> Attribute:
    """The element type of a numpy type; that of floats is f64, where nothing says another one."""
    if dtype.kind == "b":
        return i1
    if dtype.kind in "iu":
        return {1: i8, 4: i32, 8: i64}[dtype.itemsize]
    if dtype.kind == "f":
        return f64
    raise Untraceable(f"it computes with elements of type {dtype}")


@frozen
class Numpy:
    """How traced arrays answer numpy: universal functions, other functions, reading and writing by an index."""

    apply: Callable[..., Any]
    call: Callable[..., Any]
    picked: Callable[..., Any]
    put: Callable[..., None]


class Recorder:
    """
    Builds primitives in place of the operation `source`, from which they inherit layer, role and place.

    `computed` is the float type of the operation: its widest one, at least f32, as 16-bit floats are computed in f32.
    """

    def __init__(self, source: Operation, numpy: Numpy):
        self.source = source
        self.numpy = numpy
        self.ops: list[Operation] = []
        self._constants: dict[tuple[Attribute, float | int], SSAValue] = {}
        self.computed = _computed(source)

    def emit(self, op: OpT) -> OpT:
        """Append an operation."""
        self.ops.append(derive(self.source, op))
        return op

    def one(self, op: Operation) -> SSAValue:
        """Append an operation and return its result."""
        return self.emit(op).results[0]

    # constants

    def scalar(self, value: float, element: Attribute) -> SSAValue:
        """A tensor of rank 0; infinities and NaN, which no attribute holds, are quotients by zero."""
        key = (element, value)
        known = self._constants.get(key)
        if known is None or value != value or value == 0:  # 0.0 and -0.0 are equal keys
            known = self._constants[key] = self._scalar(value, element)
        return known

    def _scalar(self, value: float, element: Attribute) -> SSAValue:
        type = tensor_of(element, ())
        if not is_real(element):
            whole = int(value)
            if abs(whole) > _EXACT:
                high = self.one(ShiftLeftOp(self.scalar(whole >> 32, element), self.scalar(32, element)))
                return self.one(BitwiseOrOp(high, self.scalar(whole & 0xFFFFFFFF, element)))
            return self.one(constant(type, float(whole)))
        number = float(value)
        if np.isfinite(number):
            return self.one(constant(type, number))
        over = self.scalar(0.0 if np.isnan(number) else np.copysign(1.0, number), element)
        return self.one(DivOp(over, self.scalar(0.0, element)))

    def table(self, values: Concrete, element: Attribute) -> SSAValue:
        """A tensor of known values: one number where all are equal, or they are listed."""
        if values.size and bool((values == values.flat[0]).all()) and not (values == 0).all():
            return self.expand(self.scalar(values.flat[0].item(), element), values.shape)
        if values.size and bool((values == 0).all()) and not np.signbit(values.astype(np.float64)).any():
            return self.expand(self.scalar(0, element), values.shape)
        found = self._steps(values, element) or self._triangle(values, element)
        if found is not None:
            return found
        if values.size > LISTED:
            raise Untraceable(f"it needs a table of {values.size:,} numbers, expected at most {LISTED:,}")
        type = tensor_of(element, values.shape)
        flat = values.reshape(-1).tolist()
        if is_real(element):
            if not np.isfinite(values).all():
                raise Untraceable("it needs a table with infinite numbers")
            return self.one(ListedNumbersOp(results=[type], values=tuple(map(float, flat))))
        return self.one(IntegersOp(results=[type], values=tuple(int(value) for value in flat)))

    def _steps(self, values: Concrete, element: Attribute) -> SSAValue | None:
        """Equal steps along one axis; None for other values."""
        long = [axis for axis, size in enumerate(values.shape) if size > 1]
        if len(long) != 1 or element == i1 or values.size < 3:
            return None
        flat = values.reshape(-1).astype(np.float64)
        step = flat[1] - flat[0]
        if not np.isfinite(flat).all() or not (flat[0] + step * np.arange(flat.size) == flat).all():
            return None
        made = ArangeOp(results=[tensor_of(element, (flat.size,))], start=float(flat[0]), step=float(step))
        return self.reshape(self.one(made), values.shape)

    def _triangle(self, values: Concrete, element: Attribute) -> SSAValue | None:
        """Booleans that hold on one side of a diagonal; None for other values."""
        if element != i1 or values.ndim != 2:
            return None
        rows, columns = values.shape
        for upper in (False, True):
            lower = values if not upper else ~values
            last = int(lower[0].sum()) - 1 if lower[0].any() else -int(lower[:, 0].argmax())
            if (lower == np.tri(rows, columns, last, dtype=np.bool_)).all():
                row = self.table(_counted(rows, last)[:, None], i32)
                kind = LessOp if upper else GreaterEqualOp
                return self.one(kind(row, self.table(_counted(columns)[None], i32)))
        return None

    # shapes and types

    def cast(self, value: SSAValue, element: Attribute) -> SSAValue:
        """The value in another element type."""
        if tensor_type(value).element_type == element:
            return value
        return self.one(CastOp(value, results=[tensor_of(element, shape_of(value))]))

    def reshape(self, value: SSAValue, shape: Sequence[int]) -> SSAValue:
        """The same elements under another shape."""
        if shape_of(value) == tuple(shape):
            return value
        return self.one(ReshapeOp(value, results=[tensor_of(tensor_type(value).element_type, shape)]))

    def expand(self, value: SSAValue, shape: Sequence[int]) -> SSAValue:
        """The value broadcast to a shape."""
        if shape_of(value) == tuple(shape):
            return value
        return self.one(ExpandOp(value, results=[tensor_of(tensor_type(value).element_type, shape)]))

    def transpose(self, value: SSAValue, axes: Sequence[int]) -> SSAValue:
        """The axes in another order."""
        if list(axes) == list(range(len(axes))):
            return value
        return self.one(TransposeOp(value, axes=tuple(axes)))

    def flip(self, value: SSAValue, axes: Sequence[int]) -> SSAValue:
        """The elements in reverse order along axes."""
        long = tuple(axis for axis in axes if shape_of(value)[axis] > 1)
        return self.one(FlipOp(value, axes=long)) if long else value

    def slice(self, value: SSAValue, starts: Sequence[int], sizes: Sequence[int], steps: Sequence[int]) -> SSAValue:
        """A box of the value, of every element or every few along each axis."""
        if shape_of(value) == tuple(sizes):
            return value
        result = tensor_of(tensor_type(value).element_type, sizes)
        return self.one(SliceOp(value, results=[result], starts=tuple(starts), **_stepped(steps, sizes)))

    def pad(
        self, value: SSAValue, starts: Sequence[int], sizes: Sequence[int], steps: Sequence[int] | None = None
    ) -> SSAValue:
        """The value placed in zeros of a shape."""
        if shape_of(value) == tuple(sizes):
            return value
        result = tensor_of(tensor_type(value).element_type, sizes)
        apart = {} if steps is None else _stepped(steps, shape_of(value))
        return self.one(PadOp(value, results=[result], starts=tuple(starts), **apart))

    def put(self, value: SSAValue, box: SSAValue, starts: Sequence[int], steps: Sequence[int]) -> SSAValue:
        """The value with another one in place of its box."""
        return self.one(SlicePutOp(value, box, results=None, starts=tuple(starts), **_stepped(steps, shape_of(box))))

    def concat(self, values: Sequence[SSAValue], axis: int) -> SSAValue:
        """The values one behind the other along an axis."""
        return values[0] if len(values) == 1 else self.one(ConcatOp(*values, axis=axis))


def _counted(size: int, first: int = 0) -> Concrete:
    return np.arange(first, first + size)


def _stepped(steps: Sequence[int], sizes: Sequence[int]) -> dict[str, tuple[int, ...]]:
    """The property of steps, where any is larger than 1."""
    own = tuple(step if size > 1 else 1 for step, size in zip(steps, sizes, strict=True))
    return {"steps": own} if any(step != 1 for step in own) else {}


def _computed(source: Operation) -> Attribute:
    """The float type in which an operation is computed."""
    widest: AnyFloat = f32
    for value in (*source.operands, *source.results):
        element = tensor_type(value).element_type
        if isinstance(element, AnyFloat) and element.bitwidth > widest.bitwidth:
            widest = element
    return widest


NOMINAL = np.dtype(np.float64, metadata={"nominal": True})
"""The numpy type of floats of any type."""


def is_nominal(dtype: np.dtype[Any]) -> bool:
    """Whether a numpy type is that of a traced array of floats."""
    return dtype.metadata is not None and "nominal" in dtype.metadata


def numpy_type(element: Attribute, *, unsigned: bool = False) -> np.dtype[Any]:
    """
    The numpy type under which a traced array of an element type is known: every float is float64.

    That float64 is marked, so that it is not taken for a type that a program asks for by name.
    """
    if is_real(element):
        return NOMINAL
    if not isinstance(element, IntegerType):
        raise Untraceable(f"it computes with elements of type {element}")
    width = cast(IntegerType, element).width.data
    if width == 1:
        return np.dtype(np.bool_)
    if unsigned:
        return np.dtype(np.uint64 if width == 64 else np.uint32)
    return np.dtype({8: np.int8, 64: np.int64}.get(width, np.int32))

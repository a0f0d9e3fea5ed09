"""What the operations of the `dist` dialect share: one value on each device, and a shape rule on the mesh."""

from typing import ClassVar, Protocol, TypeVar, cast

from xdsl.dialects.builtin import DenseArrayBase, IntegerAttr, TensorType, i64
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import operand_def, prop_def, result_def, traits_def
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException
from xdsl.utils.hints import isa

from npuc.dialects.distributed.chunks import CHUNKS, Chunks, ChunksAttr, Route, check_chunks
from npuc.dialects.distributed.mesh import Mesh, mesh_around
from npuc.dialects.distributed.rules import Shape, cut_shape, level_on_axis
from npuc.dialects.tensors import Tensor, shape_of, tensor_of, tensor_type
from npuc.dialects.train.base import Param, TrainOp, Types, decode, encode, ints
from npuc.dialects.train.rules import same_element

OpT = TypeVar("OpT", bound="DistOp")
PLAN = "dist.plan"
"""The attribute of a function that says by which plan it was shared among devices."""
BUCKET = "dist.bucket"
"""The attribute of a sum that holds the number of the bucket in which it moves; without it it moves alone."""
INTEGERS = DenseArrayBase.constr(i64)
NOWHERE = encode(())


class _OnMesh(Protocol):
    """An operation class with its shape rule; the signature differs from class to class."""

    def shape_on(self, mesh: Mesh, shape: Shape, **params: Param) -> Shape: ...


class DistOp(TrainOp):
    """
    Base of the operations of the `dist` dialect: one value on each device, before and after.

    `shape_on(mesh, shape, **params)` is the shape rule: it returns the shape of the result on a device, or raises
    VerifyException.
    """

    TAKES_RESULT: ClassVar[bool] = True
    TAKES_CHUNKS: ClassVar[bool] = False
    """Whether the operand may move in chunks."""
    COMES_BACK: ClassVar[bool] = False
    """Whether chunks cross the levels twice, there and back."""
    TAKES_BUCKET: ClassVar[bool] = False
    """Whether several may move together, in a bucket."""

    x = operand_def(TensorType)
    out = result_def(TensorType)
    traits = traits_def(Pure())

    @staticmethod
    def infer(x: Tensor, results: Types, **params: Param) -> Types:
        """Equal element types; the shape is a question of the mesh."""
        (out,) = results
        return (tensor_of(same_element(x, out), out.get_shape()),)

    def is_context_free(self) -> bool:
        return False  # the rules look at the function's mesh

    def verify_(self) -> None:
        super().verify_()
        mesh = mesh_around(self)
        params = {name: decode(attr) for name, attr in self.properties.items()}
        x, out = tensor_type(self.x), tensor_type(self.out)
        expected = tensor_of(x.element_type, result_shape(type(self), mesh, x.get_shape(), **params))
        if out != expected:
            raise VerifyException(f"expected result {expected}, got {out}")
        if CHUNKS in self.attributes:
            if not self.TAKES_CHUNKS:
                raise VerifyException(f"has {CHUNKS}, expected it on collectives only")
            check_chunks(self.attributes[CHUNKS], levels_of(self), returns=self.COMES_BACK)
        if BUCKET in self.attributes:
            _check_bucket(self.attributes[BUCKET], takes=self.TAKES_BUCKET)


def _check_bucket(attr: Attribute, *, takes: bool) -> None:
    """Raise `VerifyException` for what is no number of a bucket, or on an operation that is no sum."""
    if not isa(attr, IntegerAttr) or attr.value.data < 1:
        raise VerifyException(f"{BUCKET} is {attr}, expected an integer from 1 on")
    if not takes:
        raise VerifyException(f"has {BUCKET}, expected it on sums only: all_reduce and reduce_scatter")


def result_shape(kind: type[DistOp], mesh: Mesh, shape: Shape, **params: Param) -> Shape:
    """The shape of a device's result of an operation. Raises VerifyException where it does not fit the mesh."""
    return cast(_OnMesh, kind).shape_on(mesh, shape, **params)


def on_mesh(kind: type[OpT], mesh: Mesh, x: SSAValue, **params: Param) -> OpT:
    """A new operation on a mesh, with the type of its result. Raises VerifyException where it does not fit."""
    shape = result_shape(kind, mesh, shape_of(x), **params)
    return kind(x, results=[tensor_of(tensor_type(x).element_type, shape)], **params)


class CuttingOp(DistOp):
    """Base of the operations that shard an axis."""

    axis = prop_def(IntegerAttr)
    over = prop_def(INTEGERS)
    within = prop_def(INTEGERS, default_value=NOWHERE)
    segments = prop_def(INTEGERS, default_value=NOWHERE)

    @staticmethod
    def shape_on(mesh: Mesh, shape: Shape, axis: int, over: Shape, within: Shape = (), segments: Shape = ()) -> Shape:
        """The axis shrinks by the parts of the level."""
        level = level_on_axis(mesh, shape, axis, over, within)
        return cut_shape(mesh, shape, axis, level, within, segments)


def levels_of(op: DistOp) -> Shape:
    """The levels of the mesh that an operation works over, ascending."""
    return ints(cast(DenseArrayBase, op.properties["over"]))


def chunks_of(op: DistOp) -> Chunks | None:
    """The chunks in which the operand of a collective moves; None: as a whole."""
    attr = op.attributes.get(CHUNKS)
    return attr.data if isinstance(attr, ChunksAttr) else None


def routes_of(op: DistOp) -> tuple[Route, ...]:
    """The route of each chunk of a collective; what moves whole goes from the innermost level outwards, and back."""
    chunks = chunks_of(op)
    return (Route.and_back(levels_of(op)[::-1]),) if chunks is None else chunks.routes


def bucket_of(op: DistOp) -> int | None:
    """The number of the bucket in which a sum moves; None: it moves alone."""
    attr = op.attributes.get(BUCKET)
    return attr.value.data if isa(attr, IntegerAttr) else None

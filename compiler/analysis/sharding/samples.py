"""The samples that a step takes."""

from __future__ import annotations

from xdsl.dialects.builtin import TensorType
from xdsl.dialects.func import FuncOp

from npuc.dialects.distributed import argument_sharding, mesh_of
from npuc.dialects.tensors import shape_of
from npuc.dialects.train.signature import ArgumentKind, arguments_of


def samples_of(func: FuncOp) -> int:
    """The length of the first axis of the first input that has one, on all devices together; 0 without one."""
    mesh, inputs = mesh_of(func), [a.index for a in arguments_of(func) if a.kind is ArgumentKind.INPUT]
    for index in inputs:
        value = func.body.block.args[index]
        shape = shape_of(value) if isinstance(value.type, TensorType) else ()
        if shape:
            return shape[0] if mesh is None else argument_sharding(func, index).global_shape(mesh, shape)[0]
    return 0

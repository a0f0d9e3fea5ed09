"""Data parallel steps of all samples: each gradient of weights is summed once, and nothing else is."""

from math import prod

import numpy as np
import pytest
from xdsl.dialects.func import FuncOp

from npuc.compiler import compile_file
from npuc.compiler.core.errors import CapacityError
from npuc.compiler.interpreter.execute import the_function
from npuc.dialects.tensors import shape_of
from npuc.dialects.train.base import ints
from npuc.dialects.train.box import SliceOp
from npuc.dialects.train.signature import ArgumentKind, arguments_of
from npuc.frontends import read_source, read_text, sample_names
from npuc.frontends.dsl.values import Value
from tests.unit.samples.test_samples import SMALL

DEVICES = 4
ALONE = {"faster_rcnn"}
"""Samples of one image: their batch cannot be shared."""


def sizes_of(name: str) -> dict[str, Value]:
    return SMALL[name] | {"batch": DEVICES}


def number(value: object) -> float:
    assert isinstance(value, int | float)
    return value


def trained(func: FuncOp) -> int:
    """The elements of parameters that can get a gradient: of those that only slices read, what these leave in."""
    found = 0
    for argument in arguments_of(func):
        if argument.kind is not ArgumentKind.PARAM or argument.frozen:
            continue
        value = func.body.block.args[argument.index]
        readers = [use.operation for use in value.uses]
        if readers and all(isinstance(op, SliceOp) for op in readers):
            inside = np.zeros(shape_of(value), np.bool_)
            for op in readers:
                assert isinstance(op, SliceOp)
                both = zip(ints(op.starts), shape_of(op.out), strict=True)
                inside[tuple(slice(start, start + size) for start, size in both)] = True
            found += int(inside.sum())
        else:
            found += prod(shape_of(value))
    return found


@pytest.mark.parametrize("name", [name for name in sample_names() if name not in ALONE])
def test_each_gradient_of_weights_is_summed_once(name: str) -> None:
    defines = sizes_of(name)
    weights = trained(
        the_function(read_source(read_text(f"samples:{name}"), filename=f"samples:{name}", defines=defines))
    )
    report = compile_file(
        f"samples:{name}",
        defines=defines,
        devices=DEVICES,
        parallel="dp",
        convention="physical",
        backend="roofline",
        overrides={"roofline.plan": "single"},  # what is summed does not depend on the cache
    )
    summing = [row for row in report.ops if row.phase == "comm" and row.native["of"] == "dw"]
    handed = sum(row.repeat * number(row.native["operand_bytes"]) for row in summing)
    assert handed == weights * 4 == report.native["gradient_operand_bytes"]
    assert number(report.native["gradient_read_bytes"]) * DEVICES == 2 * weights * 4 * (DEVICES - 1)


@pytest.mark.parametrize("name", sorted(ALONE))
def test_one_image_is_not_shared(name: str) -> None:
    with pytest.raises(CapacityError, match="the batch has 1 elements"):
        compile_file(f"samples:{name}", defines=SMALL[name], devices=2, parallel="dp", convention="physical")

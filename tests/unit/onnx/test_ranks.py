"""Operands of one axis less or more than an operator has them: read, or refused, for every operator with a case."""

from collections.abc import Iterator
from copy import deepcopy
from functools import cache
from pathlib import Path
from zipfile import ZipFile

import pytest

from npuc.compiler.core.errors import SourceError
from npuc.compiler.core.options import Options
from npuc.compiler.driver.read import read_program, texts_of
from npuc.frontends.source import text_source
from tests.unit.onnx.test_field_fuzz import Field, fields_of, read, written

DATA = Path(__file__).parents[2] / "oracle" / "data" / "onnx"
GRAPH, INPUT, TYPE, TENSOR, SHAPE = 7, 11, 2, 1, 2
"""Numbers of fields: of a model, of a graph, of a value, of a type, and of a tensor's type."""
ONE: Field = [1, 2, [[1, 0, 1]]]
"""A dimension of one element."""


@cache
def cases() -> dict[str, bytes]:
    """The first file of each operator."""
    found: dict[str, bytes] = {}
    for name in ("cases.zip", "contributed.zip"):
        with ZipFile(DATA / name) as archive:
            for path in sorted(archive.namelist()):
                if path.endswith(".onnx"):
                    found.setdefault(path.partition("/")[0], archive.read(path))
    return found


def inside(fields: list[Field], *numbers: int) -> Iterator[list[Field]]:
    """The messages at the end of a path of fields."""
    if not numbers:
        yield fields
        return
    first, *others = numbers
    for number, _, inner in fields:
        if number == first and isinstance(inner, list):
            yield from inside(inner, *others)


def other_ranks(data: bytes) -> Iterator[bytes]:
    """A file with one axis less and with one more, for each input of its graph."""
    fields = fields_of(data)
    for shape in list(inside(fields, GRAPH, INPUT, TYPE, TENSOR, SHAPE)):
        before = deepcopy(shape)
        for changed in (before[:-1], before[1:], [*before, ONE]):
            shape[:] = changed
            yield written(fields)
        shape[:] = before


@pytest.mark.parametrize("operator", cases())
def test_other_ranks_are_read_or_refused(operator: str) -> None:
    for data in other_ranks(cases()[operator]):
        read(data, Options(inference=True, max_ops=2000))


@pytest.mark.parametrize(
    ("operator", "message"),
    [
        ("Col2Im", "operand 0 has rank 2, expected 3"),
        ("STFT", "operand 0 has rank 2, expected 3"),
        ("com.microsoft.MultiHeadAttention", "operand 0 has rank 2, expected 3 or 5"),
    ],
)
def test_the_rank_is_named(operator: str, message: str) -> None:
    source = text_source(next(other_ranks(cases()[operator])), "onnx", "m.onnx")
    with pytest.raises(SourceError, match=message):
        read_program(source, Options(inference=True), texts_of(source))

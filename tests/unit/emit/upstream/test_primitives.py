"""Each primitive in the forms of other compilers: their text is read again, and gives what the interpreter does."""

import re

import pytest
from xdsl.dialects.scf import ForOp

from npuc.compiler.core.errors import SourceError
from npuc.compiler.emit.upstream.linalg import LINALG, indexing, writes
from npuc.compiler.emit.upstream.stablehlo import STABLEHLO
from npuc.compiler.transforms.decompose.primitives import OUTLINED, PRIMITIVES
from tests.unit.emit.upstream.cases import CASES, program
from tests.unit.emit.upstream.forms import (
    COMPILERS,
    FORMS,
    mlir_parses,
    other_compiler,
    read,
    read_again,
    written,
    wrong_cases,
)


def test_every_primitive_has_a_form_and_a_case() -> None:
    names, outlined = ({operation.name for operation in some} for some in (PRIMITIVES, OUTLINED))
    assert names - outlined == LINALG.lowerings.keys() - {"train.sort"}
    assert names - outlined == STABLEHLO.lowerings.keys() - {"train.sort"}
    assert names <= {case.name for case in CASES}


@pytest.mark.parametrize("form", FORMS)
def test_the_text_is_read_again(form: str) -> None:
    module = read(program(CASES)[0])
    again = read_again(written(form, module))
    drawn = {case.text.rpartition(" -> ")[2] for case in CASES if case.name == "train.random_bits"}
    assert len(list(again.ops)) == 1 + len(drawn)


@pytest.mark.parametrize("form", FORMS)
def test_mlir_reads_the_text(form: str) -> None:
    mlir_parses(written(form, read(program(CASES)[0])))


@pytest.mark.parametrize("name", COMPILERS)
def test_compilers_compute_the_same(name: str) -> None:
    assert wrong_cases(other_compiler(name), CASES) == []


@pytest.mark.parametrize(("most", "operation"), [(writes.SORTED, "linalg.generic"), (-1, "func.func")])
def test_iree_writes_to_large_tables(monkeypatch: pytest.MonkeyPatch, most: int, operation: str) -> None:
    """By sorted places, a loop in the `linalg.generic` that combines; or by a loop around the whole tensor."""
    monkeypatch.setattr(indexing, "COMPARED", 0)
    monkeypatch.setattr(writes, "SORTED", most)
    cases = [case for case in CASES if case.name.startswith("train.index_")]
    loops = [op for op in read_again(written("linalg", read(program(cases)[0]))).walk() if isinstance(op, ForOp)]
    around = {parent.name for op in loops if (parent := op.parent_op()) is not None}
    assert around == {operation}
    assert wrong_cases(other_compiler("iree"), cases) == []


@pytest.mark.parametrize(("rows", "around"), [(2**15, "linalg.generic"), (2**16, "func.func")])
def test_what_takes_too_much_sorting_is_written_in_order(rows: int, around: str) -> None:
    assert (rows * (2 * rows + 4096) <= writes.SORTED) == (around == "linalg.generic")
    types = f"tensor<4096x64xf32>, tensor<{rows}x64xf32>, tensor<{rows}x1xi32>"
    module = read(
        f"func.func @f(%x: tensor<4096x64xf32>, %s: tensor<{rows}x64xf32>, %i: tensor<{rows}x1xi32>)"
        " -> tensor<4096x64xf32> {\n"
        f'  %y = train.index_reduce %x, %s, %i axes [-1, 1] reduce "add" : ({types}) -> tensor<4096x64xf32>\n'
        "  func.return %y : tensor<4096x64xf32>\n}\n"
    )
    (loop,) = (op for op in read_again(written("linalg", module)).walk() if isinstance(op, ForOp))
    parent = loop.parent_op()
    assert parent is not None
    assert parent.name == around


def test_the_signature_is_that_of_the_program() -> None:
    module = read(
        'func.func @step(%x: tensor<2xf32> {train.input = "x"}, %w: tensor<2xf32> {train.param = "fc.weight"})'
        " -> (tensor<f32> {train.loss}, tensor<2xf32> {train.updates = 1 : i64},"
        ' tensor<2xf32> {train.output = "y"}) {\n'
        "  %y = train.mul %x, %w : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>\n"
        "  %l = train.reduce %y : (tensor<2xf32>) -> tensor<f32>\n"
        "  func.return %l, %y, %y : tensor<f32>, tensor<2xf32>, tensor<2xf32>\n}\n"
    )
    for form, name in (("linalg", "step"), ("stablehlo", "main")):
        text = written(form, module)
        assert f'sym_name = "{name}"' in text
        names = re.findall(r'npuc.name = "([^"]*)"', text)
        assert names == ["x", "fc.weight", "loss", "new fc.weight", "output y"]


@pytest.mark.parametrize("form", FORMS)
def test_what_has_no_form_is_listed(form: str) -> None:
    module = read(
        "func.func @main(%x: tensor<2x3xf32>, %b: tensor<1x6x4xf32>, %s: tensor<1x3x6xf32>) -> tensor<4x2xi32> {\n"
        '  %p = train.nonzero %x size 4 {layer = "found"} : (tensor<2x3xf32>) -> tensor<4x2xi32>\n'
        '  %q = train.nms %b, %s size 4 iou 0.5 {layer = "boxes"}'
        " : (tensor<1x6x4xf32>, tensor<1x3x6xf32>) -> tensor<4x3xi32>\n"
        '  %r = train.nms %b, %s size 4 iou 0.5 {layer = "more"}'
        " : (tensor<1x6x4xf32>, tensor<1x3x6xf32>) -> tensor<4x3xi32>\n"
        "  func.return %p : tensor<4x2xi32>\n}\n"
    )
    with pytest.raises(SourceError, match=r"no form for train.nonzero of found; train.nms of boxes, more\n"):
        written(form, module)

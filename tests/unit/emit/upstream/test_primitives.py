"""Each primitive in the forms of other compilers: their text is read again, and gives what the interpreter does."""

import re

import pytest

from npuc.compiler.core.errors import SourceError
from npuc.compiler.emit.upstream.linalg import LINALG, indexing
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


def test_iree_writes_in_order(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(indexing, "COMPARED", 0)
    compiler = other_compiler("iree")
    assert wrong_cases(compiler, [case for case in CASES if case.name.startswith("train.index_")]) == []


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

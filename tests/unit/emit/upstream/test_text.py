"""The text of modules: what xDSL's printer writes but for the names of values, and the same program."""

import re

import pytest
from xdsl.dialects import test
from xdsl.dialects.builtin import ArrayAttr, ModuleOp, StringAttr, UnitAttr, f32
from xdsl.ir import Block, Region

from npuc.compiler.emit.upstream.linalg import LINALG
from npuc.compiler.emit.upstream.program import Form, translated
from npuc.compiler.emit.upstream.stablehlo import STABLEHLO
from npuc.compiler.emit.upstream.text import text_of
from tests.unit.emit.upstream.cases import CASES, program
from tests.unit.emit.upstream.forms import mlir_parses, nameless, printed, read, read_again


@pytest.mark.parametrize("form", [LINALG, STABLEHLO], ids=["linalg", "stablehlo"])
def test_the_text_is_that_of_the_printer(form: Form[object]) -> None:
    module = translated(read(program(CASES)[0]), form)
    text, known = text_of(module), printed(module)
    assert nameless(text) == nameless(known)
    assert read_again(text).is_structurally_equivalent(read_again(known))


def test_mlir_of_jax_reads_stablehlo() -> None:
    mlir_parses(text_of(translated(read(program(CASES)[0]), STABLEHLO)), "xla")


def odd() -> ModuleOp:
    """Equal hints, a hint that is like a number, several results and regions, empty ones, keys that are no names."""
    inner = Block(arg_types=[f32, f32])
    used = test.TestOp([*inner.args], [f32, f32, f32])
    for value in (*inner.args, *used.results[1:]):
        value.name_hint = "same"
    used.results[0].name_hint = "v1"
    inner.add_ops([used, test.TestOp([*used.results, inner.args[1]])])
    outer = test.TestOp(
        regions=[Region(inner), Region(), Region(Block([test.TestOp()])), Region(Block(arg_types=[f32]))],
        properties={"unit": UnitAttr(), "list": ArrayAttr([UnitAttr(), StringAttr('a "b"\\')])},
        attributes={
            "npuc.name": StringAttr("x"),
            "no name": UnitAttr(),
            'q"': f32,
            ".a": f32,
            "2nd": StringAttr(""),
        },
    )
    return ModuleOp([outer, test.TestOp(result_types=[f32])])


def test_what_the_printer_writes_of_odd_operations() -> None:
    module = odd()
    text = text_of(module)
    assert nameless(text) == nameless(printed(module))
    assert read_again(text).is_structurally_equivalent(read_again(printed(module)))


def test_each_value_has_a_name_of_its_own() -> None:
    module = odd()
    values = [value for op in module.walk() for value in op.results]
    values += [arg for op in module.walk() for region in op.regions for block in region.blocks for arg in block.args]
    assert len(set(re.findall(r"%\w+", text_of(module)))) == len(values) == 7

"""Random bits in the forms of other compilers: a private function for each shape, which every draw calls."""

from collections import Counter
from itertools import product

import pytest
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import CallOp, FuncOp

from tests.unit.emit.upstream.cases import Case
from tests.unit.emit.upstream.forms import COMPILERS, FORMS, other_compiler, read, read_again, written, wrong_cases

SHAPES = ("2x3", "4", "2x3", "", "4", "2x3", "3x2")
"""The shapes of draws, of which some are equal."""


def drawing(name: str = "step") -> ModuleOp:
    """A program that draws each of these shapes."""
    types = ["tensor<" + "x".join(filter(None, (shape, "i64"))) + ">" for shape in SHAPES]
    lines = [
        f"  %r{number} = train.random_bits %a, %b : (tensor<i64>, tensor<i64>) -> {type}\n"
        for number, type in enumerate(types)
    ]
    results = ", ".join(f"%r{number}" for number in range(len(types)))
    return read(
        f"func.func @{name}(%a: tensor<i64>, %b: tensor<i64>) -> ({', '.join(types)}) {{\n"
        + "".join(lines)
        + f"  func.return {results} : {', '.join(types)}\n}}\n"
    )


@pytest.mark.parametrize(("form", "name"), [*product(FORMS, ("step", "step_random_bits_2x3", "random_bits_2x3"))])
def test_every_draw_calls_the_function_of_its_shape(form: str, name: str) -> None:
    module = read_again(written(form, drawing(name)))
    entry, *others = (op for op in module.ops if isinstance(op, FuncOp))
    assert entry.sym_name.data == ("main" if form == "stablehlo" else name)
    assert entry.sym_visibility is None
    calls = [op for op in module.walk() if isinstance(op, CallOp)]
    assert {op.parent_op() for op in calls} == {entry}
    functions = {func.sym_name.data: func for func in others}
    assert len(functions) == len(others) == len(set(SHAPES))
    assert Counter(op.callee.string_value() for op in calls).keys() == functions.keys()
    ending = entry.get_return_op()
    assert ending is not None
    assert [op.results[0] for op in calls] == list(ending.operands)
    for op in calls:
        func = functions[op.callee.string_value()]
        assert func.sym_visibility is not None
        assert func.sym_visibility.data == "private"
        assert list(func.function_type.outputs) == list(op.result_types)
        assert len(list(func.body.walk())) > 100


@pytest.mark.parametrize("name", COMPILERS)
def test_compilers_draw_the_same_bits(name: str) -> None:
    words = "(tensor<i64>, tensor<i64>)"
    types = ["tensor<" + "x".join(filter(None, (shape, "i64"))) + ">" for shape in SHAPES]
    cases = [Case(f"train.random_bits %0, %1 : {words} -> {type}", exact=True) for type in types]
    assert wrong_cases(other_compiler(name), cases) == []

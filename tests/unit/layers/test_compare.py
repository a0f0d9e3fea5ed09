"""Elementwise functions of integers and booleans: exact, before and after lowering."""

from typing import Any

import numpy as np
import pytest
from xdsl.context import Context
from xdsl.dialects.builtin import i1, i32, i64
from xdsl.ir import Attribute, SSAValue

from npuc.compiler.core.errors import SourceError
from npuc.compiler.interpreter.execute import execute
from npuc.compiler.layers import get_functions, get_operators
from npuc.compiler.layers.base import Array
from npuc.compiler.transforms.autodiff import AutodiffPass
from npuc.compiler.transforms.lower_to_npu import LowerToNpuPass
from npuc.dialects.npu import VectorOp
from npuc.dialects.tensors import shape_of, tensor_of
from tests.networks import Net, dot_loss


def integer_result(function: str, element: Attribute, x: list[int], *rest: int | list[int]) -> Array:
    """A function of a tensor of integers and of tensors like it (lists) or numbers."""
    net = Net()
    given = {"x": np.array(x)}
    operands: list[Any] = [net.b.input("x", tensor_of(element, (len(x),)))]
    for number, other in enumerate(rest):
        if isinstance(other, list):
            given[f"o{number}"] = np.array(other)
            operands.append(net.b.input(f"o{number}", tensor_of(element, (len(x),))))
        else:
            operands.append(other)
    y = net.call(function, *operands)
    module = net.b.finish(loss=None, outputs=[("y", y)], optimizer=None)
    module.verify()
    return execute(module, given).outputs["y"]


@pytest.mark.parametrize(("element", "dtype"), [(i32, np.int32), (i64, np.int64)])
@pytest.mark.parametrize(
    ("function", "rest", "expected"),
    [
        ("div", [2], [-3, -2, 0, 2, 3]),
        ("div", [[-2, 3, 7, 2, -3]], [3, -1, 0, 2, -2]),
        ("pow", [3], [-343, -125, 0, 125, 343]),
        ("pow", [[2, 1, 0, 2, 1]], [49, -5, 1, 25, 7]),
        ("max", [3], [3, 3, 3, 5, 7]),
        ("min", [[1, -9, 1, 6, 6]], [-7, -9, 0, 5, 6]),
        ("abs", [], [7, 5, 0, 5, 7]),
        ("neg", [], [7, 5, 0, -5, -7]),
        ("clip", [-6, 6], [-6, -5, 0, 5, 6]),
    ],
)
def test_integers_stay_integers(
    element: Attribute, dtype: type, function: str, rest: list[Any], expected: list[int]
) -> None:
    result = integer_result(function, element, [-7, -5, 0, 5, 7], *rest)
    assert result.dtype == dtype
    assert result.tolist() == expected


def test_large_integers_divide_exactly() -> None:
    assert integer_result("div", i64, [2**62 + 1], [1]).tolist() == [2**62 + 1]


def test_division_of_an_integer_by_zero_stops_the_program() -> None:
    with pytest.raises(SourceError, match="the program cannot run on this data: division of an integer by zero"):
        integer_result("div", i32, [1, 2], [1, 0])


def outputs_of(net: Net, given: dict[str, Any], **results: SSAValue) -> dict[str, list[Any]]:
    """The values of named results, the same before and after lower-to-npu."""
    module = net.b.finish(loss=None, outputs=list(results.items()), optimizer=None)
    module.verify()
    arrays = {name: np.array(value) for name, value in given.items()}
    run = execute(module, arrays)
    LowerToNpuPass().apply(Context(), module)
    module.verify()
    lowered = execute(module, arrays)
    for name, value in run.outputs.items():
        assert value.dtype == lowered.outputs[name].dtype
        np.testing.assert_array_equal(value, lowered.outputs[name])
    return {name: value.tolist() for name, value in run.outputs.items()}


def test_comparisons_broadcast_and_take_numbers() -> None:
    net = Net()
    x, y = net.input("x", 2, 1), net.input("y", 2)
    names = ("equal", "not_equal", "less", "less_equal", "greater", "greater_equal")
    results = {name: net.call(name, x, y) for name in names}
    assert shape_of(results["less"]) == (2, 2)
    found = outputs_of(net, {"x": [[1], [2]], "y": [1, 2]}, **results, below=net.call("less", x, 2))
    assert found == {
        "equal": [[True, False], [False, True]],
        "not_equal": [[False, True], [True, False]],
        "less": [[False, True], [False, False]],
        "less_equal": [[True, True], [False, True]],
        "greater": [[False, False], [True, False]],
        "greater_equal": [[True, False], [True, True]],
        "below": [[True], [False]],
    }


def test_booleans_are_made_combined_chosen_by_and_cast() -> None:
    net = Net()
    x, m = net.input("x", 5), net.b.input("m", tensor_of(i1, (5,)))
    positive = net.call("greater", x, 0)
    nonzero = net.call("cast", x, "bool")
    found = outputs_of(
        net,
        {"x": [-1, -0.5, 0, 0.5, 2], "m": [True, False, True, False, True]},
        nonzero=nonzero,
        both=net.call("logical_and", positive, m),
        either=net.call("logical_or", positive, m),
        neither=net.call("logical_not", net.call("logical_or", positive, m)),
        mask=net.call("where", m, positive, nonzero),
        chosen=net.call("where", m, x, -9),
        ones=net.call("cast", m, "f64"),
        counts=net.call("cast", m, "i32"),
    )
    assert found == {
        "nonzero": [True, True, False, True, True],
        "both": [False, False, False, False, True],
        "either": [True, False, True, True, True],
        "neither": [False, True, False, False, False],
        "mask": [False, True, False, True, True],
        "chosen": [-1, -9, 0, -9, 2],
        "ones": [1, 0, 1, 0, 1],
        "counts": [1, 0, 1, 0, 1],
    }


def test_the_choice_between_tensors_divides_the_gradient() -> None:
    net = Net()
    condition = net.b.input("m", tensor_of(i1, (2, 2)))
    result = net.call("where", condition, net.param("x", 2), net.param("y", 2, 1))
    module = net.finish(dot_loss(net, result))
    AutodiffPass().apply(Context(), module)
    module.verify()
    zeros = {"x": np.zeros(2), "y": np.zeros((2, 1))}
    given = {"m": np.array([[True, False], [True, True]]), "target": np.array([[1, 2], [3, 4]])}
    run = execute(module, zeros | given, double=True)
    assert run.gradients["x"].tolist() == [4, 4]
    assert run.gradients["y"].tolist() == [[2], [0]]


def test_bool_results_count_as_vector_work() -> None:
    net = Net()
    y = net.call("less", net.input("x", 3, 4), 0)
    module = net.b.finish(loss=None, outputs=[("y", y)], optimizer=None)
    LowerToNpuPass().apply(Context(), module)
    (op,) = (op for op in module.walk() if isinstance(op, VectorOp))
    assert (op.kind, op.ops) == ("less", 12)


def test_functions_of_tensors_are_operators_too() -> None:
    functions = get_functions()
    named = {"==": "equal", "!=": "not_equal", "<": "less", "<=": "less_equal", ">": "greater", ">=": "greater_equal"}
    for symbol, name in (named | {"**": "pow"}).items():
        assert get_operators()[symbol] is functions[name]

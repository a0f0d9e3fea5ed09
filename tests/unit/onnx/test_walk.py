"""A walk over an ONNX model: constants, versions, functions, branches, loops, sequences, and what it refuses."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from npuc.compiler.core.errors import SourceError, UsageError
from npuc.frontends.onnx.calls import OnnxCall
from npuc.frontends.onnx.container.element_types import FLOAT, ElementType
from npuc.frontends.onnx.container.load import parse_model
from npuc.frontends.onnx.container.tensors import OnnxTensor
from npuc.frontends.onnx.fold.limits import Limits
from npuc.frontends.onnx.sizes import free_sizes, input_shapes
from npuc.frontends.onnx.survey import used_operators
from npuc.frontends.onnx.values import Constant, OnnxValue, ValueSequence
from npuc.frontends.onnx.walk import Walk
from tests.onnx_files import function, graph, model, node, value

Arrays = Mapping[str, npt.NDArray[Any]]


@dataclass
class Shaped:
    """A value of the program: here only its shape."""

    shape: tuple[int, ...]
    type: ElementType = FLOAT


@dataclass
class Notes:
    """Keeps the calls that are left; every result has the shape of the first operand."""

    parameters: tuple[str, ...] = ()
    calls: list[OnnxCall] = field(default_factory=list[OnnxCall])

    def parameter(self, name: str, tensor: OnnxTensor) -> Shaped | None:
        return Shaped(tensor.shape, tensor.type) if name in self.parameters else None

    def emit(self, call: OnnxCall) -> Sequence[OnnxValue]:
        if call.op.startswith("Unknown"):
            raise call.error("is not known")
        return [Shaped(call.tensor(0).shape)]


def ints(*values: int) -> npt.NDArray[np.int64]:
    return np.array(values, np.int64)


def walked(
    nodes: Sequence[bytes],
    initializers: Arrays | None = None,
    outputs: Sequence[str] = ("y",),
    opset: int = 21,
    functions: Sequence[bytes] = (),
    limits: Limits | None = None,
    x: tuple[int, ...] = (2, 6, 4),
) -> tuple[dict[str, OnnxValue], list[OnnxCall]]:
    """The outputs of a graph with one input x, and the calls that are left."""
    notes = Notes()
    data = model(graph(nodes, [value("x", x)], outputs, initializers), opset, functions)
    walk = Walk(parse_model(data, "m.onnx"), notes, limits or Limits())
    emit = notes.emit

    def noted(call: OnnxCall) -> Sequence[OnnxValue]:
        notes.calls.append(call)
        return emit(call)

    notes.emit = noted
    return walk.run({"x": Shaped(x)}), notes.calls


def constant(found: OnnxValue) -> list[object]:
    assert isinstance(found, Constant)
    return found.array.tolist()


def folded(nodes: Sequence[bytes], **initializers: npt.NDArray[np.generic]) -> object:
    """The constant y."""
    outputs, calls = walked(nodes, initializers)
    assert calls == []
    return constant(outputs["y"])


def test_shape_arithmetic_as_exporters_write_it() -> None:
    found, calls = walked(
        [
            node("Shape", ["x"], ["s"]),
            node("Gather", ["s", "i"], ["b"], axis=0),
            node("Unsqueeze", ["b", "zero"], ["b1"]),
            node("Slice", ["s", "one", "big"], ["rest"]),
            node("ReduceProd", ["rest"], ["n"], keepdims=0),
            node("Mul", ["n", "two"], ["n2"]),
            node("Cast", ["n2"], ["f"], to=1),
            node("Sqrt", ["f"], ["r"]),
            node("Floor", ["r"], ["w"]),
            node("Cast", ["w"], ["k"], to=7),
            node("Reshape", ["k", "one"], ["k1"]),
            node("Concat", ["b1", "k1", "minus"], ["y"], axis=0),
            node("Reshape", ["x", "y"], ["z"]),
        ],
        {
            "i": np.array(0),
            "zero": ints(0),
            "one": ints(1),
            "big": ints((1 << 63) - 1),
            "two": np.array(2),
            "minus": ints(-1),
        },
        ("y", "z"),
    )
    assert constant(found["y"]) == [2, 6, -1]
    assert [call.op for call in calls] == ["Reshape"]
    assert calls[0].ints_at(1) == (2, 6, -1)


@pytest.mark.parametrize(
    ("op", "attributes", "inputs", "expected"),
    [
        ("Div", {}, [ints(7, -7, 5), ints(2, 2, 0)], [3, -3, 0]),
        ("Mod", {}, [ints(7, -7), ints(3)], [1, 2]),
        ("Mod", {"fmod": 1}, [ints(7, -7), ints(3)], [1, -1]),
        ("Add", {}, [ints(1, 2).reshape(2, 1), ints(1, 2)], [[2, 3], [3, 4]]),
        ("Pow", {}, [ints(2, 3), np.array([2.0, 0.5])], [4, 1]),
        ("Equal", {}, [ints(1, 2), ints(2)], [False, True]),
        ("Where", {}, [np.array([True, False]), ints(1), ints(2)], [1, 2]),
        ("Not", {}, [np.array([True, False])], [False, True]),
        ("Min", {}, [ints(3, 1), ints(2), ints(9)], [2, 1]),
        ("Mean", {}, [np.array([1.0, 3.0]), np.array([3.0])], [2.0, 3.0]),
        ("Clip", {}, [ints(1, 5, 9), np.array(2), np.array(6)], [2, 5, 6]),
        ("Cast", {"to": 7}, [np.array([1.9, -1.9])], [1, -1]),
        ("Cast", {"to": 9}, [np.array([0.0, 0.5])], [False, True]),
        ("Cast", {"to": 16}, [np.array([1.00390625], np.float32)], [1.0]),
        ("Flatten", {"axis": 2}, [np.zeros((2, 1, 2))], [[0.0, 0.0], [0.0, 0.0]]),
        ("Squeeze", {}, [ints(1, 2).reshape(1, 2, 1)], [1, 2]),
        ("Squeeze", {}, [ints(1, 2).reshape(1, 2, 1), ints(-1)], [[1, 2]]),
        ("Unsqueeze", {}, [ints(1), ints(0, -1)], [[[1]]]),
        ("Transpose", {"perm": [1, 0]}, [ints(1, 2).reshape(1, 2)], [[1], [2]]),
        ("Slice", {}, [ints(1, 2, 3, 4), ints(-1), ints(-100), ints(0), ints(-2)], [4, 2]),
        ("Gather", {}, [ints(1, 2, 3), ints(-1, 0)], [3, 1]),
        ("GatherElements", {"axis": 1}, [ints(1, 2, 3, 4).reshape(2, 2), ints(1, 0).reshape(2, 1)], [[2], [3]]),
        ("Expand", {}, [ints(1, 2), ints(2, 1)], [[1, 2], [1, 2]]),
        ("Tile", {}, [ints(1, 2), ints(2)], [1, 2, 1, 2]),
        ("NonZero", {}, [ints(0, 3, 0, 1)], [[1, 3]]),
        ("Reshape", {}, [ints(1, 2), ints(0, -1)], [[1], [2]]),
        ("Range", {}, [np.array(7), np.array(0), np.array(-3)], [7, 4, 1]),
        ("Range", {}, [np.array(0.0), np.array(1.0), np.array(0.5)], [0.0, 0.5]),
        ("ConstantOfShape", {"value": ints(7)}, [ints(2)], [7, 7]),
        ("ReduceSum", {"keepdims": 0}, [ints(1, 2, 3, 4).reshape(2, 2), ints(1)], [3, 7]),
        ("ReduceMax", {"noop_with_empty_axes": 1}, [ints(1, 2)], [1, 2]),
        ("ArgMax", {"keepdims": 0, "select_last_index": 1}, [ints(3, 1, 3)], 2),
        ("CumSum", {}, [ints(1, 2, 3), np.array(0)], [1, 3, 6]),
        ("Trilu", {"upper": 0}, [ints(1, 2, 3, 4).reshape(2, 2)], [[1, 0], [3, 4]]),
        ("Constant", {"value_ints": [1, 2]}, [], [1, 2]),
        ("Constant", {"value_float": 0.5}, [], 0.5),
    ],
)
def test_operators_on_constants(
    op: str, attributes: dict[str, Any], inputs: list[npt.NDArray[np.generic]], expected: object
) -> None:
    names = {f"i{number}": array for number, array in enumerate(inputs)}
    assert folded([node(op, list(names), ["y"], **attributes)], **names) == expected


def test_a_split_names_its_parts() -> None:
    found, _ = walked([node("Split", ["s"], ["a", "y"], num_outputs=2)], {"s": ints(1, 2, 3)}, ("a", "y"))
    assert (constant(found["a"]), constant(found["y"])) == ([1, 2], [3])


def test_large_uniform_constants_take_no_memory() -> None:
    found, calls = walked(
        [
            node("ConstantOfShape", ["s"], ["a"]),
            node("Unsqueeze", ["a", "one"], ["b"]),
            node("Add", ["b", "b"], ["c"]),
            node("Transpose", ["c"], ["d"]),
            node("Reshape", ["d", "flat"], ["y"]),
        ],
        {"s": ints(1 << 20, 1 << 20), "one": ints(1), "flat": ints(-1)},
    )
    y = found["y"]
    assert isinstance(y, Constant)
    assert (calls, y.shape) == ([], (1 << 40,))


def test_parameters_are_no_constants() -> None:
    notes = Notes(parameters=("w",))
    data = model(graph([node("Neg", ["w"], ["y"]), node("Shape", ["w"], ["z"])], [], ["y", "z"], {"w": np.ones(3)}))
    found = Walk(parse_model(data, "m"), notes).run({})
    assert (found["y"], constant(found["z"])) == (Shaped((3,)), [3])


def test_versions_become_the_newest() -> None:
    axes = ints(1)
    old: list[tuple[str, dict[str, Any], int, tuple[Any, ...], dict[str, object]]] = [
        ("ReduceMean", {"axes": [1]}, 17, (axes,), {}),
        ("ReduceSum", {"axes": [1]}, 12, (axes,), {}),
        ("Squeeze", {"axes": [1]}, 12, (axes,), {}),
        ("Clip", {"max": 6.0}, 10, (None, 6.0), {}),
        ("Dropout", {"ratio": 0.25}, 11, (0.25,), {}),
        ("Pad", {"pads": [1], "value": 2.0, "mode": "constant"}, 10, (axes, 2.0), {"mode": b"constant"}),
        ("Slice", {"starts": [1], "ends": [1]}, 9, (axes, axes, None), {}),
        ("Split", {"split": [1]}, 12, (axes,), {}),
        ("Split", {}, 17, (), {"num_outputs": 1}),
        ("TopK", {"k": 1}, 9, (axes,), {}),
        ("DFT", {}, 19, (None, 1), {}),
        ("GridSample", {"mode": "bilinear"}, 19, (), {"mode": b"linear"}),
        ("RoiAlign", {}, 15, (), {"coordinate_transformation_mode": b"output_half_pixel"}),
        ("BatchNormalization", {"spatial": 1}, 8, (), {"training_mode": 0}),
        ("Softmax", {"axis": 2}, 12, (), {"axis": 2}),
        ("Softmax", {"axis": 2}, 13, (), {"axis": 2}),
    ]
    for op, attributes, opset, inputs, expected in old:
        _, calls = walked([node(op, ["x"], ["y"], **attributes)], opset=opset)
        (call,) = calls
        assert (call.op, dict(call.attributes)) == (op, expected)
        assert len(call.inputs) == 1 + len(inputs)
        for found, wanted in zip(call.inputs[1:], inputs, strict=True):
            assert (found is None) == (wanted is None)
            if isinstance(found, Constant):
                assert np.array_equal(found.array, wanted)


def test_older_operators_have_newer_names() -> None:
    _, (resize,) = walked([node("Upsample", ["x", "s"], ["y"])], {"s": np.array([1, 2, 2], np.float32)}, opset=9)
    assert (resize.op, resize.string("nearest_mode"), len(resize.inputs)) == ("Resize", "floor", 3)
    assert resize.inputs[1] is None
    _, (scatter,) = walked([node("Scatter", ["x", "x", "x"], ["y"])], opset=10)
    assert scatter.op == "ScatterElements"


def test_softmax_over_several_axes_is_one_over_one() -> None:
    _, calls = walked([node("Softmax", ["x"], ["y"], axis=1)], opset=12)
    assert [call.op for call in calls] == ["Flatten", "Softmax", "Reshape"]
    assert calls[2].ints_at(1) == (2, 6, 4)


def test_a_group_norm_of_opset_18_has_scales_of_channels() -> None:
    nodes = [node("GroupNormalization", ["x", "s", "b"], ["y"], num_groups=2)]
    _, (call,) = walked(nodes, {"s": ints(1, 2), "b": ints(3, 4)}, opset=18)
    assert constant(call.inputs[1]) == [1, 1, 1, 2, 2, 2]


def test_functions_are_expanded_with_their_attributes() -> None:
    inner = function("twice", ["a"], ["b"], [node("Add", ["a", "a"], ["b"])])
    outer = function("f", ["a", "unused"], ["b"], [node("twice", ["a"], ["c"], "own"), node("Neg", ["c"], ["b"])])
    found, calls = walked([node("f", ["k"], ["y"], "own")], {"k": ints(3)}, functions=[inner, outer])
    assert (constant(found["y"]), calls) == ([-6], [])


def test_a_branch_on_a_constant_is_chosen() -> None:
    one, two = (graph([node("Add", ["k", "k"] if n else ["k", "m"], ["r"])], [], ["r"]) for n in range(2))
    nodes = [node("If", ["c"], ["y"], then_branch=one, else_branch=two)]
    assert folded(nodes, c=np.array(False), k=ints(3), m=ints(1)) == [6]
    assert folded(nodes, c=np.array(True), k=ints(3), m=ints(1)) == [4]


BODY = graph(
    [node("Add", ["a", "i"], ["b"]), node("Less", ["b", "five"], ["go"]), node("Identity", ["i"], ["s"])],
    [value("i"), value("c"), value("a")],
    ["go", "b", "s"],
    {"five": np.array(5)},
)


def test_a_loop_of_constant_length_is_unrolled() -> None:
    zero = {"zero": np.array(0), "m": np.array(3), "t": np.array(True)}
    found, _ = walked([node("Loop", ["m", "", "zero"], ["y", "s"], body=BODY)], zero, ("y", "s"))
    assert (constant(found["y"]), constant(found["s"])) == (3, [0, 1, 2])
    found, _ = walked([node("Loop", ["", "t", "zero"], ["y", "s"], body=BODY)], zero, ("y", "s"))
    assert (constant(found["y"]), constant(found["s"])) == (6, [0, 1, 2, 3])


def test_a_scan_is_unrolled() -> None:
    body = graph([node("Add", ["a", "p"], ["b"]), node("Neg", ["p"], ["n"])], [value("a"), value("p")], ["b", "n"])
    nodes = [node("Scan", ["zero", "v"], ["y", "s"], body=body, num_scan_inputs=1, scan_output_directions=[1])]
    found, _ = walked(nodes, {"zero": np.array(0), "v": ints(1, 2, 3)}, ("y", "s"))
    assert (constant(found["y"]), constant(found["s"])) == (6, [-3, -2, -1])


def test_sequences_of_constant_length() -> None:
    nodes = [
        node("SplitToSequence", ["k", "one"], ["a"], axis=0),
        node("SequenceInsert", ["a", "five"], ["b"]),
        node("SequenceErase", ["b", "zero"], ["c"]),
        node("SequenceAt", ["c", "minus"], ["last"]),
        node("SequenceLength", ["c"], ["n"]),
        node("ConcatFromSequence", ["c"], ["y"], axis=0),
    ]
    numbers = {"k": ints(1, 2, 3), "one": np.array(1), "five": ints(5), "zero": np.array(0), "minus": np.array(-1)}
    found, _ = walked(nodes, numbers, ("y", "n", "last", "c"))
    assert (constant(found["y"]), constant(found["n"]), constant(found["last"])) == ([2, 3, 5], 3, [5])
    assert isinstance(found["c"], ValueSequence)


def test_nodes_in_any_order() -> None:
    assert folded([node("Neg", ["a"], ["y"]), node("Abs", ["k"], ["a"])], k=ints(-3)) == [-3]


def refused(nodes: Sequence[bytes], functions: Sequence[bytes] = (), **initializers: npt.NDArray[np.generic]) -> str:
    with pytest.raises(SourceError) as caught:
        walked([node("Identity", ["x"], ["h"]), *nodes], initializers, functions=functions, limits=Limits(nodes=1000))
    return str(caught.value)


@pytest.mark.parametrize(
    ("nodes", "expected"),
    [
        ([node("UnknownOp", ["h"], ["y"])], "m.onnx:2:1: error: UnknownOp: is not known\n    y = UnknownOp(h)\n    ^"),
        ([node("Add", ["h", "none"], ["y"])], "m.onnx:2:1: error: Add: reads 'none', which no input"),
        ([node("MatMul", ["h", "h"], []), node("Neg", ["h"], ["y"])], "MatMul: has no output"),
        (
            [node("Neg", ["a"], ["y"]), node("Abs", ["y"], ["a"])],
            "m.onnx:2:1: error: Neg: reads what is made of its own",
        ),
        ([node("Neg", ["x"], ["h"])], "makes 'h', which is made before"),
        ([node("If", ["h"], ["y"])], "m.onnx:2:1: error: If: its condition depends on data"),
        ([node("Loop", ["h", "t"], ["y"], body=BODY)], "m.onnx:2:1: error: Loop: input 0 ('h') depends on data"),
        ([node("Loop", ["huge", "", "k"], ["y"], body=BODY)], "more nodes than may be built"),
        ([node("ConstantOfShape", ["huge1"], ["y"])], "at most 2^44 elements"),
        ([node("Expand", ["k", "huge1"], ["y"])], "at most 2^44 elements"),
        ([node("Not", ["k"], ["y"])], "Not: found an input of int64"),
        ([node("Gather", ["k", "huge1"], ["y"])], "an index is outside of an axis of size 1"),
        ([node("Concat", ["k", "huge"], ["y"], axis=0)], "not of one rank and type"),
        ([node("Cast", ["k"], ["y"], to=77)], "element type 77"),
        ([node("Cast", ["k"], ["y"], to="a")], "attribute 'to' has the value a, expected an integer"),
        ([node("Split", ["k"], ["y"], num_outputs=0)], "cannot have 0 parts"),
        ([node("g", ["h"], ["y"], "own")], "m.onnx:2:1: error: UnknownOp, in node 1 of function 'g': is not known"),
        ([node("loop", ["h"], ["y"], "own")], "own.loop, in node 1 of function 'loop': calls itself"),
        ([node("many1", ["h"], ["y"], "own")], "more nodes than may be built"),
    ],
)
def test_what_is_refused_names_its_node(nodes: Sequence[bytes], expected: str) -> None:
    many = [
        function(f"many{n}", ["a"], ["b"], [node(f"many{n + 1}", ["a"], [f"{c}"], "own") for c in "bcd"])
        for n in range(9)
    ]
    functions = [
        function("g", ["a"], ["b"], [node("UnknownOp", ["a"], ["b"])]),
        function("loop", ["a"], ["b"], [node("loop", ["a"], ["b"], "own")]),
        *many,
        function("many9", ["a"], ["b"], [node("Identity", ["a"], ["b"])]),
    ]
    numbers = {
        "k": ints(1),
        "huge": np.array(1 << 62),
        "huge1": ints(1 << 62),
        "t": np.array(True),
        "t1": np.array([True]),
    }
    assert expected in refused(nodes, functions, **numbers)


@pytest.mark.parametrize("op", ["Range", "Concat", "Tile"])
def test_constants_without_end_are_left_to_the_program(op: str) -> None:
    numbers = {
        "a": np.array(0),
        "b": np.array(1 << 62),
        "c": np.array(1),
        "r": ints(1 << 62),
        "v": ints(*range(50_000)),
    }
    inputs = {"Range": ["a", "b", "c"], "Concat": ["v", "v"], "Tile": ["v", "r"]}[op]
    made = node(op, inputs, ["y"], axis=0) if op == "Concat" else node(op, inputs, ["y"])
    _, (call,) = walked([made], numbers)
    assert call.op == op


def test_sizes_by_name_or_place() -> None:
    data = model(graph([], [value("x", ["N", 3, -1]), value("z", ["N"])], []))
    found = parse_model(data, "m.onnx")
    assert free_sizes(found) == {"N": (("x", 0), ("z", 0)), "x.2": (("x", 2),)}
    assert input_shapes(found, {"z.0": 8, "x.2": 5}) == {"x": (8, 3, 5), "z": (8,)}
    with pytest.raises(UsageError, match=r"sizes of inputs are free: x.2\n  hint: -D x.2=8"):
        input_shapes(found, {"N": 8})
    with pytest.raises(UsageError, match="has no such size"):
        input_shapes(found, {"M": 8})
    with pytest.raises(UsageError, match="one size from 1"):
        input_shapes(found, {"N": 8, "z.0": 9})


def test_operators_are_surveyed_in_bodies_and_functions() -> None:
    body = graph([node("Neg", ["x"], ["r"])], [], ["r"])
    functions = [function("f", ["a"], ["b"], [node("Abs", ["a"], ["b"]), node("f", ["a"], ["c"], "own")])]
    nodes = [node("Abs", ["x"], ["a"]), node("f", ["a"], ["b"], "own"), node("If", ["c"], ["y"], then_branch=body)]
    found = used_operators(parse_model(model(graph(nodes), functions=functions), "m.onnx"))
    assert [(o.op, o.numbers) for o in found] == [("Abs", (1, 2)), ("If", (3,)), ("Neg", (3,))]


@pytest.mark.parametrize("op", ["ConstantOfShape", "Reshape", "Expand"])
def test_tensors_of_too_many_axes_are_refused(op: str) -> None:
    inputs = ["s"] if op == "ConstantOfShape" else ["k", "s"]
    assert "makes a tensor of 33 axes" in refused([node(op, inputs, ["y"])], s=ints(*[1] * 33), k=ints(1))

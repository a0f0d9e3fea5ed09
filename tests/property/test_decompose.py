"""Every operation of a training step as primitives: the same numbers, and contractions whose maps are invertible."""

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from xdsl.context import Context
from xdsl.dialects.builtin import Float64Type, ModuleOp, TensorType
from xdsl.ir import Operation, SSAValue

from npuc.compiler.core.builder import Optimizer
from npuc.compiler.core.errors import NpucError
from npuc.compiler.driver.check import nudged, random_data, run_results
from npuc.compiler.interpreter.compare import compare
from npuc.compiler.transforms.autodiff import AutodiffPass
from npuc.compiler.transforms.decompose import DecomposePass
from npuc.compiler.transforms.decompose.operation import is_primitive
from npuc.dialects.npu.contract import ContractOp
from npuc.dialects.tensors import tensor_type
from npuc.dialects.train.base import TrainOp
from tests.calls import COUNTED, all_calls
from tests.calls.chain import add_call, chained_calls
from tests.networks import Net, integer_data, integer_networks
from tests.property.test_passes import check_provenance, check_round_trip


def decompose(module: ModuleOp) -> None:
    """Run the pass and check what it leaves."""
    DecomposePass().apply(Context(), module)
    module.verify()
    check_provenance(module)
    for op in module.walk():
        if isinstance(op, TrainOp | ContractOp):
            assert is_primitive(op), op.name
            check_invertible(op)


def check_invertible(op: Operation) -> None:
    """Assert that a contraction's maps are in the form that its docstring promises."""
    if not isinstance(op, ContractOp):
        return
    nest = op.nest
    plain = {dim for tensor in nest.tensors.values() for axis in tensor.axes if axis.is_plain for dim in axis.dims}
    assert plain == set(nest.sizes), nest
    assert all(axis.is_plain for tensor in nest.outs for axis in tensor.axes), nest
    for tensor in nest.ins:
        for axis, size in zip(tensor.axes, tensor.shape, strict=True):
            assert axis.offset == 0, nest
            assert axis.span(nest.sizes) <= size, nest


@settings(max_examples=60, report_multiple_bugs=False, suppress_health_check=[HealthCheck.too_slow])
@given(module=chained_calls(), seed=st.integers(0, 99))
def test_primitives_compute_what_any_layers_do(module: ModuleOp, seed: int) -> None:
    AutodiffPass().apply(Context(), module)
    data = random_data(module, seed)
    before, earlier = run_results(module, data), module.clone()
    decompose(module)
    outcome = compare(before, run_results(module, data))
    if not outcome.equal and not outcome.exact:
        outcome = compare(before, run_results(module, data), run_results(earlier, nudged(data)))
    assert outcome.equal, outcome


@settings(max_examples=60, suppress_health_check=[HealthCheck.too_slow])
@given(module=integer_networks(), seed=st.integers(0, 99))
def test_primitives_compute_the_same_integers(module: ModuleOp, seed: int) -> None:
    AutodiffPass().apply(Context(), module)
    data = integer_data(module, seed)
    before = run_results(module, data)
    decompose(module)
    check_round_trip(module)
    for name, value in run_results(module, data).items():
        np.testing.assert_array_equal(value, before[name], err_msg=name)


CONVOLUTIONS = [name for name in all_calls() if name.startswith("conv")]


@pytest.mark.parametrize("name", CONVOLUTIONS)
@settings(max_examples=15, suppress_health_check=[HealthCheck.too_slow])
@given(data=st.data(), seed=st.integers(0, 99))
def test_every_convolution_is_a_plain_contraction(name: str, data: st.DataObject, seed: int) -> None:
    module = _step_of(name, data)
    values = integer_data(module, seed)
    before = run_results(module, values)
    decompose(module)
    assert any(isinstance(op, ContractOp) for op in module.walk())
    for key, value in run_results(module, values).items():
        np.testing.assert_array_equal(value, before[key], err_msg=key)


@pytest.mark.heavy
@pytest.mark.parametrize("name", [name for name in all_calls() if name not in COUNTED])
@settings(max_examples=10, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
@given(data=st.data(), seed=st.integers(0, 99))
def test_every_function_of_the_language_has_primitives(name: str, data: st.DataObject, seed: int) -> None:
    module = _step_of(name, data)
    values = random_data(module, seed)
    before, earlier = run_results(module, values), module.clone()
    decompose(module)
    outcome = compare(before, run_results(module, values))
    if not outcome.equal and not outcome.exact:
        outcome = compare(before, run_results(module, values), run_results(earlier, nudged(values)))
    assert outcome.equal, outcome


def _step_of(name: str, data: st.DataObject) -> ModuleOp:
    """The training step of a network of one call."""
    net = Net()
    value = net.call("linear", net.input("x", 2, 4), 3)
    value = add_call(net, all_calls()[name](data), value, 0)
    value = value if isinstance(tensor_type(value).element_type, Float64Type) else net.call("cast", value, "f64")
    loss = net.call("dot_loss", net.call("reshape", value, [-1]), net.input("target", _count(value.type)), layer="loss")
    module = net.finish(loss, Optimizer("sgd", {"lr": 0.5, "momentum": 0.0, "weight_decay": 0.0}))
    AutodiffPass().apply(Context(), module)
    return module


def _count(type: object) -> int:
    assert isinstance(type, TensorType)
    return int(np.prod(type.get_shape(), dtype=np.int64))


OPTIMIZERS: list[tuple[str, dict[str, float | bool]]] = [
    ("sgd", {"lr": 0.5, "momentum": 0.5, "weight_decay": 0.25, "dampening": 0.5}),
    ("sgd", {"lr": 0.5, "momentum": 0.5, "weight_decay": 0.0, "nesterov": True}),
    ("adam", {"lr": 0.125}),
    ("adamw", {"lr": 0.125, "weight_decay": 0.25}),
    ("rmsprop", {"lr": 0.125, "momentum": 0.5, "centered": True}),
    ("adagrad", {"lr": 0.125, "lr_decay": 0.5}),
    ("adadelta", {"lr": 0.125}),
    ("adamax", {"lr": 0.125}),
    ("lamb", {"lr": 0.125}),
    ("lion", {"lr": 0.125}),
]


@pytest.mark.parametrize(("kind", "options"), OPTIMIZERS, ids=[kind for kind, _ in OPTIMIZERS])
@pytest.mark.parametrize("seed", [0, 1])
def test_optimizers_have_primitives(kind: str, options: dict[str, float | bool], seed: int) -> None:
    net = Net()
    y = net.call("linear", net.input("x", 2, 4), 3)
    loss = net.call("mse", y, net.input("target", 2, 3), layer="loss")
    module = net.finish(loss, Optimizer(kind, options))
    AutodiffPass().apply(Context(), module)
    data = random_data(module, seed)
    before = run_results(module, data)
    decompose(module)
    outcome = compare(before, run_results(module, data))
    assert outcome.equal, outcome


def test_the_first_step_of_dampened_momentum_is_the_gradient() -> None:
    net = Net()
    y = net.call("linear", net.input("x", 2, 4), 3, bias=False)
    loss = net.call("dot_loss", y, net.input("target", 2, 3), layer="loss")
    module = net.finish(loss, Optimizer("sgd", {"lr": 1.0, "momentum": 0.5, "weight_decay": 0.0, "dampening": 0.5}))
    AutodiffPass().apply(Context(), module)
    data = integer_data(module, 3)
    for step in (0, 1, 5):
        values = {name: np.asarray(step) if np.ndim(value) == 0 else value for name, value in data.items()}
        before = run_results(module, values)
        after = module.clone()
        decompose(after)
        for name, value in run_results(after, values).items():
            np.testing.assert_array_equal(value, before[name], err_msg=f"{name} after {step} steps")


def test_what_depends_on_data_is_named_with_its_layer() -> None:
    net = Net()
    x = net.input("boxes", 1, 3, 4)
    found = net.call("non_max_suppression", x, net.input("scores", 1, 1, 3), size=2, layer="picked")
    module = _finished(net, found)
    with pytest.raises(NpucError) as error:
        DecomposePass().apply(Context(), module)
    assert "layer 'picked': train.nms has no form in primitives" in str(error.value)
    assert any(op.name == "train.nms" for op in module.walk())


def _finished(net: Net, value: SSAValue) -> ModuleOp:
    return net.b.finish(loss=None, outputs=[("y", value)], optimizer=None)


def test_nadam_is_refused_for_its_product_over_all_steps() -> None:
    net = Net()
    y = net.call("linear", net.input("x", 2, 4), 3)
    module = net.finish(net.call("mse", y, net.input("target", 2, 3), layer="loss"), Optimizer("nadam", {"lr": 0.1}))
    AutodiffPass().apply(Context(), module)
    with pytest.raises(NpucError, match=r"train\.nadam has no form in primitives"):
        DecomposePass().apply(Context(), module)


def test_floats_of_16_bits_are_computed_in_32() -> None:
    net = Net()
    x = net.call("cast", net.input("x", 2, 4), "bf16")
    module = _finished(net, net.call("silu", x))
    DecomposePass().apply(Context(), module)
    kinds = {op.name: str(tensor_type(op.results[0]).element_type) for op in module.walk() if op.name == "train.exp"}
    assert kinds == {"train.exp": "f32"}
    assert any(str(result) == "tensor<2x4xbf16>" for op in module.walk() for result in op.result_types)

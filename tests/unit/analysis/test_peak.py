"""What the memory of a step is made of at its peak."""

from itertools import groupby

import pytest
from xdsl.parser import Parser

from npuc.compiler.analysis.memory.course import course_of_module
from npuc.compiler.analysis.memory.liveness import step_functions, tensors_of
from npuc.compiler.analysis.memory.peak import peak_of_module
from npuc.compiler.core.errors import CapacityError
from npuc.compiler.core.options import MEMORY_KINDS
from npuc.compiler.driver.compile import compile_file, compile_program, compile_source
from npuc.compiler.driver.levels.primitives import AboveNpu
from npuc.compiler.report import Report
from npuc.dialects.provenance import layer_of, role_of
from npuc.frontends.mlir import make_context
from npuc.frontends.source import open_source

ADAMW = """network n(batch=2) {
    input x: f32[batch, 64]
    labels y: i32[batch]
    loss cross_entropy(linear(relu(linear(x, 100)), 5), y)
    optimizer adamw(lr=0.001)
}"""


def kinds_of(report: Report) -> dict[str, int | None]:
    """The kinds of a report, which has to have all of them, after a check that they add up to the peak."""
    memory = report.totals.memory
    assert tuple(memory) == MEMORY_KINDS
    assert sum(size or 0 for size in memory.values()) == report.totals.peak_bytes
    return memory


def test_every_byte_of_a_small_step_by_hand() -> None:
    module = Parser(
        make_context(),
        """func.func @f(%x: tensor<2x8xf32> {train.input = "x"}, %w: tensor<8x4xf32> {train.param = "w"},
                        %v: tensor<8x4xf32> {train.state = "w.momentum"}, %s: tensor<3xf32> {train.stat = "mean"})
    -> (tensor<f32> {train.loss}, tensor<8x4xf32> {train.updates = 1 : i64},
        tensor<8x4xf32> {train.updates = 2 : i64}) {
  %b = train.exp %w {layer = "copy"} : (tensor<8x4xf32>) -> tensor<8x4xf32>
  %y = train.matmul %x, %b {layer = "y"} : (tensor<2x8xf32>, tensor<8x4xf32>) -> tensor<2x4xf32>
  %l = train.dot_loss %y, %y {layer = "l"} : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<f32>
  %p = train.matmul %x t, %y {layer = "y", role = "dw"} : (tensor<2x8xf32>, tensor<2x4xf32>) -> tensor<8x4xf32>
  %d = train.mul %p, %b {layer = "copy", role = "dw"} : (tensor<8x4xf32>, tensor<8x4xf32>) -> tensor<8x4xf32>
  %n, %u = train.sgd %w, %d, %v lr 0.1 momentum 0.9 {layer = "w", role = "update"}
      : (tensor<8x4xf32>, tensor<8x4xf32>, tensor<8x4xf32>) -> (tensor<8x4xf32>, tensor<8x4xf32>)
  func.return %l, %n, %u : tensor<f32>, tensor<8x4xf32>, tensor<8x4xf32>
}""",
    ).parse_module()
    module.verify()
    for float_bytes, width in ((None, 4), (2, 2)):
        peak = peak_of_module(module, float_bytes)
        assert peak is not None
        # At %d: w; %p and %d; v; x and the loss (%y was read for the last time before); %b and the statistics.
        weights = 32 * width
        activations = (16 + 1) * width
        assert peak.memory.at == 4
        assert peak.kinds == {
            "weights": weights,
            "gradients": 2 * weights,
            "optimizer": weights,
            "activations": activations,
            "buffers": weights + 3 * width,
        }
        assert peak.gradient_bytes == weights


@pytest.mark.parametrize("backend", ["cycle", "roofline", "maestro"])
def test_weights_gradients_and_states_of_adamw_take_sixteen_bytes_a_parameter(backend: str) -> None:
    hardware = {"cycle": "igo-large", "roofline": "rtx2080ti", "maestro": "nvdla"}[backend]
    report = compile_source(ADAMW, backend=backend, hardware=hardware, overrides={"memory.element_bytes": 4})
    parameters = 64 * 100 + 100 + 100 * 5 + 5
    memory = kinds_of(report)
    # The number of steps, before and after, is a state too.
    assert [memory[kind] for kind in ("weights", "gradients", "optimizer")] == [
        4 * parameters,
        4 * parameters,
        8 * parameters + 8,
    ]
    assert report.memory is not None
    assert report.memory.gradient_bytes == 4 * parameters


@pytest.mark.parametrize("source", ["mlp", "lenet", "gpt2", "lstm_lm", "resnet18"])
def test_backends_agree_and_kinds_add_up(source: str) -> None:
    reports = [
        compile_file(
            f"samples:{source}", backend=backend, hardware=hardware, opt_level=0, overrides={"memory.element_bytes": 2}
        )
        for backend, hardware in (("cycle", "igo-large"), ("roofline", "rtx2080ti"))
    ]
    assert kinds_of(reports[0]) == kinds_of(reports[1])
    assert reports[0].memory == reports[1].memory


def test_a_step_that_takes_too_much_is_refused_by_a_backend_that_derives_it() -> None:
    limit = {"dram.capacity_mib": 0.1}
    for backend, hardware in (("cycle", "igo-large"), ("roofline", "rtx2080ti")):
        with pytest.raises(CapacityError, match=r"the step takes up to 0\.1 MiB, .* too little"):
            compile_source(ADAMW, backend=backend, hardware=hardware, overrides={**limit, "memory.element_bytes": 4})
    assert compile_source(ADAMW, backend="roofline", inference=True, overrides=limit).totals.peak_bytes


def test_a_forward_pass_has_no_gradients() -> None:
    memory = kinds_of(compile_source(ADAMW, backend="roofline", inference=True))
    assert (memory["gradients"], memory["optimizer"]) == (0, 0)


def test_parameters_in_parts_take_half_on_two_devices() -> None:
    source = ADAMW.replace(", 5)", ", 6)")
    whole, parts = (
        kinds_of(compile_source(source, devices=2, parallel="dp", zero=zero, overrides={"memory.element_bytes": 4}))
        for zero in (False, True)
    )
    assert whole["weights"] == 2 * (parts["weights"] or 0)
    assert (whole["optimizer"] or 0) - 8 == 2 * ((parts["optimizer"] or 0) - 8)


def test_it_is_unknown_for_tables() -> None:
    report = compile_source("Layer,M,N,K\nfc1,10,20,30\n", format="csv")
    assert report.totals.memory == dict.fromkeys(MEMORY_KINDS)


@pytest.mark.parametrize("devices", [1, 2])
def test_mixed_precision_with_adamw_takes_sixteen_bytes_a_parameter(devices: int) -> None:
    """A gradient that is bf16 before it is cast, or not yet summed over devices, is a buffer, as a cast weight is."""
    parallel = None if devices == 1 else "dp"
    report = compile_source(ADAMW, hardware="igo-large", precision="mixed", devices=devices, parallel=parallel)
    parameters = 64 * 100 + 100 + 100 * 5 + 5
    memory = kinds_of(report)
    assert [memory[kind] for kind in ("weights", "gradients", "optimizer")] == [
        4 * parameters,
        4 * parameters,
        8 * parameters + 8,
    ]


def test_deep_networks() -> None:
    """Longer than Python's stack is deep."""
    text = """network deep() {
        input x: f32[2, 4]
        h = linear(x, 4)
        for i in 0..1500 { h = relu(h) }
        output h
        loss sum(h)
    }"""
    kinds_of(compile_source(text, backend="roofline"))


@pytest.mark.parametrize("source", ["mlp", "lenet", "lstm_lm", "gpt2"])
@pytest.mark.parametrize("float_bytes", [None, 2])
def test_the_course_of_memory_has_the_peak_by_kind(source: str, float_bytes: int | None) -> None:
    above = AboveNpu()
    compile_program(open_source(f"samples:{source}"), ["cycle"], {"opt_level": 0}, watchers=(above,))
    module = above.module
    assert module is not None
    peak, course = peak_of_module(module, float_bytes), course_of_module(module, float_bytes)
    assert peak is not None
    assert course is not None
    at = course.live.index(peak.memory.peak_bytes)
    assert {kind: values[at] for kind, values in course.kinds.items()} == peak.kinds
    assert course.places[at][0] == peak.memory.layer
    # Neighbours of one layer and role are one, by the one with most memory.
    ops = tensors_of(step_functions(module)[0], float_bytes).ops
    runs = [list(run) for _, run in groupby(range(len(ops)), key=lambda n: (layer_of(ops[n]), role_of(ops[n])))]
    assert list(course.live) == [max(peak.memory.live[n] for n in run) for run in runs]

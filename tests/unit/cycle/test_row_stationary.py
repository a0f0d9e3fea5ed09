"""The row-stationary array: its elements against numpy and the closed form, its mappings, and rows of the backend."""

from pathlib import Path
from random import Random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from npuc.compiler.analysis.machine.array import Array
from npuc.compiler.analysis.machine.compute import Compute, compute
from npuc.compiler.analysis.machine.row_choice import choices, configured, row_stationary
from npuc.compiler.analysis.machine.row_stationary import RowStationary
from npuc.compiler.analysis.machine.table import machine_from
from npuc.compiler.cli import run_command
from npuc.compiler.core.errors import UsageError
from npuc.compiler.driver.compile import compile_source
from npuc.compiler.report import Report
from npuc.dialects.npu.nest import Axis, Nest, Schedule, Statement, Tensor
from npuc.hardware import load_hardware, machine_target
from tests.unit.cycle.row_elements import Array as Elements
from tests.unit.cycle.row_elements import Job, Values

NAMES = "b", "o", "i", "y", "x", "r", "s"
Sizes = dict[str, int]
Steps = tuple[tuple[int, int], tuple[int, int]]


def axis(*terms: tuple[str, int]) -> Axis:
    return Axis(terms)


def convolution(product: str, sizes: Sizes, steps: Steps) -> Nest:
    """A product of a convolution; strides and dilations of rows and columns."""
    (a, b), (c, d) = steps
    lines = a * (sizes["y"] - 1) + b * (sizes["r"] - 1) + 1
    columns = c * (sizes["x"] - 1) + d * (sizes["s"] - 1) + 1
    x = (
        (sizes["b"], sizes["i"], lines, columns),
        (axis(("b", 1)), axis(("i", 1)), axis(("y", a), ("r", b)), axis(("x", c), ("s", d))),
    )
    w = tuple(sizes[n] for n in "oirs"), tuple(axis((n, 1)) for n in "oirs")
    y = tuple(sizes[n] for n in "boyx"), tuple(axis((n, 1)) for n in "boyx")
    made = {"X": x, "W": w, "Y": y}
    lhs, rhs, out = {"forward": ("X", "W", "Y"), "dx": ("dY", "W", "dX"), "dw": ("X", "dY", "dW")}[product]
    ins = tuple(Tensor(name, *made[name.removeprefix("d")]) for name in (lhs, rhs))
    outs = (Tensor(out, *made[out.removeprefix("d")]),)
    return Nest(tuple(sizes.items()), ins, outs, (None,), (Statement(out, lhs, rhs),))


def values(r: Random, *shape: int) -> Values:
    return np.array([r.randint(-9, 9) for _ in range(int(np.prod(shape)))], np.int64).reshape(shape)


def arrays() -> st.SearchStrategy[Array]:
    words = st.integers(1, 12)
    port = st.sampled_from([1, 2, 4, None])
    own = st.builds(RowStationary, words, st.integers(1, 24), st.integers(1, 6), port, port, port)
    return st.builds(Array, st.integers(1, 6), st.integers(1, 6), st.just("rs"), row_stationary=own)


def elements_of(array: Array, nest: Nest) -> Elements:
    own = row_stationary(configured(nest, Schedule(), array))
    return Elements((array.rows, array.cols), own, own.mappings[0])


def assert_counts(work: Compute, nest: Nest, counted: Elements) -> None:
    statement = nest.statements[0]
    assert work.cycles == counted.cycles
    assert work.cycles - work.edge - work.filling == counted.steady
    assert (work.folds, work.groups) == (counted.passes, counted.loads)
    assert work.accesses[statement.out] == counted.sums + counted.returned
    assert work.returned[statement.out] == counted.returned
    assert sorted((work.accesses[statement.lhs], work.accesses[statement.rhs])) == sorted(
        (counted.inputs, counted.weights)
    )
    assert nest.macs <= counted.steady * counted.size[0] * counted.size[1]


dims = st.fixed_dictionaries(dict(zip(NAMES, map(st.integers, (1,) * 7, (2, 6, 5, 6, 6, 5, 5)), strict=True)))
steps_of = st.tuples(st.integers(1, 3), st.integers(1, 3))


@settings(max_examples=150, deadline=None)
@given(st.sampled_from(["forward", "dw"]), dims, st.tuples(steps_of, steps_of), arrays(), st.integers(0, 99))
def test_elements_equal_numpy_and_the_closed_form(
    product: str, sizes: Sizes, steps: Steps, array: Array, seed: int
) -> None:
    """A convolution, and its dW, whose filters are dY: channels are the images then, and images the channels."""
    nest, r = convolution(product, sizes, steps), Random(seed)
    inputs = values(r, *nest.tensors["X"].shape)
    if product == "forward":
        filters = values(r, *nest.tensors["W"].shape)
        job = Job(inputs, filters, (sizes["y"], sizes["x"]), *steps)
    else:
        dy = values(r, *nest.tensors["dY"].shape)
        job = Job(
            inputs.transpose(1, 0, 2, 3),
            dy.transpose(1, 0, 2, 3),
            (sizes["r"], sizes["s"]),
            (steps[0][1], steps[0][0]),
            (steps[1][1], steps[1][0]),
        )
    counted = elements_of(array, nest)
    assert (counted.run(job) == job.result()).all()
    assert_counts(compute(nest, Schedule(), array), nest, counted)


@settings(max_examples=80, deadline=None)
@given(dims, st.tuples(st.integers(1, 3), st.integers(1, 3)), arrays(), st.integers(0, 99))
def test_a_gradient_of_inputs_is_a_convolution_for_each_residue(
    sizes: Sizes, strides: tuple[int, int], array: Array, seed: int
) -> None:
    """dX of stride c: filter rows of one residue by c reach output rows of one residue, at stride 1."""
    nest, r = convolution("dx", sizes, ((strides[0], 1), (strides[1], 1))), Random(seed)
    dy, w = values(r, *nest.tensors["dY"].shape), values(r, *nest.tensors["W"].shape)
    dx = np.zeros(nest.tensors["dX"].shape, np.int64)
    wanted = dx.copy()
    for i, j in np.ndindex(sizes["r"], sizes["s"]):
        part = np.einsum("boyx,oi->biyx", dy, w[:, :, i, j])
        (a, c), (high, wide) = strides, (sizes["y"], sizes["x"])
        wanted[:, :, i : i + a * (high - 1) + 1 : a, j : j + c * (wide - 1) + 1 : c] += part
    counted = elements_of(array, nest)
    for i in range(min(strides[0], sizes["r"])):
        for j in range(min(strides[1], sizes["s"])):
            some = w[:, :, i :: strides[0], j :: strides[1]].transpose(1, 0, 2, 3)[:, :, ::-1, ::-1]
            high, wide = some.shape[2] - 1, some.shape[3] - 1
            padded = np.pad(dy, ((0, 0), (0, 0), (high, high), (wide, wide)))
            job = Job(padded, some, (sizes["y"] + high, sizes["x"] + wide), (1, 1), (1, 1))
            found = counted.run(job)
            assert (found == job.result()).all()
            dx[:, :, i :: strides[0], j :: strides[1]][:, :, : found.shape[2], : found.shape[3]] += found
    assert (dx == wanted).all()
    assert_counts(compute(nest, Schedule(), array), nest, counted)


@settings(max_examples=80, deadline=None)
@given(st.integers(1, 5), st.integers(1, 12), st.integers(1, 12), arrays(), st.integers(0, 99))
def test_a_matrix_product_has_sets_of_one_element(m: int, n: int, k: int, array: Array, seed: int) -> None:
    sizes, r = {"m": m, "n": n, "k": k}, Random(seed)
    x, w, y = (
        Tensor(name, tuple(sizes[d] for d in ds), tuple(axis((d, 1)) for d in ds))
        for name, ds in (("X", "mk"), ("W", "kn"), ("Y", "mn"))
    )
    nest = Nest(tuple(sizes.items()), (x, w), (y,), (None,), (Statement("Y", "X", "W"),))
    a, b = values(r, m, k), values(r, k, n)
    counted = elements_of(array, nest)
    found = counted.run(Job(a[:, :, None, None], b.T[:, :, None, None], (1, 1), (1, 1), (1, 1)))
    assert (found[:, :, 0, 0] == a @ b).all()
    assert_counts(compute(nest, Schedule(), array), nest, counted)


NETWORK = """
network net(batch=4) {
  input x: f32[batch, 4, 9, 9]
  labels y: i32[batch]
  a = relu(conv2d(x, 8, kernel=3, padding=1))
  b = relu(conv2d(a, 8, kernel=3, stride=2))
  c = conv_transpose2d(b, 4, kernel=3, stride=2)
  loss cross_entropy(linear(flatten(c), 5), y)
  optimizer sgd(lr=0.1)
}
"""
SMALL: dict[str, object] = {
    "memory.spm_kib": 8,
    "energy.mac_pj": 1,
    "energy.spm_pj_per_byte": 2,
    "energy.dram_pj_per_byte": 100,
}


def report(level: int = 1, **changed: object) -> Report:
    overrides = SMALL | {key.replace("__", "."): value for key, value in changed.items()}
    return compile_source(NETWORK, hardware="eyeriss", overrides=overrides, opt_level=level)


@pytest.mark.parametrize("level", [0, 1])
@pytest.mark.parametrize("changed", [{}, {"array__cores": 3}, {"memory__double_buffer": False}])
def test_rows_of_a_training_step(level: int, changed: dict[str, object]) -> None:
    """Forward, dX and dW of convolutions: within their bounds, and energy of what is counted."""
    rows = [row for row in report(level, **changed).ops if row.kind == "matrix"]
    assert {row.phase for row in rows} >= {"forward"}
    for row in rows:
        native = row.native
        assert row.compute_cycles is not None
        assert row.cycles is not None
        assert row.compute_cycles <= row.cycles
        assert (row.utilization or 0) <= 1
        assert row.lower_bound_seconds is not None
        assert row.seconds is not None
        assert row.lower_bound_seconds <= row.seconds
        read, written = native["spm_read_bytes"], native["spm_write_bytes"]
        assert isinstance(read, int)
        assert isinstance(written, int)
        dram = (row.dram_read_bytes or 0) + (row.dram_write_bytes or 0)
        assert row.energy_j == pytest.approx(1e-12 * ((row.macs or 0) + 2 * (read + written) + 100 * dram))


@pytest.mark.parametrize(
    ("sizes", "stride", "wanted"),
    [
        ((1, 96, 3, 55, 55, 11, 11), 4, (11, 7, 1, 2, 154)),
        ((1, 16, 48, 27, 27, 5, 5), 1, (5, 27, 1, 1, 135)),
        ((4, 64, 256, 13, 13, 3, 3), 1, (3, 13, 1, 4, 156)),
        ((4, 64, 192, 13, 13, 3, 3), 1, (3, 13, 2, 2, 156)),
    ],
)
def test_the_chips_mappings_are_among_the_choices(sizes: tuple[int, ...], stride: int, wanted: tuple[int, ...]) -> None:
    """JSSC 2017: AlexNet's layers have 154, 135 and 156 of 168 elements at work."""
    eyeriss = machine_from(machine_target(load_hardware("eyeriss"))).array
    nest = convolution("forward", dict(zip(NAMES, sizes, strict=True)), ((stride, 1), (stride, 1)))
    found = choices(nest, nest.statements[0], eyeriss)
    assert wanted in [(m.rows, m.strip, m.channel_sets, m.filter_sets, m.active) for m in found]
    assert all(m.active <= 168 and m.taps * m.channels <= 12 and m.filters <= 24 for m in found)
    assert all(m.taps * m.channels * m.filters <= 224 for m in found)


def test_an_explanation_tells_the_mapping(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "net.dsl"
    file.write_text(NETWORK)
    assert run_command(["explain", str(file), "c", "--hw", "eyeriss"]) == 0
    text = " ".join(capsys.readouterr().out.split())
    assert "passes on the 12 x 14 array (rs)" in text
    assert "an element has up to" in text


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"memory.policy": "lru"}, r"memory\.policy = 'lru' does not know array\.dataflow = 'rs'"),
        ({"cycle.compat": "scalesim3"}, r"SCALE-Sim has no array\.dataflow = 'rs'"),
        ({"array.overlap": "wlbp"}, r"array\.overlap .* array\.dataflow = 'ws'"),
        ({"array.ifmap_words": 0}, r"array\.ifmap_words: expected an integer from 1"),
        ({"array.psum_port": "none"}, r"array\.psum_port: expected an integer from 1 to .* or 'unlimited'"),
    ],
)
def test_what_it_does_not_go_with(changed: dict[str, object], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        compile_source(NETWORK, hardware="eyeriss", overrides=changed)


def test_scratchpads_must_be_told() -> None:
    with pytest.raises(UsageError, match=r"array\.ifmap_words"):
        compile_source(NETWORK, hardware="igo-small", overrides={"array.dataflow": "rs"})
    with pytest.raises(UsageError, match=r"npu\.target has no psum_words"):
        machine_from(
            {**machine_target(load_hardware("igo-small")), "dataflow": "rs", "ifmap_words": 1, "filter_words": 1}
        )
    with pytest.raises(UsageError, match="ifmap_words is of a row-stationary array"):
        machine_from({**machine_target(load_hardware("igo-small")), "ifmap_words": 1})


def test_the_width_of_the_edge_has_no_effect() -> None:
    (warning,) = report(array__edge_elements=2).warnings
    assert "array.edge_elements has no effect: a row-stationary array has array.ifmap_port" in warning

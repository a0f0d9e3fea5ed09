"""Layers from outside: in the language, differentiated, run, lowered, scored by every backend, shared, or refused."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from npuc.compiler import compile_file, compile_source, run_file
from npuc.compiler.cli import run_command
from npuc.compiler.core.errors import NpucError, SourceError
from npuc.compiler.interpreter.execute import the_function
from npuc.compiler.layers import forget_outside, get_functions
from npuc.dialects.outside import all_operations, families, operation_of_kind
from npuc.dialects.train import OPERATIONS
from npuc.dialects.train.signature import ArgumentKind, arguments_of
from tests.calls import Call
from tests.calls.values import build, random_values
from tests.gradients import assert_gradients
from tests.outside import installed

CODE = (Path(__file__).parent / "cube_layers.py").read_text()
BROKEN = {
    "nothing": ("LAYERS = ()\n", "nothing_layers has no LAYERS"),
    "leaves": ("raise SystemExit(3)\n", "cannot be loaded from leaves_layers: SystemExit: 3"),
    "raises": ("raise KeyError('a defect')\n", "cannot be loaded from raises_layers: KeyError: 'a defect'"),
    "again": (
        "from npuc.compiler.layers.activation import LAYERS\n",
        "again_layers: there is an operation 'train.relu' already",
    ),
    "opless": ("LAYERS = (3,)\n", "opless_layers: a layer has no `op`"),
}


def network(calls: str, optimizer: str = "sgd(lr=0.1)") -> str:
    return (
        "network n(batch=8) {\n  input x: f32[batch, 12]\n  labels y: i32[batch]\n"
        f"  h = linear(x, 16)\n{calls}\n  loss cross_entropy(linear(h, 4), y)\n  optimizer {optimizer}\n}}\n"
    )


@pytest.fixture
def cube(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.chdir(tmp_path)
    with installed(tmp_path, "cube_layers", CODE, "[npuc.layers]\ncube = cube_layers\n"):
        forget_outside()
        yield
    forget_outside()


def given_values(batch: int = 8) -> dict[str, npt.NDArray[Any]]:
    random = np.random.default_rng(7)
    return {"x": random.standard_normal((batch, 12), np.float32), "y": random.integers(0, 4, batch, np.int32)}


@pytest.mark.usefixtures("cube")
@pytest.mark.parametrize("name", ["cube", "mirror"])
def test_gradient_equals_central_differences(name: str) -> None:
    @settings(max_examples=12)
    @given(data=st.data())
    def check(data: st.DataObject) -> None:
        shape = tuple(data.draw(st.lists(st.integers(1, 4), min_size=1, max_size=3)))
        call = Call(name, {"x": shape})
        net = build(call)
        values = random_values(call, net, seed=data.draw(st.integers(0, 1000)))
        params = {a.name for a in arguments_of(the_function(net.module)) if a.kind is ArgumentKind.PARAM}
        assert_gradients(net.module, values, params, data)

    check()


@pytest.mark.usefixtures("cube")
def test_every_backend_scores_it(capsys: pytest.CaptureFixture[str]) -> None:
    Path("net.dsl").write_text(network("  h = cube(mirror(h))"))
    found = {
        backend: [(row.phase, row.op) for row in compile_file("net.dsl", backend=backend).ops if row.name == "h_2"]
        for backend in ("roofline", "cycle", "maestro")
    }
    lowered = [("forward", "npu.vector"), ("dx", "npu.vector")]
    iteration = [("forward", "train.cube"), ("dxdw", "train.cube")]
    assert found == {"roofline": iteration, "cycle": lowered, "maestro": lowered}
    assert run_command(["check", "net.dsl"]) == 0
    assert run_command(["list", "layers"]) == 0
    assert "cube(x)" in capsys.readouterr().out


@pytest.mark.usefixtures("cube")
def test_it_computes_what_it_says() -> None:
    Path("net.dsl").write_text(network("  h = cube(h)\n  output h"))
    run = run_file("net.dsl", inputs=given_values(), seed=3)
    plain = network("  h = mul(mul(h, h), h)\n  output h")
    Path("plain.dsl").write_text(plain)
    expected = run_file("plain.dsl", inputs=given_values(), seed=3)
    np.testing.assert_allclose(run.outputs["h"], expected.outputs["h"], rtol=1e-5, atol=1e-6)
    for name, gradient in expected.gradients.items():
        np.testing.assert_allclose(run.gradients[name], gradient, rtol=1e-4, atol=1e-6)


@pytest.mark.usefixtures("cube")
@pytest.mark.parametrize("level", ["train", "npu", "tiles"])
def test_every_level_and_its_text_compute_the_same(level: str) -> None:
    Path("net.dsl").write_text(network("  h = cube(h)"))
    expected = run_file("net.dsl", inputs=given_values(), seed=1)
    assert run_file("net.dsl", level=level, inputs=given_values(), seed=1).loss == pytest.approx(
        expected.loss, rel=1e-5
    )
    backend = "roofline" if level == "train" else "cycle"
    assert run_command(["compile", "net.dsl", "-b", backend, "--precision", "f32", "-o", "net.mlir", "-q"]) == 0
    assert "cube" in Path("net.mlir").read_text()
    again = run_file("net.mlir", level=level, inputs={**given_values(), **expected.params})
    assert again.loss == pytest.approx(expected.loss, rel=1e-5)


@pytest.mark.usefixtures("cube")
def test_a_view_is_one_to_the_roofline_because_its_layer_says_so() -> None:
    """What a mirrored value takes in a cache is what it shows; it is no layer of the iteration."""
    plain, mirrored = (
        compile_source(network(calls), format="dsl", backend="roofline") for calls in ("", "  h = mirror(h)")
    )
    assert mirrored.totals["dram_read_bytes"] == plain.totals["dram_read_bytes"]
    assert [row.name for row in mirrored.ops] == [row.name for row in plain.ops]


@pytest.mark.usefixtures("cube")
@pytest.mark.parametrize(("optimizer", "scattered"), [("sgd(lr=0.1)", True), ("normed(lr=0.1)", False)])
def test_an_optimizer_that_takes_norms_keeps_parameters_whole(optimizer: str, scattered: bool) -> None:
    from npuc.compiler.transforms.parallelize import updates_by_element
    from npuc.frontends.base import Request
    from npuc.frontends.source import text_source

    source = text_source(network("", optimizer), "dsl", "n.dsl")
    module = source.frontend.read(source, Request()).module
    assert updates_by_element(the_function(module)) is scattered


@pytest.mark.usefixtures("cube")
def test_an_optimizer_from_outside_updates() -> None:
    Path("net.dsl").write_text(network("", "normed(lr=0.5)"))
    run = run_file("net.dsl", inputs=given_values(), seed=2)
    for name, gradient in run.gradients.items():
        moved = run.params[name] - run.updated[name]
        np.testing.assert_allclose(np.sqrt((moved**2).sum()), 0.5, rtol=1e-4)
        np.testing.assert_allclose(moved * np.sqrt((gradient**2).sum()), 0.5 * gradient, rtol=1e-3, atol=1e-5)
    with pytest.raises(NpucError, match="normed"):
        compile_source(network("", "normd(lr=0.5)"), format="dsl")


@pytest.mark.usefixtures("cube")
def test_it_is_shared_among_devices() -> None:
    report = compile_source(network("  h = cube(h)"), format="dsl", backend="cycle", devices=4)
    assert {row.phase for row in report.ops if row.name == "h_2"} == {"forward", "dx"}


@pytest.mark.usefixtures("cube")
@pytest.mark.parametrize(
    ("backend", "call", "message"),
    [
        ("cycle", "free", "train.free has no cost: its layer has no rule for its work"),
        ("maestro", "free", "train.free has no cost: its layer has no rule for its work"),
        ("roofline", "free", "train.free has no cost: its layer has no rule for its work"),
        ("cycle", "product_of", "train.product is matrix work without a loop nest"),
        ("maestro", "product_of", "train.product is matrix work without a loop nest"),
    ],
)
def test_what_has_no_cost_is_refused_at_its_place(backend: str, call: str, message: str) -> None:
    Path("net.dsl").write_text(network(f"  h = {call}(h)"))
    with pytest.raises(SourceError, match=message) as caught:
        compile_file("net.dsl", backend=backend, inference=True)
    assert caught.value.location is not None
    assert caught.value.location.line == 5


@pytest.mark.usefixtures("cube")
def test_what_has_no_derivative_is_refused() -> None:
    with pytest.raises(NpucError, match=r"train\.free has no derivative"):
        compile_source(network("  h = free(h)"), format="dsl")


@pytest.mark.usefixtures("cube")
def test_defects_of_its_own_are_reported_as_its_own() -> None:
    with pytest.raises(SourceError, match=r"train\.fails \(from outside npuc\) gave gradients of types none"):
        compile_source(network("  h = fails(h)"), format="dsl")
    for batch, message in (
        ("8", "failed: KeyError"),
        ("2", r"returned arrays of shapes \[\(16,\)\], expected \[\(2, 16\)\]"),
    ):
        Path("net.dsl").write_text(network("  h = fails(h)").replace("batch=8", f"batch={batch}"))
        with pytest.raises(SourceError, match=r"train\.fails \(from outside npuc\) " + message):
            run_file("net.dsl", inputs={"x": given_values(int(batch))["x"]}, inference=True)


@pytest.mark.usefixtures("cube")
def test_own_functions_win_and_nothing_is_left_behind() -> None:
    assert get_functions()["relu"].__module__ == "npuc.compiler.layers.activation"
    assert operation_of_kind("cube") in all_operations()
    assert set(OPERATIONS).isdisjoint(families().operations)


def test_it_is_gone_with_its_distribution() -> None:
    assert families().operations == ()
    assert operation_of_kind("cube") is None
    with pytest.raises(NpucError, match="cube"):
        compile_source(network("  h = cube(h)"), format="dsl")


@pytest.mark.parametrize("name", sorted(BROKEN))
def test_a_broken_family_is_left_out_and_listed(name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, problem = BROKEN[name]
    with installed(tmp_path, f"{name}_layers", code, f"[npuc.layers]\n{name} = {name}_layers\n"):
        forget_outside()
        try:
            assert compile_source(network(""), format="dsl").totals["cycles"]
            assert run_command(["list", "layers"]) == 0
        finally:
            forget_outside()
    assert any(line.startswith(name) and problem in line for line in capsys.readouterr().out.splitlines())

"""The figures of the roofline study: the points each needs, what is drawn, and what cannot be."""

import struct
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from npuc.compiler.core.errors import UsageError
from npuc.studies.thesis.figures import FIGURES, draw, figure_points, figures_of
from npuc.studies.thesis.figures.panels import curve, scan, shape_of, unit_of
from npuc.studies.thesis.measures import moved_bytes
from npuc.studies.thesis.networks import ThesisNetwork
from npuc.studies.thesis.scores import COARSE_MIB, LARGE, Point, score_points
from npuc.studies.thesis.settings import BATCHES, CAPACITIES, FASTER_GB_PER_S, FASTER_TFLOPS, THESIS
from npuc.studies.thesis.study import ThesisResults, plan_study, run_study
from tests.support.pictures import texts_of

NETWORKS = ("samples:lenet", "samples:mlp", "samples:cifar_c")
WIDE = """\
network wide(batch=64) {
  input x: f32[batch, 40000]
  labels y: i32[batch]
  loss cross_entropy(linear(relu(linear(x, 3000000)), 10), y)
  optimizer sgd(lr=0.1)
}
"""


@cache
def study(*sources: str) -> ThesisResults:
    plan = plan_study(sources=sources)
    return run_study(plan, figure_points(list(FIGURES), plan.networks))


@pytest.mark.parametrize(
    ("number", "count"), [("5.1", 0), ("5.2", 489), ("5.3", 978), ("5.4", 978), ("5.5", 5), ("5.6", 12)]
)
def test_points_are_those_of_the_study(number: str, count: int) -> None:
    network = ThesisNetwork("lenet", "samples:lenet")
    points = figure_points([number], [network])
    assert len(points) == count
    if number == "5.3":
        assert {point.tflops for point in points} == {13.45, FASTER_TFLOPS} == {13.45, 23.04}
    if number == "5.4":
        assert {point.gb_per_s for point in points} == {616.0, FASTER_GB_PER_S} == {616.0, 1555.0}
    if number == "5.5":
        assert [point.mib for point in points] == [24, 64, 128, 256, 400]
    if number == "5.6":
        assert {(point.mib, point.batch) for point in points} == {(mib, b) for mib in (24, 400) for b in BATCHES}
    if count > 100:
        assert {point.mib for point in points} == set(CAPACITIES)


def test_a_curve_has_every_capacity() -> None:
    found = study(*NETWORKS)
    network = found.networks[2]
    capacities, traffic = curve(found, scan(network), moved_bytes)
    assert tuple(capacities) == CAPACITIES
    assert traffic[0] > traffic[-1] > 0


def test_a_large_network_has_every_fourth_capacity(tmp_path: Path) -> None:
    """But for the points that are asked for by themselves."""
    layers = "\n".join(f"  h{n} = relu(h{n - 1})" for n in range(1, LARGE + 10))
    text = f"network long(batch=2) {{\n  input x: f32[batch, 4]\n  h0 = linear(x, 4)\n{layers}\n  loss mse(h9, x)\n}}\n"
    (tmp_path / "long.dsl").write_text(text.replace("mse(h9", f"mse(h{LARGE + 9}"))
    network = ThesisNetwork("long", str(tmp_path / "long.dsl"))
    scores = score_points([Point(network, 26), *scan(network)[:9]], [], THESIS)
    assert [point.mib for point in scores.reports] == [26, 24, 32, 40]
    assert COARSE_MIB == 8


@pytest.mark.parametrize(
    ("count", "shape"), [(1, (1, 1)), (2, (1, 2)), (3, (2, 2)), (4, (2, 2)), (5, (2, 3)), (9, (3, 3))]
)
def test_panels_have_no_more_rows_than_columns(count: int, shape: tuple[int, int]) -> None:
    assert shape_of(count) == shape


def test_a_unit_is_that_of_the_largest_value() -> None:
    units = ((1e6, "M"), (1e3, "k"), (1.0, ""))
    assert [unit_of(values, units)[1] for values in ([2e6, 5.0], [2e3], [0.1], [])] == ["M", "k", "", ""]


@pytest.mark.parametrize("number", FIGURES)
def test_a_figure_is_drawn(number: str) -> None:
    pytest.importorskip("matplotlib")
    found = texts_of(draw(study(*NETWORKS), [number], "svg"))
    for name in ("lenet", "mlp", "cifar_c", f"{number}  {FIGURES[number].title}"):
        assert name in found


def test_kinds_of_pictures() -> None:
    """The same bytes every time."""
    pytest.importorskip("matplotlib")
    files = {kind: draw(study(*NETWORKS), ["5.5"], kind) for kind in ("png", "svg", "pdf")}
    for kind, start in (("png", b"\x89PNG"), ("svg", b"<?xml"), ("pdf", b"%PDF")):
        assert files[kind].startswith(start)
        assert files[kind] == draw(study(*NETWORKS), ["5.5"], kind)
    assert struct.unpack(">II", files["png"][16:24]) == (1290, 960)


def test_lines_are_the_scores(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of figure 5.2: what is given to matplotlib."""
    axes: Any = pytest.importorskip("matplotlib.axes")
    drawn: list[tuple[list[float], list[float]]] = []
    plot = axes.Axes.plot

    def keep(self: Any, x: list[float], y: list[float], **style: Any) -> Any:
        drawn.append((x, y))
        return plot(self, x, y, **style)

    monkeypatch.setattr(axes.Axes, "plot", keep)
    found = study(*NETWORKS)
    draw(found, ["5.2"], "png")
    x, y = drawn[4]
    assert tuple(x) == CAPACITIES
    report = found.scores.reports[Point(found.networks[2], 24)]
    assert y[0] == pytest.approx((report.totals.dram_read_bytes or 0) / 1e6)  # in the unit of the largest: MB


@pytest.mark.parametrize("number", FIGURES)
def test_what_does_not_fit_is_left_out(number: str, tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    (tmp_path / "wide.dsl").write_text(WIDE)
    plan = plan_study(sources=[str(tmp_path / "wide.dsl")])
    found = run_study(plan, figure_points([number], plan.networks))
    assert len(found.warnings) == 1
    assert found.warnings[0].startswith("wide: points are left out: layer 'linear' needs")
    text = draw(found, [number], "svg").decode()
    assert ("not fit" in text) is (number == "5.5")


def test_figures_that_are_meant() -> None:
    networks = [ThesisNetwork("lenet", "samples:lenet")]
    assert figures_of([], networks) == list(FIGURES) == ["5.1", "5.2", "5.3", "5.4", "5.5", "5.6"]
    assert figures_of(["5.3", "5.1", "5.3"], networks) == ["5.3", "5.1"]
    with pytest.raises(UsageError, match=r"--figure 5\.7: there is no such figure"):
        figures_of(["5.7"], networks)

"""Pictures of tables: which kind keys and metrics mean, and what is drawn."""

import json
from typing import Any

import pytest

from npuc.compiler import compile_source
from npuc.compiler.core.errors import UsageError
from npuc.compiler.explore.plot.choice import Asked, choose
from npuc.compiler.explore.plot.draw import draw_table, title_of
from npuc.compiler.explore.plot.marks import front
from npuc.compiler.explore.plot.metrics import METRICS
from npuc.compiler.explore.plot.table import PlotTable, read_table
from npuc.compiler.explore.sweep.compare import Comparison
from npuc.compiler.explore.sweep.drawn import sweep_table
from npuc.compiler.explore.sweep.grid import Axis
from tests.support.pictures import kept_figures, legend_of, lines_of, overlapping, ticks_of
from tests.unit.sweep.test_compare import BATCH, RATE, SPM, compared

pytest.importorskip("matplotlib")

WORDS = Axis("array.dataflow", "hardware", "array.dataflow", ("os", "ws"))
DEVICES = Axis("devices", "option", "devices", (1, 2, 4))
STRATEGIES = Axis("parallel", "option", "parallel", ("dp", "joint"))


def table(comparison: Comparison) -> PlotTable:
    return sweep_table("net on a machine", comparison)


def drawn(comparison: Comparison, **asked: str) -> Any:
    """The figure of a picture."""
    with kept_figures() as figures:
        draw_table(table(comparison), Asked(**asked), "svg")
    assert overlapping(figures[0]) == []
    return figures[0]


def test_a_line_is_drawn_for_each_value_of_the_second_key() -> None:
    (axes,) = drawn(compared((SPM, RATE), [0.004, 0.002, None, 0.002, 0.003, 0.001])).axes
    assert lines_of(axes) == [([64.0, 256.0], [4.0, 3.0], "75"), ([64.0, 128.0, 256.0], [2.0, 2.0, 1.0], "150")]
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("memory.spm_kib", "time, ms")
    assert axes.get_xscale() == "log"  # powers of two
    assert ticks_of(axes.xaxis) == ["64", "128", "256"]
    assert axes.get_ylim()[0] == 0.0
    assert legend_of(axes) == ["75", "150"]
    assert axes.get_legend().get_title().get_text() == "dram.gb_per_s"


def test_the_title_is_the_answer() -> None:
    comparison = compared((SPM, RATE), [0.004, 0.002, None, 0.002, 0.003, 0.001])
    assert title_of(choose(table(comparison), Asked())) == "Least time: 1 ms at memory.spm_kib=256, dram.gb_per_s=150"
    figure = drawn(comparison)
    assert [text.get_text() for text in figure.texts][-1] == "net on a machine; 1 of 6 points do not fit"


def test_one_key_has_one_line_without_a_legend() -> None:
    (axes,) = drawn(compared((SPM,), [1.0, 2.0, 3.0])).axes
    assert [name for _, _, name in lines_of(axes)] == [None]
    assert legend_of(axes) == []


def test_lines_begin_at_the_least_value() -> None:
    falling = Axis("array.rows", "hardware", "array.rows", (4, 2, 1))
    (axes,) = drawn(compared((falling,), [1.0, 2.0, 3.0])).axes
    assert lines_of(axes) == [([1.0, 2.0, 4.0], [3.0, 2.0, 1.0], None)]


def test_words_are_bars() -> None:
    (axes,) = drawn(compared((WORDS, RATE), [1.0, 2.0, 3.0, 4.0])).axes
    assert ticks_of(axes.xaxis) == ["os", "ws"]
    assert [[bar.get_height() for bar in bars] for bars in axes.containers] == [[1.0, 3.0], [2.0, 4.0]]
    assert legend_of(axes) == ["75", "150"]


def test_pipelines_are_bars_with_labels_that_fit() -> None:
    passes = ("-O0", "a,interleave{mode=best},fuse-vector,z", "a,z", "named")
    pipelines = Axis("pipeline", "option", "pipeline", passes)
    figure = drawn(compared((pipelines, RATE), [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0]), x="pipeline")
    (axes,) = figure.axes
    assert ticks_of(axes.xaxis) == ["-O0", "interleave\n{mode=best},\nfuse-vector", "nothing", "named"]
    assert {text.get_rotation() for text in axes.get_xticklabels()} == {0.0}
    assert [text.get_text() for text in figure.texts][-1] == "net on a machine; pipelines: what runs between a and z"


def test_wide_ranges_are_logarithmic() -> None:
    wide = Axis("array.rows", "hardware", "array.rows", (1, 1000))
    (axes,) = drawn(compared((wide,), [1.0, 100.0])).axes
    assert (axes.get_xscale(), axes.get_yscale()) == ("log", "log")


def test_different_work_is_drawn_by_the_gmac() -> None:
    (axes,) = drawn(compared((BATCH,), [1.0, 1.5], macs=[10**12, 2 * 10**12])).axes
    assert lines_of(axes) == [([8.0, 16.0], [1.0, 0.75], None)]
    assert axes.get_ylabel() == "time a GMAC, ms"


def test_a_third_key_has_a_panel_for_each_value() -> None:
    figure = drawn(compared((SPM, RATE, WORDS), [0.001 * (n + 1) for n in range(12)]))
    assert [axes.get_title("left") for axes in figure.axes] == ["array.dataflow = os", "array.dataflow = ws"]
    assert [len(axes.get_lines()) for axes in figure.axes] == [2, 2]
    assert len({axes.get_ylim() for axes in figure.axes}) == 1


def test_further_keys_are_the_best_point() -> None:
    costs = [float(n + 1) for n in range(24)]
    figure = drawn(compared((SPM, RATE, WORDS, BATCH), costs), color="array.dataflow")
    assert figure.axes[0].get_title("left") == "dram.gb_per_s = 75"
    assert lines_of(figure.axes[0])[0][1] == [1.0, 9.0, 17.0]
    assert any("each the best over batch" in text.get_text() for text in figure.texts)


def test_of_many_lines_some_are_named() -> None:
    many = Axis("b", "define", "b", tuple(range(100)))
    (axes,) = drawn(compared((RATE, many), [1.0] * 200)).axes
    assert len(axes.get_lines()) == 100
    assert legend_of(axes)[:2] == ["0", "7"]
    assert len(legend_of(axes)) <= 16
    assert axes.get_legend().get_title().get_text() == "b\n(15 of 100)"


def test_a_line_that_others_cover_is_wider() -> None:
    widths: list[float] = []
    for costs in ([3.0, 3.0, 2.0, 2.0, 1.0, 1.0], [3.0, 3.0, 2.0, 1.0, 1.0, 0.5]):
        widths += [line.get_linewidth() for line in drawn(compared((SPM, RATE), costs)).axes[0].get_lines()]
    assert widths == [3.2, 1.6, 1.6, 1.6]


def test_devices_are_halved_along_a_line_that_waits_for_nothing() -> None:
    (axes,) = drawn(compared((DEVICES, STRATEGIES), [0.008, 0.006, 0.005, 0.004, 0.003, 0.002])).axes
    assert [name for _, _, name in lines_of(axes)] == ["dp", "joint", "linear"]
    assert lines_of(axes)[-1][:2] == ([1, 2, 4], [6.0, 3.0, 1.5])
    assert axes.get_xscale() == "log"


def test_two_keys_and_a_metric_are_a_heat_map() -> None:
    figure = drawn(
        compared((SPM, RATE), [6.0, 5.0, 4.0, None, 2.0, 1.0]), x="memory.spm_kib", y="dram.gb_per_s", color="time"
    )
    axes, bar = figure.axes
    assert [text.get_text() for text in axes.texts] == ["6", "4", "2", "5", "–", "1"]
    assert (axes.get_xlabel(), axes.get_ylabel(), bar.get_ylabel()) == ("memory.spm_kib", "dram.gb_per_s", "time, s")
    (frame,) = axes.patches
    assert frame.get_xy() == (1.5, 0.5)


def test_two_metrics_have_a_front() -> None:
    comparison = compared((SPM, RATE), [1.0, 2.0, 3.0, 4.0, 5.0, 6.0], energy_j=[9.0, 9.5, 5.0, 7.0, 6.0, 1.0])
    (axes,) = drawn(comparison, x="time", y="energy").axes
    (line,) = lines_of(axes)
    assert line[:2] == ([1.0, 3.0, 6.0], [9.0, 5.0, 1.0])
    assert [text.get_text() for text in axes.texts] == ["75", "75", "150"]
    assert title_of(choose(table(comparison), Asked("time", "energy"))) == "3 of 6 points are best in time and energy"


def test_the_front_is_what_nothing_beats() -> None:
    points: list[tuple[float, float, dict[str, object]]] = [(1, 5, {}), (1, 4, {}), (2, 4, {}), (3, 1, {}), (0, 9, {})]
    assert [point[:2] for point in front(points)] == [(0, 9), (1, 4), (3, 1)]
    assert [point[:2] for point in front(points, more_x=True, more_y=True)] == [(3, 1), (2, 4), (1, 5), (0, 9)]


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        (Asked(x="spm"), "--x spm: there is no such key or metric"),
        (Asked(x="time", y="memory.spm_kib"), "a key stands along x"),
        (Asked(y="dram.gb_per_s", color="array.rows"), "--color array.rows: there is no such key"),
        (Asked(color="time"), "a metric is the colour over two keys"),
        (Asked(y="memory"), "no row has the metric 'memory'"),
    ],
)
def test_what_makes_no_picture(asked: Asked, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        draw_table(table(compared((SPM, RATE), [1.0] * 6)), asked, "svg")


def test_points_come_back_from_a_file() -> None:
    for comparison in (
        compared((SPM, RATE), [0.004, 0.002, None, 0.002, 0.003, 0.001]),
        compared((BATCH, WORDS), [1.0, 1.5, 1.0, 2.0], macs=[10, 10, 20, 20]),
        compared((DEVICES, STRATEGIES), [0.008, 0.006, 0.005, 0.004, 0.003, 0.002]),
    ):
        own = table(comparison)
        assert read_table(own.to_json().encode(), "f.json") == own
        assert draw_table(own, Asked(), "svg") == draw_table(read_table(own.to_json().encode(), "f"), Asked(), "svg")


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"[]",
        b"{",
        b'{"schema": "npuc.plan/1"}',
        b'{"schema": "npuc.report/1"}',
        b'{"schema": "npuc.sweep/1", "title": "a", "objective": "time", "by_mac": false, "keys": [], "points": []}',
        b'{"schema": "npuc.sweep/1", "title": "a", "objective": "time", "by_mac": false,'
        b' "keys": [{"key": "a", "values": [1, 2]}], "points": [{"a": 1}]}',
        b'{"schema": "npuc.sweep/1", "title": "a", "objective": "time", "by_mac": false,'
        b' "keys": [{"key": "a", "values": [1]}], "points": [{"a": 2}]}',
        b'{"schema": "npuc.sweep/1", "title": "a", "objective": "x", "by_mac": false,'
        b' "keys": [{"key": "a", "values": [1]}], "points": [{"a": 1}]}',
        b'{"schema": "npuc.sweep/1", "title": "a", "objective": "time", "by_mac": false,'
        b' "keys": [{"key": [], "values": 1}], "points": 7}',
    ],
)
def test_a_file_that_is_no_table(data: bytes) -> None:
    with pytest.raises(UsageError, match=r"'f\.json' is no table to draw"):
        read_table(data, "f.json")


POINTS: dict[str, Any] = {
    "schema": "npuc.sweep/1",
    "title": "a",
    "objective": "time",
    "by_mac": False,
    "keys": [{"key": "a", "values": [1, 2]}],
    "points": [{"a": 1, "seconds": 1.0}, {"a": 2, "seconds": 2.0}],
}
"""A file of points that is right."""


@pytest.mark.parametrize(
    ("changed", "reason"),
    [
        ({"points": [{"a": 1, "seconds": "1"}, {"a": 2}]}, "a point has seconds='1'"),
        ({"points": [{"a": 1, "seconds": True}, {"a": 2}]}, "a point has seconds=True"),
        ({"points": [{"a": 1, "seconds": float("nan")}, {"a": 2}]}, "JSON is malformed"),
        ({"points": [{"a": 1, "seconds": -1.0}, {"a": 2}]}, "a point has seconds=-1.0"),
        ({"points": [{"a": 1, "devices": "4"}, {"a": 2}]}, "a point has devices='4'"),
        (
            {"points": [{"a": 1, "cycles": [3]}, {"a": 2}]},
            "Expected `bool | int | float | str | null`, got `array` - at `$.points[0][...]`",
        ),
        ({"points": [{"a": 1, "cycles": 10**400}, {"a": 2}]}, "a point has cycles=1000"),
        ({"points": [{"a": 1}, {"a": 1}]}, "it does not have one point for each combination"),
        ({"points": [{"a": 1}, {}]}, "'a' is missing"),
        ({"points": [{"a": 1}, 3]}, "Expected `object`, got `int` - at `$.points[1]`"),
        ({"points": {}}, "Expected `array`, got `object` - at `$.points`"),
        ({"keys": [{"key": "a", "values": [1, 1]}]}, "the values of a are not different words and numbers"),
        (
            {"keys": [{"key": "a", "values": [1, None]}]},
            "Expected `bool | int | float | str`, got `null` - at `$.keys[0].values[1]`",
        ),
        (
            {"keys": [{"key": "a", "values": [[1], [2]]}]},
            "Expected `bool | int | float | str`, got `array` - at `$.keys[0].values[0]`",
        ),
        ({"keys": [{"key": 3, "values": [1, 2]}]}, "Expected `str`, got `int` - at `$.keys[0].key`"),
        ({"keys": None}, "Expected `array`, got `null` - at `$.keys`"),
        ({"title": 3}, "Expected `str`, got `int` - at `$.title`"),
        ({"by_mac": "no"}, "Expected `bool`, got `str` - at `$.by_mac`"),
        ({"objective": {}}, "Expected `str`, got `object` - at `$.objective`"),
    ],
)
def test_a_sweep_that_is_wrong_somewhere(changed: dict[str, object], reason: str) -> None:
    assert draw_table(read_table(json.dumps(POINTS).encode(), "f.json"), Asked(), "svg")
    with pytest.raises(UsageError) as caught:
        read_table(json.dumps(POINTS | changed).encode(), "f.json")
    assert caught.value.message.startswith(f"'f.json' is no table to draw: {reason}")


@pytest.mark.parametrize(
    ("place", "value", "reason"),
    [
        (("ops", 0, "seconds"), -1.0, "row 0 has seconds = -1"),
        (("ops", 0, "macs"), -1, "row 0 has macs = -1"),
        (("ops", 0, "cycles"), 1e301, "row 0 has cycles = 1e+301"),
        (("ops", 0, "repeat"), 0, "row 0 has repeat = 0"),
        (("totals", "seconds"), -2.0, "the total of seconds is -2.0"),
        (("ops", 0, "phase"), "then", "Invalid enum value 'then'"),
    ],
)
def test_a_report_that_is_wrong_somewhere(place: tuple[Any, ...], value: object, reason: str) -> None:
    document: dict[str, Any] = json.loads(compile_source("network n() { input x: f32[2, 3]; loss mean(x) }").to_json())
    part: Any = document
    for key in place[:-1]:
        part = part[key]
    part[place[-1]] = value
    one = json.dumps(document)
    for text in (one, f'{{"schema": "npuc.comparison/1", "reports": [{one}]}}'):
        with pytest.raises(UsageError) as caught:
            read_table(text.encode(), "f.json")
        assert caught.value.message.startswith(f"'f.json' is no table to draw: {reason}")


def test_a_report_of_a_machine_without_a_name() -> None:
    document: dict[str, Any] = json.loads(compile_source("network n() { input x: f32[2, 3]; loss mean(x) }").to_json())
    del document["hardware"]["name"]
    assert read_table(json.dumps(document).encode(), "f.json").title.endswith(" on custom")
    with pytest.raises(UsageError, match="it holds no report"):
        read_table(b'{"schema": "npuc.comparison/1", "reports": []}', "f.json")


def test_metrics_of_several_devices_are_summed() -> None:
    row = {"seconds": 2.0, "energy_j": 3.0, "dram_read_bytes": 5, "dram_write_bytes": 6, "devices": 4}
    values = {name: METRICS[name].of(row) for name in ("time", "energy", "traffic", "edp", "memory")}
    assert values == {"time": 2.0, "energy": 12.0, "traffic": 44.0, "edp": 24.0, "memory": None}

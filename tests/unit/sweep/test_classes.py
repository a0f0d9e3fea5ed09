"""Points with schedules on one lowered program: what a compilation for each machine alone says, to the last bit."""

from collections.abc import Callable, Iterator, Mapping
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from npuc.compiler import compile_source, sweep_source
from npuc.compiler.analysis.machine.facts import Machine
from npuc.compiler.driver.classes import program
from npuc.compiler.driver.classes.program import ClassedProgram
from npuc.compiler.explore.sweep.machines import SEARCHED_AT_ONCE, growing
from npuc.compiler.report import Report
from npuc.hardware import Hardware, load_hardware
from npuc.hardware.as_toml import as_toml
from tests.unit.sweep.conftest import NET

TWO_BRANCHES = """\
network branches(batch=2, hidden=4) {
  input  x: f32[batch, 3, 4, 4]
  labels y: i32[batch]
  h = relu(conv2d(x, 3, kernel=3, padding=1))
  f = flatten(h + relu(conv2d(h, 3, kernel=3, padding=1)))
  loss cross_entropy(linear(f, hidden) * sigmoid(linear(f, hidden)), y)
  optimizer adam(lr=0.01)
}
"""
ATTENTION = """\
network attention(batch=1, n=4, width=4) {
  input  x: f32[batch, n, width]
  labels y: i32[batch, n]
  q = linear(x, width)
  k = linear(x, width)
  v = linear(x, width)
  h = matmul(softmax(matmul(q, transpose(k, [0, 2, 1]))), v)
  loss cross_entropy(linear(h, 5), y)
  optimizer sgd(lr=0.1, momentum=0.9)
}
"""
KEYS = {"memory.spm_kib": [0.25, 64], "dram.gb_per_s": [3, 150]}


@pytest.fixture
def classed(monkeypatch: pytest.MonkeyPatch) -> list[bool]:
    """Whether each point so far was costed by classes of operations."""
    found: list[bool] = []
    own: Callable[[ClassedProgram, Hardware], Report | None] = ClassedProgram.score

    def score(self: ClassedProgram, machine: Hardware) -> Report | None:
        report = own(self, machine)
        found.append(report is not None)
        return report

    monkeypatch.setattr(ClassedProgram, "score", score)
    return found


def _compare(text: str, vary: Mapping[str, Any], **options: Any) -> Iterator[str | None]:
    """Compare the points of a sweep with compilations; the error of each."""
    for point in sweep_source(text, vary=vary, backend="cycle", **options):
        values = dict(point.values)
        own = {"opt_level", "objective", "tolerance", "devices"} & values.keys()
        chosen = {**options, **{name: values.pop(name) for name in own}}
        overrides = {**chosen.pop("overrides", {}), **values}
        if point.error is None:
            report = compile_source(text, backend="cycle", overrides=overrides, **chosen)
            assert report.totals == point.totals
            lines = tuple(f"warning: {one}" for one in report.warnings)
            assert tuple(one for one in lines if "does not read it here" not in one) == point.messages
        else:
            with pytest.raises(Exception, match="bytes"):
                compile_source(text, backend="cycle", overrides=overrides, **chosen)
        yield point.error


@pytest.mark.parametrize(
    ("text", "level"), [(NET, 0), (NET, 1), (NET, 2), (NET, 3), (TWO_BRANCHES, 1), (TWO_BRANCHES, 3), (ATTENTION, 3)]
)
def test_points_are_what_compile_says(text: str, level: int, classed: list[bool]) -> None:
    errors = list(_compare(text, KEYS, opt_level=level, hardware="igo-small"))
    assert errors == [None] * 4
    assert classed == [True] * 4


def test_points_that_do_not_fit_say_what_compile_says(classed: list[bool]) -> None:
    errors = list(_compare(NET, {"memory.spm_kib": [0.01, 64], "dram.gb_per_s": [3, 150]}, hardware="igo-small"))
    assert [error is None for error in errors] == [False, False, True, True]
    assert classed.count(True) == 2


@pytest.mark.parametrize(
    "options",
    [
        {"objective": "traffic"},
        {"objective": "energy", "tolerance": 0.0},
        {"inference": True, "precision": "bf16"},
        {"hardware": "tpu-v1"},
        {"overrides": {"array.cores": 4}},
        {"overrides": {"dram.capacity_mib": 1}},
        {"overrides": {"array.dataflow": "ws", "memory.double_buffer": False}},
    ],
    ids=str,
)
def test_options_hold_for_all_machines(options: Mapping[str, Any], classed: list[bool]) -> None:
    energies = {"energy.mac_pj": 0.5, "energy.spm_pj_per_byte": 1, "energy.dram_pj_per_byte": 20}
    given = {"hardware": "igo-small", **options, "overrides": {**energies, **options.get("overrides", {})}}
    assert list(_compare(NET, {"array.rows": [4, 8], "dram.gb_per_s": [4, 40]}, **given)) == [None] * 4
    assert classed == [True] * 4


@pytest.mark.parametrize(
    "options",
    [
        {"overrides": {"array.dataflow": "in-place"}},
        {"overrides": {"memory.policy": "lru"}},
        {"hardware": "scalesim", "overrides": {"cycle.compat": "scalesim3"}},
        {"overrides": {"memory.retention_us": 1}},
        {"pipeline": "autodiff,lower-to-npu,interleave{mode=zip},schedule"},
        {"recompute": "full"},
        {"quantize": "int8"},
        {"only": "linear*"},
    ],
    ids=str,
)
def test_programs_that_are_another_on_each_machine_are_lowered_for_it(
    options: Mapping[str, Any], classed: list[bool]
) -> None:
    given = {"hardware": "igo-small", **options}
    assert list(_compare(NET, {"array.rows": [4, 8]}, **given)) == [None] * 2
    assert True not in classed


def test_widths_and_options_part_programs(classed: list[bool]) -> None:
    vary = {"memory.element_bytes": [2, 4], "batch": [4, 8], "opt_level": [0], "dram.gb_per_s": [4, 40]}
    points = list(sweep_source(NET, vary=vary, backend="cycle", hardware="igo-small"))
    assert len({str(point.totals) for point in points}) == len(points) == len(classed) == 8
    for point in points:
        values = dict(point.values)
        defines, level = {"batch": values.pop("batch")}, values.pop("opt_level")
        report = compile_source(
            NET, backend="cycle", hardware="igo-small", overrides=values, defines=defines, opt_level=level
        )
        assert report.totals == point.totals


def test_several_devices_have_programs_of_their_own(classed: list[bool]) -> None:
    vary = {"devices": [1, 2], "dram.gb_per_s": [4, 40]}
    assert list(_compare(NET, vary, hardware="igo-small", opt_level=0)) == [None] * 4
    assert classed == []


def test_keys_without_effect_are_the_same() -> None:
    """A key that only machines of several cores read is told of where there is one."""
    vary = {"array.cores": [1, 2], "array.multicast": [True, False]}
    together = [point.unread for point in sweep_source(NET, vary=vary, backend="cycle", hardware="igo-small")]
    alone = [
        next(
            sweep_source(
                NET, vary={key: [value] for key, value in point.items()}, backend="cycle", hardware="igo-small"
            )
        )
        for point in ({"array.cores": a, "array.multicast": b} for a in (1, 2) for b in (True, False))
    ]
    assert together == [point.unread for point in alone]
    assert together[0] != together[2]


LEVELS = [
    {"name": "SPM", "kib": 16},
    {"name": "L2", "kib": 64, "gb_per_s": 20},
    {"name": "DRAM", "gb_per_s": 4},
]


@pytest.mark.parametrize(
    "keys",
    [{"memory.levels": LEVELS}, {"array.mantissa_bits": 4}, {"array.dataflow": "in-place"}],
    ids=["levels", "mantissas", "in-place"],
)
def test_a_machine_with_a_program_of_its_own_leaves_that_of_others(
    keys: Mapping[str, Any], classed: list[bool], tmp_path: Path
) -> None:
    """The machines before and behind it share one."""

    def file(name: str, **values: Any) -> str:
        machine = load_hardware("igo-small", {"memory.element_bytes": 2, "memory.spm_kib": 16, "name": name, **values})
        (tmp_path / f"{name}.toml").write_text(as_toml(machine, ""))
        return str(tmp_path / f"{name}.toml")

    apart, slow, fast = file("apart", **keys), file("slow", clock_mhz=400), file("fast", clock_mhz=800)
    for order in ([apart, slow, fast], [slow, apart, fast]):
        classed.clear()
        points = list(sweep_source(NET, vary={"hw": order}, backend="cycle"))
        assert classed == [True, True]
        for machine, point in zip(order, points, strict=True):
            assert compile_source(NET, backend="cycle", hardware=machine).totals == point.totals


@pytest.mark.parametrize("count", [0, 1, 2, 3, 7, 16, 40, 90])
def test_the_first_points_do_not_wait_for_all(count: int) -> None:
    """Points are searched in their order, few at first, and never more at once than were told before."""
    runs = [list(some) for some in growing(range(count))]
    assert [index for some in runs for index in some] == list(range(count))
    told = 0
    for some in runs:
        assert 1 <= len(some) <= max(1, min(told, SEARCHED_AT_ONCE))
        told += len(some)


def test_schedules_of_a_class_are_searched_on_all_machines_in_turn(monkeypatch: pytest.MonkeyPatch) -> None:
    """So that what its searches share is still there: its tables, and the tile operations of its schedules."""
    asked: list[tuple[object, Fraction]] = []
    own = program.best_way

    def best(found: Any, machine: Machine, goal: Any) -> Any:
        asked.append((tuple(op.nest for op in found.ops), machine.bytes_per_cycle))
        return own(found, machine, goal)

    monkeypatch.setattr(program, "best_way", best)
    rates = [3, 50, 100, 150]
    assert len(list(sweep_source(TWO_BRANCHES, vary={"dram.gb_per_s": rates}, backend="cycle", opt_level=3))) == 4
    # The first two points by themselves, the others together.
    kinds = len({nests for nests, _ in asked})
    assert kinds > 1
    assert len(asked) == 4 * kinds
    together = asked[-2 * kinds :]
    assert [nests for nests, _ in together[::2]] == [nests for nests, _ in together[1::2]]
    assert all(one != other for (_, one), (_, other) in zip(together[::2], together[1::2], strict=True))

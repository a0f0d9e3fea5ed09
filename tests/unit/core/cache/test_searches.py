"""Results of searches from the store: the same as computed, under keys that hold all they depend on."""

import sys
from collections.abc import Iterator
from copy import copy
from dataclasses import fields, is_dataclass
from functools import lru_cache
from pathlib import Path
from time import sleep
from typing import Any

import pytest

from npuc.compiler import compile_source, keep_results
from npuc.compiler.analysis.machine.facts import Machine
from npuc.compiler.analysis.machine.levels.outer import OuterLevel
from npuc.compiler.analysis.machine.table import Energy
from npuc.compiler.analysis.nest.elements import uniform_widths
from npuc.compiler.analysis.schedule import search
from npuc.compiler.analysis.schedule.search import best_schedule
from npuc.compiler.core.cache import searches
from npuc.compiler.core.cache.plain import packed
from npuc.compiler.core.cache.searches import kept
from npuc.compiler.core.cache.store import FILE, Store
from npuc.compiler.core.errors import CapacityError
from npuc.compiler.explore.workers import answers
from npuc.dialects.npu.nest import Loop, Schedule
from tests.schedules import gemm


@pytest.fixture(autouse=True)
def everything_is_worth_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NPUC_NO_CACHE")
    monkeypatch.setattr(searches, "WORTH_SECONDS", 0.0)


@lru_cache
def caches(modules: int) -> list[Any]:
    """The caches of analyses in this process, which has so many modules."""
    # In the modules, not among what the collector knows: of that the suite freezes a part.
    own = [vars(module) for name, module in list(sys.modules.items()) if name.startswith("npuc.compiler.analysis")]
    return [one for names in own for one in list(names.values()) if isinstance(one, type(caches))]


def forget() -> None:
    """Empty all caches of this process, as a new one has them."""
    for one in caches(len(sys.modules)):
        one.cache_clear()


def machine(**more: Any) -> Machine:
    from npuc.compiler.analysis.machine.array import Array

    known: dict[str, Any] = {
        "array": Array(8, 8),
        "spm_bytes": 4096,
        "bytes_per_cycle": 4,
        "clock_mhz": 1000,
        "lanes": 4,
    }
    return Machine(**(known | more))


def changed(value: Any) -> Any:
    """Another value of about the same kind."""
    match value:
        case bool():
            return not value
        case int():
            return value + 1
        case float():
            return value + 0.5
        case str():
            return value + "?"
        case None:
            return 1
        case tuple():
            return (*value, 1)  # pyright: ignore[reportUnknownVariableType]
        case _:
            return value + 1


def variants(value: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    """Of a frozen value all that differ from it in one field, however deep, each with that field's path."""
    for field in fields(value):
        own, name = getattr(value, field.name), f"{path}.{field.name}"
        others = variants(own, name) if is_dataclass(own) else [(name, changed(own))]
        for where, other in others:
            new = copy(value)
            object.__setattr__(new, field.name, other)
            yield where, new


def test_each_fact_of_a_machine_is_in_the_key() -> None:
    whole = machine(energy=Energy(1.0, 2.0, 3.0), levels=(OuterLevel("L2", 1 << 20, 8),))
    paths = [path for path, _ in variants(whole)]
    assert {".spm_bytes", ".bytes_per_cycle", ".array.rows", ".energy.mac_pj", ".lanes", ".policy"} <= {*paths}
    keys = [packed(whole), *(packed(other) for _, other in variants(whole))]
    keys += [packed(machine(levels=(level,))) for _, level in variants(whole.levels[0])]
    assert len({*keys}) == len(paths) + 1 + len(fields(OuterLevel))


def test_each_part_of_a_nest_is_in_the_key() -> None:
    nest = gemm(4, 5, 6)
    parts = [*variants(nest), *variants(nest.ins[0]), *variants(nest.ins[0].axes[0]), *variants(nest.statements[0])]
    assert len({packed(part) for _, part in parts} | {packed(nest)}) == len(parts) + 1


def test_a_schedule_is_read_and_not_searched(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    nest, on = gemm(48, 40, 56), machine()
    forget()
    expected = best_schedule(nest, on, tolerance=0.005)
    for _ in range(2):
        forget()
        with keep_results(tmp_path):
            assert best_schedule(nest, on, tolerance=0.005) == expected

    def fail(*given: object, **named: object) -> Schedule:
        raise AssertionError("it searches")

    monkeypatch.setattr(search, "near_on_core", fail)
    forget()
    with keep_results(tmp_path):
        assert best_schedule(nest, on, tolerance=0.005) == expected
        # What a search for contractions does not see is not in its key.
        assert best_schedule(nest, machine(lanes=7), tolerance=0.005) == expected
        for other in (
            lambda: best_schedule(gemm(48, 40, 57), on, tolerance=0.005),
            lambda: best_schedule(nest, machine(spm_bytes=4095), tolerance=0.005),
            lambda: best_schedule(nest, on, "traffic", tolerance=0.005),
            lambda: best_schedule(nest, on, tolerance=0.01),
            lambda: best_schedule(nest, on, order=("m", "n", "k"), tolerance=0.005),
            lambda: best_schedule(nest, on, widths=uniform_widths(nest, machine(element_bytes=2)), tolerance=0.005),
            lambda: best_schedule(nest, on, tolerance=0.005, monotone=True),
        ):
            with pytest.raises(AssertionError, match="it searches"):
                other()
    forget()


def test_an_error_is_raised_again(tmp_path: Path) -> None:
    for _ in range(2):
        forget()
        with keep_results(tmp_path), pytest.raises(CapacityError):
            best_schedule(gemm(4, 4, 4), machine(spm_bytes=4))
    assert not (tmp_path / FILE).exists()


@kept("numbers")
def doubled(number: int, *, calls: int = 0) -> int:
    CALLS.append(number)
    return 2 * number


CALLS: list[int] = []


def test_what_is_found(tmp_path: Path) -> None:
    CALLS.clear()
    assert [doubled(3), doubled(3)] == [6, 6]
    with keep_results(tmp_path):
        assert [doubled(3), doubled(3), doubled(3, calls=0), doubled(4)] == [6, 6, 6, 8]
    with keep_results(tmp_path):
        assert doubled(4) == 8
    # Arguments that are given otherwise are others, as for functools.
    assert CALLS == [3, 3, 3, 3, 4]


def test_a_row_of_something_else_is_computed_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def other(self: Store, kind: str, key: bytes) -> bytes:
        return packed(Loop("m", 2))

    monkeypatch.setattr(Store, "get", other)
    with keep_results(tmp_path):
        assert doubled(5) == 10


@kept("lists")
def listed(number: int) -> list[int]:
    return [number]


def test_what_can_change_is_not_kept(tmp_path: Path) -> None:
    with keep_results(tmp_path):
        assert listed(1) == [1]
    assert not (tmp_path / FILE).exists()


def test_what_takes_no_time_is_not_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(searches, "WORTH_SECONDS", 60.0)
    with keep_results(tmp_path):
        doubled(6)
    assert not (tmp_path / FILE).exists()


def test_without_a_folder_nothing_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NPUC_NO_CACHE", "1")
    with keep_results():
        assert searches.handed() is None
        assert doubled(7) == 14


def slowly(number: int) -> int:
    sleep(0.01)
    return doubled(number)


@pytest.mark.skipif(sys.platform == "win32", reason="of POSIX")
def test_processes_share_what_they_find(tmp_path: Path) -> None:
    with keep_results(tmp_path):
        assert list(answers(range(8), slowly, jobs=2)) == [0, 2, 4, 6, 8, 10, 12, 14]
    store = Store(str(tmp_path), 1 << 20, b"")
    assert store.tally()["numbers"].rows >= 4  # the last ones of a process may not be written when it is ended
    CALLS.clear()
    with keep_results(tmp_path):
        for number in range(8):
            doubled(number)
    assert len(CALLS) <= 4


NETWORKS: tuple[dict[str, Any], ...] = (
    {"hardware": "igo-large"},
    {"hardware": "igo-small", "overrides": {"array.cores": 2}, "objective": "traffic"},
    {"hardware": "eyeriss", "opt_level": 1},
)
TEXT = """
network one(batch=4) {
  input x: f32[batch, 6]
  input y: f32[batch, 3]
  hidden = relu(linear(x, 5))
  loss mse(linear(hidden, 3), y)
  optimizer sgd(lr=0.1)
}
"""


def rows_and_misses(folder: Path) -> tuple[int, int]:
    tally = Store(str(folder), 1 << 20, b"").tally()["schedules"]
    return tally.rows, tally.misses


@pytest.mark.parametrize("options", NETWORKS)
def test_reports_are_the_same(tmp_path: Path, options: dict[str, Any]) -> None:
    forget()
    expected = compile_source(TEXT, backend="cycle", **options).to_json()
    counts: list[tuple[int, int]] = []
    for _ in range(2):
        forget()
        with keep_results(tmp_path):
            assert compile_source(TEXT, backend="cycle", **options).to_json() == expected
        counts.append(rows_and_misses(tmp_path))
    assert counts[0] == counts[1] > (0, 0)


def test_networks_of_other_names_share_searches(tmp_path: Path) -> None:
    counts: list[tuple[int, int]] = []
    for text in (TEXT, TEXT.replace("one", "two").replace("x", "image").replace("hidden", "inner")):
        forget()
        with keep_results(tmp_path):
            compile_source(text, backend="cycle", hardware="igo-small")
        counts.append(rows_and_misses(tmp_path))
    assert counts[0] == counts[1] > (0, 0)

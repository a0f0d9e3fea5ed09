"""Many mappings at once: what is given, what is refused, what is wrong usage."""

import sys
import tracemalloc
import warnings
from collections.abc import Callable
from random import Random
from typing import Any, TypeAlias

import numpy as np
import pytest

from npuc.backends.maestro import evaluate, mapping_arrays
from npuc.backends.maestro.batch import BATCH
from npuc.compiler.analysis.mapping.batch.arrays import Floats, Mappings
from npuc.compiler.analysis.mapping.columns import COLUMNS
from npuc.compiler.core.errors import UsageError
from npuc.dialects.mapping import Cluster, Map, Mapping, Problem, Sz
from npuc.hardware import load_hardware
from tests.mapping_batches import draw_batch, draw_layer

Change: TypeAlias = Callable[[Any], Any]
DIMS = {"K": 8, "C": 4, "R": 3, "S": 3, "Y": 8, "X": 8}
PROBLEM: dict[str, object] = {"type": "CONV", "dims": DIMS, "stride": {"Y": 1, "X": 1}}
LAYER = Problem("CONV", tuple(DIMS.items()))
MAPPING = Mapping(
    LAYER,
    (
        *(
            Map("K", 1, 1, spatial=True),
            Map("C", 2, 2),
            Map("Y", Sz("R"), 1),
            Map("X'", 2, 2),
            Map("S", Sz("S"), Sz("S")),
        ),
        *(Cluster(2), Map("C", 1, 1, spatial=True)),
    ),
)
MACHINE = {"maestro.num_pes": 16, "maestro.noc_bw": 4}


def arrays(count: int = 1) -> dict[str, Any]:
    return dict(mapping_arrays([MAPPING] * count))


def changed(key: str, change: Change) -> dict[str, Any]:
    found = arrays()
    return {**found, key: change(found[key])}


def test_columns_are_float_arrays_of_the_number_of_mappings() -> None:
    for mode in ("parity", "exact"):
        table = evaluate(PROBLEM, arrays(3), {**MACHINE, "maestro.mode": mode})
        assert tuple(table) == COLUMNS
        assert {(values.shape, values.dtype) for values in table.values()} == {((3,), np.dtype(np.float64))}
        assert all(np.isfinite(values).all() for values in table.values())
        assert table["num_macs"].tolist() == [8 * 4 * 9 * 36] * 3


def test_the_mode_is_parity_if_none_is_written() -> None:
    plain, parity, exact = (
        evaluate(PROBLEM, arrays(), {**MACHINE, **mode})
        for mode in ({}, {"maestro.mode": "parity"}, {"maestro.mode": "exact"})
    )
    assert plain == parity
    assert plain["energy_nj_csv"] != exact["energy_nj_csv"]


def test_hardware_is_a_preset_keys_or_a_description() -> None:
    preset = evaluate(PROBLEM, arrays(), "nvdla")
    assert preset == evaluate(PROBLEM, arrays(), load_hardware("nvdla"))
    keys = {"maestro": {"num_pes": 16, "noc_bw": 4}}
    assert evaluate(LAYER, arrays(), keys) == evaluate(PROBLEM, arrays(), load_hardware(MACHINE))
    assert evaluate(LAYER, arrays(), keys) != preset


@pytest.mark.parametrize("mode", ["parity", "exact"])
@pytest.mark.parametrize("levels", [1, 2, 4])
def test_no_mappings_give_empty_columns(mode: str, levels: int) -> None:
    shape = (0, levels, 3)
    none = {key: np.zeros(shape, int) for key in ("dim", "size", "offset")}
    table = evaluate(
        PROBLEM,
        {**none, "spatial": np.zeros(shape, bool), "cluster": np.zeros((0, levels - 1), int)},
        {**MACHINE, "maestro.mode": mode},
    )
    assert {name: values.shape for name, values in table.items()} == dict.fromkeys(COLUMNS, (0,))


def test_dimensions_are_numbered_as_the_problem_lists_them() -> None:
    """In another order, with K, which means nothing to a depthwise layer, whose maps are none."""
    given = {"type": "DSCONV", "dims": {"X": 6, "Y": 6, "K": 1, "S": 3, "R": 3, "C": 4}}
    dims = list(given["dims"])
    layer = Problem("DSCONV", (("C", 4), ("R", 3), ("S", 3), ("Y", 6), ("X", 6)))
    mapping = Mapping(layer, (Map("C", 1, 1, spatial=True), Map("X", 3, 1)))
    wanted = evaluate(layer, mapping_arrays([mapping]), MACHINE)
    row = {"dim": [dims.index("C"), -1, dims.index("K"), dims.index("X")], "size": [1, 9, 1, 3], "offset": [1, 9, 1, 1]}
    found = {key: np.array([[values]]) for key, values in row.items()}
    found |= {"spatial": np.array([[[True, True, False, False]]]), "cluster": np.zeros((1, 0), int)}
    assert evaluate(given, found, MACHINE) == wanted


def test_batches_do_not_depend_on_each_other(monkeypatch: pytest.MonkeyPatch) -> None:
    r = Random(3)
    for mode in ("parity", "exact"):
        problem = draw_layer(r)
        mappings = draw_batch(r, problem, 30, 2)
        machine = {"maestro.num_pes": 32, "maestro.noc_bw": 3, "maestro.mode": mode}
        together = evaluate(problem, mappings, machine)
        monkeypatch.setattr(sys.modules["npuc.backends.maestro.batch"], "BATCH", 7)
        for part in (evaluate(problem, mappings, machine), *_alone(problem, mappings, machine)):
            for name in COLUMNS:
                np.testing.assert_array_equal(part[name], together[name])
        monkeypatch.undo()
        assert np.isfinite(together["runtime_cycles"]).sum() > 3


def _alone(problem: Problem, mappings: Mappings, machine: dict[str, Any]) -> list[dict[str, Floats]]:
    """Each mapping by itself, put together again."""
    tables = [evaluate(problem, mappings.part(slice(row, row + 1)), machine) for row in range(len(mappings))]
    return [{name: np.concatenate([table[name] for table in tables]) for name in COLUMNS}]


@pytest.mark.parametrize("mode", ["parity", "exact"])
def test_memory_does_not_grow_with_the_number_of_mappings(mode: str) -> None:
    def peak(count: int) -> int:
        given = arrays(count)
        tracemalloc.start()
        evaluate(PROBLEM, given, {**MACHINE, "maestro.mode": mode})
        found = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return found

    small, large = peak(2 * BATCH), peak(5 * BATCH)
    held = sum(array.nbytes for array in arrays(BATCH).values()) + 8 * len(COLUMNS) * BATCH
    assert large - small < 3 * (2 * held)


def test_exact_macs_are_those_of_the_layer() -> None:
    r, accepted = Random(8), 0
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for _ in range(40):
            problem = draw_layer(r)
            table = evaluate(
                problem, draw_batch(r, problem, 12, r.randint(1, 3)), {"maestro.num_pes": 40, "maestro.mode": "exact"}
            )
            good = ~np.isnan(table["runtime_cycles"])
            assert (table["num_macs"][good] == problem.macs).all()
            assert all((np.isnan(values) == ~good).all() for values in table.values())
            accepted += int(good.sum())
    assert accepted > 150


REFUSED: dict[str, tuple[str, Change]] = {
    "a size of 0": ("size", lambda a: np.where(a == 2, 0, a)),
    "a negative offset": ("offset", lambda a: -a),
    "clusters of nothing": ("cluster", lambda a: 0 * a),
    "clusters that do not fit": ("cluster", lambda a: 99 + a),
    "no spatial map": ("spatial", lambda a: a & False),
    "three spatial maps": ("spatial", lambda a: a | True),
    "taps cut over time": ("size", lambda a: np.where(a == 3, 2, a)),
}


@pytest.mark.parametrize("mode", ["parity", "exact"])
@pytest.mark.parametrize("what", REFUSED)
def test_what_is_refused_is_nan_in_every_column(mode: str, what: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        table = evaluate(PROBLEM, changed(*REFUSED[what]), {**MACHINE, "maestro.mode": mode})
    assert np.isnan(list(table.values())).all()


PROBLEMS: list[tuple[dict[str, Any], str, str | None]] = [
    ({"kind": "CONV"}, "problem: unknown key 'kind'", "known: type, dims, stride"),
    ({"type": "CONF"}, "problem: unknown type 'CONF'", "did you mean 'CONV'?"),
    ({"dims": {"K": 8, "Q": 1}}, "problem: dims: a CONV has no 'Q'", None),
    ({"stride": {"Z": 1}}, "problem: stride: a CONV has no 'Z'", None),
    ({"dims": {"K": 8, "C": 4}}, "problem: a CONV needs a size of R, S, X, Y", None),
    ({"dims": 8}, "problem: expected dims by name, got 8", None),
    ({"dims": {"K": 8.0}}, "problem: dims of K: expected an integer, got 8.0", None),
    ({"dims": {"K": True}}, "problem: dims of K: expected an integer, got True", None),
    ({"stride": {"X": 0}}, "problem: stride of X is 0, expected at least 1", None),
    ({"dims": {**DIMS, "Y": 2}}, "problem: Y is 2, less than R, which is 3", None),
    ({"dims": {**DIMS, "K": 2**31}}, "problem: dims of K: expected at most 2,147,483,647, got 2147483648", None),
]


@pytest.mark.parametrize(("change", "message", "hint"), PROBLEMS)
def test_wrong_problems(change: dict[str, Any], message: str, hint: str | None) -> None:
    with pytest.raises(UsageError) as caught:
        evaluate({**PROBLEM, **change}, arrays(), MACHINE)
    assert caught.value.message == message
    assert hint is None or caught.value.hint == hint


MAPPINGS: list[tuple[str, Change, str]] = [
    ("size", lambda a: a * 1.0, "mappings: expected integers in size, got float64"),
    ("size", lambda a: a + (1 << 31), "mappings: expected size of at most 2,147,483,647, got 2,147,483,652"),
    ("cluster", lambda a: a > 0, "mappings: expected integers in cluster, got bool"),
    ("spatial", lambda a: a * 1, "mappings: expected booleans in spatial, got int64"),
    ("dim", lambda a: a[0], "mappings: expected dim [mapping, level, directive], got 2 axes"),
    ("dim", lambda a: np.repeat(a, 3, axis=1), "mappings: expected 1 to 4 levels, got 6"),
    ("offset", lambda a: a[:, :1], "mappings: expected offset of shape (1, 2, 5), got (1, 1, 5)"),
    ("cluster", lambda a: np.repeat(a, 2, axis=1), "mappings: expected cluster of shape (1, 1), got (1, 2)"),
    ("dim", lambda a: a + 6, "mappings: expected dim from -1 to 5, the problem has K, C, R, S, Y, X"),
    ("dim", lambda a: a - 1, "mappings: expected dim from -1 to 5, the problem has K, C, R, S, Y, X"),
]


@pytest.mark.parametrize(("key", "change", "message"), MAPPINGS)
def test_wrong_arrays(key: str, change: Change, message: str) -> None:
    with pytest.raises(UsageError) as caught:
        evaluate(PROBLEM, changed(key, change), MACHINE)
    assert caught.value.message == message


@pytest.mark.parametrize("key", ["size", "spatial"])
def test_a_ragged_list_is_no_array(key: str) -> None:
    with pytest.raises(UsageError, match=f"mappings: {key} is no array: "):
        evaluate(PROBLEM, {**arrays(), key: [[1, 2], [3]]}, MACHINE)


def test_a_missing_array_and_a_missing_key() -> None:
    given = {key: array for key, array in arrays().items() if key != "cluster"}
    with pytest.raises(UsageError, match="mappings: missing 'cluster'") as caught:
        evaluate(PROBLEM, given, MACHINE)
    assert caught.value.hint == "expected dim, size, offset, spatial, cluster"
    with pytest.raises(UsageError, match=r"maestro\.num_pes"):
        evaluate(PROBLEM, arrays(), {"maestro.noc_bw": 4})


def test_arrays_of_mappings() -> None:
    """`Sz` in numbers, X' as X with the rows of its windows, dimensions in the order of the layer."""
    found = arrays()
    assert found["dim"].tolist() == [[[0, 1, 4, 5, 3], [1, -1, -1, -1, -1]]]
    assert found["size"].tolist() == [[[1, 2, 3, 4, 3], [1, 1, 1, 1, 1]]]
    assert found["offset"].tolist() == [[[1, 2, 1, 2, 3], [1, 1, 1, 1, 1]]]
    assert found["spatial"].tolist() == [[[True, False, False, False, False], [True, False, False, False, False]]]
    assert found["cluster"].tolist() == [[2]]


def test_mappings_that_do_not_go_together() -> None:
    one = Mapping(LAYER, (Map("K", 1, 1, spatial=True),))
    message = "mappings of one call must be of one layer and have equally many levels"
    with pytest.raises(UsageError, match=message):
        mapping_arrays([MAPPING, one])
    with pytest.raises(UsageError, match="expected at least one mapping"):
        mapping_arrays([])
    with pytest.raises(UsageError, match=r"SpatialMap\(1, 1\) Y' needs a map of R at the same level"):
        mapping_arrays([Mapping(LAYER, (Map("Y'", 1, 1, spatial=True),))])

"""The difference of two reports: what it must be whatever the reports are."""

import io
import json
from collections.abc import Sequence
from itertools import pairwise
from typing import Any, cast

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from npuc.compiler import UsageError, diff_reports
from npuc.compiler.report import OpRow, Report, make_report
from npuc.compiler.report.difference.align import aligned
from npuc.compiler.report.difference.as_csv import difference_csv
from npuc.compiler.report.difference.document import DiffLayer
from npuc.compiler.report.difference.read import reports_in
from npuc.compiler.report.difference.result import Difference
from npuc.compiler.report.difference.subsequence import common_subsequence, increasing_subsequence
from npuc.compiler.report.layers import Line, by_layer
from npuc.compiler.report.rows import ScheduleRow, TensorBytes
from npuc.compiler.report.text.difference import print_difference

EXACT = ("cycles", "dram_read_bytes", "dram_write_bytes", "macs", "vector_ops")
WORDS = st.lists(st.integers(0, 3), max_size=14)
SIZES = st.integers(0, 3)


def common_length(a: Sequence[int], b: Sequence[int]) -> int:
    """The length of a longest common subsequence, by the table that defines it."""
    best = [[0] * (len(b) + 1) for _ in range(len(a) + 1)]
    for i, one in enumerate(a):
        for j, other in enumerate(b):
            best[i + 1][j + 1] = best[i][j] + 1 if one == other else max(best[i][j + 1], best[i + 1][j])
    return best[-1][-1]


@given(WORDS, WORDS, st.sampled_from([1, 7, 1 << 31]))
def test_a_common_subsequence_is_one_and_longest(a: list[int], b: list[int], most_bits: int) -> None:
    found = common_subsequence(a, b, most_bits)
    assert all(a[i] == b[j] for i, j in found)
    assert all(i < k and j < m for (i, j), (k, m) in pairwise(found))
    assert len(found) == common_length(a, b)


@given(st.permutations(range(9)))
def test_an_increasing_subsequence_is_one_and_longest(values: list[int]) -> None:
    found = increasing_subsequence(values)
    assert sorted(found) == found
    assert sorted(values[n] for n in found) == [values[n] for n in found]
    assert len(found) == common_length(values, sorted(values))


@st.composite
def rows_of_a_layer(draw: st.DrawFn, name: str) -> list[dict[str, Any]]:
    """A layer: a product with its gradients apart or together, or vector work, perhaps with an update."""
    size, is_product = draw(SIZES), draw(st.booleans())
    phases = draw(st.sampled_from([["forward"], ["forward", "dx", "dw"], ["forward", "dxdw"], ["forward", "dw"]]))
    rows: list[dict[str, Any]] = []
    for phase in phases:
        cycles, read = draw(st.integers(0, 50)), draw(st.integers(0, 99))
        shape = {"batch": 1, "m": size, "n": 4, "k": 5} if is_product else {}
        schedule = ScheduleRow(program="fused" if phase == "dxdw" else "sequential", tile={"m": draw(SIZES)})
        rows.append(
            {
                "name": name,
                "op": "npu.contract" if is_product else "npu.vector",
                "phase": phase,
                "kind": "matrix" if is_product else "vector",
                "repeat": draw(st.integers(1, 2)),
                "macs": 20 * size if is_product else 0,
                "vector_ops": 0 if is_product else size,
                "cycles": cycles,
                "compute_cycles": cycles,
                "stall_cycles": 0,
                "seconds": cycles / 64,
                "dram_read_bytes": read,
                "dram_write_bytes": draw(st.integers(0, 9)),
                "limit": draw(st.sampled_from(["compute", "dram"])),
                "utilization": draw(st.sampled_from([0.25, 0.5])) if is_product else 0.0,
                "schedule": schedule if is_product else None,
                "tensors": {"X": TensorBytes(read_bytes=read, write_bytes=0)},
                **shape,
            }
        )
    if draw(st.booleans()):
        rows.append({**rows[0], "name": f"{name}.weight", "op": "npu.vector", "phase": "update", "kind": "vector"})
    return rows


@st.composite
def reports(draw: st.DrawFn) -> Report:
    """A report of a few layers, whose names are often those of another one's."""
    names = draw(st.lists(st.sampled_from([f"{block}.{n}" for block in "hl" for n in range(4)]), unique=True))
    found = [row for name in names for row in draw(rows_of_a_layer(name))]
    rows = [OpRow(index=index, **row) for index, row in enumerate(found)]
    hardware: Any = {"name": draw(st.sampled_from(["one", "two"])), "array": {"rows": draw(st.sampled_from([8, 16]))}}
    return make_report(draw(st.sampled_from(["cycle", "roofline", "unknown"])), hardware, rows, network="net")


def key(layer: DiffLayer) -> tuple[str | None, str | None]:
    return layer.name_a, layer.name_b


@given(reports())
def test_a_report_differs_from_itself_in_nothing(report: Report) -> None:
    difference = diff_reports(report, report)
    assert difference.is_empty
    assert difference.verdict == "Nothing differs."
    assert all(layer.difference.is_nothing and not layer.parts and layer.found == "both" for layer in difference.layers)


@given(reports(), reports())
def test_the_other_way_round_is_the_negation(a: Report, b: Report) -> None:
    there, back = diff_reports(a, b), diff_reports(b, a)
    swapped = {key(layer)[::-1]: layer for layer in back.layers}
    assert {key(layer) for layer in there.layers} == swapped.keys()
    for layer in there.layers:
        other = swapped[key(layer)]
        for name in (*EXACT, "seconds"):
            value, opposite = getattr(layer.difference, name), getattr(other.difference, name)
            assert (value is None) == (opposite is None)
            assert value is None or value == -opposite
        assert {part.phase for part in layer.parts} == {part.phase for part in other.parts}


@given(reports(), reports())
def test_differences_of_layers_add_up_to_that_of_the_totals(a: Report, b: Report) -> None:
    difference = diff_reports(a, b)
    for name in EXACT:
        before, after = a.totals[name], b.totals[name]
        whole = getattr(difference.difference, name)
        assert whole == (None if before is None or after is None else after - before)
        if whole is not None:
            assert sum(getattr(layer.difference, name) or 0 for layer in difference.layers) == whole
    for layer in difference.layers:
        for name in EXACT:
            parts = [getattr(part.difference, name) or 0 for part in layer.parts]
            assert layer.a is None or layer.b is None or sum(parts) == (getattr(layer.difference, name) or 0)


@given(reports(), reports())
def test_every_row_is_in_one_layer(a: Report, b: Report) -> None:
    layers = diff_reports(a, b).layers
    for side, report in (("a", a), ("b", b)):
        found = [index for one in layers if (own := getattr(one, side)) is not None for index in own.rows]
        assert sorted(found) == [row.index for row in report.ops]


@given(reports(), reports())
def test_layers_of_one_name_are_one_layer(a: Report, b: Report) -> None:
    lines_a, lines_b = by_layer(a.ops), by_layer(b.ops)
    pairs = aligned(lines_a, lines_b)
    both = {(lines_a[i].name, lines_b[j].name) for i, j in pairs if i is not None and j is not None}
    names_a, names_b = {line.name for line in lines_a}, {line.name for line in lines_b}
    assert {(name, name) for name in names_a & names_b} <= both
    for name_a, name_b in both:
        assert name_a == name_b or (name_a not in names_b and name_b not in names_a)


@given(reports(), reports())
def test_gradients_are_compared_where_they_agree(a: Report, b: Report) -> None:
    """A row of both gradients is never beside one of a single gradient."""
    for layer in diff_reports(a, b).layers:
        phases = {part.phase for part in layer.parts}
        assert not ("backward" in phases and phases & {"dx", "dw", "dxdw"})
        for part in layer.parts:
            own_a = {a.ops[index].phase for index in ([] if part.a is None else part.a.rows)}
            own_b = {b.ops[index].phase for index in ([] if part.b is None else part.b.rows)}
            if part.phase == "backward":
                assert own_a != own_b
                assert all((own_a, own_b))
            else:
                assert own_a | own_b == {part.phase}


@given(reports())
def test_renamed_layers_are_found(report: Report) -> None:
    """All layers under other names, in the same order: each is the one that it was."""
    rows = [msgspec.structs.replace(row, name=f"new.{row.name}") for row in report.ops]
    difference = diff_reports(report, make_report(report.backend, report.hardware, rows, network="net"))
    assert [(one.found, one.name_b) for one in difference.layers] == [
        ("renamed", f"new.{one.name_a}") for one in difference.layers
    ]
    assert difference.difference.is_nothing
    assert not any(layer.why for layer in difference.layers)


@given(reports(), reports())
def test_what_is_written_is_read_back(a: Report, b: Report) -> None:
    difference = diff_reports(a, b)
    assert msgspec.json.decode(difference.to_json(), type=Difference) == difference
    assert reports_in(a.to_json().encode(), "a.json") == [a]
    lines = difference_csv(difference).splitlines()
    assert len(lines) == 1 + len(difference.layers) + sum(len(layer.parts) for layer in difference.layers)


@given(reports(), reports(), st.integers(0, 3))
def test_text_fits_and_says_each_layer_once(a: Report, b: Report, top: int) -> None:
    for width in (60, 100):
        out = io.StringIO()
        print_difference(diff_reports(a, b), Console(file=out, width=width), top=top)
        assert max(map(len, out.getvalue().splitlines())) <= width
        assert "verdict" in out.getvalue()


def test_many_layers_are_aligned_by_shape() -> None:
    """As many as an unrolled model of language has, in blocks that are all the same, every other name a new one."""

    def line(name: str, size: int) -> Line:
        row = OpRow(index=0, name=name, op="npu.contract", m=size, n=1, k=1, macs=size)
        return Line(name, rows=[row])

    a = [line(f"h.{n // 10}.{n % 10}", n % 10) for n in range(10_000)]
    b = [line(f"layers.{n // 10}.{n % 10}", n % 10) for n in range(10_000) if n % 10 != 3 or n > 5_000]
    pairs = aligned(a, b)
    assert sum(i is not None and j is not None for i, j in pairs) == len(b)
    assert all(a[i].name[1:] == b[j].name[6:] for i, j in pairs if i is not None and j is not None)


def _places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """The paths of all values in a document."""
    inner: list[tuple[Any, Any]] = []
    if isinstance(value, dict):
        inner = [*cast("dict[Any, Any]", value).items()]
    elif isinstance(value, list):
        inner = [*enumerate(cast("list[Any]", value))]
    return [path, *(place for name, one in inner for place in _places(one, (*path, name)))]


HOSTILE: tuple[Any, ...] = (
    None,
    True,
    -1,
    0,
    10**400,
    1e308,
    -1e308,
    "",
    "\x1b[31m\u202e" * 99,
    "x" * 10_000,
    [],
    {},
    [[[]]],
    {"a": {}},
)


@given(reports(), st.data())
def test_a_broken_report_is_refused_or_compared(report: Report, data: st.DataObject) -> None:
    """Whatever stands in one place of it: never anything but a message or a difference that can be written."""
    document = json.loads(report.to_json())
    place = data.draw(st.sampled_from(_places(document)[1:]))
    owner = document
    for name in place[:-1]:
        owner = owner[name]
    owner[place[-1]] = data.draw(st.sampled_from(HOSTILE))
    try:
        found = reports_in(json.dumps(document).encode(), "a.json")
    except UsageError:
        return
    for one in found or []:
        for difference in (diff_reports(one, report), diff_reports(report, one)):
            assert difference.to_json()
            out = io.StringIO()
            print_difference(difference, Console(file=out, width=80))
            assert "\x1b" not in out.getvalue()


@given(st.binary(max_size=40) | st.text(max_size=40).map(str.encode))
def test_any_bytes_are_no_report(data: bytes) -> None:
    assert reports_in(data, "a.json") is None
    with pytest.raises(UsageError, match=r"'a\.json' is no report to compare"):
        reports_in(b'{"schema": "npuc.report/1", "x": ' + json.dumps(str(data)).encode() + b"}", "a.json")

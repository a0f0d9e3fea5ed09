"""MAESTRO's numbers for its own mapping files and for others, one mapping at a time and many at once."""

import csv
import re
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from npuc.backends.maestro import evaluate, mapping_arrays
from npuc.compiler.analysis.mapping.columns import COLUMNS, columns
from npuc.compiler.analysis.mapping.levels import Unmappable
from npuc.compiler.analysis.mapping.parity import PeArray, analyse
from npuc.dialects.mapping import Map, Mapping, Sz
from npuc.frontends.maestro import WrongLayer, read_mapping_file
from tests.mapping_batches import hardware_of

pytestmark = pytest.mark.oracle

DATA = Path(__file__).parents[2] / "oracle" / "data" / "maestro"
FILTER = re.compile(r"TemporalMap\((Sz\([RS]\)|7),7\) ([RS])")
"""What MAESTRO refuses in the reference files where the filter is not of 7: a map that was meant for another layer."""

QUOTIENTS = {
    *("throughput_macs_per_cycle", "noc_bw_req_avg", "avg_utilized_pes", "arithmetic_intensity"),
    *("energy_total_mac_units", "energy_nj_csv", "area_csv", "power_csv"),
}
"""Columns that are no whole numbers, which MAESTRO writes with six digits."""


@dataclass(frozen=True)
class Row:
    """A row of the reference: the mapping, the machine, what became of it."""

    mapping: Mapping
    array: PeArray
    status: str
    columns: dict[str, str]

    def wrong(self, found: dict[str, float]) -> list[tuple[str, float, float]]:
        """The columns that differ: whole numbers exactly, others in their six digits."""
        wanted = {name: float(self.columns[name]) for name in COLUMNS}
        digits = {name: 1e-5 if name in QUOTIENTS else 0.0 for name in COLUMNS}
        return [
            (name, value, found[name])
            for name, value in wanted.items()
            if not abs(found[name] - value) <= digits[name] * abs(value)
        ]


@cache
def mappings(name: str) -> list[Mapping]:
    """The mappings of a file, those that MAESTRO refuses too."""
    text = (DATA / name).read_text()
    given = read_mapping_file(text, name).layers
    mended = read_mapping_file(FILTER.sub(r"TemporalMap(Sz(\2),Sz(\2)) \2", text), name).checked()
    return [
        _as_written(one.mapping, text) if isinstance(layer, WrongLayer) else layer.mapping
        for one, layer in zip(mended, given, strict=True)
    ]


def _as_written(mended: Mapping, text: str) -> Mapping:
    written = {m[2]: Map(m[2], 7 if m[1] == "7" else Sz(m[2]), 7) for m in FILTER.finditer(text)}
    whole = {Map(d, Sz(d), Sz(d)): one for d, one in written.items()}
    directives = tuple(whole.get(one, one) if isinstance(one, Map) else one for one in mended.directives)
    return replace(mended, directives=directives)


@cache
def rows() -> list[Row]:
    with (DATA / "public.csv").open(newline="") as table:
        return [_row(row) for row in csv.DictReader(table)]


def _row(row: dict[str, str]) -> Row:
    machine = ("num_pes", "noc_bw", "noc_hop_latency", "offchip_bw", "num_simd_lanes")
    pes, noc_bw, latency, offchip_bw, lanes = (int(row[name]) for name in machine)
    array = PeArray(pes, noc_bw, latency, offchip_bw, lanes)
    return Row(mappings(row["mapping_file"])[int(row["layer_index"])], array, row["status"], row)


def batches() -> Iterator[list[Row]]:
    """Rows that one call takes: of one layer, one machine, equally many levels."""
    found: defaultdict[tuple[object, ...], list[Row]] = defaultdict(list)
    for row in rows():
        found[row.mapping.problem, row.array, len(row.mapping.levels)].append(row)
    yield from found.values()


def repeats(mapping: Mapping) -> bool:
    """Whether a level has several maps of a dimension."""
    return any(len({one.dim[0] for one in level}) < len(level) for level in mapping.levels)


def test_the_reference_has_all_kinds_of_rows() -> None:
    counts = {status: sum(row.status == status for row in rows()) for status in {row.status for row in rows()}}
    assert counts == {"ok": 1227, "rejected": 118, "crash_div_by_zero": 70, "degenerate": 2}
    assert sum(repeats(row.mapping) and row.status == "ok" for row in rows()) == 34


def test_one_at_a_time() -> None:
    for row in rows():
        if row.status == "ok":
            found = columns(analyse(row.mapping, row.array), row.array, len(row.mapping.levels))
            assert tuple(found) == COLUMNS
            assert row.wrong({name: np.nan if value is None else value for name, value in found.items()}) == []


def test_where_maestro_divides_by_zero() -> None:
    for row in rows():
        if row.status == "crash_div_by_zero":
            with pytest.raises(Unmappable, match=r"its clusters hold|takes no time"):
                analyse(row.mapping, row.array)


def test_many_at_once() -> None:
    """What MAESTRO refuses or dies of is NaN in every column; where it says nan for 0 / 0, so does npuc."""
    sizes: list[int] = []
    for batch in batches():
        found = evaluate(
            batch[0].mapping.problem, mapping_arrays([row.mapping for row in batch]), hardware_of(batch[0].array)
        )
        assert tuple(found) == COLUMNS
        for number, row in enumerate(batch):
            mine = {name: float(values[number]) for name, values in found.items()}
            if row.status == "ok":
                assert row.wrong(mine) == []
            elif row.status != "degenerate":
                assert np.isnan(list(mine.values())).all()
        sizes.append(len(batch))
    assert sum(sizes) == len(rows())
    assert max(sizes) > 4

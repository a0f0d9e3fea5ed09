"""The pool of tiles reproduces the prototype's numbers: every line, every column."""

import csv
from fractions import Fraction
from functools import cache
from itertools import product
from pathlib import Path

import pytest

from npuc.compiler.analysis.lru import Pooled, Split, Walk, walk_pool
from npuc.compiler.analysis.machine.array import Array
from npuc.compiler.analysis.machine.facts import Machine
from npuc.dialects.npu.nest import Axis, Loop, Nest, Schedule, Statement, Tensor
from tests.widths import of_bytes

FILE = Path(__file__).parents[2] / "oracle/data/igo/prototype.csv"
MACHINES = {
    "large": Machine(Array(128, 128, edge_elements=None), 4 << 20, Fraction(150_000, 1050), 1050.0, 128),
    "small": Machine(Array(45, 45, edge_elements=None), 512 << 10, Fraction(22), 1000.0, 45),
}
INDEX = {"X": "mk", "W": "kn", "dY": "mn", "dX": "mk", "dW": "kn"}
DX, DW = Statement("dX", "dY", "W"), Statement("dW", "X", "dY")
BY_DX, BY_DW = "mkn", "nkm"
"""The loops `for i, j, p` and `for p, j, i`, outermost first."""
READS = {"rd_dY": "dY", "rd_W": "W", "rd_X": "X", "rd_dX_partial": "dX", "rd_dW_partial": "dW"}
WRITES = {"wr_dX": "dX", "wr_dW": "dW"}
Row = dict[str, str]


@cache
def rows() -> tuple[Row, ...]:
    with FILE.open() as file:
        return tuple(csv.DictReader(line for line in file if not line.startswith("#")))


def nest_of(row: Row, *statements: Statement) -> Nest:
    sizes = {d: int(row[d.upper()]) for d in "mnk"}

    def tensor(name: str) -> Tensor:
        return Tensor(name, tuple(sizes[d] for d in INDEX[name]), tuple(Axis(((d, 1),)) for d in INDEX[name]))

    ins = {name: tensor(name) for s in statements for name in (s.lhs, s.rhs)}
    outs = tuple(tensor(s.out) for s in statements)
    return Nest(tuple(sizes.items()), tuple(ins.values()), outs, tuple(None for _ in outs), statements)


def priced(row: Row) -> Pooled:
    split = Split(row["part_dim"].lower(), int(row["parts"])) if row["part_dim"] else None

    def walk(order: str, *statements: Statement) -> Walk:
        nest = nest_of(row, *statements)
        loops = tuple(Loop(d, min(nest.sizes[d], int(row[f"t{d}"]))) for d in order)
        return Walk(nest, Schedule(loops), of_bytes(nest, 2), split=split)

    machine = MACHINES[row["npu"]]
    if row["order"] in ("base", "inter"):
        mode = "sequential" if row["order"] == "base" else "round-robin"
        return walk_pool((walk(BY_DX, DX), walk(BY_DW, DW)), machine, mode)
    return walk_pool((walk(BY_DX if row["order"] == "dX" else BY_DW, DX, DW),), machine)


def columns(found: Pooled) -> Row:
    reads, writes = dict.fromkeys(INDEX, 0), dict.fromkeys(INDEX, 0)
    for name, moved in (pair for walk in found.walks for pair in walk.tensors):
        reads[name] += 2 * moved.read
        writes[name] += 2 * moved.write
    numbers = {column: reads[name] for column, name in READS.items()}
    numbers |= {column: writes[name] for column, name in WRITES.items()}
    numbers |= {"total_bytes": sum(reads.values()) + sum(writes.values()), "compute_cycles": found.compute}
    numbers |= {"peak_spm_bytes": found.peak // 8, "tile_ops": found.operations}
    return {name: str(number) for name, number in numbers.items()} | {"cycles": f"{float(found.time):.1f}"}


@pytest.mark.oracle
@pytest.mark.parametrize(("npu", "tile_mode"), list(product(("large", "small"), ("array", "third"))))
def test_every_line_is_equal(npu: str, tile_mode: str) -> None:
    chosen = [row for row in rows() if row["npu"] == npu and row["tile_mode"] == tile_mode]
    assert len(chosen) == 180
    for row in chosen:
        ours = columns(priced(row))
        assert ours == {name: row[name] for name in ours}, row


@pytest.mark.oracle
def test_partitions_are_the_fastest() -> None:
    """Of all dimensions, parts (no more than there are tiles) and orders: for layers of few tiles."""
    checked = 0
    for row in rows():
        if row["part_dim"] and int(row["tile_ops"]) <= 300:
            tiles = {d: -(-int(row[d.upper()]) // int(row[f"t{d}"])) for d in "mnk"}
            times = [
                priced(row | {"part_dim": dim.upper(), "parts": str(parts), "order": order}).time
                for dim, parts, order in product("mnk", (2, 4, 8), ("inter", "dX", "dW"))
                if parts <= tiles[dim]
            ]
            assert f"{float(min(times)):.1f}" == row["cycles"], row
            checked += 1
    assert checked == 49

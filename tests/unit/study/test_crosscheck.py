"""The same product by two backends: parts that add up, and agreement where nothing stands between them."""

import json
from pathlib import Path

import pytest

from npuc.compiler.analysis.machine.array import Array, Dataflow
from npuc.compiler.analysis.mapping.systolic import mapped_time
from npuc.studies.crosscheck import study
from npuc.studies.crosscheck.study import CrossCheckResults, ProductRow, run_crosscheck
from npuc.studies.crosscheck.view import to_csv, to_json

NET = """network net(batch=200) {
  input x: f32[batch, 300]
  labels y: i32[batch]
  logits = linear(relu(linear(x, 260)), 130)
  loss cross_entropy(logits, y)
}
"""
SMALL = {"array.rows": 16, "array.cols": 8}
UNLIMITED = {"dram.gb_per_s": 1e6, "maestro.noc_bw": 1 << 20}


@pytest.fixture(scope="module")
def tight() -> CrossCheckResults:
    return run_crosscheck("samples:lenet", overrides={**SMALL, "dram.gb_per_s": 2, "memory.spm_kib": 16})


def test_the_parts_add_up_to_the_cycles_of_each_model(tight: CrossCheckResults) -> None:
    assert {row.dataflow for row in tight.rows} == {"os", "ws", "is"}
    assert {row.phase for row in tight.rows} == {"forward", "dx", "dw"}
    for row in tight.rows:
        array = row.ideal + row.edges + row.tiles + row.edge_cycles + row.fill_drain + row.dram
        assert array == pytest.approx(row.cycle, rel=1e-12)
        assert row.ideal + row.edges + row.network == pytest.approx(row.mapping, rel=1e-12)
        assert min(row.edges, row.tiles, row.edge_cycles, row.fill_drain, row.dram, row.network) >= 0
    assert sum(row.dram for row in tight.rows) > 0
    assert sum(row.network for row in tight.rows) > 0


@pytest.mark.parametrize("dataflow", ["os", "ws", "is"])
def test_an_array_that_nothing_waits_for_takes_the_steps_of_the_mapping_and_its_fill(dataflow: Dataflow) -> None:
    """Not the study's own sum: the array's closed form against the mapping's time."""
    array = Array(16, 8, dataflow=dataflow)
    for sizes in ((256, 128, 192), (250, 131, 190), (7, 3, 5), (1, 1, 1), (16, 8, 1000)):
        found = mapped_time(array, 1 << 20, *sizes)
        assert array.cycles(*sizes) + array.op_overhead == found.steps + array.latency
        assert 0 <= found.waits <= 1  # the first step's transfer comes before it


@pytest.mark.parametrize("dataflow", ["os", "ws", "is"])
def test_backends_agree_on_a_product_that_fills_the_array(dataflow: Dataflow) -> None:
    array = Array(16, 16, dataflow=dataflow)
    found = mapped_time(array, array.rows + array.cols, 1024, 1024, 1024)
    assert found.cycles == pytest.approx(array.cycles(1024, 1024, 1024) + array.op_overhead, rel=0.1)


def test_a_narrower_network_never_takes_less() -> None:
    array = Array(16, 8, dataflow="os")
    times = [mapped_time(array, width, 100, 50, 30).cycles for width in (1, 2, 3, 8, 24, 100)]
    assert times == sorted(times, reverse=True)
    assert times[0] > times[-1]


def test_rows_are_written_with_ratio_and_reason(tight: CrossCheckResults) -> None:
    rows = json.loads(to_json(tight))["rows"]
    assert len(rows) == len(tight.rows) == len(to_csv(tight).splitlines()) - 1
    assert json.loads(to_json(tight))["preset"] == "all"
    assert (rows[0]["hardware"], rows[0]["noc_bw"]) == ("igo-large", 24)
    assert rows[0]["ratio"] == rows[0]["cycle"] / rows[0]["mapping"]
    assert {row["reason"] for row in rows} <= {
        *("fill and drain", "DRAM bandwidth", "tiles of the scratchpad", "network of the mapping", "none"),
        "the array's edge",
    }


@pytest.mark.parametrize("dataflow", ["os", "ws", "is"])
def test_waits_for_the_edge_are_no_tiles(dataflow: study.Dataflow, tmp_path: Path) -> None:
    """
    A vector times a matrix: with ports wide enough nothing waits, and but for the waits it takes as long; one tile
    takes the folds of the mapping.
    """
    (tmp_path / "net.csv").write_text("layer,M,N,K\nfc,1,64,96\n")

    def one(edge: int | str) -> ProductRow:
        changed = {**SMALL, **UNLIMITED, "memory.spm_kib": 1 << 20, "array.edge_elements": edge}
        return run_crosscheck(str(tmp_path / "net.csv"), overrides=changed, dataflows=[dataflow]).rows[0]

    narrow, wide = one(1), one("unlimited")
    waits = {"ws": (6 * 8 - 1) * 15, "os": 0, "is": (6 - 1) * 0}[dataflow]
    assert (narrow.edge_cycles, wide.edge_cycles, wide.tiles) == (waits, 0, 0)
    assert narrow.tiles == 0
    assert narrow.cycle - narrow.edge_cycles == wide.cycle
    assert narrow.reason == ("the array's edge" if waits else wide.reason)


def test_any_network_and_one_dataflow(tmp_path: Path) -> None:
    (tmp_path / "net.dsl").write_text(NET)
    study = run_crosscheck(str(tmp_path / "net.dsl"), overrides=UNLIMITED, defines={"batch": 100}, dataflows=["ws"])
    assert {row.dataflow for row in study.rows} == {"ws"}
    assert study.noc_bw == 1 << 20
    assert {row.m for row in study.rows if row.phase == "forward"} == {100}

"""The validation page: its tables are those of the program, and what it says about them holds."""

from itertools import product
from math import isclose

import pytest

from tests.docs.pages import read_page
from tests.docs.validation import MODELS, NETWORKS, Run, network, runs, total, with_tables, words

pytestmark = pytest.mark.oracle


def test_tables_are_up_to_date() -> None:
    text = read_page("validation")
    assert with_tables(text) == text, "run: python -m tests.docs.validation"


@pytest.mark.parametrize("name", NETWORKS)
def test_runs_in_calc_mode_equal_the_compatibility_mode(name: str) -> None:
    """Every cycle, SRAM and DRAM count of SCALE-Sim's own runs on the products of a network."""
    own = {p.sizes: p.rows["CALC"].native for p in network(name).products}
    found = [run for run in runs() if run.source == name and run.mode == "CALC"]
    assert found != []
    assert [run.columns for run in found] == [
        {column: own[run.sizes][column] for column in run.columns} for run in found
    ]
    assert all(run.columns for run in found)


@pytest.mark.parametrize("name", NETWORKS)
def test_claims_about_networks(name: str) -> None:
    """Without waits npuc's folds cost what CALC says; CALC reads more; the default is faster than SCALE-Sim's folds."""
    for phase, products, _ in network(name).phases():
        rows = {model: [p.rows[model] for p in products] for model in MODELS}
        cycles = {model: total(rows[model], lambda row: row.cycles) for model in MODELS}
        reads = {model: words(model, total(rows[model], lambda row: row.dram_read_bytes)) for model in MODELS}
        limit = 0.019 if (name, phase) == ("resnet50", "dX") else 0.013
        assert isclose(cycles["no waits"], cycles["CALC"], rel_tol=limit), phase
        assert cycles["CALC"] < cycles["no waits"] < cycles["per fold"] > cycles["npuc"]
        least = {"forward": 1.05, "dX": 1.05, "all": 1.45}.get(phase, 1.5) if name == "mobilenet_v2" else 1.5
        assert least <= reads["CALC"] / reads["npuc"] <= 10, phase


def find(source: str, layer: str, mode: str = "USER") -> Run:
    (run,) = [run for run in runs() if (run.source, run.layer, run.mode) == (source, layer, mode)]
    return run


def test_a_wait_counts_twice() -> None:
    assert find("32 x 1 x 100", "product").columns["stall_cycles"] == 2 * (205 - 79 - 1)


def test_numbers_of_runs_in_the_text() -> None:
    small = "bert_base of 32 tokens"
    slow, calc = (find(small, "encoder.0.attention.q", mode).cycles for mode in ("USER", "CALC"))
    padding = find("bert_base", "logits").columns["ifmap_dram_reads"]
    text = read_page("validation")
    assert f"takes {slow:,} cycles, CALC {calc:,}" in text
    assert f"its {find('resnet50', 'logits_dw').cycles:,} cycles are fewer" in text
    assert f"USER reads {padding:,}." in text


def test_how_long_waits_are() -> None:
    """USER against CALC and npuc, over the products that stall."""
    ratios: dict[str, list[float]] = {"CALC": [], "npuc": []}
    for name in NETWORKS:
        own = {p.sizes: p for p in reversed(network(name).products)}
        stalled = [run for run in runs() if run.source == name and run.columns.get("stall_cycles")]
        for run, model in product(stalled, ratios):
            ratios[model].append(run.cycles / own[run.sizes].single(model, lambda row: row.cycles))
    found = [f"{min(of):.1f} to {max(of):.0f} times {model}'s" for model, of in ratios.items()]
    assert [part for part in found if part not in read_page("validation")] == []

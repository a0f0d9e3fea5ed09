"""What each idea of the roofline study's cache gains: the rows are compilations without it."""

from pathlib import Path

import pytest

from npuc.compiler import compile_file
from npuc.studies.thesis.gains import GAIN_MIB, VARIANTS, GainRow
from npuc.studies.thesis.settings import THESIS
from npuc.studies.thesis.study import ThesisResults, plan_study, run_study
from npuc.studies.thesis.view import gain_lines
from tests.support.shared import thesis_results

NETWORK = """\
network deep(batch=512) {
  input x: f32[batch, 4096]
  labels y: i32[batch]
  h = relu(linear(x, 4096))
  h = relu(linear(h, 4096)) + h
  h = relu(linear(h, 4096)) + h
  loss cross_entropy(linear(h, 1000), y)
  optimizer sgd(lr=0.1)
}
"""


@pytest.fixture
def results(tmp_path: Path) -> ThesisResults:
    (tmp_path / "deep.dsl").write_text(NETWORK)
    return run_study(plan_study(sources=[str(tmp_path / "deep.dsl")]))


def test_rows_are_compilations_without_an_idea(results: ThesisResults) -> None:
    (network,) = results.networks
    assert len(results.gains) == len(VARIANTS) * len(GAIN_MIB)
    for row, (mib, variant) in zip(results.gains, [(m, v) for m in GAIN_MIB for v in VARIANTS], strict=True):
        keys = {**THESIS, **dict(variant.keys), "memory.cache_mib": mib}
        report = compile_file(network.source, backend="roofline", hardware="rtx2080ti", overrides=keys)
        assert (row.network, row.cache_mib, row.idea, row.instead) == (
            network.source,
            mib,
            variant.idea,
            variant.instead,
        )
        assert row.time_ms == pytest.approx(1e3 * (report.totals.seconds or 0.0))
        bytes = (report.totals.dram_read_bytes or 0) + (report.totals.dram_write_bytes or 0)
        assert row.traffic_mib == bytes / 2**20


def test_ratios_are_to_all_ideas(results: ThesisResults) -> None:
    for mib in GAIN_MIB:
        whole, *others = [row for row in results.gains if row.cache_mib == mib]
        assert (whole.idea, whole.time_ratio, whole.traffic_ratio) == ("all", 1.0, 1.0)
        assert whole.time_ms
        for row in others:
            assert row.time_ms == pytest.approx((row.time_ratio or 0.0) * whole.time_ms)
    assert any((row.time_ratio or 0.0) > 1.01 for row in results.gains)


def test_conventions_of_the_command_hold_for_the_table(tmp_path: Path) -> None:
    """A key of --set is that of all rows, unless a row takes its idea away."""
    (tmp_path / "deep.dsl").write_text(NETWORK)
    plan = plan_study(sources=[str(tmp_path / "deep.dsl")], overrides={"roofline.prefetch": "none"})
    rows = {(row.cache_mib, row.idea, row.instead): row for row in run_study(plan).gains}
    for mib in GAIN_MIB:
        assert rows[mib, "latency prefetch", "none"].time_ratio == 1.0


def test_a_network_that_does_not_fit_has_no_gains(tmp_path: Path) -> None:
    (tmp_path / "wide.dsl").write_text(NETWORK.replace("batch, 4096]", "batch, 8000000]"))
    rows = run_study(plan_study(sources=[str(tmp_path / "wide.dsl")])).gains
    assert [row.time_ms is None for row in rows[: len(VARIANTS)]] == [True] * len(VARIANTS)
    first, second, *_ = gain_lines(rows, rows[0].network)
    assert first[2] == "does not fit"
    assert second[2] == ""


@pytest.mark.heavy
def test_what_must_hold_of_the_study_s_networks() -> None:
    """Prefetch and look-ahead offload change no bytes; without prefetch and all three nothing is faster here."""
    rows = {(row.network, row.cache_mib, row.idea, row.instead): row for row in thesis_results().gains}
    for (network, mib, idea, instead), row in rows.items():
        whole: GainRow = rows[network, mib, "all", ""]
        assert row.time_ms is not None
        assert whole.time_ms is not None
        if "belady" not in idea and idea != "all three":
            assert row.traffic_mib == whole.traffic_mib
        if instead == "none":
            assert row.time_ms >= whole.time_ms * (1 - 1e-12)
            assert row.time_ms >= (rows[network, mib, idea, "next-layer"].time_ms or 0.0) * (1 - 1e-12)

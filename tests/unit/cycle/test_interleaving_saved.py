"""What interleaving saves, as rows and the report say it, against the program that runs contractions in sequence."""

import msgspec
import pytest

from npuc.compiler import compile_source
from npuc.compiler.report import Report
from npuc.compiler.report.sections import InterleavingFacts
from npuc.compiler.report.text.summary.interleaving import interleaving_text

NETWORK = """
network mlp(batch=64) {
  input x: f32[batch, 96]
  labels y: i32[batch]
  h = relu(linear(x, 512))
  g = relu(linear(h, 512))
  loss cross_entropy(linear(g, 10), y)
  optimizer sgd(lr=0.1)
}
"""


def report(pipeline: str, **overrides: object) -> Report:
    found = compile_source(
        NETWORK,
        backend="cycle",
        hardware="igo-large",
        pipeline=f"autodiff,lower-to-npu,{pipeline}",
        overrides=overrides,
    )
    assert isinstance(found, Report)
    return found


@pytest.mark.parametrize("mode", ["fused", "zip", "best"])
def test_the_sequential_program_is_the_one_without_the_pass(mode: str) -> None:
    """Layer by layer: cycles and bytes of dX and dW where each has the schedule that `schedule` gives it alone."""
    apart, together = report("schedule"), report(f"interleave{{mode={mode}}},schedule")
    saved = 0
    for row in together.ops:
        facts = InterleavingFacts.found_in(row)
        if row.phase != "dxdw":
            assert facts is None
            continue
        assert facts is not None
        own = [one for one in apart.ops if one.name == row.name and one.phase in ("dx", "dw") and one.kind == "matrix"]
        assert len(own) == 2
        assert facts.sequential_cycles == sum(one.cycles or 0 for one in own)
        assert facts.sequential_bytes == sum((r.dram_read_bytes or 0) + (r.dram_write_bytes or 0) for r in own)
        assert facts.together_cycles == row.cycles
        assert facts.together_bytes == (row.dram_read_bytes or 0) + (row.dram_write_bytes or 0)
        saved += facts.sequential_cycles - facts.together_cycles
    assert saved == (apart.totals.cycles or 0) - (together.totals.cycles or 0) != 0
    assert saved > 0 or mode == "zip"


def test_the_report_says_what_is_saved_in_all_and_where() -> None:
    text = interleaving_text(report("interleave{mode=best},schedule"))
    assert text is not None
    assert text.startswith("the contractions of 2 layers: ")
    assert " less and " in text
    assert "less than one after another; most by g.linear " in text
    assert interleaving_text(report("schedule")) is None


def test_a_program_that_loses_says_more() -> None:
    text = interleaving_text(report("interleave{mode=fused},schedule", **{"memory.spm_kib": 24}))
    facts = [
        InterleavingFacts.found_in(row)
        for row in report("interleave{mode=fused},schedule", **{"memory.spm_kib": 24}).ops
    ]
    saved = sum(one.sequential_cycles - one.together_cycles for one in facts if one is not None)
    assert text is not None
    assert (" more and " in text) is (saved < 0)


def test_what_residency_saves_is_not_counted() -> None:
    """Both programs find the same values resident; the row's own cost is the one that is compared."""
    small = {"memory.spm_kib": 64}  # one fused nest with resident values, and one without
    plain = report("interleave{mode=fused},schedule", **small)
    kept = report("interleave{mode=fused},schedule,keep-resident", **small)
    assert (plain.totals.cycles or 0) > (kept.totals.cycles or 0)
    (row,) = [row for row in kept.ops if row.native.get("not_moved_bytes") and row.phase == "dxdw"]
    facts = InterleavingFacts.found_in(row)
    assert facts is not None
    assert facts.together_cycles == row.cycles
    assert facts.together_bytes == (row.dram_read_bytes or 0) + (row.dram_write_bytes or 0)
    (before,) = [one for one in plain.ops if (one.name, one.phase) == (row.name, "dxdw")]
    alone = InterleavingFacts.found_in(before)
    assert alone is not None
    assert facts.sequential_bytes < alone.sequential_bytes


def test_a_pool_of_tiles_costs_both_by_its_walks() -> None:
    together = report("interleave{mode=zip},schedule", **{"memory.policy": "lru"})
    for row in together.ops:
        facts = InterleavingFacts.found_in(row)
        assert (facts is not None) is (row.phase == "dxdw")
        assert facts is None or facts.together_cycles == row.cycles


@pytest.mark.parametrize("tolerance", [0.0, 0.001])
def test_over_cores_the_sequential_program_is_as_thoroughly_searched(tolerance: float) -> None:
    """Below a tolerance of 0.005 it is never slower than what `schedule` finds with the same tolerance."""
    cores = {"array.cores": 4, "memory.spm_kib": 96}
    said = f"{{tolerance={tolerance}}}"
    apart = report(f"schedule{said}", **cores)
    together = report(f"interleave{{mode=fused tolerance={tolerance}}},schedule{said}", **cores)
    rows = [(row, InterleavingFacts.found_in(row)) for row in together.ops if row.phase == "dxdw"]
    assert rows
    for row, facts in rows:
        assert facts is not None
        assert not facts.saving_is_bound
        own = [one for one in apart.ops if one.name == row.name and one.phase in ("dx", "dw") and one.kind == "matrix"]
        alone = sum(one.cycles or 0 for one in own)
        assert facts.sequential_cycles == alone if tolerance == 0 else facts.sequential_cycles <= alone
    text = interleaving_text(together)
    assert text is not None
    assert "searched quickly" not in text


def test_a_quick_search_over_cores_bounds_what_is_saved() -> None:
    found = report("interleave{mode=fused},schedule", **{"array.cores": 4})
    facts = [InterleavingFacts.found_in(row) for row in found.ops if row.phase == "dxdw"]
    assert facts
    assert all(one is not None and one.saving_is_bound for one in facts)
    text = interleaving_text(found)
    assert text is not None
    assert ("at most " if " less and " in text.split(" and ")[0] + " and " else "at least ") in text
    assert text.count(", searched quickly") == 1


def test_one_quick_search_among_others_bounds_what_all_save() -> None:
    """Whichever layer it is of, the first or the last one."""
    found = report("interleave{mode=best},schedule")
    rows = [row for row in found.ops if InterleavingFacts.found_in(row) is not None]
    assert len(rows) == 2
    exact = interleaving_text(found)
    for quick in rows:
        said = msgspec.structs.replace(quick, native={**quick.native, "saving_is_bound": True})
        ops = [said if row is quick else row for row in found.ops]
        text = interleaving_text(msgspec.structs.replace(found, ops=ops))
        assert text != exact
        assert text is not None
        assert ", searched quickly" in text

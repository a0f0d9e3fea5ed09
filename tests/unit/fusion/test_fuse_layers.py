"""The pass fuse-layers on programs by hand: groups by micro-batches, their rows, and what is refused."""

import pytest
from xdsl.utils.exceptions import PassFailedException

from npuc.compiler import Report, compile_file, compile_source
from npuc.compiler.core.errors import NpucError
from npuc.compiler.report import OpRow
from npuc.compiler.report.sections import ResidencyFacts
from npuc.compiler.report.sparse import GroupFacts
from npuc.compiler.transforms.fuse_layers import FuseLayersPass
from tests.fused_networks import CHAIN, HARDWARE, STEP


def compiled(source: str, passes: str, **changes: object) -> Report:
    return compile_source(
        source,
        hardware="igo-small",
        overrides={**HARDWARE, **changes},
        pipeline=passes,
        inference="autodiff" not in passes,
    )


def moved(report: Report) -> int:
    return (report.totals.dram_read_bytes or 0) + (report.totals.dram_write_bytes or 0)


def in_groups(report: Report) -> list[OpRow]:
    return [row for row in report.ops if "group" in row.native]


FORWARD = "lower-to-npu,schedule"
BACKWARD = "autodiff,lower-to-npu,schedule"


@pytest.mark.parametrize("mapper", ["dp", "genetic", "learned"])
def test_a_chain_of_convolutions_runs_by_micro_batches(mapper: str) -> None:
    plain, fused = compiled(CHAIN, FORWARD), compiled(CHAIN, f"{FORWARD},fuse-layers{{mapper={mapper}}}")
    rows = in_groups(fused)
    facts = [one for row in rows if (one := GroupFacts.found_in(row)) is not None]
    assert any(one.micro_batches > 1 for one in facts)
    assert (fused.totals.cycles or 0) < (plain.totals.cycles or 0)
    assert moved(fused) < moved(plain)
    assert fused.totals.macs == plain.totals.macs
    assert (facts[0].group_layers or [None])[0] == rows[0].name
    saved = sum(one.saved_cycles or 0 for one in facts)
    assert (plain.totals.cycles or 0) - (fused.totals.cycles or 0) == saved


def test_traffic_is_what_crosses_the_borders_of_groups() -> None:
    fused = compiled(CHAIN, f"{FORWARD},fuse-layers{{objective=traffic}}")
    for row in in_groups(fused):
        residency = ResidencyFacts.found_in(row)
        for name in (residency and residency.resident_in) or []:
            # Held operands were loaded once, whatever the number of micro-batches; all else never moved.
            size = row.tensors[name].read_bytes
            assert size == 0 or name == "W"
    total = sum(t.read_bytes + t.write_bytes for row in fused.ops for t in row.tensors.values())
    assert total == moved(fused)


def test_a_budget_that_no_group_fits() -> None:
    report = compiled(CHAIN, f"{FORWARD},fuse-layers{{budget-kib=1 only=a}}")
    assert not in_groups(report)
    assert any("no group of layers improves the time within its room" in line for line in report.warnings)


def test_backward_groups_hold_sums_and_weights() -> None:
    fused = compiled(STEP, f"{BACKWARD},fuse-layers{{objective=traffic}}", **{"memory.spm_kib": 64})
    assert any(row.phase == "dw" for row in in_groups(fused))
    assert moved(fused) < moved(compiled(STEP, f"{BACKWARD}", **{"memory.spm_kib": 64}))


@pytest.mark.parametrize(
    ("passes", "changes", "message"),
    [
        (f"{FORWARD},fuse-layers{{mapper=best}}", {}, "mapper is 'best', expected dp, genetic"),
        (f"{FORWARD},fuse-layers{{budget-kib=0}}", {}, "budget-kib is 0, expected at least 1"),
        (f"{FORWARD},fuse-layers{{budget-kib=99}}", {}, "budget-kib is 99, a schedule may use"),
        (f"{FORWARD},fuse-layers", {"array.cores": 2}, "resident values have a cost model on one core only"),
        (f"{FORWARD},fuse-layers", {"memory.policy": "lru"}, "memory.policy 'lru'"),
        (f"{FORWARD},keep-resident,fuse-layers", {"memory.spm_kib": 64}, "does not support resident values"),
        (f"{FORWARD},fuse-layers,keep-resident", {}, "keep-resident: groups of layers"),
        (f"{FORWARD},fuse-layers,lower-tiles", {}, "has no form at the level of tiles"),
    ],
)
def test_what_is_refused(passes: str, changes: dict[str, object], message: str) -> None:
    with pytest.raises((NpucError, PassFailedException), match=message):
        compiled(CHAIN, passes, **changes)


def test_before_schedule_it_says_so() -> None:
    report = compiled(CHAIN, "lower-to-npu,fuse-layers,schedule")
    assert any("none has a schedule yet" in line for line in report.warnings)


def test_options() -> None:
    with pytest.raises(ValueError, match="objective is 'speed'"):
        FuseLayersPass(objective="speed")


SMOOTH = """network smooth(batch=8) {
  input x: f32[batch, 8, 12, 12]
  input t: f32[batch, 8, 12, 12]
  a = gelu(conv2d(x, 8, kernel=3, padding=1))
  b = gelu(conv2d(a, 8, kernel=3, padding=1))
  loss mse(conv2d(b, 8, kernel=3, padding=1), t)
}
"""


def test_activations_run_again_instead_of_being_stored() -> None:
    stored, again = (
        compiled(SMOOTH, f"{BACKWARD},fuse-layers{{objective=traffic{option}}}", **{"memory.spm_kib": 24})
        for option in ("", " recompute=true")
    )
    copies = [row for row in again.ops if row.native.get("recompute")]
    assert {row.name for row in copies} <= {"a", "b"}
    assert copies
    assert all("group" in row.native for row in copies)
    assert moved(again) < moved(stored)
    assert (again.totals.vector_ops or 0) > (stored.totals.vector_ops or 0)


def test_nothing_that_runs_again_is_said() -> None:
    report = compiled(STEP, f"{BACKWARD},fuse-layers{{recompute=true}}")
    assert any("no forward work that runs again improves the time" in line for line in report.warnings)


def test_what_runs_in_turn_comes_behind_the_group_whose_results_it_reads() -> None:
    """A region reads what is around it, which are no operands of its operation."""
    passes = "autodiff,lower-to-npu,interleave{mode=zip},schedule,fuse-layers"
    report = compile_file("samples:lenet", defines={"batch": 8}, pipeline=passes)
    assert any("group" in row.native for row in report.ops)
    assert any(row.schedule is not None and row.schedule.program == "zip" for row in report.ops)

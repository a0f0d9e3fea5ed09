"""The keys of replacement, prefetch and offload, from the machine to the report."""

from typing import Any

import pytest

from npuc.backends.roofline.reuse import reuse_report
from npuc.compiler import Report, compile_source
from npuc.compiler.core.errors import UsageError
from npuc.frontends import read_source
from npuc.hardware import load_hardware
from tests.unit.roofline.test_overlap import CHAIN, moved, scored

DEFAULTS = {"roofline.prefetch": "latency", "roofline.offload": "look-ahead", "roofline.policy": "belady"}
SINGLE: dict[str, Any] = {"roofline__plan": "single", "roofline__overlap": False}


def seconds(report: Report) -> float:
    return report.totals.seconds or 0.0


def test_the_defaults_are_the_study_s() -> None:
    plain = scored(0.5)
    stated = scored(0.5, **{key.replace(".", "__"): value for key, value in DEFAULTS.items()})
    assert (plain.totals, plain.ops, plain.native) == (stated.totals, stated.ops, stated.native)
    settings = plain.hardware["roofline"]
    assert isinstance(settings, dict)
    assert {"prefetch", "offload"}.isdisjoint(settings)


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("roofline.policy", "lru"),
        ("roofline.prefetch", "none"),
        ("roofline.prefetch", "next-layer"),
        ("roofline.offload", "when-full"),
    ],
)
def test_a_key_is_in_the_report_and_takes_longer_here(key: str, value: str) -> None:
    model = scored(0.5, **SINGLE)
    other = scored(0.5, **SINGLE, **{key.replace(".", "__"): value})
    settings = other.hardware["roofline"]
    assert isinstance(settings, dict)
    assert settings[key.partition(".")[2]] == value
    assert seconds(other) > seconds(model)
    assert (moved(other) > moved(model)) is (key == "roofline.policy")
    assert seconds(other) == pytest.approx(sum(row.seconds or 0.0 for row in other.ops), rel=1e-12)


def test_loads_on_demand_are_stalls() -> None:
    """Without prefetch a step that fits waits for all that it reads, and then computes."""
    for row in scored(1000.0, **SINGLE, roofline__prefetch="none").ops:
        assert row.native["stall_seconds"] == pytest.approx((row.dram_read_bytes or 0) / 616e9, abs=1e-15)


def test_lru_is_no_plan_of_a_smaller_cache() -> None:
    """It looks back, so `roofline.plan` has no meaning for it."""
    best, single = (scored(0.5, roofline__policy="lru", roofline__plan=plan) for plan in ("best", "single"))
    assert best.totals == single.totals
    assert best.native["plan_mib"] == 0.5


@pytest.mark.parametrize("offload", ["look-ahead", "when-full"])
def test_the_plan_of_least_traffic_takes_both(offload: str) -> None:
    pytest.importorskip("highspy")
    keys = {"roofline__policy": "optimal", "roofline__prefetch": "none", "roofline__overlap": False}
    report = scored(0.5, **keys, roofline__offload=offload)
    assert moved(report) <= min(moved(scored(0.5, **SINGLE, roofline__policy=name)) for name in ("belady", "lru"))


def test_reuse_is_that_of_the_policy() -> None:
    """`npuc reuse` says what LRU captures; its traffic is that of the report."""
    keys = {"memory.cache_mib": 0.5, "roofline.plan": "single", "roofline.policy": "lru"}
    found = reuse_report(read_source(CHAIN, filename="chain.dsl"), load_hardware("rtx2080ti", keys))
    assert found.traffic_bytes == moved(scored(0.5, roofline__plan="single", roofline__policy="lru"))
    assert found.traffic_bytes > moved(scored(0.5, roofline__plan="single"))


@pytest.mark.parametrize(
    ("key", "value"), [("roofline.prefetch", "soon"), ("roofline.offload", "never"), ("roofline.policy", "fifo")]
)
def test_what_a_key_may_be(key: str, value: str) -> None:
    with pytest.raises(UsageError, match=rf"{key}: expected"):
        compile_source(CHAIN, backend="roofline", hardware="rtx2080ti", overrides={key: value})

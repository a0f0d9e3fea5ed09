"""Networks and rewrites of one's own beside the study of interleaved gradients."""

from math import fsum

import pytest

from npuc.compiler import compile_file
from npuc.studies.igo.own import Own, OwnNetwork, own_of
from npuc.studies.igo.settings import LARGE, SMALL, STEPS
from npuc.studies.igo.study import IgoResults, run_study

FUSED = "autodiff,lower-to-npu,interleave{mode=fused},schedule{tolerance=0.0}"
SEQUENTIAL = "autodiff,lower-to-npu,schedule{tolerance=0.0}"


def run(own: Own) -> IgoResults:
    """The study of one network of its own under the preset `explicit`, on the large NPU."""
    return run_study("explicit", (LARGE,), ("ncf",), own=own)


@pytest.fixture(scope="module")
def both() -> IgoResults:
    """With a network that is one of the study's by another name, and two rewrites."""
    sources = ["samples:ncf", "samples:mlp"]
    pipelines = [f"mine={FUSED}", f"nothing = {SEQUENTIAL}"]
    return run(own_of(sources, {}, pipelines, ()))


@pytest.fixture(scope="module")
def alone() -> IgoResults:
    """The same without anything of one's own."""
    return run(Own())


def test_the_studys_rows_stay_as_they_are(alone: IgoResults, both: IgoResults) -> None:
    for found, before in (
        (both.rows, alone.rows), (both.lines, alone.lines), (both.traffic, alone.traffic), (both.claims, alone.claims),
    ):  # fmt: skip
        assert found[: len(before)] == before
        assert before
    others = {row.model for row in both.rows[len(alone.rows) :] if row.step in STEPS}
    assert others == {"samples:ncf", "mlp"}
    assert all(row.published is None for row in both.rows[len(alone.rows) :])


def test_a_sample_of_the_study_has_the_studys_numbers(alone: IgoResults) -> None:
    """With the batch of the study's tables, 1,024 users an image."""
    found = run(own_of(["samples:ncf"], {"batch": 8192}, (), ()))
    for step in STEPS:
        assert found.of(LARGE, step)["samples:ncf"].ours == alone.of(LARGE, step)["ncf"].ours


def test_the_batch_is_the_npus_unless_it_is_defined() -> None:
    network = OwnNetwork("mlp", "samples:mlp")
    assert {product.m for product in network.products("large")} == {8}
    assert {product.m for product in network.products("small")} == {4}
    assert {product.m for product in OwnNetwork("mlp", "samples:mlp", {"batch": 3}).products("small")} == {3}
    assert [product.has_dx for product in network.products("large")] == [False, True]


def test_a_rewrite_is_scored_by_the_backend(both: IgoResults) -> None:
    def seconds(source: str, batch: int, pipeline: str) -> float:
        report = compile_file(
            source, backend="cycle", hardware="igo-large", overrides={"memory.element_bytes": 2},
            defines={"batch": batch}, pipeline=pipeline,
        )  # fmt: skip
        return fsum(row.repeat * (row.seconds or 0) for row in report.ops if row.kind == "matrix")

    for name, source, batch in (("ncf", "samples:ncf", 8192), ("mlp", "samples:mlp", 8)):
        gained = seconds(source, batch, FUSED) / seconds(source, batch, SEQUENTIAL)
        assert both.of(LARGE, "mine")[name].ours == pytest.approx(gained)
        assert gained < 1
    assert {row.ours for row in both.of(LARGE, "nothing").values()} == {1.0}


@pytest.mark.heavy
def test_the_mean_is_over_the_studys_networks() -> None:
    found = run_study("lru", (SMALL,), ("ncf", "dlrm"), own=own_of(["samples:mlp"], {}, [f"mine={FUSED}"], ()))
    for step in (*STEPS, "mine"):
        rows = found.of(SMALL, step)
        assert list(rows) == ["ncf", "dlrm", "avg", "mlp"]
        assert rows["avg"].ours == pytest.approx((rows["ncf"].ours + rows["dlrm"].ours) / 2)


def test_a_rewrite_is_not_scored_on_several_cores_or_other_bandwidths() -> None:
    from npuc.studies.igo.settings import Setting

    found = run_study("lru", (Setting("large", cores=2),), ("ncf",), own=own_of((), {}, [f"mine={FUSED}"], ()))
    assert {row.step for row in found.rows} == set(STEPS)

"""A study's bar of progress: it ends when all is computed, and not before."""

from collections.abc import Sequence

import pytest

from npuc.studies.base import STUDIES, Asked
from npuc.studies.igo import settings
from tests.support.studies import short_study


@pytest.mark.parametrize(
    ("study", "preset", "sources"),
    [
        ("igo", "lru", ["samples:mlp"]),
        ("igo", "explicit", []),
        ("crosscheck", "os", ["samples:mlp"]),
        ("hypar", "published", ["samples:mlp"]),
        ("thesis", "thesis", ["samples:mlp"]),
    ],
)
def test_as_many_points_are_done_as_are_planned(study: str, preset: str, sources: Sequence[str]) -> None:
    own = ["mine=autodiff,lower-to-npu,schedule"] if study == "igo" and sources else []
    with short_study((settings.LARGE, settings.Setting("large", cores=2))):
        plan = STUDIES.get(study).plan(Asked(preset, networks=sources, pipelines=own))
        counts: list[int] = []
        plan.run(lambda name, count: counts.append(count))
        assert sum(counts) == plan.points > 0

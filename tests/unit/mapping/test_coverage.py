"""Well-known mappings and mistakes: whether each point is computed once, and which point is named if not."""

import pytest

from npuc.compiler.analysis.mapping.coverage import coverage, enough
from npuc.compiler.analysis.mapping.walk import leaves, plan_of
from tests.unit.mapping.texts import mapping_of

VGG = "CONV, sizes {K = 64, C = 3, R = 3, S = 3, Y = 226, X = 226}"
STEM = "CONV, sizes {K = 64, C = 3, R = 7, S = 7, Y = 224, X = 224}, strides {Y = 2, X = 2}"
SPARSE = "CONV, sizes {K = 8, C = 3, R = 1, S = 1, Y = 9, X = 9}, strides {Y = 2, X = 3}"
GEMM = "GEMM, sizes {M = 32, N = 10, K = 48}"
WEIGHTS = """temporal (1, 1) K, spatial (1, 1) C, temporal (Sz(R), Sz(R)) R, temporal (Sz(S), Sz(S)) S,
    temporal (Sz(R), 1) Y, temporal (Sz(S), 1) X, cluster 4, spatial (1, 1) K"""
ROWS = """temporal (8, 8) K, spatial (Sz(R), 1) Y, temporal (Sz(S), 1) X, temporal (1, 1) C, cluster Sz(R),
    spatial (1, 1) Y, spatial (1, 1) R"""
OUTPUTS = """spatial (4, 4) "Y'", temporal (8, 8) "X'", temporal (Sz(R), Sz(R)) R, temporal (Sz(S), Sz(S)) S,
    cluster 3, spatial (2, 2) K"""

LEGAL = [
    f"{VGG}, [{WEIGHTS}]",
    f"{STEM}, [{WEIGHTS}]",
    f"{SPARSE}, [{WEIGHTS}]",
    f"{VGG}, [{ROWS}]",
    f"{STEM}, [{ROWS}]",
    f"{SPARSE}, [{ROWS}]",
    f"{STEM}, [{OUTPUTS}]",
    f"{SPARSE}, [{OUTPUTS}]",
    f"{VGG.replace('K = 64', 'K = 2147483647')}, [{WEIGHTS}]",
    f"{GEMM}, [spatial (5, 5) M, temporal (7, 7) K, cluster 4, spatial (1, 1) N, cluster 2, spatial (3, 3) K]",
]
ILLEGAL = [
    (f"{GEMM}, [spatial (3, 2) M]", "M = 2 is computed 2 times"),
    (f"{GEMM}, [spatial (2, 3) M]", "M = 2 is never computed"),
    (f"{GEMM}, [spatial (1, 1) M, spatial (1, 1) N]", "M = 0, N = 1 is never computed"),
    (f"{GEMM}, [spatial (4, 4) M, cluster 2, spatial (3, 1) M]", "M = 1 is computed 2 times"),
    (f"{VGG}, [spatial (1, 1) K, temporal (8, 8) Y]", "Y' = 6, R = 0 is never computed"),
    (f"{VGG}, [spatial (Sz(S), 1) X, temporal (4, 1) Y]", "Y' = 1, R = 0 is computed 2 times"),
    (f"{VGG}, [{ROWS.replace('cluster Sz(R)', 'cluster 2')}]", "Y' = 0, R = 2 is computed 2 times"),
    (f"{VGG}, [spatial (1, 1) K, temporal (1, 1) K] unchecked", "level 0 has several maps of K"),
    (f"{VGG.replace('Y = 226', 'Y = 100000002')}, [{WEIGHTS}]", "Y has 300,000,000 points, too many to look at"),
    (
        f"{GEMM}, [spatial (1, 1) M, cluster 80, spatial (1, 1) N]",
        "its clusters hold 80 processing elements, the machine has 64",
    ),
]


@pytest.mark.parametrize("text", LEGAL)
def test_known_mappings_compute_each_point_once(text: str) -> None:
    mapping = mapping_of(text)
    assert next(mapping.problems(), None) is None
    assert coverage(mapping, 64) == ()
    assert coverage(mapping, enough(mapping)) == ()


@pytest.mark.parametrize(("text", "message"), ILLEGAL)
def test_the_first_wrong_point_is_named(text: str, message: str) -> None:
    mapping = mapping_of(text)
    assert next(mapping.problems(), None) is None
    assert coverage(mapping, 64)[:1] == (message,)


def test_two_maps_at_the_top_depend_on_the_number_of_elements() -> None:
    mapping = mapping_of(f"{GEMM}, [spatial (1, 1) M, spatial (1, 1) N]")
    assert coverage(mapping, 1) == ()
    assert coverage(mapping, 2) == ("M = 0, N = 1 is never computed",)


def test_folds_come_one_after_the_other() -> None:
    """Five rows on two elements: rows 0 and 1, then 2 and 3, then 4 alone; for each of them two columns in turn."""
    mapping = mapping_of("GEMM, sizes {M = 5, N = 2, K = 3}, [spatial (1, 1) M, temporal (1, 1) N]")
    found = [(leaf.step, leaf.element, leaf.ranges) for leaf in leaves(plan_of(mapping, 2))]
    points = [(step, element, ranges["M"][0], ranges["N"][0]) for step, element, ranges in found]
    assert points == [
        (0, 0, 0, 0), (0, 1, 1, 0), (1, 0, 0, 1), (1, 1, 1, 1),
        (2, 0, 2, 0), (2, 1, 3, 0), (3, 0, 2, 1), (3, 1, 3, 1),
        (4, 0, 4, 0), (5, 0, 4, 1),
    ]  # fmt: skip
    assert all(ranges["K"] == (0, 3) for _, _, ranges in found)


def test_a_step_waits_for_the_slowest_sub_cluster() -> None:
    """Of five rows the first cluster has three, one after the other, and the second two: both begin step 3 together."""
    text = """GEMM, sizes {M = 5, N = 2, K = 1},
        [temporal (1, 1) N, spatial (3, 3) M, cluster 2, temporal (1, 1) M, spatial (1, 1) K]"""
    found = [(leaf.step, leaf.element, leaf.ranges["M"][0]) for leaf in leaves(plan_of(mapping_of(text), 4))]
    first = [(0, 0, 0), (1, 0, 1), (2, 0, 2), (0, 2, 3), (1, 2, 4)]
    assert found == first + [(step + 3, element, row) for step, element, row in first]

"""What reports say of a plan beside its bound: of which plans the bound is, which is not all plans there are."""

from fractions import Fraction

import pytest

from npuc.compiler.report.parallel import Parallel, ParallelTotal
from npuc.compiler.report.text.sharding import bound_text


def said(strategy: str, convention: str, total: int = 10, bound: int = 10) -> str:
    """The end of the sentence for a plan of 1,024 devices."""
    plan = Parallel(
        strategy=strategy,
        convention=convention,
        devices=1024,
        levels=[],
        total=ParallelTotal(elements=total, bytes=4 * total),
        lower_bound_elements=bound,
    )
    return bound_text(Fraction(total), Fraction(bound), plan)


@pytest.mark.parametrize("convention", ["table2", "published", "physical"])
@pytest.mark.parametrize("strategy", ["joint", "accpar-joint"])
def test_a_joint_plan_is_the_best_of_those_whose_axes_all_devices_divide(strategy: str, convention: str) -> None:
    searched = "these types whose cut axes are divisible by all 1,024 devices"
    assert said(strategy, convention) == f": no plan of {searched} moves fewer elements"
    assert said(strategy, convention, total=11) == f"; 10.0% above the proved bound of plans of {searched}, 10"


@pytest.mark.parametrize(
    ("strategy", "convention", "searched"),
    [
        ("hypar", "table2", "these types"),
        ("accpar", "physical", "these types"),
        ("dp", "physical", "types dp and mp"),
        ("mp", "table2", "types dp and mp"),
        ("mp", "physical", "types dp and mp whose cut channels are divisible by all 1,024 devices"),
        ("hypar", "physical", "these types whose cut channels are divisible by all 1,024 devices"),
    ],
)
def test_other_plans_are_the_best_of_all_whose_channels_may_be_cut(
    strategy: str, convention: str, searched: str
) -> None:
    assert said(strategy, convention) == f": no plan of {searched} moves fewer elements"


def test_without_a_bound_nothing_is_said_of_other_plans() -> None:
    assert said("joint", "table2", bound=0) == "; no more than 0 is proved to be needed"

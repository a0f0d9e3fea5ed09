"""What is said of default mappings: those that the machine cannot run, or that break rules, are not compared."""

import io

import pytest
from rich.console import Console

from npuc.compiler.explore.mapping.best import MappingCost, Objective
from npuc.compiler.explore.mapping.result import Found, MappedRow, SearchResult, Settings
from npuc.compiler.explore.mapping.table import print_result
from npuc.dialects.mapping import shared_mapping
from tests.unit.mapping.constrained import rules
from tests.unit.mapping.texts import clusters_of

Default = tuple[float, float, bool, bool]
"""Cycles and energy, whether the machine can run it, and whether it meets the rules."""
BEST = (100.0, 1000.0)


def result_of(*defaults: Default, objective: Objective = "time") -> SearchResult:
    """Contractions of which the best mapping takes 100 cycles, with these default mappings."""
    mapping = shared_mapping(clusters_of("4 [m : 8 / 2]"))
    found = tuple(
        Found(
            MappingCost(cycles, energy, 1.0, 1.0),
            MappingCost(*BEST, 1.0, 1.0),
            mapping,
            9,
            (),
            fits,
            default_allowed=met,
        )
        for cycles, energy, fits, met in defaults
    )
    rows = tuple(MappedRow(f"l{number}", "forward", 1, 64, number) for number in range(len(found)))
    settings = Settings(objective, "random", 9, 0, 2, 1, "divisors")
    return SearchResult("n", "n.dsl", "hw", "exact", 4, settings, rows, found, rules=rules({"spread": "K"}))


def lines_of(result: SearchResult) -> list[str]:
    text = io.StringIO()
    print_result(result, Console(file=text, width=400), all_rows=True)
    return text.getvalue().splitlines()


FINE, LARGE = (300.0, 1000.0, True, True), (300.0, 1000.0, False, True)
FAST, BOTH = (1.0, 10.0, True, False), (1.0, 10.0, False, False)
NOTHING = ", so that there is nothing to compare."
VERDICTS: dict[tuple[Default, ...], str] = {
    (FINE, FINE): "is 3.00 times the best ones'; energy stays.",
    (FINE, FAST): "is 3.00 times the best ones' in the 1 contraction where they meet the constraints; energy stays.",
    (FINE, LARGE): "is 3.00 times the best ones' in the 1 contraction where the machine can run them; energy stays.",
    (FINE, LARGE, FAST): (
        "is 3.00 times the best ones' in the 1 contraction where the machine can run them and they meet the "
        "constraints; energy stays."
    ),
    (FAST, BOTH): f"None of the default mappings meets the constraints{NOTHING}",
    (LARGE, FAST): f"The machine can run none of the default mappings that meet the constraints{NOTHING}",
    (LARGE, LARGE): f"The machine can run none of the default mappings{NOTHING}",
}


@pytest.mark.parametrize("defaults", VERDICTS)
def test_only_what_a_search_could_have_found_is_compared(defaults: tuple[Default, ...]) -> None:
    assert lines_of(result_of(*defaults))[-1].endswith(VERDICTS[defaults])


def test_each_is_marked_for_what_it_lacks() -> None:
    lines = lines_of(result_of(FINE, LARGE, FAST, BOTH))
    cells = [line.split()[3] for line in lines if line.startswith(" l")]
    assert cells[-4:] == ["300", "300*", "1!", "1*!"]
    (said,) = (line for line in lines if line.startswith("rules "))
    assert said.endswith("the default mappings of 2 of 4 contractions do not (!).")


@pytest.mark.parametrize(
    ("energy", "said"),
    [
        (1000.0, "energy stays."),
        (1000.1, "energy falls by less than 0.5%."),
        (999.9, "energy grows by less than 0.5%."),
        (1010.0, "energy falls to 1/1.01."),
        (990.0, "energy grows to 1.01 times as much."),
    ],
)
def test_no_change_is_called_one_by_a_factor_of_one(energy: float, said: str) -> None:
    assert lines_of(result_of((300.0, energy, True, True)))[-1].endswith(f"; {said}")

"""The page of the study: its tables are those of a run, as far as that takes seconds, and what it says about them."""

import pytest

from npuc.studies.igo.layers import PRESETS
from npuc.studies.igo.settings import LARGE, SMALL, Setting
from npuc.studies.igo.study import run_study
from tests.docs.pages import read_page
from tests.docs.study import CHANGES, OTHERS, TABLES, averages, network_row, with_tables
from tests.docs.tables import begin, end

NETWORK = "ncf"


def table(name: str) -> dict[tuple[str, ...], list[str]]:
    """The cells of a table by those of its first columns that are no numbers, the head by ("",)."""
    lines = read_page("study-igo").split(begin(name))[1].split(end(name))[0].splitlines()
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines[2:]]
    labels = 2 if name in ("means", "networks") else 1
    return {tuple(row[:labels]): row[labels:] for row in rows}


def numbers(cells: list[str]) -> list[float]:
    """Those that a row gives."""
    return [float(cell.split()[0]) for cell in cells if cell]


@pytest.mark.parametrize("setting", [LARGE, SMALL], ids=lambda setting: setting.npu)
def test_a_network_is_as_in_the_table(setting: Setting) -> None:
    studies = {preset: run_study(preset, (setting,), (NETWORK,)) for preset in ("lru", "paper", "explicit")}
    assert network_row(studies, setting, NETWORK) in read_page("study-igo"), "run: python -m tests.docs.study"


def test_an_assumption_is_as_in_the_table() -> None:
    """The prototype's on the large NPU."""
    found = averages(CHANGES["`lru`"], LARGE)
    assert table("assumptions")["`lru`",][:3] == [f"{ours:.3f}" for ours in list(found.values())[:3]]


@pytest.mark.long
def test_all_tables_are_up_to_date() -> None:
    """Of every network under every preset."""
    text = read_page("study-igo")
    assert with_tables(text, {preset: run_study(preset) for preset in PRESETS}) == text, (
        "run: python -m tests.docs.study"
    )


def test_every_table_has_rows() -> None:
    assert all(len(table(name)) > 1 for name in (*TABLES, *OTHERS))


def test_signs_and_order_of_the_means() -> None:
    """Of the preset `paper`; how far it is from the paper."""
    means, furthest = table("means"), 0.0
    for npu in ("large", "small"):
        *steps, guarded = numbers(means[npu, "`paper`"])
        assert 1 > steps[0] > steps[1] > steps[2] > steps[3] >= guarded
        theirs = numbers(means[npu, "the paper's"])
        furthest = max(furthest, *(abs(a - b) for a, b in zip(steps, theirs, strict=True)))
    assert f"further than {furthest:.3f} from" in read_page("study-igo").replace("\n  ", " ")
    assert numbers(means["small", "`lru`"])[1] > 1 > numbers(means["large", "`lru`"])[0]
    assert min(numbers(means[npu, "`explicit`"])[3] for npu in ("large", "small")) > 0.93


def test_the_order_of_tiles_decides() -> None:
    """By rows and columns, interleaving is slower on the small NPU; half of the pool and other orders of `lru` too."""
    rows = table("assumptions")
    assert numbers(rows["dX by rows, dW by columns",])[3] > 1
    assert numbers(rows["half of the SPM",])[3] > 1
    assert numbers(rows["tiles of the array's side",])[2] < numbers(rows["`paper`",])[2]
    assert numbers(rows["dW finds what dX left",])[0] > numbers(rows["`paper`",])[0]


def test_what_the_gain_is_made_of() -> None:
    """The percentages in the text are those of the table."""
    heads = [f"{npu}, `{preset}`" for npu in ("large", "small") for preset in ("lru", "paper", "explicit")]
    gain = {
        name[0].split(",")[0]: dict(zip(heads, (100 * (1 - ours) for ours in numbers(cells)), strict=True))
        for name, cells in table("gain").items()
    }
    own = [f"{npu}, `explicit`" for npu in ("large", "small")]
    blocking, kept, nest, free = (gain[name] for name in ("dX", "the same", "both in one nest", "sequential"))
    text = read_page("study-igo").replace("\n  ", " ")
    for claim in (
        f"take {blocking['small, `lru`']:.0f}% off the sequential program of `lru` there, "
        f"and {blocking['small, `paper`']:.0f}% off that of `paper`",
        f"one nest gains {nest[own[0]]:.1f}% on the large NPU and {nest[own[1]]:.1f}% on the small one; "
        f"the second reading of dY is {free[own[0]]:.1f}% and {free[own[1]]:.1f}%",
        f"gains {kept[own[0]]:.1f}% and {kept[own[1]]:.1f}%: most dY",
    ):
        assert claim in text

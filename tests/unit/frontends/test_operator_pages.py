"""What the table of operators says of imported graphs: found in the sources of their meanings."""

import json

import pytest

from npuc.compiler.cli import main
from npuc.compiler.reference.operators import COMPOSED, DIRECT, FOLDED, FORMULA, OPAQUE, REFUSED, operator_pages
from npuc.compiler.reference.written_calls import known_functions
from npuc.frontends.onnx.operators import meanings as onnx_meanings
from npuc.frontends.script.opaque.file import known_entries
from npuc.frontends.torch.graphs.control import CONTROL
from npuc.frontends.torch.operators import meaning_of, meanings
from npuc.frontends.torch.refused import reason_of

PAGES = {(page.format, page.name): page for page in operator_pages()}
NOTHING_WRITTEN = {
    *CONTROL,
    *("aten._assert_async", "aten._assert_scalar", "aten._assert_tensor_metadata", "aten.sym_constrain_range_for_size"),
    *("aten.alias", "aten.view.dtype", "aten.clone", "aten.contiguous", "aten.positive"),
    *("aten.complex", "aten.real", "aten.imag", "aten.resolve_conj", "aten.resolve_neg"),
    *("aten.rand", "aten.rand_like", "aten.tril_indices", "aten.triu_indices"),
}


def test_every_operator_has_a_page() -> None:
    for format, known in (("pt2", meanings()), ("onnx", onnx_meanings())):
        assert {name for own, name in PAGES if own == format} >= set(known)


def test_functions_are_those_of_the_language() -> None:
    for page in PAGES.values():
        assert {*page.functions, *page.others} <= known_functions()
        assert bool(page.functions) == (page.form in (DIRECT, COMPOSED)), page
        assert bool(page.reason) == (page.form == REFUSED), page
        assert (page.opaque in OPAQUE) == (page.form == REFUSED), page


def test_shipped_formulas_are_of_operators_that_are_refused() -> None:
    refused = {page.name for page in PAGES.values() if page.opaque == FORMULA}
    assert set(known_entries()) - refused == {"torchvision.roi_align"}, "which is read where its samples are known"


def test_operators_that_write_nothing_are_known() -> None:
    assert {page.name for page in PAGES.values() if page.format == "pt2" and page.form == FOLDED} == NOTHING_WRITTEN


@pytest.mark.parametrize(
    ("name", "form", "functions", "others"),
    [
        ("aten.relu", DIRECT, ("relu",), ()),
        ("aten.conv2d", DIRECT, ("conv2d",), ("conv1d", "conv3d", "add")),
        ("aten.upsample_bicubic2d", DIRECT, ("upsample",), ()),
        ("aten.linear", DIRECT, ("linear",), ("add",)),
        ("aten.sinc", COMPOSED, ("mul", "equal", "where", "div", "sin"), ()),
        ("aten.lstm_cell", DIRECT, ("lstm_cell",), ()),
    ],
)
def test_pages_of_operators(name: str, form: str, functions: tuple[str, ...], others: tuple[str, ...]) -> None:
    page = PAGES["pt2", name]
    assert (page.form, set(page.functions), set(page.others)) == (form, set(functions), set(others))


def test_what_is_refused_has_no_meaning() -> None:
    for page in PAGES.values():
        if page.form == REFUSED and page.format == "pt2" and "*" not in page.name:
            assert meaning_of(page.name) is None, page.name
    assert reason_of("aten.bincount.default") == "the shape of its result depends on data"
    assert reason_of("mine.operator.default") is None


def _run(*arguments: str) -> None:
    with pytest.raises(SystemExit) as exit:
        main(arguments)
    assert not exit.value.code


def test_the_list_is_the_page(capsys: pytest.CaptureFixture[str]) -> None:
    _run("list", "operators")
    assert len(capsys.readouterr().out.splitlines()) == len(PAGES)
    _run("list", "operators", "--json", "-")
    listed = json.loads(capsys.readouterr().out)
    assert {(one["format"], one["name"]) for one in listed} == set(PAGES)
    assert all(one["form"] == PAGES[one["format"], one["name"]].form for one in listed)

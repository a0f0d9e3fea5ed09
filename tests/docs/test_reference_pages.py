"""The reference that writes itself: every operation and pass has its text, its example runs, the pages are current."""

import pytest

from npuc.compiler.driver.passes import available_passes
from npuc.compiler.reference.docstrings import documentation
from npuc.compiler.reference.example import example_module
from npuc.compiler.reference.meanings import OPERANDS, PROPERTIES, RESULTS
from npuc.compiler.reference.operations import operation_page, own_operations
from npuc.compiler.reference.passes import example_of, pass_named, pass_page
from npuc.compiler.transforms import get_all_passes, get_all_patterns
from npuc.frontends.mlir import make_context
from tests.docs.pages import read_page
from tests.docs.reference import PAGES, texts

OPERATIONS = own_operations()


@pytest.mark.parametrize("name", OPERATIONS)
def test_an_operation_is_explained(name: str) -> None:
    page = operation_page(OPERATIONS[name])
    assert page.summary.endswith(".")
    fields = (*page.operands, *page.properties, *page.regions, *page.results)
    assert [field.name for field in fields if not field.meaning] == []
    assert page.verified or not fields or name in ("npu.empty", "npu.yield")


@pytest.mark.parametrize("name", OPERATIONS)
def test_the_example_of_an_operation_is_one(name: str) -> None:
    example = operation_page(OPERATIONS[name]).example
    assert example is not None
    module = example_module(example, make_context())
    assert any(op.name == name for op in module.walk())


def test_no_field_is_explained_that_is_not_there() -> None:
    pages = [operation_page(op) for op in OPERATIONS.values()]
    operands = {field.name for page in pages for field in page.operands}
    results = {field.name for page in pages for field in page.results}
    others = {field.name for page in pages for field in (*page.properties, *page.regions)}
    for table, there in ((OPERANDS, operands), (RESULTS, results), (PROPERTIES, others)):
        assert {entry.partition(" ")[0] for entry in table} == there


@pytest.mark.parametrize("name", get_all_passes())
def test_a_pass_is_explained(name: str) -> None:
    available = available_passes()
    page = pass_page(pass_named(name, available))
    assert page.text
    assert [option.name for option in page.options if not option.meaning] == []
    assert page.pipeline is not None
    example = example_of(page.pipeline, available)
    assert example.step.startswith(name)
    assert example.gone != example.new


@pytest.mark.parametrize("name", PAGES)
def test_a_page_is_current(name: str) -> None:
    assert read_page(name) == texts()[name], "run: python -m tests.docs.reference"


def test_patterns_are_explained() -> None:
    patterns = [pattern for own in get_all_patterns().values() for pattern in own]
    assert len({pattern.name for pattern in patterns}) == len(patterns)
    for pattern in patterns:
        told = documentation(pattern)
        assert told.summary.endswith(".")
        assert told.example is not None
        assert "-->" in told.example
        assert any("Checks that" in text or "Checks the" in text for text in told.details)

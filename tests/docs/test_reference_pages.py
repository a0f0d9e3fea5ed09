"""The reference that writes itself: every operation and pass has its text, its example runs, the pages are current."""

import json

import pytest

from npuc.compiler import compile_source
from npuc.compiler.driver.passes import available_passes
from npuc.compiler.reference.docstrings import documentation
from npuc.compiler.reference.example import example_module
from npuc.compiler.reference.keys import key_page, toml_text
from npuc.compiler.reference.layers import layer_names, layer_page
from npuc.compiler.reference.meanings import OPERANDS, PROPERTIES, RESULTS
from npuc.compiler.reference.operations import operation_page, own_operations
from npuc.compiler.reference.passes import example_of, pass_named, pass_page
from npuc.compiler.reference.report import native_keys, report_keys
from npuc.compiler.reference.text import pass_text
from npuc.compiler.transforms import get_all_passes, get_all_patterns
from npuc.frontends.mlir import make_context
from npuc.hardware import KEYS, load_hardware
from tests.docs.pages import read_page
from tests.docs.reference import PAGES, texts
from tests.docs.report_fields import with_fields

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
    example = example_of(page, available)
    assert example is not None
    assert example.step.startswith(name)
    assert example.gone != example.new


def test_items_of_a_list_run_on_in_the_text_of_a_pass() -> None:
    page = pass_page(pass_named("contraction-form", available_passes()))
    lines = pass_text(page, None, 100).splitlines()
    at = next(number for number, line in enumerate(lines) if line.startswith("  - `native`"))
    assert all(len(line) > 70 for line in lines[at : at + 3])


def test_layers_are_explained() -> None:
    pages = [layer_page(name) for name in layer_names()]
    assert [page.name for page in pages if not (page.text and page.text[0].endswith((".", ")")))] == []
    for page in pages:
        assert page.signature.startswith(f"{page.name}(")
        assert all(one.name in page.signature for one in page.arguments)
    assert {page.kind for page in pages} == {"layer", "loss", "block", "optimizer"}


def test_hardware_keys_are_explained() -> None:
    pages = [key_page(name) for name in KEYS]
    assert [page.name for page in pages if not page.meaning or not page.takes] == []
    values = key_page("dram.gb_per_s").presets
    assert values["igo-large"] == toml_text(load_hardware("igo-large").values["dram.gb_per_s"])


def test_report_keys_are_explained() -> None:
    pages = report_keys()
    assert [name for name, page in pages.items() if not page.meaning] == []
    report = compile_source("M,N,K\n4,4,4\n", format="csv", opt_level=0)
    document = json.loads(report.to_json())
    assert {name for name in pages if "." not in name} == set(document)
    assert {f"totals.{name}" for name in document["totals"]} <= set(pages)
    assert {f"ops.{name}" for name in document["ops"][0]} <= set(pages)


def test_native_keys_are_explained() -> None:
    assert [name for name, page in native_keys().items() if not page.meaning] == []
    for backend in ("cycle", "roofline"):
        report = compile_source(
            "M,N,K\n4,4,4\n", format="csv", opt_level=0 if backend == "cycle" else None, backend=backend
        )
        found = {f"native.{name}" for holder in (report, *report.ops) for name in holder.native}
        assert found
        assert found <= native_keys().keys()


def test_the_tables_of_report_keys_are_current() -> None:
    text = read_page("report")
    assert with_fields(text) == text, "run: python -m tests.docs.report_fields"


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

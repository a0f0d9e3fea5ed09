"""Sections of `native`: what one holds is written under its fields' names, found again, and all that a report reads."""

import ast
from pathlib import Path

import pytest

from npuc.compiler import report as package
from npuc.compiler.driver.compile import compile_file
from npuc.compiler.report import OpRow, make_report, report_from_json
from npuc.compiler.report.sections import (
    CoreFacts,
    FusedFacts,
    ResidencyFacts,
    Section,
    TransferFacts,
    UnmovedFacts,
    columns,
    has_residents,
)
from npuc.compiler.report.text.summary.verdict import bound_holds

CORES = CoreFacts(
    cores=2,
    load_balance=0.75,
    core_cycles=[4, 2],
    core_compute_cycles=[4, 2],
    core_read_bytes=[8, 8],
    core_write_bytes=[1, 1],
)


class Heat(Section, frozen=True):
    """A toy: what an operation heats."""

    kelvin: float
    hot_spots: list[int] | None = None


def heat_text(rows: list[OpRow]) -> str:
    """The renderer of the toy."""
    found = [facts for row in rows if (facts := Heat.found_in(row)) is not None]
    return f"{len(found)} rows, {max(facts.kelvin for facts in found):g} K at most"


def row(*sections: Section | None) -> OpRow:
    return OpRow(index=0, name="fc", op="npu.contract", native=columns(*sections))


def test_a_column_is_a_producer_and_a_renderer() -> None:
    """No class of rows, writer or schema knows it, and it comes through JSON and CSV."""
    report = make_report(
        "toy", {"name": "m"}, [row(Heat(kelvin=300.5, hot_spots=[1, 2])), row(Heat(kelvin=2.0)), row()]
    )
    assert heat_text(report_from_json(report.to_json()).ops) == "2 rows, 300.5 K at most"
    head, *lines = report.to_csv().splitlines()
    assert head.endswith(",native.kelvin,native.hot_spots")
    assert lines[0].endswith(',300.5,"1,2"')
    assert lines[1].endswith(",2.0,")


def test_keys_stand_in_the_order_of_sections_and_fields() -> None:
    facts = columns(TransferFacts(transfer_cycles=3, spm_bytes_moved=0), None, UnmovedFacts(not_moved_bytes=7))
    assert [*facts.items()] == [("transfer_cycles", 3), ("spm_bytes_moved", 0), ("not_moved_bytes", 7)]
    assert "core_edge_cycles" not in CORES.columns()


@pytest.mark.parametrize("section", [CORES, Heat(kelvin=1.5), TransferFacts(transfer_cycles=0, first_load_bytes=0)])
def test_what_was_written_is_found(section: Section) -> None:
    assert type(section).found_in(row(Heat(kelvin=1.5), section)) == section


def test_another_key_or_type_is_no_section() -> None:
    assert CoreFacts.found_in(row(Heat(kelvin=1.0))) is None
    wrong = OpRow(index=0, name="fc", op="x", native={"not_moved_bytes": "many"})
    assert UnmovedFacts.found_in(wrong) is None
    assert Heat.found_in(OpRow(index=0, name="fc", op="x", native={"hot_spots": [1]})) is None


def test_a_row_keeps_values_if_a_tensor_is_resident_or_it_is_fused() -> None:
    assert not has_residents(row(ResidencyFacts(passing_bytes=9)))
    assert has_residents(row(ResidencyFacts(passing_bytes=0, resident_in=["X"])))
    assert has_residents(row(ResidencyFacts(passing_bytes=0, resident_out=["Y"])))
    fused = FusedFacts(fused="Y", vector_cycles=1, transfer_cycles=1, spm_bytes_moved=1, alone_cycles=1, alone_bytes=1)
    assert has_residents(row(fused))


def test_one_row_that_keeps_values_limits_what_the_bound_holds_for() -> None:
    rows = [row(ResidencyFacts(passing_bytes=9)), row(ResidencyFacts(passing_bytes=0, resident_in=["X"]))]
    assert bound_holds(make_report("cycle", {}, rows[:1])) == "with nothing resident between operations"
    assert bound_holds(make_report("cycle", {}, rows)) == "with no more resident between operations than here"


def test_products_say_their_transfers() -> None:
    rows = [one for one in compile_file("samples:mlp").ops if one.kind == "matrix"]
    found = [TransferFacts.found_in(one) for one in report_from_json(compile_file("samples:mlp").to_json()).ops]
    assert all(TransferFacts.found_in(one) in found for one in rows)
    assert all(facts is not None and facts.transfer_cycles for facts in found)


def test_the_report_reads_no_key_by_name() -> None:
    """`native["key"]` and `native.get("key")` are what sections are instead of."""
    (folder,) = package.__path__
    found: list[str] = []
    for path in sorted(Path(folder).rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            of = node.value if isinstance(node, ast.Subscript | ast.Attribute) else None
            if isinstance(of, ast.Attribute) and of.attr == "native" and getattr(node, "attr", "get") == "get":
                found.append(f"{path.name}:{of.lineno}")
    assert found == []

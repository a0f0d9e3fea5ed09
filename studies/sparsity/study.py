"""Prices each case at -O1, and sets it beside the dense program on the same machine."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from npuc.compiler.core.options import CompileKeywords
from npuc.compiler.driver.compile import compile_file
from npuc.compiler.report import Report
from npuc.compiler.report.sparse import SparseFacts
from npuc.studies.sparsity.settings import Case, cases


@dataclass(frozen=True)
class SparsityRow:
    """
    A method on a machine: one training step; gains are the dense step on the same machine over it.

    `carried` is the share of the products' MACs that is carried out, `stored` the bytes of sparse operands over those
    of dense ones; None where none is sparse. `matrix_gain` is the gain of matrix work alone.
    """

    machine: str
    method: str
    seconds: float
    gain: float
    matrix_gain: float | None
    energy_j: float | None
    energy_gain: float | None
    dram_bytes: int
    carried: float
    stored: float | None
    published: str
    source: str


@dataclass(frozen=True)
class SparsityResults:
    """The study: its rows, and what compilations warned of."""

    preset: str
    network: str
    backend: str
    rows: tuple[SparsityRow, ...]
    warnings: tuple[str, ...] = ()


def run_study(
    source: str,
    defines: Mapping[str, object],
    hardware: str,
    settings: Mapping[str, object],
    advance: Callable[[str, int], None],
    chosen: Sequence[Case] | None = None,
) -> SparsityResults:
    """The rows of `chosen`, or all; `hardware` and `settings` are the machine of N:M. Raises what compilations do."""
    rows: list[SparsityRow] = []
    said: list[str] = []
    plain: dict[str | None, Report] = {}
    report: Report | None = None
    for case in cases() if chosen is None else chosen:
        options: CompileKeywords = {"hardware": case.machine or hardware, "opt_level": 1, **case.options}
        if defines:
            options |= {"defines": dict(defines)}
        if case.machine is None:
            options |= {"overrides": dict(settings)}
        report = compile_file(source, backend="cycle", **options)
        if case.dense:
            plain[case.machine] = report
        else:
            said += report.warnings
        rows.append(_row(case, report, plain[case.machine]))
        advance(f"{rows[-1].machine}, {case.method}", 1)
    assert report is not None
    return SparsityResults("training", report.network, report.backend, tuple(rows), tuple(dict.fromkeys(said)))


def _row(case: Case, report: Report, dense: Report) -> SparsityRow:
    own, plain = report.totals, dense.totals
    seconds, before = own.seconds or 0.0, plain.seconds or 0.0
    matrix, matrix_before = (one.seconds_by_kind.get("matrix") for one in (own, plain))
    facts = [(row, SparseFacts.found_in(row)) for row in report.ops]
    carried = sum(row.repeat * ((row.macs or 0) if one is None else one.carried_macs) for row, one in facts)
    stored = sum(one.sparse_bytes for _, one in facts if one is not None)
    full = sum(one.dense_bytes for _, one in facts if one is not None)
    return SparsityRow(
        machine=str(report.hardware["name"]),
        method=case.method,
        seconds=seconds,
        gain=before / seconds,
        matrix_gain=matrix_before / matrix if matrix and matrix_before else None,
        energy_j=own.energy_j,
        energy_gain=plain.energy_j / own.energy_j if own.energy_j and plain.energy_j else None,
        dram_bytes=(own.dram_read_bytes or 0) + (own.dram_write_bytes or 0),
        carried=carried / (own.macs or 1),
        stored=stored / full if full else None,
        published=case.published,
        source=case.source if case.published else "",
    )

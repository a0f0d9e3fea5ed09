"""The resident operands and results of an operation, in words."""

from collections.abc import Iterator

from npuc.compiler.report import OpRow
from npuc.compiler.report.sections import ResidencyFacts


def residency_facts(row: OpRow) -> Iterator[tuple[str, str]]:
    """The values that are resident in scratchpad from operation to operation."""
    facts = ResidencyFacts.found_in(row)
    if facts is None:
        return
    for names, text in (
        (facts.resident_in, "left by operations before"),
        (facts.resident_out, "for operations after"),
    ):
        if names is not None:
            yield "", f"resident in scratchpad, {text}: {', '.join(names)}"
    if facts.passing_bytes:
        yield "", f"{facts.passing_bytes:,} bytes of the scratchpad are occupied by resident values of other operations"

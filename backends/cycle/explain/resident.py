"""What an operation finds in scratchpad and leaves there, in words."""

from collections.abc import Iterator

from npuc.compiler.report import OpRow


def staying(row: OpRow) -> Iterator[tuple[str, str]]:
    """What stays in scratchpad from operation to operation."""
    for key, text in (("resident_in", "there from operations before"), ("resident_out", "left for operations after")):
        names = row.native.get(key)
        if isinstance(names, list):
            yield "", f"whole in scratchpad, {text}: {', '.join(map(str, names))}"
    passing = row.native.get("passing_bytes")
    if passing:
        yield "", f"{passing:,} bytes of the scratchpad hold what only other operations use"

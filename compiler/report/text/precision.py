"""The program's float types in the title of a report."""

from npuc.compiler.report.report import Report

_WORDS = {
    "f32": ", floats f32",
    "f16": ", floats f16",
    "bf16": ", floats bf16",
    "mixed": ", mixed precision: products bf16, parameters f32",
}


def precision_text(report: Report) -> str:
    """The float types as an addition to a title; empty where they are as written in the program."""
    memory = report.hardware.get("memory")
    width = memory.get("element_bytes") if isinstance(memory, dict) else None
    if width is not None:
        return f", every float counted as {width} byte{'' if width == 1 else 's'} (memory.element_bytes)"
    products = "" if report.products is None else f", products of {report.products}"
    return _WORDS.get(report.precision, "") + products

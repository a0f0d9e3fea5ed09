"""Pictures by matplotlib, an optional dependency: which kinds there are, and files of them that hold no clock."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from io import BytesIO
from typing import Any, Protocol

from npuc.compiler.core.errors import UsageError

FORMATS = ("png", "pdf", "svg")
NO_CLOCK: Mapping[str, Mapping[str, None]] = {"png": {}, "pdf": {"CreationDate": None}, "svg": {"Date": None}}
"""What leaves the date out of a file."""
GRID = "#e4e4e4"
"""The colour of the lines behind the data."""


class Figure(Protocol):
    """What every picture uses of matplotlib's figure."""

    def savefig(self, target: BytesIO, **more: object) -> object: ...


def check_format(path: str) -> str:
    """The kind of picture that a file name asks for. Raises `UsageError` for others, and without matplotlib."""
    found = path.rpartition(".")[2].lower() if "." in path else ""
    if found not in FORMATS:
        raise UsageError(
            f"--plot {path}: cannot tell the kind of picture", hint=f"a name ending in .{', .'.join(FORMATS)}"
        )
    try:
        import_module("matplotlib")
    except ModuleNotFoundError as e:
        if e.name != "matplotlib":
            raise
        raise UsageError("--plot needs matplotlib, which is not installed", hint='pip install "npuc[plot]"') from None
    return found


def new_figure(width: float, height: float, *, font: float = 9.0, layout: str | None = None) -> Any:
    """An empty figure of so many inches, with npuc's fonts, `font` points high; `layout` is matplotlib's."""
    matplotlib = import_module("matplotlib")
    matplotlib.rcParams.update({"font.size": font, "svg.hashsalt": "npuc", "svg.fonttype": "none", "pdf.fonttype": 42})
    return import_module("matplotlib.figure").Figure(figsize=(width, height), dpi=150, layout=layout)


def picture_bytes(figure: Figure, kind: str) -> bytes:
    """A figure as a file of a kind (`png`, `pdf`, `svg`); the same figure always gives the same bytes."""
    out = BytesIO()
    figure.savefig(out, format=kind, metadata=NO_CLOCK[kind])
    return out.getvalue()

"""
The notebooks of docs/notebooks/: executed in a fresh folder each, their outputs stored.

    python -m tests.docs.notebooks            # executes all again and stores what they give
    python -m tests.docs.notebooks first-step

The cells are the source, which may be edited in any notebook editor. What differs from machine to machine is left out
of the files: when cells ran, how long that took, the version of Python. Compared are texts and results of npuc; of a
picture of matplotlib, whose bytes depend on its version, that there is one.
"""

from __future__ import annotations

import re
import sys
from importlib import import_module
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "docs" / "notebooks"
NAMES = ("first-step", "own-pass", "design-sweep", "own-model")
KERNEL = {"kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"}}
MOST_BYTES = 300_000
SECONDS = 300
_TIMES = re.compile(r"\b\d+(\.\d+)? (?:s|ms)\b(?= (?:here|a step))")


def read(name: str) -> Any:
    """A stored notebook."""
    return import_module("nbformat").read(FOLDER / f"{name}.ipynb", as_version=4)


def executed(notebook: Any) -> Any:
    """The notebook, executed from its first cell in a folder of its own. Raises the error of a cell."""
    fresh: Any = import_module("nbformat").from_dict(notebook)
    for cell in fresh.cells:
        if cell.cell_type == "code":
            cell.outputs, cell.execution_count = [], None
    with TemporaryDirectory() as folder:
        place = {"metadata": {"path": folder}}
        client = import_module("nbclient").NotebookClient(fresh, timeout=SECONDS, resources=place, record_timing=False)
        client.execute()
    return normal(fresh)


def normal(notebook: Any) -> Any:
    """The notebook without what differs from run to run; texts of a stream in one piece, progress left out."""
    notebook.metadata.clear()
    notebook.metadata.update(KERNEL)
    for number, cell in enumerate(notebook.cells):
        cell.id, cell.metadata = f"cell-{number}", {}
        if cell.cell_type == "code":
            cell.outputs = [one for one in cell.outputs if not _is_progress(one)]
            for one in cell.outputs:
                one.pop("metadata", None)
                if one.output_type in ("display_data", "execute_result"):
                    one.metadata = {}
    return notebook


def _is_progress(output: Any) -> bool:
    html = output.get("data", {}).get("text/html")
    return html is not None and (not html or "<progress " in html)


def shown(notebook: Any) -> list[list[tuple[str, str]]]:
    """What each cell shows, as kinds and texts: what two runs have alike."""
    return [
        [part for one in cell.outputs for part in _parts(one)] if cell.cell_type == "code" else []
        for cell in notebook.cells
    ]


def _parts(output: Any) -> list[tuple[str, str]]:
    if output.output_type == "stream":
        return [(output.name, _TIMES.sub("…", output.text))]
    if output.output_type == "error":
        return [("error", f"{output.ename}: {output.evalue}")]
    return [
        (kind, "" if kind.startswith("image/") else _TIMES.sub("…", _text(text)))
        for kind, text in sorted(output.data.items())
    ]


def _text(value: str | list[str]) -> str:
    """A text without the address of an object and the size of a figure, which a version of matplotlib decides."""
    text = value if isinstance(value, str) else "".join(value)
    return re.sub(r"<Figure size \S+ with", "<Figure with", re.sub(r" at 0x[0-9a-f]+", "", text))


def renew(name: str) -> None:
    """Execute a notebook, and store what it gives."""
    nbformat, found = import_module("nbformat"), executed(read(name))
    nbformat.validate(found)
    text = str(nbformat.writes(found))
    (FOLDER / f"{name}.ipynb").write_text(text + "\n", encoding="utf-8")
    print(f"{name}: {len(text):,} bytes")


if __name__ == "__main__":
    for chosen in sys.argv[1:] or NAMES:
        renew(chosen)

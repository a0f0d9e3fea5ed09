"""A copy of the tree with additions, and Python that runs in it."""

import os
import shutil
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

ROOT = Path(__file__).parents[1]
FOLDERS = ("compiler", "dialects", "hardware", "backends", "frontends", "samples", "studies")
MAIN = "import npuc.compiler.cli as c; assert c.__file__.startswith(sys.path[0]); sys.exit(c.main())"
"""What the command line runs."""
Addition = tuple[str, str, str]
"""A file, the text after which something is added (empty: the end of the file, or a new file), and what is added."""


def copied_tree(folder: Path, additions: Iterable[Addition]) -> Path:
    """A copy of the tree in a folder, with additions."""
    for name in FOLDERS:
        shutil.copytree(ROOT / name, folder / "npuc" / name, ignore=shutil.ignore_patterns("__pycache__"))
    for file, place, added in additions:
        path = folder / "npuc" / file
        path.parent.mkdir(exist_ok=True)
        text = path.read_text() if path.exists() else ""
        assert place == "" or text.count(place) == 1, (file, place)
        path.write_text(text.replace(place, place + added) if place else text + added)
    return folder


def run(tree: Path, code: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Python code in a process of its own, with the tree as the package."""
    # the copy comes before the installation, which is found by a finder of its own
    first = f"import sys; sys.path.insert(0, {str(tree)!r}); sys.meta_path = [f for f in sys.meta_path "
    first += "if 'editable' not in getattr(f, '__module__', '') and 'editable' not in str(f)]\n"
    environment = {**os.environ, "PYTHONPATH": "", "COLUMNS": "100"}
    return subprocess.run(
        [sys.executable, "-c", first + code, *arguments], capture_output=True, text=True, env=environment, check=False
    )

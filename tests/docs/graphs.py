"""
The pictures of docs/graphs.md, and the graph in DOT of the tests: `python -m tests.docs.graphs` draws them anew.

Commands of the page that are indented draw its pictures.
"""

import contextlib
import re
import tempfile
from collections.abc import Iterator
from pathlib import Path

from npuc.compiler.cli import run_command
from tests.docs.pages import FOLDER, ROOT, blocks_of, read_page

PICTURES = FOLDER / "figures"
DOT = ROOT / "tests" / "unit" / "graph" / "net.dot"
DRAWN = "-p autodiff,lower-to-npu,interleave{mode=zip} --emit dot".split()


def commands() -> dict[Path, list[str]]:
    """The file of each picture, and the arguments that draw it, without the file's name."""
    found = re.findall(r"^    npuc (.+) -o (\S+)$", read_page("graphs"), re.MULTILINE)
    return {PICTURES / name: arguments.split() for arguments, name in found}


def drawn() -> Iterator[tuple[Path, str]]:
    """The files and what is drawn today."""
    with tempfile.TemporaryDirectory() as home, contextlib.chdir(home):
        for file, arguments in commands().items():
            assert run_command([*arguments, "-o", "picture"]) == 0
            yield file, Path("picture").read_text(encoding="utf-8")
        (network,) = (block for block in blocks_of(read_page("graphs")) if block.name == "net.dsl")
        Path("net.dsl").write_text(network.text, encoding="utf-8")
        assert run_command(["opt", "net.dsl", *DRAWN, "-o", "picture"]) == 0
        yield DOT, Path("picture").read_text(encoding="utf-8")


if __name__ == "__main__":
    for path, text in drawn():
        path.write_text(text, encoding="utf-8")

"""
The pictures of docs, and the graph in DOT of the tests: `python -m tests.docs.pictures` draws them anew.

Commands of a page that are indented draw its pictures (`-o FILE.svg`, `--plot FILE.svg`), in a folder with its files.
"""

import contextlib
import io
import re
import tempfile
from collections.abc import Generator, Iterator
from pathlib import Path

from npuc.compiler.cli import run_command
from tests.docs.pages import FOLDER, ROOT, blocks_of, read_page

PICTURES = FOLDER / "figures"
PAGES = ("graphs", "explain", "pictures", "design-tutorial", "fusion")
DOT = ROOT / "tests" / "unit" / "graph" / "net.dot"
DRAWN = "-p autodiff,lower-to-npu,interleave{mode=zip} --emit dot".split()


def commands(page: str) -> dict[Path, list[str]]:
    """The file of each picture of a page, and the arguments that draw it."""
    found = re.findall(r"^    npuc (.+?(?:-o|--plot) (\S+\.svg).*)$", read_page(page), re.MULTILINE)
    return {PICTURES / name: arguments.split() for arguments, name in found}


@contextlib.contextmanager
def folder_of(page: str) -> Generator[None]:
    """A folder with the files of a page, in which commands run."""
    with tempfile.TemporaryDirectory() as home, contextlib.chdir(home):
        for block in blocks_of(read_page(page)):
            if block.name:
                Path(block.name).write_text(block.text, encoding="utf-8")
        yield


def drawn() -> Iterator[tuple[Path, str]]:
    """The files and what is drawn today."""
    for page in PAGES:
        with folder_of(page), contextlib.redirect_stdout(io.StringIO()):
            for file, arguments in commands(page).items():
                assert run_command(arguments) == 0, arguments
                yield file, Path(file.name).read_text(encoding="utf-8")


def dot_drawn() -> str:
    """The graph of the page on graphs in DOT."""
    with folder_of("graphs"):
        assert run_command(["opt", "net.dsl", *DRAWN, "-o", "picture"]) == 0
        return Path("picture").read_text(encoding="utf-8")


if __name__ == "__main__":
    for path, text in (*drawn(), (DOT, dot_drawn())):
        path.write_text(text, encoding="utf-8")

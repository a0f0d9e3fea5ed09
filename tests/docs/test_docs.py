"""Every example of the pages is executed, and prints what the page shows."""

import re
from pathlib import Path

import pytest

from tests.docs.examples import NEEDING, run_page
from tests.docs.pages import FOLDER, LANGUAGES, NAMES, ROOT, Block, blocks_of, commands_of, matches, read_page
from tests.docs.shell import Shell

PAGES = pytest.mark.parametrize("page", NAMES)


LONG = ("study-congestion", "study-flexion", "study-hypar", "study-thesis", "study-training-methods")
"""Pages whose examples take half a minute or more: whole studies, which have tests of their own."""


def _marked(page: str) -> object:
    return pytest.param(page, marks=pytest.mark.long) if page in LONG else page


@pytest.mark.parametrize("page", [_marked(name) for name in NAMES if name not in NEEDING])
def test_examples(page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run_page(page, tmp_path, monkeypatch, with_long=False)


@pytest.mark.heavy
@pytest.mark.parametrize("page", [name for name in NAMES if any(b.is_long for b in blocks_of(read_page(name)))])
def test_all_examples(page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Those that take long, too, of the pages that have some."""
    run_page(page, tmp_path, monkeypatch)


def test_every_page_with_commands_is_executed() -> None:
    """A page that is not among the names would show what no longer is."""
    shown = {
        path.stem
        for path in FOLDER.glob("*.md")
        if any(b.language == "console" for b in blocks_of(read_page(path.stem)))
    }
    assert shown <= {*NAMES}


@PAGES
def test_every_fence_is_a_block_that_is_executed(page: str) -> None:
    text = read_page(page)
    blocks = blocks_of(text)
    assert len(re.findall(r"^```", text, re.MULTILINE)) == 2 * len(blocks)
    for block in blocks:
        assert block.language in LANGUAGES
        assert block.name or block.language in ("console", "python", "text"), f"line {block.line}: a file has a name"


@PAGES
def test_lines_are_short(page: str) -> None:
    table = [line for line in read_page(page).splitlines() if line.startswith("|")]
    long = [line for line in read_page(page).splitlines() if len(line) > 120]
    assert [line for line in long if line not in table] == []


@PAGES
def test_links_lead_somewhere(page: str) -> None:
    for target in re.findall(r"\]\(([^)]+)\)", read_page(page)):
        path, _, anchor = target.partition("#")
        file = FOLDER / path if path else FOLDER / f"{page}.md"
        assert file.exists(), target
        headings = re.findall(r"^#+ (.+)$", file.read_text(encoding="utf-8"), re.MULTILINE) if anchor else []
        assert not anchor or anchor in {re.sub(r"[^\w -]", "", h).lower().replace(" ", "-") for h in headings}, target


@pytest.mark.parametrize(
    ("expected", "found", "equal"),
    [
        ("a\nb", "a\nb\n", True),
        ("a\nb", "a\nc\n", False),
        ("a", "a\nb\n", False),
        ("a\n…", "a\nb\nc\n", True),
        ("…\nc", "a\nb\nc\n", True),
        ("a…c", "abc\n", True),
        ("a…c", "ab\nc\n", False),
        ("a   ", "a\n", True),
        ("", "", True),
        ("", "a", False),
    ],
)
def test_comparison_of_output(expected: str, found: str, *, equal: bool) -> None:
    assert matches(expected, found) is equal


@pytest.mark.parametrize(
    "text",
    ["$ npuc list no-such\n", "$ npuc list backends\nnothing\n", "$ npuc list samples\n$ echo $?\n1\n"],
)
def test_a_wrong_console_block_fails(text: str, tmp_path: Path) -> None:
    with pytest.raises(AssertionError):
        Shell(tmp_path).run(Block("console", "", 1, text))


def test_a_command_goes_on_behind_a_backslash(tmp_path: Path) -> None:
    block = Block("console", "", 1, "$ npuc list \\\n> no-such\n…\n$ echo $?\n2\n")
    command, status = commands_of(block)
    assert (command.text, command.output, status.text) == ("npuc list no-such", ("…",), "echo $?")
    Shell(tmp_path).run(block)


def test_the_sample_is_the_one_that_the_page_shows() -> None:
    shown = {block.name: block.text for block in blocks_of(read_page("writing-a-pass"))}
    for name in ("merge_scalings.py", "scaled.dsl"):
        assert shown[name] == (ROOT / "samples" / "pattern" / name).read_text(encoding="utf-8")

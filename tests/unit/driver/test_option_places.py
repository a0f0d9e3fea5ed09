"""A new option touches three files: its field, its place on the command line, and the code that reads it."""

import re
from pathlib import Path

import pytest

from npuc.compiler.core.options import CompileKeywords
from tests.tree_copy import FOLDERS, MAIN, ROOT, copied_tree, run

TOY = (
    ("compiler/core/options.py", "    print_after: str | None\n", "    greeting: str | None\n"),
    ("compiler/core/options.py", "    print_after: str | None = None\n", "    greeting: str | None = None\n"),
    (
        "compiler/cli/options.py",
        'help="Verify the IR after every pass.")] = False\n',
        '    greeting: Annotated[str | None, typer.Option("--greeting", help="Say it.")] = None\n',
    ),
    (
        "compiler/driver/lower.py",
        "    run.watch.plan(passes)\n",
        '    if options.greeting is not None:\n        session.note(f"greeting: {options.greeting}")\n',
    ),
)
"""An option that every verb with passes takes: in which file what is added after what."""


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the tree with the toy option."""
    return copied_tree(tmp_path_factory.mktemp("tree"), TOY)


def test_an_option_touches_three_files() -> None:
    assert len({file for file, _, _ in TOY}) == 3


def test_the_option_works_on_the_command_line_of_all_verbs_that_have_its_group(tree: Path) -> None:
    made = run(tree, MAIN, "compile", "samples:mlp", "--greeting", "hello", "--json", "-")
    assert made.returncode == 0, made.stderr
    assert "npuc: greeting: hello" in made.stderr
    for verb in ("explain", "sweep", "map", "run", "check"):
        assert "--greeting" in run(tree, MAIN, verb, "--help").stdout, verb
    assert "--greeting" not in run(tree, MAIN, "reuse", "--help").stdout


def test_the_option_works_in_python(tree: Path) -> None:
    code = "from npuc.compiler import compile_file as f; print(f('samples:mlp', greeting='hello').totals['cycles'] > 0)"
    made = run(tree, code)
    assert made.stdout == "True\n", made.stderr


def test_nobody_reads_an_option_with_a_default_of_its_own() -> None:
    """Readers take fields of `Options`; a keyword read by name would have its default, or its alias, in two places."""
    names = "|".join(CompileKeywords.__annotations__)
    by_name = re.compile(rf'options(?:\.get\(|\[)"(?:{names})"')
    # the border is where keywords are read; a sweep asks whether an option was said at all
    border = ("compiler/core/options.py", "compiler/driver/options.py", "compiler/explore/sweep")
    files = [path for folder in FOLDERS for path in (ROOT / folder).rglob("*.py")]
    files = [path for path in files if not str(path.relative_to(ROOT)).startswith(border)]
    alias = re.compile(r'objective == "latency"|endswith\("joint"\)')
    aliases = [path.name for path in files if alias.search(path.read_text())]
    found = [str(path.relative_to(ROOT)) for path in files if by_name.search(path.read_text())]
    assert (found, aliases) == ([], [])

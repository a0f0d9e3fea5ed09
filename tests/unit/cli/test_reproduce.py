"""`npuc reproduce`: whole folders, the same bytes each time, what its commands make, and wrong usage."""

import csv
import json
import re
import shlex
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from npuc.compiler.cli import run_command
from npuc.compiler.cli.reproduce import deviations, environment
from npuc.compiler.cli.reproduce.commands import Reproduced
from npuc.compiler.cli.reproduce.readme import readme
from npuc.compiler.core.cache.code import own_folders
from npuc.studies.base import STUDIES, Asked
from tests.outside import installed

CODE = '''
"""Studies from outside."""

from npuc.studies.base import DrawnOutcome, FolderOutcome, Outcome, Plan, Study


class Found(FolderOutcome):
    warnings = ("sums are small",)

    def __init__(self, asked):
        self.asked = asked

    def json(self):
        rows = [{"sum": "a", "of": 2, "published": 4.0, "ours": 5.0, "reproduced": False}, {"sum": "b", "ours": 1}]
        return __import__("json").dumps({"study": "sums", "preset": self.asked.preset, "rows": rows})

    def csv(self):
        return "sum,ours\\na,5\\n"

    def show(self, console):
        console.print(f"preset {self.asked.preset}, width {console.width}")

    def draw(self, kind):
        return kind.encode()

    def draw_all(self, kinds):
        return {f"one.{kind}": self.draw(kind) for kind in kinds}


class Sums(Study):
    """Sums of small numbers."""

    presets = ("few", "many")
    takes = frozenset({"plot", "jobs"})
    folder = True
    source = "A. Adder, Sums, 1999."

    def plan(self, asked):
        return Plan(1, lambda advance: Found(asked))


class Fails(Sums):
    takes = frozenset()

    def plan(self, asked):
        def run(advance):
            raise KeyError("a defect of its own")

        return Plan(1, run)


class Table(Outcome):
    json = lambda self: "[]"
    csv = lambda self: ""

    def show(self, console):
        pass


class Tables(Sums):
    def plan(self, asked):
        return Plan(1, lambda advance: Table())
'''
ENTRY_POINTS = """
[npuc.studies]
sums = sums_study:Sums
fails = sums_study:Fails
tables = sums_study:Tables
"""


@pytest.fixture
def outside(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.chdir(tmp_path)
    with installed(tmp_path, "sums_study", CODE, ENTRY_POINTS):
        yield


def _nothing(name: str) -> None:
    """What `find_spec` says of a module that is not there."""


def _only_sums(registry: object) -> tuple[str, ...]:
    return ("sums",)


def contents(folder: str) -> dict[str, bytes]:
    """All files below a folder."""
    return {str(one.relative_to(folder)): one.read_bytes() for one in Path(folder).rglob("*") if one.is_file()}


@pytest.mark.usefixtures("outside")
def test_a_folder_has_all_files(capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("matplotlib")
    assert run_command(["reproduce", "sums", "made", "--preset", "many"]) == 0
    assert capsys.readouterr() == ("", "npuc: warning: sums are small\n")
    found = contents("made")
    assert sorted(found) == [
        *("README.md", "commands.sh", "deviations.csv", "environment.json"),
        *("figure.pdf", "figure.svg", "figures/one.png", "figures/one.svg"),
        *("rows.csv", "rows.json", "study.txt"),
    ]
    assert found["study.txt"] == b"preset many, width 10000\n"
    page = found["README.md"].decode()
    for text in (
        "# The study sums\n",
        "Source: A. Adder, Sums, 1999.",
        "Warning: sums are small",
        "preset many, width",
    ):
        assert text in page
    assert "| rows | a, of 2 | 4 | 5 | +25.00 | no |" in page
    assert "By its own tolerances the study reproduces 0 of 1." in page
    assert "1 published number beside ours. Ours deviates by 25 % of the published value." in page
    assert "Its text, rows and figures alone, where each further figure runs the study once more:" in page
    for name in found:
        assert f"| `{name}` |" in page or name == "README.md"
    (row,) = csv.DictReader(found["deviations.csv"].decode().splitlines())
    assert (row["row"], row["deviation_percent"], row["reproduced"]) == ("a, of 2", "25.0", "False")


@pytest.mark.usefixtures("outside")
def test_bytes_depend_on_nothing_around(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("matplotlib")
    assert run_command(["reproduce", "sums", "one", "-q"]) == 0
    for name, value in (("COLUMNS", "40"), ("TZ", "Asia/Tokyo"), ("FORCE_COLOR", "1"), ("SOURCE_DATE_EPOCH", "7")):
        monkeypatch.setenv(name, value)
    assert run_command(["reproduce", "sums", "two", "-q", "--jobs", "2"]) == 0
    assert capsys.readouterr() == ("", "")
    assert contents("one") == contents("two")
    assert not [name for name, data in contents("one").items() if str(Path.cwd()).encode() in data]


@pytest.mark.usefixtures("outside")
def test_the_commands_make_the_files_again(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("matplotlib")
    assert run_command(["reproduce", "sums", "made", "-q"]) == 0
    before = contents("made")
    lines = [line for line in before["commands.sh"].decode().splitlines() if line.startswith("npuc ")]
    assert len(lines) == 3
    Path("again").mkdir()
    monkeypatch.chdir("again")
    made: dict[str, bytes] = {}
    for line in lines:
        command, _, target = line.partition(" > ")
        assert run_command(shlex.split(command)[1:]) == 0
        made[target] = capsys.readouterr().out.encode()
    made |= contents(".")
    said = {"README.md", "commands.sh", "environment.json", "deviations.csv"}
    assert {name: made[name] for name in before if name not in said} == {
        name: data for name, data in before.items() if name not in said
    }


@pytest.mark.usefixtures("outside")
def test_without_matplotlib_figures_are_left_out_and_named(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    monkeypatch.setattr("npuc.compiler.cli.study.outputs.find_spec", _nothing)
    assert run_command(["reproduce", "sums", "made"]) == 0
    assert "warning: matplotlib is not installed, and figures are left out" in capsys.readouterr().err
    assert not [name for name in contents("made") if name.startswith("figure")]
    assert 'pip install "npuc[plot]"' in Path("made/README.md").read_text()
    assert "--plot" not in Path("made/commands.sh").read_text()
    assert "# Makes text and rows of the study sums again" in Path("made/commands.sh").read_text()
    assert "matplotlib" not in json.loads(Path("made/environment.json").read_text())["libraries"]


@pytest.mark.usefixtures("outside")
@pytest.mark.parametrize(
    ("arguments", "status", "error"),
    [
        (["sum", "made"], 2, "did you mean 'sums'?"),
        (["sums", "made", "--preset", "man"], 2, "did you mean 'many'?"),
        (["all", "made", "--preset", "many"], 2, "--preset is of one study"),
        (["aespa", "made", "--jobs", "2"], 2, "--jobs is an option of the"),
        (["sums", "-"], 2, "several files cannot go to standard output"),
        (["sums", "none/made"], 2, "it is not a folder, nor can it be made one"),
        (["sums", "full/own.txt"], 2, "it is not a folder, nor can it be made one"),
        (["sums", "full"], 2, "'full' has files already"),
        (["fails", "made"], 1, "study 'fails' failed: KeyError"),
        (["tables", "made"], 1, "the study takes plot, but its outcome is no DrawnOutcome"),
    ],
)
def test_errors_leave_nothing(
    capsys: pytest.CaptureFixture[str], arguments: list[str], status: int, error: str
) -> None:
    pytest.importorskip("matplotlib")
    Path("full").mkdir()
    Path("full/own.txt").write_text("mine")
    before = contents(".")
    assert run_command(["reproduce", *arguments]) == status
    assert error in capsys.readouterr().err
    assert {name: data for name, data in contents(".").items() if "__pycache__" not in name} == {
        name: data for name, data in before.items() if "__pycache__" not in name
    }
    assert not Path("made").exists()


@pytest.mark.usefixtures("outside")
def test_force_replaces_files_of_the_same_names_alone() -> None:
    Path("full").mkdir()
    Path("full/own.txt").write_text("mine")
    Path("full/study.txt").write_text("old")
    assert run_command(["reproduce", "sums", "full", "--force", "-q"]) == 0
    assert Path("full/own.txt").read_text() == "mine"
    assert Path("full/study.txt").read_text() == "preset few, width 10000\n"


@pytest.mark.usefixtures("outside")
def test_all_is_every_study_in_a_folder_each(monkeypatch: pytest.MonkeyPatch) -> None:
    names = "npuc.compiler.core.registry.Registry.names"
    monkeypatch.setattr(names, _only_sums)
    assert run_command(["reproduce", "all", "every", "-q", "--jobs", "2"]) == 0
    assert {path.name for path in Path("every").iterdir()} == {"sums"}
    assert "study.txt" in contents("every/sums")


def test_deviations_are_of_rows_with_both_numbers() -> None:
    rows = [
        {"claim": "a", "at": 2, "published": 10, "ours": 9, "tolerance": 1, "holds": True},
        {"claim": "b", "published": 0, "ours": 1},
        {"claim": "c", "published": "little", "ours": 1},
        {"claim": "d", "published": None, "ours": 1},
        {"claim": "e", "published": True, "ours": 1},
    ]
    found = deviations.deviations_of(json.dumps({"study": "x", "rows": rows, "other": 3, "words": ["a"]}))
    assert [(one.row, one.percent, one.reproduced) for one in found] == [("a, at 2", -10, True), ("b", None, None)]


def test_versions_are_those_of_what_is_needed() -> None:
    found = environment.environment(drawn=False)
    assert {"xdsl", "numpy", "typer"} <= set(found.libraries)
    assert not {"pytest", "matplotlib", "torch"} & set(found.libraries)
    assert json.loads(environment.environment_json(found))["schema"] == environment.SCHEMA


def test_several_deviations_have_a_median_and_a_largest() -> None:
    found = [deviations.Deviation("rows", "a", 80, ours, None) for ours in (80, 84, 72)]
    made = Reproduced("sums", "", STUDIES.get("themis"), Asked(preset="few"))
    page = readme(made, "", found, environment.environment(drawn=False), [], ())
    assert "3 published numbers beside ours. Half of ours deviate by at most 5 % of the published value, all by" in page
    assert "all by at most 10 %." in page


def test_sources_are_names_and_contents_wherever_they_are(tmp_path: Path) -> None:
    def made(place: str, files: dict[str, str]) -> str:
        for name, text in files.items():
            path = tmp_path / place / "own" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        return environment.sources([str(tmp_path / place / "own")])

    files = {"a.py": "1", "b/c.dsl": "2"}
    first = made("first", files)
    assert re.fullmatch("[0-9a-f]{32}", first)
    assert made("second", files) == first
    assert made("second", {"__pycache__/a.pyc": "x", "b/__pycache__/c.pyc": "x", ".a.swp": "x"}) == first
    others = [{"a.py": "2"}, {"a.py": "12", "b/c.dsl": ""}, {"a.py": "1", "b/d.dsl": "2"}, {**files, "e.py": ""}]
    assert len({first, *(made(f"place{number}", other) for number, other in enumerate(others))}) == 5


def test_sources_of_npuc_are_in_the_environment() -> None:
    found = environment.environment(drawn=False)
    assert found.sources == environment.sources(own_folders())
    assert json.loads(environment.environment_json(found))["sources"] == found.sources
    assert found.sources != environment.sources(own_folders()[1:])
